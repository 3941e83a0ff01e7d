export interface OrderKey {
  readonly by: string
  readonly reversed: boolean
}

import type { Entity } from './entity.js'
export function compareEntities(_keys: readonly OrderKey[]): (a: Entity, b: Entity) => number {
  return (a, b) => a.place - b.place
}
