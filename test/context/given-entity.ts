import type { Attribute, Entity, EntityId, EntityType, ServicePath, Value } from '../../src/model/context/entity.js'
import type { Sequence } from '../../src/threads/shared-memory/sequences.js'
import type { Milliseconds } from '../../src/time.js'

/** An attribute of a test, of which only what matters to it is said. */
export function attribute(name: string, value: Value, more: Partial<Attribute> = {}): Attribute {
  const dates = { created: 0 as Milliseconds, modified: 0 as Milliseconds }
  return { name, instance: '', type: '', value, isLocation: false, metadata: [], ...dates, ...more }
}

interface GivenEntity {
  readonly id?: string
  readonly type?: string
  readonly path?: string
  readonly sequence?: number
  readonly created?: number
  readonly modified?: number
  readonly attributes?: readonly Attribute[]
}

/** An entity of a test, of which only what matters to it is said. */
export function entity(given: GivenEntity = {}): Entity {
  return {
    path: (given.path ?? '/') as ServicePath,
    id: (given.id ?? 'Silo1') as EntityId,
    type: (given.type ?? 'Silo') as EntityType,
    sequence: (given.sequence ?? 1) as Sequence,
    created: (given.created ?? 0) as Milliseconds,
    modified: (given.modified ?? 0) as Milliseconds,
    attributes: given.attributes ?? [],
  }
}

/** An entity with these values as its attributes. */
export function holding(values: { readonly [name: string]: Value }): Entity {
  return entity({ attributes: Object.entries(values).map(([name, value]) => attribute(name, value)) })
}
