import { setImmediate as nextTick } from 'node:timers/promises'
import type { Database } from 'lmdb'
import { DiskFault, faultText, LogFenced, LogGivenUp, StorageFull } from '../../faults.js'
import { InTurn } from '../../in-turn.js'
import type { AvailabilitySubscription, RegistryChange } from '../../model/registration/availability.js'
import type { Registration } from '../../model/registration/registration.js'
import type { Notice, NoticeAck } from '../../model/subscription/notice.js'
import type { Subscription, SubscriptionId } from '../../model/subscription/subscription.js'
import type { Log } from '../../observe/log/log.js'
import { type Packed, packedTexts } from '../../threads/shared-memory/packed.js'
import type { Milliseconds } from '../../time.js'
import { Checkpoints } from '../environment/checkpoint.js'
import { openDatabase, orClose, type WriterSettings } from '../environment/environment.js'
import type { LoggedParts } from '../environment/logged-environment.js'
import { storedAs, storedNumber } from '../records/damage.js'
import { type Key, onlyPart } from '../records/keys.js'
import {
  decodeMetadataRecord,
  encodeMetadataRecord,
  type MetadataDatabase,
  type MetadataRecord,
  type MetadataWrite,
} from '../records/metadata-record.js'
import { noticeWrite } from '../records/notice-write.js'
import type { LogRecord, LogSequence } from '../wal/record-log.js'
import { LoggedStore } from './logged-store.js'
import { decodeAvailability, decodeRegistration, registryWrites } from './metadata-registry.js'
import { Outbox, openOutbox } from './outbox.js'

/** One transaction of the coordinator; absent members stay as they are. */
export interface MetadataChange {
  readonly put?: Subscription
  readonly remove?: SubscriptionId
  /** Notices that no single change of an entity has caused. */
  readonly notices?: readonly Notice[]
  readonly acks?: readonly NoticeAck[]
  /** Whether it withdraws a change: that is written even when the store is full. */
  readonly withdraws?: boolean
  /** The moment up to which ticks of a subscription have been made. */
  readonly ticked?: { readonly id: SubscriptionId; readonly due: Milliseconds }
}

/** A change that waits for the next record of the log. */
interface Waiting {
  readonly change: MetadataRecord
  readonly grows: boolean
  readonly done: () => void
  readonly failed: (fault: unknown) => void
}

/** The ownership of the store's log in a cluster. */
interface MetadataOwnership {
  /** Whether changes are taken here. */
  isOwner(): boolean
  /** Called when a change of this node is in the log and about to be applied. */
  logged(): void
  /** Called when a change of any node is applied; resolves when it is in force on this node. */
  applied(change: Required<MetadataRecord>): Promise<void>
  /** Called when another node owns the log. */
  fenced(): void
}

/** The databases of the coordinator's environment. */
function heldIn({ root }: Checkpoints, path: string) {
  const databases = {
    subscriptions: openDatabase(root, 'subscriptions'),
    ticks: openDatabase(root, 'ticks'),
    registrations: openDatabase(root, 'registrations'),
    availability: openDatabase(root, 'availability'),
  }
  return { databases, outbox: new Outbox(openOutbox(root), path) }
}

/** The metadata store: the coordinator's data in an environment of its own, of which this is the only writer. */
export class MetadataStore extends LoggedStore<Required<MetadataRecord>> {
  /** [id] to its record; of `ticks` the moment when the last one of a subscription was due. */
  readonly #databases: Readonly<Record<MetadataDatabase, Database<string, Key>>>
  readonly #broken: (reason: string) => void
  /**
   * Bounded by those who wait: one change of each request with a permit, of each subscription that ticks or is disabled, and one batch
   * of acks.
   */
  #waiting: Waiting[] = []
  /** The queue of writes. */
  readonly #turns = new InTurn()
  #ownership: MetadataOwnership | undefined

