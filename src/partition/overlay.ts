import type { Entity, EntityId, ServicePath, Tenant } from '../context/entity.js'
import type { EntityLimits } from '../context/entity-size.js'
import type { NoticeAck } from '../subscription/notice.js'
import { entityName } from './entity-name.js'
import type { Effect } from './message.js'
import type { PartitionStore } from './store.js'

/** What a turn sees: the store, and upon it what earlier commands of the same turn decided. */
export class Overlay {
  readonly effects: Effect[] = []
  readonly acks: NoticeAck[] = []
  readonly #store: PartitionStore
  /** What it has seen so far, with what was laid upon it. */
  readonly #seen = new Map<string, readonly Entity[]>()

  constructor(store: PartitionStore) {
    this.#store = store
  }

  /** Whether the data may grow; when not, only removals are done. */
  get hasRoom(): boolean {
    return this.#store.hasRoom
  }

  /** How large entities may become. */
  get limits(): EntityLimits {
    return this.#store.limits
  }

  /** The entities of one id in one service path, oldest first. */
  entities(tenant: Tenant, path: ServicePath, id: EntityId): readonly Entity[] {
    const key = entityName(tenant, path, id)
    const seen = this.#seen.get(key) ?? this.#store.entities(tenant, path, id)
    this.#seen.set(key, seen)
    return seen
  }

  /** Lays effects upon the view, so that the commands that follow see them. */
  lay(effects: readonly Effect[]): void {
    for (const effect of effects) {
      const { tenant, entity } = effect
      const rest = this.entities(tenant, entity.path, entity.id).filter(({ sequence }) => sequence !== entity.sequence)
      const after = effect.kind === 'put' ? [...rest, entity].sort((a, b) => a.sequence - b.sequence) : rest
      this.#seen.set(entityName(tenant, entity.path, entity.id), after)
      this.effects.push(effect)
    }
  }

  /** Notes what became of notices. */
  ack(acks: readonly NoticeAck[]): void {
    for (const ack of acks) this.acks.push(ack)
  }
}
