import type { Entity } from './entity.js'
import type { Query } from './query.js'
export function compileQuery(_query: Query): (entity: Entity) => boolean {
  return () => true
}
