import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import type { LoopSteps } from '../measure/loop-steps.js'
import type { TurnDetail } from '../measure/operation-times.js'
import type { WaitMeter } from '../measure/waits.js'
import type { Command, Reply } from '../partition/commands.js'
import { decodeCommands, encodeReplies } from '../partition/encoding.js'
import type { PartitionPosition, Tenure } from '../shared-memory/partition-position.js'
import { atOnceOrInSlices } from '../slices.js'
import type { NoticeNumber } from '../subscription/notice.js'
import type { SubscriptionId, SubscriptionInForce } from '../subscription/subscription.js'
import { onMessages } from '../thread/messages.js'
import { secondsText } from '../time.js'
import { traceArea } from '../trace-area.js'
import type { Batch, BatchReply } from './batch.js'
import { TurnRunner, type TurnRunnerParts, TurnTimes } from './turn-runner.js'

export interface InboxParts extends TurnRunnerParts {
  readonly mailboxWait: WaitMeter
  /** Names the steps of the thread. */
  readonly steps: Pick<LoopSteps, 'begin' | 'isLong' | 'name'>
  readonly transactionWait: WaitMeter
  /** The number of the partition. */
  readonly partition: number
  /** Whether slow requests are kept now, so that replies say when their turn passed its stages. */
  readonly keepsSlow: () => boolean
  /** Of one of several nodes: in which tenure it takes batches, see `Tenure`. */
  readonly position?: Pick<PartitionPosition, 'tenure' | 'refused'> | undefined
}

/** A batch that has arrived, with the replies to it so far. */
interface Arrived {
  readonly port: MessagePort
  readonly batch: Batch
  readonly commands: readonly Command[]
  /** To the first of its commands, or to all of one that is not taken: a turn may end in the middle of a batch, whose replies are sent together. */
  readonly replies: Reply[]
}

const late: Reply = { kind: 'failed', why: 'late' }
const notOwner: Reply = { kind: 'failed', why: 'notOwner' }

function lengthOf({ text, bodies }: Batch['commands']): number {
  return bodies.reduce((length, body) => length + body.length, text.length)
}

/** At most this many commands are looked at for one turn. */
const turnMost = 4096

/**
 * The partition's side of its mailboxes, one per front end: takes what has arrived into one turn, and replies when the
 * turn is on disk. What is too much for one turn is left for the next one, and the ports are looked at in between.
 */
export class Inbox {
  readonly #parts: InboxParts
  readonly #runner: TurnRunner
  readonly #ports = new Set<MessagePort>()
  /** In the order of arrival. Only the first one may have some of its replies and not all. */
  #queue: Arrived[] = []
  #goingOn = false
  #lastTurnEnd = 0n

  constructor(parts: InboxParts) {
    this.#parts = parts
    this.#runner = new TurnRunner(parts)
  }

