import type { ServicePath } from '../../../model/context/entity.js'
import { maxAttributes, maxMetadata, metadataOf } from '../../../model/context/entity-size.js'
import type { GivenAttribute, UpdateAction } from '../../../model/context/update.js'
import type { GivenElement } from './update-payload.js'

/** Why a context element is refused whatever is stored [context 4.2, 6.5 rows 1 to 4]. */
export type ElementRefusal =
  | { readonly kind: 'attributeTwice'; readonly name: string }
  | { readonly kind: 'instancesMixedInRequest'; readonly name: string }
  | { readonly kind: 'patternInUpdate' }
  | { readonly kind: 'attributeEmpty'; readonly name: string }
  | { readonly kind: 'keyTooLong' }
  /** It exceeds the limits of an entity: it is neither checked further nor repeated in the response. */
  | { readonly kind: 'entityTooLarge'; readonly what: 'attributes' | 'metadata'; readonly max: number }

/** A refusal, and the attributes of the element that its response shows. */
export interface RefusedElement {
  readonly refusal: ElementRefusal
  readonly shown: readonly GivenAttribute[]
}

const maxKey_bytes = 1024

/** The first reason to refuse a context element whatever is stored, in the order of the rows [context 6.5]. */
export function checkElement(
  element: GivenElement,
  action: UpdateAction,
  path: ServicePath,
): RefusedElement | undefined {
  const { attributes } = element
  if (attributes.length > maxAttributes) {
    return { refusal: { kind: 'entityTooLarge', what: 'attributes', max: maxAttributes }, shown: [] }
  }
  if (metadataOf(attributes) > maxMetadata) {
    return { refusal: { kind: 'entityTooLarge', what: 'metadata', max: maxMetadata }, shown: [] }
  }
  const twice = doubled(attributes)
  if (twice) return { refusal: { kind: 'attributeTwice', name: twice.name }, shown: [twice] }
  const mixed = mixedInstance(attributes)
  if (mixed) return { refusal: { kind: 'instancesMixedInRequest', name: mixed.name }, shown: attributes }
  if (element.isPattern) return { refusal: { kind: 'patternInUpdate' }, shown: [] }
  const empty = action === 'DELETE' ? undefined : attributes.find(isEmpty)
  if (empty) return { refusal: { kind: 'attributeEmpty', name: empty.name }, shown: [empty] }
  return isKeyTooLong(element, path) ? { refusal: { kind: 'keyTooLong' }, shown: attributes } : undefined
}

/** The first of two attributes that are the same instance. */
function doubled(attributes: readonly GivenAttribute[]): GivenAttribute | undefined {
  if (attributes.length <= few) return doubledOfFew(attributes)
  const seen = new Map<string, GivenAttribute>()
  for (const attribute of attributes) {
    const { name, instance } = attribute
    // With the length of the name in front, no other name and instance give the same key.
    const key = `${name.length}:${name}${instance}`
    const first = seen.get(key)
    if (first) return first
    seen.set(key, attribute)
  }
  return undefined
}

/** Up to this many attributes, comparing each with each is faster than making keys. */
const few = 8

function doubledOfFew(attributes: readonly GivenAttribute[]): GivenAttribute | undefined {
  for (let at = 1; at < attributes.length; at += 1) {
    const later = attributes[at]
    const first = attributes.find(
      ({ name, instance }, before) => before < at && name === later?.name && instance === later.instance,
    )
    if (first) return first
  }
  return undefined
}

/** The first attribute whose name occurs with and without ID. */
function mixedInstance(attributes: readonly GivenAttribute[]): GivenAttribute | undefined {
  if (!attributes.some(({ instance }) => instance !== '')) return undefined
  const [plain, instances] = [new Set<string>(), new Set<string>()]
  for (const { name, instance } of attributes) (instance === '' ? plain : instances).add(name)
  if (plain.size === 0 || instances.size === 0) return undefined
  return attributes.find(({ name }) => plain.has(name) && instances.has(name))
}

function isEmpty({ value, type, instance, location, metadata }: GivenAttribute): boolean {
  return value === undefined && type === '' && instance === '' && location === undefined && metadata.length === 0
}

function isKeyTooLong({ id, type }: GivenElement, path: ServicePath): boolean {
  // No character needs more than three bytes for each of its UTF-16 units.
  if ((id.length + type.length + path.length) * 3 <= maxKey_bytes) return false
  return Buffer.byteLength(id) + Buffer.byteLength(type) + Buffer.byteLength(path) > maxKey_bytes
}
