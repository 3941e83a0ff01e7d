import { setTimeout as sleep } from 'node:timers/promises'
import type { SenderTable } from '../shared-memory/sender-table.js'
import type { SenderName } from './link-protocol.js'

/** How often it is looked whether an earlier connection of the same sender is over. */
const look_ms = 2

/** What the batches of one connection have in common: they are for one partition, and of one sender. */
export class ConnectionBatches {
  readonly #senders: SenderTable
  readonly #partition: number
  readonly #sender: SenderName
  /** Resolves when nothing of an earlier connection of the sender is under way. */
  readonly ready: Promise<void>
  isReady = false
  /** This node was not the owner of the partition any more: it is not for all that follows. */
  isLost = false
  /** The generation of a later connection of the sender, once one is known. */
  last: number | undefined

  constructor(senders: SenderTable, partition: number, sender: SenderName) {
    this.#senders = senders
    this.#partition = partition
    this.#sender = sender
    this.last = senders.enter(this.#key, sender.generation)
    this.ready = this.#quiet()
  }

  isOf(partition: number, { slot, frontEnd, generation }: SenderName): boolean {
    const sender = this.#sender
    return (
      partition === this.#partition &&
      slot === sender.slot &&
      frontEnd === sender.frontEnd &&
      generation === sender.generation
    )
  }

  /** Whether a batch may be put into its mailbox, after which `end` is to be called. */
  begin(): boolean {
    if (this.last !== undefined) return false
    if (this.#senders.begin(this.#key, this.#sender.generation)) return true
    this.last = this.#senders.enter(this.#key, this.#sender.generation)
    return false
  }

  end(): void {
    this.#senders.end(this.#key)
  }

  get #key() {
    return { slot: this.#sender.slot, frontEnd: this.#sender.frontEnd, partition: this.#partition }
  }

  /** Those who wait for it go on in the order in which they came. */
  async #quiet(): Promise<void> {
    while (this.last === undefined && !this.#senders.isQuiet(this.#key)) await sleep(look_ms)
    this.isReady = true
  }
}