  /** Takes batches from one more front end. */
  connect(port: MessagePort): void {
    this.#ports.add(port)
    onMessages(port, (batch: Batch) => this.#take(port, batch))
    port.once('close', () => this.#ports.delete(port))
  }

  /**
   * Puts a subscription in force: from the next turn on when its expressions are read, between turns where that takes long. Gives the
   * last notice that was made before. Nothing else may be put in force or end meanwhile.
   */
  subscribe(inForce: SubscriptionInForce): NoticeNumber | Promise<NoticeNumber> {
    const { matcher, store } = this.#parts
    const enforced = (release: () => void): NoticeNumber => {
      matcher.put(inForce)
      release()
      return store.lastNotice
    }
    const prepared = atOnceOrInSlices(matcher.prepare(inForce))
    return prepared instanceof Promise ? prepared.then(enforced) : enforced(prepared)
  }

  /** From the next turn on the subscription makes no notices; gives the last one that was made before. */
  unsubscribe(id: SubscriptionId): NoticeNumber {
    this.#parts.matcher.remove(id)
    return this.#parts.store.lastNotice
  }

  /** Replies to what has arrived and closes the ports; front ends were told to send nothing more. */
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
    const { steps } = this.#parts
    const since = steps.begin()
    const [first] = this.#queue
    this.#runTurn()
    if (first !== undefined && steps.isLong(since)) {
      const { batch, commands } = first
      steps.name(`turn that began with ${commands[0]?.kind} of ${commands.length} commands`, lengthOf(batch.commands))
    }
  }

  #runTurn(): void {
    const times = new TurnTimes()
    this.#refuse(times.begun)
    const batch = this.#batch()
    if (batch.length === 0) {
      this.#send([], times)
      return
    }
    this.#traceTaken(batch.length)
    const { store, bell, storage, ownership } = this.#parts
    const lastNotice = store.lastNotice
    const replies = this.#runner.run(batch, times)
    // Before the next turn: what came behind these by the same way is refused then.
    if (ownership?.isOwner === false && replies.some(isNotOwner)) this.#parts.position?.refused()
    this.#runner.afterCommit(() => {
      this.#measure(replies.length, times.begun)
      times.ended = process.hrtime.bigint()
      this.#lastTurnEnd = times.ended
      this.#traceTurn(replies.length, times)
      // Whoever hears it looks for the notices in a snapshot, which is new because the commit was counted.
      if (store.lastNotice !== lastNotice) bell.ring()
      storage.committed(replies.length, times.ended - times.decided)
      ownership?.turned()
    })
    this.#send(replies, times)
    // The thread ends of it, and is replaced by one that reads everything from disk.
    if (this.#runner.broken) throw this.#runner.broken.fault
  }

  /** What a turn has taken before stands in the log before all that its sender sends later. */
  #refuse(begun: bigint): void {
    const tenure = this.#parts.position?.tenure
    for (const { batch, commands, replies } of this.#queue) {
      const refusal = refusalOf(batch, begun, tenure)
      while (refusal !== undefined && replies.length < commands.length) replies.push(refusal)
    }
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

  #traceTaken(commands: number): void {
    const { log } = this.#parts
    if (log.traces[traceArea['service.take']] !== 1) return
    log.trace('service.take', `${commands} commands taken`, { commands, batches: this.#queue.length })
  }

  #traceTurn(commands: number, { decided, logged, ended }: TurnTimes): void {
    const { log } = this.#parts
    if (log.traces[traceArea['storage.txn']] === 1) {
      const open_ns = String(ended - logged)
      log.trace('storage.txn', `write transaction of ${commands} commands`, { commands, open_ns })
    }
    if (log.traces[traceArea['storage.commit']] === 1) {
      const commit_ns = String(logged - decided)
      log.trace('storage.commit', `log and sync took ${secondsText(logged - decided)} s`, { commit_ns })
    }
  }

  /** Adds the replies to the batches at the head of the queue, and sends the batch replies that are complete. */
  #send(replies: readonly Reply[], turn: TurnTimes): void {
    const decided_ns = Number(turn.decided - turn.begun)
    const committed_ns = Number(turn.ended - turn.decided)
    const detail = this.#parts.keepsSlow() ? this.#detailOf(turn) : undefined
    let at = 0
    let complete = 0
    for (const { port, commands, replies: own } of this.#queue) {
      const open = commands.length - own.length
      for (const reply of replies.slice(at, at + open)) own.push(reply)
      at += open
      if (own.length < commands.length) break
      const encoded = encodeReplies(own)
      const batchReply: BatchReply =
        detail === undefined
          ? { replies: encoded, decided_ns, committed_ns }
          : { replies: encoded, decided_ns, committed_ns, detail }
      port.postMessage(batchReply)
      complete += 1
    }
    if (complete === this.#queue.length) this.#queue = []
    else this.#queue.splice(0, complete)
  }

  #detailOf({ begun, decided, logged }: TurnTimes): TurnDetail {
    return { partition: this.#parts.partition, begun_ns: Number(begun), logged_ns: Number(logged - decided) }
  }

  /**
   * Every command waited in the mailbox from its entry until its turn began. It waited for the turn before only if that was
   * still under way when it entered [management 5.3, 5.4].
   */
  #measure(count: number, begun: bigint): void {
    let left = count
    for (const { batch, commands, replies } of this.#queue) {
      if (left <= 0) return
      const from = replies.length
      const to = Math.min(commands.length, from + left)
      left -= to - from
      if (batch.entered === undefined) continue
      for (let index = from; index < to; index += 1) {
        this.#measureOne(batch.entered[index] ?? 0n, commands[index]?.kind === 'ping', begun)
      }
    }
  }

  #measureOne(entered: bigint, isPing: boolean, begun: bigint): void {
    const { mailboxWait, transactionWait } = this.#parts
    if (entered === 0n) return
    this.#waited(mailboxWait, 'wait.mailbox', begun - entered)
    if (isPing) return
    if (entered < this.#lastTurnEnd) this.#waited(transactionWait, 'wait.transaction', begun - entered)
    else if (transactionWait.on) transactionWait.free()
  }

  /** Waits are traced also while their statistics are off [management 2.5]. */
  #waited(meter: WaitMeter, area: 'wait.mailbox' | 'wait.transaction', wait: bigint): void {
    if (meter.on) meter.waited(wait)
    const { log } = this.#parts
    if (log.traces[traceArea[area]] === 1) log.trace(area, `waited ${secondsText(wait)} s`, { wait_ns: String(wait) })
  }
}

/**
 * Why a turn that begins now does not take a batch, if it does not: nobody waits for it any more (see `Batch.until`), or it came by
 * a way that was opened in another tenure.
 *
 * @param tenure of the partition at this moment; nothing where it does not move between nodes
 */
export function refusalOf(
  { until, tenure: bound }: Pick<Batch, 'until' | 'tenure'>,
  begun: bigint,
  tenure: Tenure | undefined,
): Reply | undefined {
  if (until !== undefined && until <= begun) return late
  if (bound === undefined || tenure === undefined) return undefined
  return bound.epoch === tenure.epoch && bound.refusals === tenure.refusals ? undefined : notOwner
}

function isNotOwner(reply: Reply): boolean {
  return reply.kind === 'failed' && reply.why === 'notOwner'
}