  /** `broken` is called when the disk has failed, so that the broker cannot continue. In a cluster `openLog` opens its log. */
  constructor(
    path: string,
    settings: WriterSettings,
    broken: (reason: string) => void,
    log?: Log,
    openLog?: LoggedParts['openLog'],
    writing?: LoggedParts['writing'],
  ) {
    const checkpoints = Checkpoints.open(path, settings)
    const { databases, outbox } = orClose(
      () => heldIn(checkpoints, path),
      () => checkpoints.abandon(),
    )
    const { facts } = outbox.databases
    const failed = (fault: unknown): void => broken(faultText(fault))
    const logged = { path, checkpoints, facts, durable: settings.durable, log, failed, openLog, writing }
    super(logged, outbox, settings, () => 0)
    this.#broken = broken
    this.#databases = databases
    this.recover()
  }

  /** The text that is stored under an id. */
  text(database: MetadataDatabase, id: string): string | undefined {
    return this.#databases[database].get([id])
  }

  /** All stored subscriptions in their stored form, to send to threads; in no particular order. */
  packedSubscriptions(): Packed<Subscription> {
    return packedTexts(this.#databases.subscriptions.getRange({}).map(({ value }) => value))
  }

  /** All stored subscriptions, in the order of creation; throws with the name of the first one that cannot be read. */
  subscriptions(): readonly Subscription[] {
    const all = [...this.#all('subscriptions', 'subscription', (_, text) => JSON.parse(text) as Subscription)]
    return all.sort((a, b) => a.order - b.order)
  }

  /** When the last tick of each subscription that has ticked was due. */
  ticks(): ReadonlyMap<SubscriptionId, Milliseconds> {
    const ticks = new Map<SubscriptionId, Milliseconds>()
    for (const { key, value } of this.#databases.ticks.getRange({})) {
      const id = String(onlyPart(key)) as SubscriptionId
      ticks.set(id, storedNumber(value, this.path, `the last tick of subscription ${id}`) as Milliseconds)
    }
    return ticks
  }

  /** All stored registrations, expired ones included, in no particular order. */
  registrations(): Iterable<Registration> {
    return this.#all('registrations', 'registration', decodeRegistration)
  }

  /** All stored availability subscriptions, expired ones included, in no particular order. */
  availability(): Iterable<AvailabilitySubscription> {
    return this.#all('availability', 'availability subscription', decodeAvailability)
  }

  *#all<Id extends string, Thing>(
    database: MetadataDatabase,
    kind: string,
    decode: (id: Id, text: string) => Thing,
  ): Generator<Thing> {
    for (const { key, value } of this.#databases[database].getRange({})) {
      const id = String(onlyPart(key)) as Id
      yield storedAs(kind, id, () => decode(id, value))
    }
  }

  /** Resolves when the change is durable; rejects with `StorageFull` when there is no room for it. */
  commit({ put, remove, notices = [], acks = [], ticked, withdraws = false }: MetadataChange): Promise<void> {
    const writes: MetadataWrite[] = []
    if (put) writes.push({ database: 'subscriptions', id: put.id, text: JSON.stringify(put) })
    if (remove) {
      writes.push({ database: 'subscriptions', id: remove, text: undefined })
      writes.push({ database: 'ticks', id: remove, text: undefined })
    }
    if (ticked) writes.push({ database: 'ticks', id: ticked.id, text: String(ticked.due) })
    const grows = (put !== undefined && !withdraws) || notices.length > 0 || ticked !== undefined
    return this.transact({ writes, notices: notices.map(noticeWrite), acks }, grows)
  }

  /** Resolves when the change is durable; rejects with `StorageFull` when there is no room for it. */
  commitRegistry(change: RegistryChange): Promise<void> {
    const { registrations = [], put, notices = [] } = change
    const grows = put !== undefined || notices.length > 0 || registrations.some(({ kind }) => kind !== 'remove')
    return this.transact({ writes: registryWrites(change), notices: notices.map(noticeWrite) }, grows)
  }

  /**
   * Writes a change, in one record of the log with the changes that arrive while the previous record is written. Resolves when it is
   * on disk and, in a cluster, in force on this node; the thread does not block. A change that grows the store fails with
   * `StorageFull` while there is no room for it.
   */
  transact(change: MetadataRecord, grows: boolean): Promise<void> {
    return new Promise((done, failed) => {
      this.disk.lookIfDue()
      if (grows && !this.disk.mayGrow) return failed(new StorageFull('no room for a change'))
      this.#waiting.push({ change, grows, done, failed })
      if (this.#waiting.length === 1) void this.inTurn(() => this.#writeWaiting())
    })
  }

  /** The store is one of a cluster's nodes: changes fail with `LogFenced` while this node does not own the log. */
  share(ownership: MetadataOwnership): void {
    this.#ownership = ownership
  }

  override follow(records: readonly LogRecord[], last: LogSequence): readonly Required<MetadataRecord>[] {
    const changes = super.follow(records, last)
    for (const change of changes) void this.#ownership?.applied(change)
    return changes
  }

  /** Works with the log after the writes in progress and before any others. */
  inTurn<Done>(work: () => Promise<Done>): Promise<Done> {
    return this.#turns.run(work)
  }

  override async close(): Promise<void> {
    await this.#turns.ended()
    await super.close()
  }

  /** Writes the waiting changes: those of the same turn of the event loop share a record. */
  async #writeWaiting(): Promise<void> {
    await nextTick()
    while (this.#waiting.length > 0) {
      const batch = this.#waiting
      this.#waiting = []
      const fault = await this.#written(batch)
      if (fault === undefined) continue
      // What makes a record fail fails alone, unless the record may stand.
      if (batch.length === 1 || fault instanceof LogGivenUp || fault instanceof DiskFault) {
        for (const { failed } of batch) failed(fault)
      } else for (const single of batch) await this.#writeAlone(single)
    }
  }

  /** Writes one change; one that grows is refused when the space is needed for removals. */
  async #writeAlone(single: Waiting): Promise<void> {
    const isFull = single.grows && !this.disk.mayGrow
    const fault = isFull ? new StorageFull('no room for a change') : await this.#written([single])
    if (fault !== undefined) single.failed(fault)
  }

