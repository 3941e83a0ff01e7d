import type { EntityEffect } from '../context/apply.js'
import type { Entity, ServicePath, Tenant } from '../context/entity.js'
import type { GivenAttribute, UpdateCommand } from '../context/update.js'
import type { LineContext } from '../log/log.js'

/** What an update did to an entity. */
export interface Change {
  /** It was created or changed, removed, or left as it was. */
  readonly kind: 'put' | 'remove' | 'same'
  readonly tenant: Tenant
  /** Nothing when it was created. */
  readonly before: Entity | undefined
  /** As it is after the update; of one that was removed, as it was before. */
  readonly entity: Entity
  /** Names of the attributes that count as changed [subscriptions 3.3]. */
  readonly changed: readonly string[]
  /** The attributes of the request. */
  readonly given: readonly GivenAttribute[]
  /** Whether all of them count as changed, equal or not [NGSIv2 subscriptions 4.2]. */
  readonly isForced: boolean
}

/** What the update came with. */
export type Cause = Pick<UpdateCommand, 'origin' | 'time'>

/** What a command did to one entity, as subscribers are told of it. */
export function changeBy({ tenant, attributes: given, action, terms }: UpdateCommand, effect: EntityEffect): Change {
  const { kind, entity } = effect
  const isForced = action === 'REPLACE' || terms?.forced === true
  if (kind === 'put') return { kind, tenant, entity, before: effect.before, changed: effect.changed, given, isForced }
  return { kind, tenant, entity, before: entity, changed: none, given, isForced }
}

/** The same for an entity that a command has left as it was. */
export function untouchedBy({ tenant, attributes: given }: UpdateCommand, entity: Entity): Change {
  return { kind: 'same', tenant, entity, before: entity, changed: none, given, isForced: false }
}

/** An entity as it is, which nobody has updated. */
export function stateOf(tenant: Tenant, entity: Entity): Change {
  return { kind: 'same', tenant, entity, before: entity, changed: none, given: [], isForced: false }
}

/** On whose behalf a partition writes a line, as far as it knows the request of an update [management 10.3]. */
export function causeContext(tenant: Tenant, path: ServicePath, { correlator }: Cause['origin']): LineContext {
  const srv = tenant === '' ? '<none>' : tenant
  return { corr: correlator, trans: 'N/A', from: 'N/A', srv, subsrv: path }
}

const none: readonly string[] = []
