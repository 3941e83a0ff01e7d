import type { ExampleValue, JsonSchema } from './description.js'

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** A text that stands for itself in HTML, in attributes as well. */
export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character)
}

/** A text of the description: what stands between backticks is code. */
export function proseMarkup(text: string): string {
  return escaped(text).replace(/`([^`]*)`/g, '<code>$1</code>')
}

/** JSON over several lines. */
export function exampleMarkup(example: ExampleValue): string {
  return `<pre>${escaped(typeof example === 'string' ? example : JSON.stringify(example, undefined, 2))}</pre>`
}

/** The last part of a reference: the name of the component. */
export function componentName(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1)
}

/** What kind of value a schema means, in a few words with links to schemas that have a name. */
export function kindMarkup(schema: JsonSchema): string {
  const { $ref, anyOf, enum: values, items, type } = schema
  if ($ref !== undefined) {
    const name = escaped(componentName($ref))
    return `<a href="#schema-${name}">${name}</a>`
  }
  if (anyOf !== undefined) return anyOf.map(kindMarkup).join(' or ')
  if (values !== undefined) return values.map((value) => `<code>${escaped(JSON.stringify(value))}</code>`).join(', ')
  if (items !== undefined) return `array of ${kindMarkup(items)}`
  return `${type === undefined ? 'any value' : [type].flat().join(' or ')}${boundsMarkup(schema)}`
}

function boundsMarkup({ minimum, maximum, maxLength, pattern, default: usual }: JsonSchema): string {
  const words = [
    ...(minimum === undefined ? [] : [`from ${minimum}`]),
    ...(maximum === undefined ? [] : [`to ${maximum}`]),
    ...(maxLength === undefined ? [] : [`at most ${maxLength} characters`]),
    ...(pattern === undefined ? [] : [`<code>${escaped(pattern)}</code>`]),
    ...(usual === undefined ? [] : [`else <code>${escaped(JSON.stringify(usual))}</code>`]),
  ]
  return words.map((word) => `, ${word}`).join('')
}

/** A schema with its members, and theirs. */
export function schemaMarkup(schema: JsonSchema): string {
  const { description, properties = {}, required = [], items, anyOf = [], additionalProperties } = schema
  const said = description === undefined ? '' : `<p>${proseMarkup(description)}</p>`
  const members = Object.entries(properties).map(([name, member]) =>
    termMarkup(name, member, required.includes(name) ? '' : 'optional'),
  )
  if (additionalProperties !== undefined && additionalProperties !== false) {
    members.push(termMarkup('*', additionalProperties, 'any other member'))
  }
  const inner = [...(items === undefined ? [] : [items]), ...anyOf].filter(hasMembers).map(schemaMarkup)
  return `${said}${members.length > 0 ? `<dl>${members.join('')}</dl>` : ''}${inner.join('')}`
}

/** A term of a list of definitions: a name with its kind, and what it means. */
export function termMarkup(name: string, schema: JsonSchema, note: string, description?: string): string {
  const said = description === undefined ? '' : `<p>${proseMarkup(description)}</p>`
  const kind = hasMembers(schema) ? 'object' : kindMarkup(schema)
  const noted = note === '' ? '' : ` <i>${escaped(note)}</i>`
  return `<dt><b>${escaped(name)}</b> ${kind}${noted}</dt><dd>${said}${schemaMarkup(schema)}</dd>`
}

/** Whether there is more to show of a schema than its kind. */
function hasMembers({ properties, additionalProperties, items, anyOf = [] }: JsonSchema): boolean {
  const ofOthers = additionalProperties !== undefined && additionalProperties !== false
  const ofItems = items !== undefined && hasMembers(items)
  return properties !== undefined || ofOthers || ofItems || anyOf.some(hasMembers)
}
