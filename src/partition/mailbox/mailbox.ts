import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import { err, ok, type Result } from '../../result.js'
import { onMessages } from '../../threads/calls/messages.js'
import type { FencingToken } from '../../threads/shared-memory/partition-position.js'
import type { Command } from '../turn/commands.js'
import { decodeReplies, encodeCommands } from '../turn/encoding.js'
import type { Batch, BatchReply, LostBatch, Posted } from './batch.js'
import { BoundedMailbox, type BoundedMailboxSettings } from './bounded-mailbox.js'

export interface MailboxSettings extends BoundedMailboxSettings {
  /** Whether waits are measured now, so that the time of entry is needed. */
  readonly measured: () => boolean
  /**
   * After this long without a reply, callers are told that the outcome is unknown. For clusters, where a turn may take very long:
   * its log waits for etcd.
   */
  readonly patience_ms?: number | undefined
}

interface Waiting {
  readonly command: Command
  readonly entered: bigint
  /** When the caller stops waiting, by `performance.now()`; infinite without a limit. */
  readonly until_ms: number
  readonly fencingToken: FencingToken | undefined
  /** Called when the partition has deferred the command. */
  readonly deferred: (() => void) | undefined
  readonly resolve: (result: Result<Posted, LostBatch>) => void
  readonly fail: (fault: unknown) => void
}

interface Sent {
  readonly number: number
  /** By their positions in the batch; undefined in the place of one that is resolved. */
  readonly commands: (Waiting | undefined)[]
  /** The number of commands without a reply, whether a caller waits for them or not. */
  open: number
  /** No reply has come yet. */
  isNew: boolean
}

/**
 * A batch is sent when it has this many commands, or when the event loop has read everything that had arrived: early enough that
 * the partition works while the front end still reads, late enough that a message costs little per command.
 */
const sendSize = 16

/**
 * The most batches without a reply; beyond that commands gather, so that load makes batches larger instead of waits longer.
 * Batches with only deferred commands left do not count.
 */
const batchesUnderWay = 8

/** Commands go into one batch only if their callers stop waiting at about the same time: within this share of the patience. */
export const untilShare = 0.1

/** The most commands in a batch: encoding them takes the front end about 2 ms. */
const maxBatch = 512

/**
 * A front end's side of the queue before a partition: ordered and bounded. Several batches may be under way; the partition takes
 * all that have arrived into one turn.
 */
