import type { Entity, Tenant } from '../context/entity.js'
import type { UpdateCommand } from '../context/update.js'

/** An entity that an update created or changed. */
export interface Change {
  readonly tenant: Tenant
  readonly before: Entity | undefined
  /** As it is after the update. */
  readonly entity: Entity
  /** Names of the attributes that count as changed [subscriptions 3.3]. */
  readonly changed: readonly string[]
}

/** What the update came with. */
export type Cause = Pick<UpdateCommand, 'origin' | 'time'>
