import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import type { DamageLog } from '../log/damage-log.js'
import { errorFacts, type Log } from '../log/log.js'
import type { StorageMeter, WaitMeter } from '../measure/waits.js'
import { decodeCommands, encodeReplies } from '../partition/encoding.js'
import type { Command, Reply } from '../partition/message.js'
import { DamagedRecord, DiskFault, StorageFull } from '../partition/store.js'
import { commitTurn, publishTurn, type TurnParts, type TurnWatch } from '../partition/turn.js'
import type { Bell } from '../shared-memory/bell.js'
import type { NoticeNumber } from '../subscription/notice.js'
import type { SubscriptionId, SubscriptionInForce } from '../subscription/subscription.js'
import { secondsText } from '../time.js'
import { traceArea } from '../trace-area.js'
import type { Batch, BatchReply } from './batch.js'

export interface InboxParts extends TurnParts {
  /** Rung when there are new notices on disk. */
  readonly bell: Bell
  readonly storage: StorageMeter
  readonly mailboxWait: WaitMeter
  readonly transactionWait: WaitMeter
  readonly log: Log
  readonly damages: DamageLog
}

/** A batch that has arrived, and how far it is answered. */
interface Arrived {
  readonly port: MessagePort
  readonly batch: Batch
  readonly commands: readonly Command[]
  /** To the first of its commands: a turn may end in the middle of a batch, which is answered as a whole. */
  readonly replies: Reply[]
}

/**
 * A turn takes no more commands when it has decided for so long. What it has decided is still to be written and to be
 * committed, which takes about as long again.
 */
const turn_ms = 10
/** Nor are more commands than this looked at for one turn. */
const turnMost = 4096

/**
 * The partition's side of its mailboxes, one per front end: takes what has arrived into one turn, and answers when the
 * turn is on disk. What is too much for one turn is left for the next one, and the ports are looked at in between.
 */
export class Inbox {
  readonly #parts: InboxParts
  readonly #ports = new Set<MessagePort>()
  /** In the order of arrival. Only the first one may be answered in part. */
  #queue: Arrived[] = []
  #goingOn = false
  /** Whether the disk was full when it was last needed; the first time is logged. */
  #isFull = false
  #lastTurnEnd = 0n
  /** What came after a commit has failed: what this thread holds in memory is of no use any more. */
  #broken: { readonly fault: unknown } | undefined

  constructor(parts: InboxParts) {
    this.#parts = parts
  }

