import { StorageFull } from '../../faults.js'
import { shardOf } from '../../hash.js'
import type { Entity, Tenant } from '../../model/context/entity.js'
import { type EntityChange, entityName } from '../../storage/records/store.js'
import type { PartitionStore } from '../../storage/store/partition-store.js'
import type { Sequence } from '../../threads/shared-memory/sequences.js'
import type { StoredFolder } from '../offline/offline-folder.js'
import { FolderMetadata } from './folder-metadata.js'
import { type EntityItem, type Item, isThere, type Outcome, type Sink, type SinkSettings } from './items.js'

/** Imports into the data folder of a stopped broker: stores items exactly, in large transactions. */
export class FolderSink implements Sink {
  readonly #stored: StoredFolder
  readonly #settings: SinkSettings
  readonly #metadata: FolderMetadata
  #sequence: number

  constructor(stored: StoredFolder, settings: SinkSettings) {
    this.#stored = stored
    this.#settings = settings
    this.#metadata = new FolderMetadata(stored, settings)
    this.#sequence = stored.highestSequence
  }

  async put(items: readonly Item[]): Promise<readonly Outcome[]> {
    const batch = new EntityBatch(this.#stored)
    const outcomes: Outcome[] = []
    for (const item of items) {
      const outcome = item.kind === 'entity' ? this.#entity(item, batch) : await this.#metadata.put(item)
      outcomes.push(outcome)
      if (outcome.kind === 'refused' && !this.#settings.keepsGoing) break
    }
    if (!this.#settings.dry) batch.commit()
    return outcomes
  }

  close(): Promise<void> {
    return this.#stored.close()
  }

  #entity({ tenant, entity }: EntityItem, batch: EntityBatch): Outcome {
    const held = batch.held(tenant, entity)
    if (held === undefined) {
      this.#sequence += 1
      batch.put(tenant, { ...entity, sequence: this.#sequence as Sequence }, undefined)
      return { kind: 'created' }
    }
    const { policy } = this.#settings
    if (policy === 'skip') return { kind: 'skipped' }
    if (policy === 'fail') return { kind: 'refused', reason: isThere }
    batch.put(tenant, { ...entity, sequence: held.sequence }, held)
    return { kind: 'replaced' }
  }
}

/** Changes of entities, committed as one turn per partition. */
export class EntityBatch {
  readonly #partitions: readonly PartitionStore[]
  readonly #changes: EntityChange[][]
  /** Entities that the batch has put and the stores do not have yet. */
  readonly #put = new Map<string, Entity[]>()

  constructor({ partitions }: StoredFolder) {
    this.#partitions = partitions
    this.#changes = partitions.map(() => [])
  }

  held(tenant: Tenant, { path, id, type }: Pick<Entity, 'path' | 'id' | 'type'>): Entity | undefined {
    const name = entityName(tenant, path, id)
    const put = this.#put.get(name)?.find((entity) => entity.type === type)
    if (put !== undefined) return put
    const store = this.#partitions[shardOf(tenant, id, this.#partitions.length)]
    return store?.entities(tenant, path, id).find((entity) => entity.type === type)
  }

  put(tenant: Tenant, entity: Entity, before: Entity | undefined): void {
    const { path, id, type } = entity
    const name = entityName(tenant, path, id)
    const others = this.#put.get(name)?.filter((other) => other.type !== type) ?? []
    this.#put.set(name, [...others, entity])
    const changes = this.#changes[shardOf(tenant, id, this.#partitions.length)]
    changes?.push({ kind: 'put', tenant, entity, before })
  }

  /** Logs and applies the changes of each partition. Throws the errors of the stores. */
  commit(): void {
    for (const [number, store] of this.#partitions.entries()) {
      const entities = this.#changes[number] ?? []
      if (entities.length === 0) continue
      if (!store.hasRoom()) throw new StorageFull('no room for what is imported: see -dbSizeMax, and the disk')
      store.commit({ entities, notices: [], acks: [] })
    }
  }
}
