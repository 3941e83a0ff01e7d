import type { Database, RootDatabase } from 'lmdb'
import { type Packed, packedTexts } from '../shared-memory/packed.js'
import { DiskFault, StorageFull } from '../storage-fault.js'
import type { NoticeNumber } from '../subscription/notice.js'
import type { Subscription, SubscriptionId } from '../subscription/subscription.js'
import type { ControlChange, SubscriptionStore } from '../subscription/subscription-store.js'
import type { Milliseconds } from '../time.js'
import { numberOf, storedAs } from './damage.js'
import { faultOf } from './disk-fault.js'
import { DiskRoom } from './disk-room.js'
import { openDatabase, openRoot, type WriterSettings } from './environment.js'
import { type Key, onlyPart } from './keys.js'
import { Outbox, openOutbox } from './outbox.js'

/** A change that waits for the next transaction. */
interface Waiting {
  readonly write: () => void
  readonly done: () => void
  readonly failed: (fault: unknown) => void
}

/** What the coordinator owns, in an environment of its own; it is the only writer. */
export class ControlStore implements SubscriptionStore {
  readonly #root: RootDatabase<string, Key>
  /** [id] to a subscription. */
  readonly #subscriptions: Database<string, Key>
  /** [id] to the moment when its last tick was due. */
  readonly #ticks: Database<string, Key>
  readonly #outbox: Outbox
  readonly #path: string
  readonly #disk: DiskRoom
  readonly #broken: (reason: string) => void
  #waiting: Waiting[] = []

  /** What it is given last is called when the disk has failed: the broker can not go on. */
  constructor(path: string, settings: WriterSettings, broken: (reason: string) => void) {
    this.#path = path
    this.#broken = broken
    this.#disk = new DiskRoom(path, settings.keepFree_bytes, () => 0)
    this.#root = openRoot(path, { ...settings, readOnly: false })
    this.#subscriptions = this.database('subscriptions')
    this.#ticks = this.database('ticks')
    this.#outbox = new Outbox(openOutbox(this.#root), path)
  }

  get outbox(): Outbox {
    return this.#outbox
  }

  get lastNotice(): NoticeNumber {
    return this.#outbox.last
  }

  /** A database of the environment, for others who store here. */
  database(name: string): Database<string, Key> {
    return openDatabase(this.#root, name)
  }

  packedSubscriptions(): Packed<Subscription> {
    return packedTexts(this.#subscriptions.getRange({}).map(({ value }) => value))
  }

  subscriptions(): readonly Subscription[] {
    const stored: Subscription[] = []
    for (const { key, value } of this.#subscriptions.getRange({})) {
      stored.push(storedAs('subscription', String(onlyPart(key)), () => JSON.parse(value) as Subscription))
    }
    return stored.sort((a, b) => a.order - b.order)
  }

  ticks(): ReadonlyMap<SubscriptionId, Milliseconds> {
    const ticks = new Map<SubscriptionId, Milliseconds>()
    for (const { key, value } of this.#ticks.getRange({})) {
      const id = String(onlyPart(key)) as SubscriptionId
      ticks.set(id, numberOf(value, this.#path, `the last tick of subscription ${id}`) as Milliseconds)
    }
    return ticks
  }

  commit(change: ControlChange): Promise<void> {
    const { put, notices = [], ticked } = change
    return this.transact(() => this.#write(change), put !== undefined || notices.length > 0 || ticked !== undefined)
  }

  /**
   * Writes in a transaction that what comes in the same turn of the event loop shares; resolves when it is on disk. What
   * grows fails with `StorageFull` while there is no room for that.
   */
  transact(write: () => void, grows: boolean): Promise<void> {
    return new Promise((done, failed) => {
      this.#disk.look()
      if (grows && !this.#disk.mayGrow) return failed(new StorageFull('no room for a change'))
      this.#waiting.push({ write, done, failed })
      if (this.#waiting.length === 1) setImmediate(() => this.#flush())
    })
  }

  async close(): Promise<void> {
    this.#flush()
    await this.#root.close()
  }

  #flush(): void {
    const batch = this.#waiting
    this.#waiting = []
    if (this.#transacted(batch) || batch.length === 1) return
    // What makes a transaction fail fails alone.
    for (const single of batch) this.#transacted([single])
  }

  /** Whether the batch is done with: written, or failed when it had only one member. */
  #transacted(batch: readonly Waiting[]): boolean {
    if (batch.length === 0) return true
    const last = this.#outbox.last
    try {
      this.#disk.enter()
      this.#root.transactionSync(() => {
        for (const { write } of batch) write()
      })
    } catch (fault) {
      this.#outbox.rewind(last)
      const known = faultOf(fault, this.#path)
      if (known instanceof DiskFault) this.#broken(known.message)
      if (known instanceof StorageFull) this.#disk.wasFull()
      const [single] = batch
      if (single && batch.length === 1) single.failed(known)
      return false
    }
    for (const { done } of batch) done()
    return true
  }

  #write({ put, remove, notices = [], acks = [], ticked }: ControlChange): void {
    if (put) this.#subscriptions.putSync([put.id], JSON.stringify(put))
    if (remove) {
      this.#subscriptions.removeSync([remove])
      this.#ticks.removeSync([remove])
    }
    if (ticked) this.#ticks.putSync([ticked.id], String(ticked.due))
    this.#outbox.enqueue(notices)
    this.#outbox.ack(acks)
  }
}
