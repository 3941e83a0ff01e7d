import type { MessagePort } from 'node:worker_threads'
import type { Outcome } from '../outcome.js'
import { granted, refused } from '../outcome.js'
import { decodeReplies, encodeCommands } from '../partition/encoding.js'
import type { Command, Reply } from '../partition/message.js'
import type { Letter, Receipt } from './letter.js'

/** A reply with what its turn cost. */
export interface Posted {
  readonly reply: Reply
  readonly decided_ns: number
  readonly committed_ns: number
}

export type MailRefusal =
  /** As many commands wait as may; nothing was put in. */
  | { readonly kind: 'mailboxFull' }
  /** The partition's thread died; whether the command was carried out is not known. */
  | { readonly kind: 'partitionLost' }

export interface MailboxSettings {
  /** Commands that may be in the mailbox, under way ones included. */
  readonly limit: number
  /** Whether waits are measured now, so that the time of entry has to be taken. */
  readonly measured: () => boolean
  /** Hears how many commands are in the mailbox, whenever that changes. */
  readonly depth: (commands: number) => void
}

interface Waiting {
  readonly command: Command
  readonly entered: bigint
  readonly settle: (outcome: Outcome<Posted, MailRefusal>) => void
}

/**
 * A letter leaves when it has so many commands, or when the event loop has taken in everything that had arrived: early
 * enough that the partition works while the front end still reads, late enough that a message costs little per command.
 */
const letterSize = 16

/** Letters that may be under way; beyond that commands gather, so that load makes letters larger instead of waits longer. */
const lettersUnderWay = 8

/**
 * A front end's side of the queue before a partition: ordered and bounded. Several letters may be under way; the
 * partition takes all that have arrived into one turn.
 */
export class Mailbox {
  readonly #settings: MailboxSettings
  #port: MessagePort | undefined
  #gathering: Waiting[] = []
  /** In the order in which they were sent, which is that of the receipts. */
  #underWay: (readonly Waiting[])[] = []
  #count = 0
  #sendingSoon = false
  #whenEmpty: (() => void)[] = []
  #whenConnected: (() => void)[] = []

  constructor(settings: MailboxSettings) {
    this.#settings = settings
  }

  /** Connects the mailbox with its partition's thread, the first one or one that replaces it. */
  connect(port: MessagePort): void {
    this.#port = port
    port.on('message', (receipt: Receipt) => this.#settleBatch(receipt))
    port.once('close', () => this.#lost(port))
    for (const resolve of this.#whenConnected.splice(0)) resolve()
  }

  /** Resolves when there is a thread to send to. */
  connected(): Promise<void> {
    return this.#port ? Promise.resolve() : new Promise((resolve) => this.#whenConnected.push(resolve))
  }

  /** Puts a command in and gives the partition's reply once it is on disk. Refuses when full or without a partition. */
  ask(command: Command): Promise<Outcome<Posted, MailRefusal>> {
    if (!this.#port) return Promise.resolve(refused({ kind: 'partitionLost' }))
    if (this.#count >= this.#settings.limit) return Promise.resolve(refused({ kind: 'mailboxFull' }))
    const entered = this.#settings.measured() ? process.hrtime.bigint() : 0n
    return new Promise((settle) => {
      this.#gathering.push({ command, entered, settle })
      this.#changed(1)
      if (this.#gathering.length >= letterSize) this.#send()
      else this.#sendSoon()
    })
  }

  /** Resolves when nothing waits and nothing is under way. */
  empty(): Promise<void> {
    if (this.#count === 0) return Promise.resolve()
    return new Promise((resolve) => this.#whenEmpty.push(resolve))
  }

  close(): void {
    this.#port?.close()
  }

  #sendSoon(): void {
    if (this.#sendingSoon) return
    this.#sendingSoon = true
    setImmediate(() => {
      this.#sendingSoon = false
      this.#send()
    })
  }

  #send(): void {
    if (!this.#port || this.#gathering.length === 0 || this.#underWay.length >= lettersUnderWay) return
    const batch = this.#gathering
    this.#gathering = []
    this.#underWay.push(batch)
    const commands = encodeCommands(batch.map(({ command }) => command))
    const measured = batch.some(({ entered }) => entered !== 0n)
    const letter: Letter = measured
      ? { commands, entered: BigUint64Array.from(batch, ({ entered }) => entered) }
      : { commands }
    this.#port.postMessage(letter)
  }

  #settleBatch({ replies, decided_ns, committed_ns }: Receipt): void {
    const batch = this.#underWay.shift() ?? []
    for (const [index, reply] of decodeReplies(replies).entries()) {
      batch[index]?.settle(granted({ reply, decided_ns, committed_ns }))
    }
    this.#changed(-batch.length)
    this.#send()
  }

  /** Everything that was in the mailbox gets an honest answer: it may or may not have been done. */
  #lost(port: MessagePort): void {
    if (this.#port !== port) return
    this.#port = undefined
    const open = [...this.#underWay.flat(), ...this.#gathering]
    this.#underWay = []
    this.#gathering = []
    for (const { settle } of open) settle(refused({ kind: 'partitionLost' }))
    this.#changed(-open.length)
  }

  #changed(by: number): void {
    this.#count += by
    this.#settings.depth(this.#count)
    if (this.#count > 0) return
    for (const resolve of this.#whenEmpty.splice(0)) resolve()
  }
}