export class Mailbox extends BoundedMailbox {
  readonly #settings: MailboxSettings
  #port: MessagePort | undefined
  #gathering: Waiting[] = []
  /** In the order of sending. An array, because objects that pass through a long-lived map outlive the young generation. */
  #underWay: Sent[] = []
  /** The number of batches without any reply. */
  #new = 0
  #batches = 0
  #whenConnected: (() => void)[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(settings: MailboxSettings) {
    super(settings)
    this.#settings = settings
    const { patience_ms } = settings
    if (patience_ms === undefined) return
    // Replies that came while this thread stood still are taken in first.
    this.#timer = setInterval(() => setImmediate(() => this.#giveUpLate()), patience_ms / 10)
    this.#timer.unref()
  }

  /**
   * Connects the mailbox with its partition's thread, the first one or a replacement. Commands that were under way to the
   * predecessor are resolved first, whether or not its end was noticed; unsent ones go to the new thread.
   */
  connect(port: MessagePort): void {
    if (this.#port) this.#leave(this.#port)
    this.#port = port
    onMessages(
      port,
      (batchReply: BatchReply) => {
        if (this.#port === port) this.#resolveBatch(batchReply)
      },
      () => {
        if (this.#port === port) this.#unread()
      },
    )
    port.once('close', () => this.#lost(port))
    for (const resolve of this.#whenConnected.splice(0)) resolve()
    if (this.#gathering.length > 0) this.sendSoon()
  }

  /** Resolves when there is a thread to send to. */
  connected(): Promise<void> {
    return this.#port ? Promise.resolve() : new Promise((resolve) => this.#whenConnected.push(resolve))
  }

  /**
   * Puts in a command with reserved room; resolves with the partition's reply once it is durable.
   *
   * @param until_ms when the caller stops waiting, by `performance.now()`, if that is before the mailbox's own limit
   * @param fencingToken the only one in which the partition may carry it out; absent: any
   * @param deferred called when the partition has deferred the command, see `BatchReply`: its reply comes some turns later
   */
  put(
    command: Command,
    until_ms = Number.POSITIVE_INFINITY,
    fencingToken?: FencingToken,
    deferred?: () => void,
  ): Promise<Result<Posted, LostBatch>> {
    if (!this.#port) {
      this.release(1)
      return Promise.resolve(err({ kind: 'partitionLost' }))
    }
    const entered = this.#settings.measured() ? process.hrtime.bigint() : 0n
    const { patience_ms } = this.#settings
    const ownUntil_ms = patience_ms === undefined ? until_ms : Math.min(until_ms, performance.now() + patience_ms)
    return new Promise((resolve, fail) => {
      this.#gathering.push({ command, entered, until_ms: ownUntil_ms, fencingToken, deferred, resolve, fail })
      if (this.#gathering.length >= sendSize) this.send()
      else this.sendSoon()
    })
  }

  catchUp(): void {
    const port = this.#port
    if (port === undefined) return
    for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port))
      this.#resolveBatch(next.message)
    this.send()
  }

  protected get isOpen(): boolean {
    return this.#port !== undefined
  }

  close(): void {
    clearInterval(this.#timer)
    this.#port?.close()
  }

  protected send(): void {
    while (this.#port && this.#gathering.length > 0 && this.#new < batchesUnderWay) {
      const waiting = this.#nextCommands()
      const batch = this.#batchOf(waiting)
      if (batch === undefined) continue
      this.#underWay.push({ number: batch.number, commands: waiting, open: waiting.length, isNew: true })
      this.#new += 1
      this.#port.postMessage(batch)
    }
  }

  #nextCommands(): Waiting[] {
    const most = this.#alikeMost()
    if (this.#gathering.length > most) return this.#gathering.splice(0, most)
    const batch = this.#gathering
    this.#gathering = []
    return batch
  }

  /**
   * How many gathered commands fit into one batch: their callers wait until about the same moment, and their fencing token is the same.
   */
  #alikeMost(): number {
    const { patience_ms } = this.#settings
    const [first] = this.#gathering
    if (patience_ms === undefined || first === undefined) return maxBatch
    const most = Math.min(maxBatch, this.#gathering.length)
    for (let alike = 1; alike < most; alike += 1) {
      const { until_ms, fencingToken } = this.#gathering[alike] ?? first
      if (Math.abs(until_ms - first.until_ms) > untilShare * patience_ms) return alike
      if (!isSameToken(fencingToken, first.fencingToken)) return alike
    }
    return most
  }

  /** Undefined when the batch cannot be encoded: then its requests fail, and no others. */
  #batchOf(batch: readonly Waiting[]): Batch | undefined {
    try {
      const commands = encodeCommands(batch.map(({ command }) => command))
      const measured = batch.some(({ entered }) => entered !== 0n)
      this.#batches += 1
      const number = this.#batches
      const timed = measured
        ? { number, commands, entered: BigUint64Array.from(batch, ({ entered }) => entered) }
        : { number, commands }
      if (this.#timer === undefined) return timed
      const fencingToken = batch[0]?.fencingToken
      return { ...timed, until: monotonic(untilOf(batch)), ...(fencingToken && { fencingToken }) }
    } catch (fault) {
      for (const { fail } of batch) fail(fault)
      this.release(batch.length)
      return undefined
    }
  }

  #resolveBatch(turn: BatchReply): void {
    const index = this.#underWay.findIndex(({ number }) => number === turn.batch)
    const sent = this.#underWay[index]
    if (sent === undefined) return
    const replies = decodeReplies(turn.replies)
    const { at: positions } = turn
    let resolved = 0
    for (const [index, reply] of replies.entries()) {
      const at = positions === undefined ? index : (positions[index] ?? -1)
      const waiting = sent.commands[at]
      if (waiting === undefined) continue
      sent.commands[at] = undefined
      resolved += 1
      waiting.resolve(ok({ reply, turn, entered: waiting.entered }))
    }
    sent.open -= replies.length
    if (sent.isNew) this.#answeredFirst(sent)
    if (sent.open === 0) this.#underWay.splice(index, 1)
    this.release(resolved)
    this.send()
  }

  #answeredFirst(sent: Sent): void {
    this.#new -= 1
    sent.isNew = false
    if (sent.open > 0) for (const waiting of sent.commands) waiting?.deferred?.()
  }

  /** A batch reply cannot be read, so its batch is unknown. */
  #unread(): void {
    this.#giveUpSent()
    this.send()
  }

  /** Stops waiting for the replies to what is under way. */
  #giveUpSent(): void {
    const sent = this.#underWay
    this.#underWay = []
    this.#new = 0
    this.#giveUp(sent.flatMap(openOf), 'outcomeUnknown')
  }

  /** Takes in the replies on a port that is being replaced; other commands under way have an unknown outcome. */
  #leave(port: MessagePort): void {
    this.#port = undefined
    for (let left = receiveMessageOnPort(port); left; left = receiveMessageOnPort(port))
      this.#resolveBatch(left.message)
    port.close()
    this.#giveUpSent()
  }

  /**
   * The thread is gone: sent commands have an unknown outcome, unsent ones were not carried out. All batch replies have been
   * received by now; the port must not be read any more, since Node crashes when a closed port is read.
   */
  #lost(port: MessagePort): void {
    if (this.#port !== port) return
    this.#port = undefined
    this.#giveUpSent()
    this.#giveUp(this.#gathering.splice(0), 'partitionLost')
  }

  /**
   * Resolves the commands whose callers stop waiting. A batch that is given up still counts as under way until its replies come:
   * nothing more is sent to a partition that stands still.
   */
  #giveUpLate(): void {
    const now_ms = performance.now()
    for (const sent of this.#underWay) {
      const open = openOf(sent)
      if (untilOf(open) > now_ms) continue
      sent.commands.fill(undefined)
      this.#giveUp(open, 'outcomeUnknown')
    }
    const gathering = this.#gathering
    this.#gathering = gathering.filter(({ until_ms }) => until_ms > now_ms)
    this.#giveUp(
      gathering.filter(({ until_ms }) => until_ms <= now_ms),
      'partitionLost',
    )
  }

  #giveUp(open: readonly Waiting[], kind: LostBatch['kind']): void {
    for (const { resolve } of open) resolve(err({ kind }))
    this.release(open.length)
  }
}

function isSameToken(one: FencingToken | undefined, other: FencingToken | undefined): boolean {
  return one === other || (one?.epoch === other?.epoch && one?.refusals === other?.refusals)
}

/** The commands of a batch whose callers still wait. */
function openOf({ commands }: Sent): readonly Waiting[] {
  return commands.filter((waiting) => waiting !== undefined)
}

/** When the first caller of a batch stops waiting, by `performance.now()`. */
function untilOf(batch: readonly Waiting[]): number {
  return batch.reduce((until_ms, waiting) => Math.min(until_ms, waiting.until_ms), Number.POSITIVE_INFINITY)
}

/**
 * Converts a moment by `performance.now()` of this thread to ns of the clock of all threads; the result is never later than the
 * moment.
 */
function monotonic(until_ms: number): bigint {
  const now = process.hrtime.bigint()
  return now + BigInt(Math.floor((until_ms - performance.now()) * 1e6))
}
