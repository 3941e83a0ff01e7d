import { ordinaryMetadata } from '../../../model/context/attribute.js'
import type { Attribute, Metadata, Value } from '../../../model/context/entity.js'
import { plainMetadata } from '../../../model/context/large/large-attribute.js'
import { isMarked } from '../../../model/context/location.js'
import { isArray, isObject } from '../../../model/context/value.js'
import { changed, type PartLoss, type UnnumberedEntity } from '../items.js'

/** The payload of `updateContext` for the parts of an entity that only NGSIv1 can express; undefined when there are none. */
export function instanceUpdate({ id, type, attributes }: UnnumberedEntity): object | undefined {
  const own = attributes.filter(isOfNgsi1)
  if (own.length === 0) return undefined
  const element = { id, type, isPattern: 'false', attributes: own.map(attributeOf) }
  return { updateAction: 'APPEND', contextElements: [element] }
}

/** The entity with only the parts that NGSIv2 can express. */
export function withoutInstances<Read extends UnnumberedEntity>(entity: Read): Read {
  return { ...entity, attributes: entity.attributes.filter((attribute) => !isOfNgsi1(attribute)) }
}

/** What changes, because neither interface can express it. */
export function lossesOf({ type, attributes }: UnnumberedEntity): readonly PartLoss[] {
  const numbers = attributes.filter((attribute) => isOfNgsi1(attribute) && !hasOnlyTexts(attribute.value))
  return [
    ...(type === '' ? [changed('it had no type: its type is Thing')] : []),
    ...numbers.map(({ name }) => changed(`the value of attribute ${name} is a text, because NGSIv1 has no other kind`)),
  ]
}

/** Whether it is an instance, or a location marked by metadata. */
function isOfNgsi1(attribute: Attribute): boolean {
  return attribute.instance !== '' || isMarked(attribute)
}

function attributeOf(attribute: Attribute): object {
  const { name, type, value, instance } = attribute
  const metadata = plainMetadata(ordinaryMetadata(attribute.metadata, attribute))
  const marks = [
    ...(instance === '' ? [] : [{ name: 'ID', type: 'string', value: instance }]),
    ...(isMarked(attribute) ? [{ name: 'location', type: 'string', value: 'WGS84' }] : []),
  ]
  return { name, type, value: asText(value), metadatas: [...marks, ...metadata.map(metadataOf)] }
}

function metadataOf({ name, type, value }: Metadata): object {
  return { name, type, value: typeof value === 'string' ? value : JSON.stringify(value) }
}

/** NGSIv1 has only texts as leaves. */
function asText(value: Value): Value {
  if (typeof value === 'string') return value
  if (isArray(value)) return value.map(asText)
  if (isObject(value)) return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, asText(member)]))
  return String(value)
}

function hasOnlyTexts(value: Value): boolean {
  if (isArray(value)) return value.every(hasOnlyTexts)
  return isObject(value) ? Object.values(value).every(hasOnlyTexts) : typeof value === 'string'
}
