import type { EntityType, Tenant } from '../context/entity.js'
import { inRange, type PathRange } from '../context/query.js'
import type { StoredFolder } from '../offline/offline-folder.js'
import { decided, isUndecided } from '../subscription/decisions.js'
import type { Item, ItemKind } from './item.js'

/** Which items are exported; nothing for all. */
export interface ExportFilter {
  readonly tenant: Tenant | undefined
  readonly path: PathRange | undefined
  /** Of entities: those of other types are left out. */
  readonly type: EntityType | undefined
  readonly kinds: ReadonlySet<ItemKind>
}

/** Everything that a folder holds and a filter lets through, each kind in the order of creation. */
export async function* storedItems(stored: StoredFolder, filter: ExportFilter): AsyncGenerator<Item> {
  if (filter.kinds.has('entity')) yield* entitiesIn(stored, filter)
  if (filter.kinds.has('subscription')) yield* subscriptionsIn(stored, filter)
  if (filter.kinds.has('registration')) yield* registrationsIn(stored, filter)
  if (filter.kinds.has('availability')) yield* availabilityIn(stored, filter)
}

function* entitiesIn(stored: StoredFolder, { tenant: only, path, type }: ExportFilter): Generator<Item> {
  for (const [tenant, entity] of stored.entities(only)) {
    if (path !== undefined && !inRange(entity.path, path)) continue
    if (type === undefined || entity.type === type) yield { kind: 'entity', tenant, entity }
  }
}

function* subscriptionsIn(stored: StoredFolder, { tenant, path }: ExportFilter): Generator<Item> {
  const all = stored.stats()
  const ticks = stored.control.ticks()
  for (const record of stored.control.subscriptions()) {
    // What was not decided when the broker ended is withdrawn by whoever starts next.
    const subscription = isUndecided(record) ? decided(record, 'withdrawn') : record
    if (subscription === undefined) continue
    if (tenant !== undefined && subscription.tenant !== tenant) continue
    if (path !== undefined && !inRange(subscription.path.path, path)) continue
    const { id } = subscription
    yield { kind: 'subscription', subscription, stats: all.get(id), ticked: ticks.get(id) }
  }
}

function* registrationsIn(stored: StoredFolder, { tenant, path }: ExportFilter): Generator<Item> {
  for (const registration of [...stored.registry.registrations()].sort((a, b) => a.order - b.order)) {
    if (tenant !== undefined && registration.tenant !== tenant) continue
    if (path === undefined || inRange(registration.path, path)) yield { kind: 'registration', registration }
  }
}

/** They mean every path of their tenant. */
function* availabilityIn(stored: StoredFolder, { tenant, path }: ExportFilter): Generator<Item> {
  if (path !== undefined) return
  for (const subscription of [...stored.registry.availability()].sort((a, b) => a.order - b.order)) {
    if (tenant === undefined || subscription.tenant === tenant) yield { kind: 'availability', subscription }
  }
}
