import { type Attribute, compareBytes, type Entity, type Value } from './entity.js'
import { isVector } from './path.js'

/** By what results are ordered: an attribute's name, or `id`, `type`, `dateCreated`, `dateModified` [context 7.7]. */
export interface OrderKey {
  readonly by: string
  readonly reversed: boolean
}

/** The keys of `orderBy`: names separated by commas, each reversed by a leading `!`. Empty names are passed over. */
export function parseOrder(text: string): readonly OrderKey[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .map((item) => (item.startsWith('!') ? { by: item.slice(1), reversed: true } : { by: item, reversed: false }))
    .filter(({ by }) => by !== '')
}

/**
 * The order of results by these keys, the first one that tells two entities apart deciding; entities that tie come in
 * the order of creation, also when a key is reversed [context 2.7, 7.7].
 */
export function compareEntities(keys: readonly OrderKey[]): (a: Entity, b: Entity) => number {
  const compares = keys.map(({ by, reversed }) => {
    const read = reader(by)
    const sign = reversed ? -1 : 1
    return (a: Entity, b: Entity) => sign * compareValues(read(a), read(b))
  })
  return (a, b) => {
    for (const compare of compares) {
      const order = compare(a, b)
      if (order !== 0) return order
    }
    return a.place - b.place
  }
}

/**
 * The order of values of any kind, as clients of Orion know it: none or null, numbers, texts by bytes, objects, vectors,
 * booleans. Objects tie among themselves, and so do vectors [NGSIv2 context 7.6].
 */
export function compareValues(a: Value | undefined, b: Value | undefined): number {
  if (typeof a === 'string' && typeof b === 'string') return compareBytes(a, b)
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b)
  return rank(a) - rank(b)
}

type Reader = (entity: Entity) => Value | undefined

function reader(by: string): Reader {
  switch (by) {
    case 'id':
      return ({ id }) => id
    case 'type':
      return ({ type }) => type
    case 'dateCreated':
      return ({ created }) => created
    case 'dateModified':
      return ({ modified }) => modified
    default:
      return ({ attributes }) => firstOf(attributes, by)?.value
  }
}

/** Of several instances the first one counts, that of the smallest ID. */
function firstOf(attributes: readonly Attribute[], by: string): Attribute | undefined {
  return attributes.find(({ name }) => name === by)
}

function rank(value: Value | undefined): number {
  if (value === undefined || value === null) return 0
  switch (typeof value) {
    case 'number':
      return 1
    case 'string':
      return 2
    case 'boolean':
      return 5
    default:
      return isVector(value) ? 4 : 3
  }
}
