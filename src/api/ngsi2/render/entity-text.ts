import type { ShownAttribute, ShownEntity } from '../../../broker/providers/query-plan.js'
import { ordinaryMetadata } from '../../../model/context/attribute.js'
import { compareBytes, isListed, type Metadata } from '../../../model/context/entity.js'
import { geometryOf } from '../../../model/context/geo/shape-parse.js'
import {
  type HeldValue,
  plainMetadata,
  renderHeld,
  typeShown,
  valueHeld,
} from '../../../model/context/large/large-attribute.js'
import { ignoresShape, isMarked } from '../../../model/context/location.js'
import { isObject, quote, shownType } from '../../../model/context/value.js'

/** The form of entities in responses [NGSIv2 context 7]. */
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

export function attributesInEntity(
  entity: { readonly id: string; readonly type: string },
  attributes: readonly VisibleAttribute[],
  form: 'normalized' | 'keyValues',
): string {
  return entityWith(entity, membersText(attributes, { form }))
}

export function entityWith({ id, type }: { readonly id: string; readonly type: string }, members: string): string {
  const head = `"id":${quote(id)},"type":${quote(type === '' ? 'Thing' : type)}`
  return members === '' ? `{${head}}` : `{${head},${members}}`
}

/** The values of these attributes as a JSON array. */
export function attributesAsValues(attributes: readonly VisibleAttribute[]): string {
  return valuesText(attributes, { form: 'values' })
}

/** The attributes of an entity alone, in the form of the representation [NGSIv2 context 8.3]. */
export function attributesText(entity: ShownEntity, representation: Representation): string {
  const attributes = visibleAttributes(entity, representation.attributes, representation.metadata)
  return isArrayForm(representation)
    ? valuesText(attributes, representation)
    : `{${membersText(attributes, representation)}}`
}

/** One attribute, by itself [NGSIv2 context 9.1] or as the only member of an object [NGSIv2 context 7.2]. */
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

/** The text of one attribute within an entity, or within the array of its values. */
export function memberText(attribute: VisibleAttribute, form: Representation['form']): string {
  if (form === 'values' || form === 'unique') return valueText(attribute)
  const body = form === 'keyValues' ? valueText(attribute) : bodyText(attribute)
  return `${quote(attribute.name)}:${body}`
}

function valueText({ value, type, byKind }: VisibleAttribute): string {
  return renderHeld(value, byKind ? '' : type)
}

function bodyText(attribute: VisibleAttribute): string {
  const { type, metadata } = attribute
  return `{"type":${quote(type)},"value":${valueText(attribute)},"metadata":${metadataText(metadata)}}`
}

/** Metadata as JSON [NGSIv2 context 2.3]. */
export function metadataText(metadata: readonly ShownMetadata[]): string {
  let elements = ''
  for (const element of metadata) {
    const body = `{"type":${quote(element.type)},"value":${renderHeld(element.value, element.type)}}`
    elements += `${elements === '' ? '' : ','}${quote(element.name)}:${body}`
  }
  return `{${elements}}`
}

/** The values alone; with `unique` each one once, where equal JSON means equal [NGSIv2 context 7.3]. */
function valuesText(attributes: readonly VisibleAttribute[], { form }: Pick<Representation, 'form'>): string {
  const values = attributes.map(valueText)
  return `[${(form === 'unique' ? [...new Set(values)] : values).join(',')}]`
}

/** The names to show in order: those of `attrs` or of `metadata` [NGSIv2 context 7.1]. Empty for all. */
export type NamesShown = readonly string[]

export interface ShownMetadata extends Omit<Metadata, 'value'> {
  readonly value: HeldValue
}

/** An attribute as clients see it: one per name, with its shown type and value. */
export interface VisibleAttribute {
  readonly name: string
  readonly type: string
  readonly value: HeldValue
  readonly metadata: readonly ShownMetadata[]
  /** The value is shown by its kind, whatever its type [NGSIv2 subscriptions 6.2]. */
  readonly byKind?: true
}

/** The name that stands for all attributes that are not builtin. */
const all = '*'

/** Makes a builtin attribute; undefined for an entity of a provider, whose dates and path are unknown here. */
type MakeBuiltin = (entity: ShownEntity) => VisibleAttribute | undefined

/** The builtin attributes of every entity that is held here [NGSIv2 context 6]. */
const builtin: ReadonlyMap<string, MakeBuiltin> = new Map<string, MakeBuiltin>([
  ['dateCreated', ({ created }) => date('dateCreated', created)],
  ['dateModified', ({ modified }) => date('dateModified', modified)],
  ['servicePath', ({ path }) => path && { name: 'servicePath', type: 'Text', value: path, metadata: [] }],
])

/** An ordinary attribute that is shown only when it is named [NGSIv2 context 3.4, 6]. */
export const expiration = 'dateExpires'

/** In payloads these names mean the entity; NGSIv1 may have made attributes with such names [NGSIv2 context 14.1]. */
const unshown: ReadonlySet<string> = new Set(['id', 'type'])