  /** Takes batches from one more front end. */
  connect(port: MessagePort): void {
    this.#ports.add(port)
    port.on('message', (batch: Batch) => this.#take(port, batch))
    port.once('close', () => this.#ports.delete(port))
  }

  /** From the next turn on the subscription is in force; gives the last notice that was made before. */
  subscribe(inForce: SubscriptionInForce): NoticeNumber {
    this.#parts.matcher.put(inForce)
    return this.#parts.store.lastNotice
  }

  /** From the next turn on the subscription makes no notices; gives the last one that was made before. */
  unsubscribe(id: SubscriptionId): NoticeNumber {
    this.#parts.matcher.remove(id)
    return this.#parts.store.lastNotice
  }

  /** Answers what has arrived and hangs up; front ends were told to send nothing more. */
  close(): void {
    this.#collect()
    while (this.#queue.length > 0) this.#turn()
    for (const port of this.#ports) port.close()
  }

  #take(port: MessagePort, batch: Batch): void {
    this.#enter(port, batch)
    // While there is something left from the last turn, what arrives stands behind it.
    if (!this.#goingOn) this.#takeTurn()
  }

  #takeTurn(): void {
    this.#collect()
    if (this.#queue.length > 0) this.#turn()
    if (this.#queue.length === 0 || this.#goingOn) return
    this.#goingOn = true
    setImmediate(() => {
      this.#goingOn = false
      this.#takeTurn()
    })
  }

  #collect(): void {
    for (const port of this.#ports) {
      for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port))
        this.#enter(port, next.message)
    }
  }

  #enter(port: MessagePort, batch: Batch): void {
    this.#queue.push({ port, batch, commands: decodeCommands(batch.commands), replies: [] })
  }

  #turn(): void {
    const taken = process.hrtime.bigint()
    const begun_ms = performance.now()
    const batch = this.#batch()
    let opened = 0n
    let written = taken
    const watch = {
      opened: () => {
        if (opened !== 0n) return // The batch is being taken one by one, after it failed as a whole.
        opened = process.hrtime.bigint()
        this.#parts.storage.writing(true)
      },
      written: () => {
        written = process.hrtime.bigint()
      },
      // Asked after each command, for which the other clock is too slow.
      isLong: () => performance.now() - begun_ms > turn_ms,
    }
    const { log } = this.#parts
    if (log.traces[traceArea['service.take']] === 1) {
      const batches = this.#queue.length
      log.trace('service.take', `${batch.length} commands taken`, { commands: batch.length, batches })
    }
    const { store, bell } = this.#parts
    const lastNotice = store.lastNotice
    const replies = this.#replies(batch, watch)
    this.#afterCommit(() => {
      this.#measure(replies.length, taken, opened)
      this.#lastTurnEnd = process.hrtime.bigint()
      this.#traceTurn(replies.length, opened, written)
      // Whoever hears it looks for the notices in a snapshot, which is new because the commit was counted.
      if (store.lastNotice !== lastNotice) bell.ring()
      this.#parts.storage.committed(replies.length, this.#lastTurnEnd - written)
    })
    this.#parts.storage.writing(false)
    this.#answer(replies, Number(written - opened), Number(this.#lastTurnEnd - written))
    // The thread ends of it, and is replaced by one that reads everything from disk.
    if (this.#broken) throw this.#broken.fault
  }

  /** The commands that are next. */
  #batch(): readonly Command[] {
    const [first] = this.#queue
    if (first && this.#queue.length === 1 && first.replies.length === 0) return first.commands
    const batch: Command[] = []
    for (const { commands, replies } of this.#queue) {
      if (batch.length >= turnMost) break
      for (const command of replies.length === 0 ? commands : commands.slice(replies.length)) batch.push(command)
    }
    return batch
  }

  #traceTurn(commands: number, opened: bigint, written: bigint): void {
    const { log } = this.#parts
    if (log.traces[traceArea['storage.txn']] === 1) {
      const open_ns = String(this.#lastTurnEnd - opened)
      log.trace('storage.txn', `write transaction of ${commands} commands`, { commands, open_ns })
    }
    if (log.traces[traceArea['storage.commit']] === 1) {
      const commit_ns = String(this.#lastTurnEnd - written)
      log.trace('storage.commit', `commit and sync took ${secondsText(this.#lastTurnEnd - written)} s`, { commit_ns })
    }
  }

  /** Faults are logged once, here where they are caught. */
  #fault(fault: unknown, what = 'a turn failed and was not written'): void {
    if (fault instanceof DamagedRecord) this.#parts.damages.met(fault)
    else this.#parts.log.error('partition:turn', what, errorFacts(fault))
  }

  #full(isFull: boolean): void {
    this.#isFull = isFull
    this.#parts.storage.full(isFull)
  }

  /**
   * The replies to the commands at the beginning of the batch that one turn has taken. A command that makes its turn fail
   * fails alone: the others are taken one by one.
   */
  #replies(batch: readonly Command[], watch: TurnWatch, again = false): readonly Reply[] {
    let replies: readonly Reply[]
    try {
      replies = commitTurn(this.#parts, batch, watch)
    } catch (fault) {
      return this.#failed(batch, fault, watch, again)
    }
    this.#afterCommit(() => {
      publishTurn(this.#parts)
      this.#full(this.#parts.store.isFull)
    })
    return replies
  }

  /** Nothing of the batch was written. */
  #failed(batch: readonly Command[], fault: unknown, watch: TurnWatch, again: boolean): readonly Reply[] {
    if (fault instanceof DiskFault) {
      this.#broken ??= { fault }
      return [] // They are answered as those of every thread that has died.
    }
    if (fault instanceof StorageFull) {
      if (!this.#isFull) this.#fault(fault)
      this.#full(true)
      // The store refuses growth from now on for a while: what removes something is not held up by the rest.
      if (!again) return this.#replies(batch, watch, true)
      return batch.map(() => ({ kind: 'failed', why: 'storageFull' }))
    }
    const [single] = batch
    if (single && batch.length === 1) {
      this.#fault(fault)
      return [{ kind: 'failed', why: 'fault' }]
    }
    const replies: Reply[] = []
    for (const command of batch) {
      replies.push(...this.#replies([command], watch, again))
      if (this.#broken || watch.isLong()) break
    }
    return replies
  }

  /**
   * Does what follows a commit. When that fails, what was committed stays so: it is answered as done and never carried
   * out again. Readers are told to doubt everything, since nobody knows how much they were told.
   */
  #afterCommit(follow: () => void): void {
    try {
      follow()
    } catch (fault) {
      this.#broken ??= { fault }
      this.#fault(fault, 'a turn was written, but what follows it failed: the thread of the partition ends')
      this.#parts.versions.doubtAll()
      this.#parts.bell.ring()
    }
  }

  /** Hands the replies to the batches at the head of the queue, and sends back those that are answered as a whole. */
  #answer(replies: readonly Reply[], decided_ns: number, committed_ns: number): void {
    let at = 0
    let answered = 0
    for (const { port, commands, replies: own } of this.#queue) {
      const open = commands.length - own.length
      for (const reply of replies.slice(at, at + open)) own.push(reply)
      at += open
      if (own.length < commands.length) break
      const batchReply: BatchReply = { replies: encodeReplies(own), decided_ns, committed_ns }
      port.postMessage(batchReply)
      answered += 1
    }
    if (answered === this.#queue.length) this.#queue = []
    else this.#queue.splice(0, answered)
  }

  /**
   * Every command waited in the mailbox from its entry until it was taken. It waited for the write transaction only if
   * the turn before was still under way when it entered [management 5.3, 5.4].
   */
  #measure(count: number, taken: bigint, opened: bigint): void {
    let left = count
    for (const { batch, commands, replies } of this.#queue) {
      if (left <= 0) return
      const from = replies.length
      const to = Math.min(commands.length, from + left)
      left -= to - from
      if (batch.entered === undefined) continue
      for (let index = from; index < to; index += 1) {
        this.#measureOne(batch.entered[index] ?? 0n, commands[index]?.kind === 'ping', taken, opened)
      }
    }
  }

  #measureOne(entered: bigint, isPing: boolean, taken: bigint, opened: bigint): void {
    const { mailboxWait, transactionWait } = this.#parts
    if (entered === 0n) return
    this.#waited(mailboxWait, 'wait.mailbox', taken - entered)
    if (isPing) return
    if (entered < this.#lastTurnEnd) this.#waited(transactionWait, 'wait.transaction', opened - entered)
    else if (transactionWait.on) transactionWait.free()
  }

  /** Waits are traced also while their statistics are off [management 2.5]. */
  #waited(meter: WaitMeter, area: 'wait.mailbox' | 'wait.transaction', wait: bigint): void {
    if (meter.on) meter.waited(wait)
    const { log } = this.#parts
    if (log.traces[traceArea[area]] === 1) log.trace(area, `waited ${secondsText(wait)} s`, { wait_ns: String(wait) })
  }
}
