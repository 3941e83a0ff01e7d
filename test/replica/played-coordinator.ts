import assert from 'node:assert/strict'
import { MetadataReplica } from '../../src/partition/replica/metadata-replica.js'
import { ClusterLog } from '../../src/storage/etcd/cluster-log.js'
import type { MetadataRecord } from '../../src/storage/records/metadata-record.js'
import { MetadataStore } from '../../src/storage/store/metadata-store.js'
import type { LogSequence } from '../../src/storage/wal/record-log.js'
import { PartitionPosition } from '../../src/threads/shared-memory/partition-position.js'
import { silentLog, storeSettings } from '../given.js'
import { keepFree_bytes } from './played-disk.js'
import { ThreadDied } from './played-logs.js'
import { type Fatal, PlayedMember, type PlayedMemberParts } from './played-member.js'
import type { TimersOwner } from './played-time.js'

/** What the coordinator keeps here: as many ids, each with a text or none. */
export const keptIds = ['r1', 'r2', 'r3']

const database = 'registrations'

/** The coordinator's store and its replica in a node's main thread. What is changed comes into force some time later. */
export class PlayedCoordinator extends PlayedMember {
  readonly isFull = false
  readonly #store: MetadataStore
  readonly #replica: MetadataReplica
  readonly #inForce = new Map<string, string>()
  /** The last record that is in force. */
  #last = 0 as LogSequence
  /** Whether it dies over the next change that comes into force. */
  #isFatal = false

  /** Opens its store, as a thread that sleeps until its log answers. To be made as its own owner. */
  constructor(parts: PlayedMemberParts, opening: (self: TimersOwner) => void) {
    super(parts, opening)
    const { node, folder, link, position, owns, later } = parts
    const failed = (fault: unknown): void => this.failed(fault)
    let wal: ClusterLog | undefined
    const openLog = (applied: LogSequence): ClusterLog => {
      wal = new ClusterLog(link.end, applied)
      return wal
    }
    const settings = { ...storeSettings, keepFree_bytes, durable: false }
    this.#store = new MetadataStore(folder, settings, failed, silentLog, openLog, this.transactions.writing)
    assert(wal)
    this.transactions.opened(this.#store.outbox)
    for (const id of keptIds) this.#put(id, this.#store.text(database, id))
    this.#replica = new MetadataReplica({
      ...{ store: this.#store, wal, node, log: silentLog, failed, owns },
      position: new PartitionPosition(position),
      enforce: async ({ writes }) => {
        await new Promise<void>((resolve) => later(resolve))
        if (this.#isFatal) throw new ThreadDied()
        for (const { id, text } of writes) this.#put(id, text)
      },
      inForce: (sequence) => {
        if (sequence < this.#last) failed(new Error(`record ${sequence} is in force behind ${this.#last}`))
        this.#last = sequence
      },
    })
  }

  get isOwner(): boolean {
    return this.#replica.isOwner
  }

  /** What is in force here. */
  get shown(): string {
    return shownOf(this.#inForce)
  }

  /** Resolves when a change is on disk and in force here; rejects where it is refused, or where nobody knows. */
  change(id: string, text: string | undefined): Promise<void> {
    const change: MetadataRecord = { writes: [{ database, id, text }] }
    return this.#store.transact(change, text !== undefined)
  }

  instruct(what: 'own' | 'release'): void {
    this.#replica[what]()
  }

  override dieAtNext(what: Fatal | undefined): void {
    this.#isFatal = what === 'enforce'
    super.dieAtNext(what)
  }

  /** The main thread takes the process with it. */
  protected override failed(fault: unknown): void {
    if (fault instanceof ThreadDied) this.parts.link.cut()
    else super.failed(fault)
  }

  async die(): Promise<void> {
    this.parts.link.giveUp()
    await this.#store.close()
  }

  end(ended: (fault?: unknown) => void): void {
    this.throwNext(undefined)
    void this.#ended().then(ended, ended)
  }

  async #ended(): Promise<void> {
    await this.#replica.close()
    await this.#store.close()
    this.parts.link.cut()
  }

  #put(id: string, text: string | undefined): void {
    if (text === undefined) this.#inForce.delete(id)
    else this.#inForce.set(id, text)
  }
}

/** How what is kept is shown. */
export function shownOf(kept: ReadonlyMap<string, string>): string {
  return JSON.stringify(keptIds.map((id) => kept.get(id) ?? null))
}