/**
 * The attributes of an entity for a request with these names, each name once: in the order of the names, or ascending by name
 * when all are shown [NGSIv2 context 2.5, 6, 7.1, 14.3].
 */
function visibleAttributes(
  entity: ShownEntity,
  names: NamesShown,
  metadataNames: NamesShown,
): readonly VisibleAttribute[] {
  const own = firstInstances(entity.attributes)
  const shownAs = (attribute: ShownAttribute) => visibleAttribute(attribute, metadataNames)
  const isAll = names.length === 0 || names.includes(all)
  if (isAll) {
    const shown = own.filter(({ name }) => name !== expiration || names.includes(name)).map(shownAs)
    const added = builtinsOf(entity, names, own)
    return added.length === 0 ? shown : [...shown, ...added].sort((a, b) => compareBytes(a.name, b.name))
  }
  const byName = new Map(own.map((attribute) => [attribute.name, attribute]))
  return [...new Set(names)].flatMap((name) => {
    const held = byName.get(name)
    if (held !== undefined) return [shownAs(held)]
    return builtin.get(name)?.(entity) ?? []
  })
}

/** The attributes that clients see, each name once, ascending by name [NGSIv2 context 2.5, 14.3]. */
export function clientAttributes<Shown extends { readonly name: string }>({
  attributes,
}: {
  readonly attributes: readonly Shown[]
}): readonly Shown[] {
  return firstInstances(attributes)
}

/** The maker of the builtin attribute of a name; undefined for other names [NGSIv2 context 6]. */
export function builtinAttribute(name: string): MakeBuiltin | undefined {
  return builtin.get(name)
}

/** The shown attribute of a name; undefined when the entity has none [NGSIv2 context 6, 9.1]. */
export function attributeNamed({ attributes }: ShownEntity, name: string): ShownAttribute | undefined {
  return unshown.has(name) ? undefined : attributes.find((attribute) => attribute.name === name)
}

/** An attribute with the metadata of these names, as clients see it. */
export function visibleAttribute(attribute: ShownAttribute, metadataNames: NamesShown): VisibleAttribute {
  const { name, type } = attribute
  const value = valueShown(attribute)
  return {
    name,
    type: typeShown(type, value),
    value,
    metadata: metadataShown(attribute, metadataNames),
  }
}

/** The value that clients see: for a GeoJSON Feature its geometry, unless the type is to be ignored [NGSIv2 context 3.5]. */
export function valueShown(attribute: ShownAttribute): HeldValue {
  const { type, metadata } = attribute
  if (type !== 'geo:json' || ignoresShape(metadata)) return valueHeld(attribute)
  const { value } = attribute
  if (!isObject(value)) return value
  const geometry = geometryOf(value)
  return geometry.ok ? geometry.value : value
}

/** Attributes are ascending by name and instance: the first of each name is shown [NGSIv2 context 14.3]. */
function firstInstances<Shown extends { readonly name: string }>(attributes: readonly Shown[]): readonly Shown[] {
  return attributes.filter(({ name }, at) => name !== attributes[at - 1]?.name && !unshown.has(name))
}

function builtinsOf(
  entity: ShownEntity,
  names: NamesShown,
  own: readonly ShownAttribute[],
): readonly VisibleAttribute[] {
  const added: VisibleAttribute[] = []
  for (const [name, made] of builtin) {
    if (!names.includes(name) || own.some((attribute) => attribute.name === name)) continue
    const attribute = made(entity)
    if (attribute !== undefined) added.push(attribute)
  }
  return added
}

/** The metadata of an attribute, including those that are members of their own in the core [NGSIv2 context 6, 14]. */
function metadataShown(attribute: ShownAttribute, names: NamesShown): readonly ShownMetadata[] {
  const own = ownMetadata(attribute)
  const isAll = names.length === 0 || isListed(all, names)
  const shown = isAll ? own : own.filter(({ name }) => isListed(name, names))
  if (names.length === 0) return shown
  const dates = [date('dateCreated', attribute.created), date('dateModified', attribute.modified)]
  const added = dates.flatMap((element) => {
    const isAdded = element !== undefined && isListed(element.name, names)
    return isAdded && !own.some(({ name }) => name === element.name) ? [element] : []
  })
  return added.length === 0 ? shown : [...shown, ...added]
}

function ownMetadata(attribute: ShownAttribute): readonly ShownMetadata[] {
  const { instance, metadata } = attribute
  const hasMark = isMarked(attribute)
  if (instance === '' && !hasMark && metadata.every((element) => element.type !== '')) return metadata
  const ordinary = plainMetadata(ordinaryMetadata(metadata, attribute))
  const typed = ordinary.map((element) => (element.type === '' ? { ...element, type: shownType(element) } : element))
  return [
    ...(instance === '' ? [] : [{ name: 'ID', type: 'string', value: instance }]),
    ...(hasMark ? [{ name: 'location', type: 'string', value: 'WGS84' }] : []),
    ...typed,
  ]
}

function date(name: string, instant_ms: number | undefined): VisibleAttribute | undefined {
  return instant_ms === undefined ? undefined : { name, type: 'DateTime', value: instant_ms / 1000, metadata: [] }
}
