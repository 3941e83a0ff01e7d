import type { Metadata } from '../../context/entity.js'
import { quote, renderValue } from '../../context/json-text.js'
import type { ShownAttribute, ShownEntity } from '../../providers/merge-responses.js'
import { type NamesShown, type VisibleAttribute, visibleAttribute, visibleAttributes } from './shown.js'

/** How entities are shown [NGSIv2 context 7]. */
export interface Representation {
  readonly form: 'normalized' | 'keyValues' | 'values' | 'unique'
  readonly attributes: NamesShown
  readonly metadata: NamesShown
}

/** An entity as JSON, in one of the four forms [NGSIv2 context 2.1, 7]. */
export function entityText(entity: ShownEntity, representation: Representation): string {
  const attributes = visibleAttributes(entity, representation.attributes, representation.metadata)
  const { form } = representation
  return form === 'values' || form === 'unique'
    ? valuesText(attributes, representation)
    : attributesInEntity(entity, attributes, form)
}

/** An entity as JSON that shows these attributes. */
export function attributesInEntity(
  entity: { readonly id: string; readonly type: string },
  attributes: readonly VisibleAttribute[],
  form: 'normalized' | 'keyValues',
): string {
  return entityWith(entity, membersText(attributes, { form }))
}

/** An entity as JSON that has these members beside its id and type. */
export function entityWith({ id, type }: { readonly id: string; readonly type: string }, members: string): string {
  const head = `"id":${quote(id)},"type":${quote(type === '' ? 'Thing' : type)}`
  return members === '' ? `{${head}}` : `{${head},${members}}`
}

/** The values of these attributes as a JSON array. */
export function attributesAsValues(attributes: readonly VisibleAttribute[]): string {
  return valuesText(attributes, { form: 'values' })
}

/** The attributes of an entity alone, in the same forms [NGSIv2 context 8.3]. */
export function attributesText(entity: ShownEntity, representation: Representation): string {
  const attributes = visibleAttributes(entity, representation.attributes, representation.metadata)
  return isArrayForm(representation)
    ? valuesText(attributes, representation)
    : `{${membersText(attributes, representation)}}`
}

/** One attribute, by itself [NGSIv2 context 9.1] or as the one member of an object [NGSIv2 context 7.2]. */
export function attributeText(
  attribute: ShownAttribute,
  form: 'normalized' | 'keyValues',
  metadata: NamesShown,
): string {
  const visible = visibleAttribute(attribute, metadata)
  return form === 'normalized' ? bodyText(visible) : `{${membersText([visible], { form })}}`
}

function isArrayForm({ form }: Representation): boolean {
  return form === 'values' || form === 'unique'
}

function membersText(attributes: readonly VisibleAttribute[], { form }: Pick<Representation, 'form'>): string {
  let text = ''
  for (const attribute of attributes) text += `${text === '' ? '' : ','}${memberText(attribute, form)}`
  return text
}

/** What an entity, or the array of its values, shows of one attribute. */
export function memberText(attribute: VisibleAttribute, form: Representation['form']): string {
  if (form === 'values' || form === 'unique') return valueText(attribute)
  const body = form === 'keyValues' ? valueText(attribute) : bodyText(attribute)
  return `${quote(attribute.name)}:${body}`
}

function valueText({ value, type, byKind }: VisibleAttribute): string {
  return renderValue(value, byKind ? '' : type)
}

function bodyText(attribute: VisibleAttribute): string {
  const { type, metadata } = attribute
  return `{"type":${quote(type)},"value":${valueText(attribute)},"metadata":${metadataText(metadata)}}`
}

/** Metadata as JSON [NGSIv2 context 2.3]. */
export function metadataText(metadata: readonly Metadata[]): string {
  let elements = ''
  for (const element of metadata) {
    const body = `{"type":${quote(element.type)},"value":${renderValue(element.value, element.type)}}`
    elements += `${elements === '' ? '' : ','}${quote(element.name)}:${body}`
  }
  return `{${elements}}`
}

/** The values alone; with `unique` each one once, those with the same JSON being one [NGSIv2 context 7.3]. */
function valuesText(attributes: readonly VisibleAttribute[], { form }: Pick<Representation, 'form'>): string {
  const values = attributes.map(valueText)
  return `[${(form === 'unique' ? [...new Set(values)] : values).join(',')}]`
}
