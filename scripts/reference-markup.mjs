// The markup that the pages of the reference share.
const entities = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** A text that stands for itself in HTML, in attributes as well. */
export function escaped(text) {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character)
}

/** A text of the description: what stands between backticks is code. */
export function proseMarkup(text) {
  return escaped(text).replace(/`([^`]*)`/g, '<code>$1</code>')
}

/** JSON over several lines. */
export function exampleMarkup(example) {
  return `<pre>${escaped(typeof example === 'string' ? example : JSON.stringify(example, undefined, 2))}</pre>`
}

/** The last part of a reference: the name of the component. */
export function componentName(reference) {
  return reference.slice(reference.lastIndexOf('/') + 1)
}

/** What kind of value a schema means, in a few words with links to schemas that have a name. */
export function kindMarkup(schema) {
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

function boundsMarkup({ minimum, maximum, maxLength, pattern, default: usual }) {
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
export function schemaMarkup(schema) {
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
export function termMarkup(name, schema, note, description) {
  const said = description === undefined ? '' : `<p>${proseMarkup(description)}</p>`
  const kind = hasMembers(schema) ? 'object' : kindMarkup(schema)
  const noted = note === '' ? '' : ` <i>${escaped(note)}</i>`
  return `<dt><b>${escaped(name)}</b> ${kind}${noted}</dt><dd>${said}${schemaMarkup(schema)}</dd>`
}

/** Whether there is more to show of a schema than its kind. */
function hasMembers({ properties, additionalProperties, items, anyOf = [] }) {
  const ofOthers = additionalProperties !== undefined && additionalProperties !== false
  const ofItems = items !== undefined && hasMembers(items)
  return properties !== undefined || ofOthers || ofItems || anyOf.some(hasMembers)
}

/** The style of the reference page: one column, light or dark as the reader's system is. */
const style = `
:root { color-scheme: light dark; --page: #fff; --text: #1b1b1b; --line: #8884; --soft: #8881; --link: #06c; }
@media (prefers-color-scheme: dark) { :root { --page: #16181d; --text: #e8e8ea; --link: #7bf; } }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere;
  background: var(--page); color: var(--text); }
a { color: var(--link); }
h2 { border-bottom: 1px solid var(--line); margin-top: 2.5rem; }
h3 { margin: 1rem 0 .25rem; }
nav ul { padding: 0; list-style: none; display: flex; flex-wrap: wrap; gap: .25rem 1rem; }
details { border: 1px solid var(--line); border-radius: .4rem; margin: .5rem 0; padding: 0 .75rem; }
details[open] { padding-bottom: .75rem; }
summary { cursor: pointer; padding: .5rem 0; }
summary b { font: bold .85rem ui-monospace, monospace; display: inline-block; min-width: 4.2rem; }
code, pre { font: .875rem/1.45 ui-monospace, monospace; background: var(--soft); border-radius: .25rem; }
code { padding: 0 .2rem; }
summary code { background: none; }
pre { padding: .6rem; overflow-x: auto; white-space: pre; overflow-wrap: normal; }
dl { margin: .25rem 0; }
dt { margin-top: .4rem; }
dd { margin: 0 0 0 .25rem; padding-left: .75rem; border-left: 2px solid var(--line); }
p { margin: .25rem 0; }
i { opacity: .75; }
:target { background: var(--soft); outline: 2px solid var(--link); outline-offset: .25rem; }
`

/** A page of the reference from what stands in its body: no script, and nothing from elsewhere. */
export function pageOf(title, body) {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Rigel: ${title}</title><style>${style}</style></head>
<body>
${body}
</body></html>
`
}
