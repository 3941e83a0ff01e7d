import type { Entity, EntityId, ServicePath, Tenant } from '../context/entity.js'
import type { Settlement } from '../subscription/notice.js'
import type { EntityCache } from './entity-cache.js'
import type { Effect } from './message.js'
import type { PartitionStore } from './store.js'

/** What a turn sees: the store, and upon it what earlier commands of the same turn decided. */
export class Overlay {
  readonly effects: Effect[] = []
  readonly settlements: Settlement[] = []
  readonly #store: PartitionStore
  readonly #cache: EntityCache
  readonly #laid = new Map<string, readonly Entity[]>()

  constructor(store: PartitionStore, cache: EntityCache) {
    this.#store = store
    this.#cache = cache
  }

  /** Whether the data may grow; when not, only removals are done. */
  get hasRoom(): boolean {
    return this.#store.hasRoom
  }

  /** The entities of one id in one service path, oldest first. */
  entities(tenant: Tenant, path: ServicePath, id: EntityId): readonly Entity[] {
    const key = nameOf(tenant, path, id)
    return this.#laid.get(key) ?? this.#cache.get(key) ?? this.#load(key, tenant, path, id)
  }

  /** Lays effects upon the view, so that the commands that follow see them. */
  lay(effects: readonly Effect[]): void {
    for (const effect of effects) {
      const { tenant, entity } = effect
      const rest = this.entities(tenant, entity.path, entity.id).filter(({ place }) => place !== entity.place)
      const after = effect.kind === 'put' ? [...rest, entity].sort((a, b) => a.place - b.place) : rest
      this.#laid.set(nameOf(tenant, entity.path, entity.id), after)
      this.effects.push(effect)
    }
  }

  /** Notes what became of notices. */
  settleNotices(settlements: readonly Settlement[]): void {
    for (const settlement of settlements) this.settlements.push(settlement)
  }

  /** The turn is on disk: what it decided is what is held now. */
  settle(): void {
    for (const [key, entities] of this.#laid) this.#cache.put(key, entities)
  }

  #load(key: string, tenant: Tenant, path: ServicePath, id: EntityId): readonly Entity[] {
    const entities = this.#store.entities(tenant, path, id)
    this.#cache.put(key, entities)
    return entities
  }
}

/** Tenants and service paths have no blanks, so the name is unambiguous whatever the id holds. */
function nameOf(tenant: Tenant, path: ServicePath, id: EntityId): string {
  return `${tenant} ${path} ${id}`
}