  /** Writes a batch; returns why it failed, or undefined. */
  async #written(batch: readonly Waiting[]): Promise<unknown> {
    let inForce: Promise<void> | undefined
    try {
      inForce = (await this.#log(batch.map(({ change }) => change)))?.inForce
    } catch (fault) {
      if (fault instanceof DiskFault) this.#broken(fault.message)
      return fault
    }
    for (const { change, done } of batch) {
      // An ack brings nothing into force, and what comes into force may wait for one.
      if (inForce === undefined || (change.writes ?? []).length === 0) done()
      else void inForce.then(done)
    }
    return undefined
  }

  /** Appends changes to the log and applies them. When it throws, nothing of them stays, unless the disk has failed. */
  async #log(changes: readonly MetadataRecord[]): Promise<{ readonly inForce: Promise<void> } | undefined> {
    if (this.#ownership?.isOwner() === false) throw new LogFenced('another node coordinates the cluster')
    const bytes = encodeMetadataRecord(changes)
    this.disk.enterAtOnce({ bytes: bytes.length, changes: changes.length })
    const appended = await this.wal.append(this.wal.last, bytes)
    if (!appended.ok && appended.error.kind === 'fenced') this.#ownership?.fenced()
    const change = this.decode(bytes)
    this.applyOwn(appended, change, () => this.#ownership?.logged())
    return this.#ownership && { inForce: this.#ownership.applied(change) }
  }

  protected override decode(bytes: Uint8Array): Required<MetadataRecord> {
    return decodeMetadataRecord(bytes)
  }

  protected override write({ writes, notices, acks }: Required<MetadataRecord>): void {
    for (const { database, id, text } of writes) {
      if (text === undefined) this.#databases[database].removeSync([id])
      else this.#databases[database].putSync([id], text)
    }
    this.outbox.enqueue(notices)
    this.outbox.ack(acks)
  }
}
