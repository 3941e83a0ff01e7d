import type { Entity } from './entity.js'

export interface OrderKey {
  readonly by: string
  readonly reversed: boolean
}

/** Stands in for the keys of `orderBy`. */
export function parseOrder(text: string): readonly OrderKey[] {
  return text.split(',').map((by) => ({ by, reversed: false }))
}

/** Stands in for the order by keys. */
export function compareEntities(_keys: readonly OrderKey[]): (a: Entity, b: Entity) => number {
  return (a, b) => (a.id < b.id ? -1 : Number(a.id > b.id))
}
