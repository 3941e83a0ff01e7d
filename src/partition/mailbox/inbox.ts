import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import type { EntityId } from '../../model/context/entity.js'
import type { NoticeNumber } from '../../model/subscription/notice.js'
import type { SubscriptionId, SubscriptionInForce } from '../../model/subscription/subscription.js'
import { numberOf } from '../../number-of.js'
import { traceArea } from '../../observe/log/trace.js'
import type { TurnCost, TurnDetail } from '../../observe/measure/slow-requests.js'
import type { LoopSteps } from '../../observe/measure/steps.js'
import type { WaitMeter } from '../../observe/measure/waits.js'
import { atOnceOrInSlices } from '../../slices.js'
import { onMessages } from '../../threads/calls/messages.js'
import type { FencingToken, PartitionPosition } from '../../threads/shared-memory/partition-position.js'
import { secondsText } from '../../time.js'
import type { Command, RawUpdateCommand, Reply } from '../turn/commands.js'
import { decodeCommands, encodeReplies } from '../turn/encoding.js'
import { TurnShares, type WaitingCommand } from '../turn/turn-shares.js'
import type { Batch, BatchReply } from './batch.js'
import { TurnRunner, type TurnRunnerParts, TurnTimes } from './turn-runner.js'

export interface InboxParts extends TurnRunnerParts {
  /** The id of the entity that a raw update means. */
  readonly idOf: (raw: RawUpdateCommand) => EntityId
  readonly mailboxWait: WaitMeter
  /** Names the steps of the thread in measurements. */
  readonly steps: Pick<LoopSteps, 'begin' | 'isLong' | 'name'>
  readonly transactionWait: WaitMeter
  readonly partition: number
  /** Whether slow requests are recorded now, so that replies name the stages of their turn. */
  readonly keepsSlow: () => boolean
  /** In a cluster: batches that are bound to another fencing token are refused. */
  readonly position?: Pick<PartitionPosition, 'fencingToken' | 'refused'> | undefined
}

/** A batch that has arrived and has commands without replies. */
interface Arrived {
  readonly port: MessagePort
  readonly batch: Batch
  readonly commands: readonly Command[]
  /** By the positions of the commands. */
  readonly replies: (Reply | undefined)[]
  /** The number of commands without a reply. */
  open: number
  /** How many of those are deferred: the replies to all others are sent together, though a turn may end in the middle of them. */
  deferred: number
  /** The number of replies that are not sent. */
  unsent: number
  /** After a first batch reply, which may be empty: the positions of the commands whose reply was sent. */
  sent: Set<number> | undefined
}

interface Waiting extends WaitingCommand {
  readonly arrived: Arrived
  readonly at: number
  isDeferred: boolean
}

const late: Reply = { kind: 'failed', why: 'late' }
const notOwner: Reply = { kind: 'failed', why: 'notOwner' }

function lengthOf({ text, bodies }: Batch['commands']): number {
  return bodies.reduce((length, body) => length + body.length, text.length)
}

/**
 * The partition's side of its mailboxes, one per front end: takes what has arrived into one turn, and replies when the turn is
 * durable. What exceeds a turn is left for the next one; in between, the ports are read.
 */
export class Inbox {
  readonly #parts: InboxParts
  readonly #runner: TurnRunner
  readonly #ports = new Set<MessagePort>()
  /** In the order of arrival. Arrays, because objects that pass through a long-lived set or map outlive the young generation. */
  #open: Arrived[] = []
  readonly #shares: TurnShares<Waiting>
  /** The number of commands that have arrived. */
  #arrived = 0
  #goingOn = false
  #lastTurnEnd = 0n

  constructor(parts: InboxParts) {
    this.#parts = parts
    this.#runner = new TurnRunner(parts)
    this.#shares = new TurnShares({ idOf: parts.idOf, deferred: (waiting) => this.#deferred(waiting) })
  }

  /** Connects one more front end. */
  connect(port: MessagePort): void {
    this.#ports.add(port)
    onMessages(port, (batch: Batch) => this.#take(port, batch))
    port.once('close', () => this.#ports.delete(port))
  }

  /**
   * Brings a subscription into force: from the next turn on when its expressions are parsed already, otherwise later between
   * turns, since parsing may take long. Gives the last notice that was made before. No other subscription may come into force or
   * end meanwhile.
   */
  subscribe(inForce: SubscriptionInForce): NoticeNumber | Promise<NoticeNumber> {
    const { matcher, store } = this.#parts
    const enforced = (release: () => void): NoticeNumber => {
      matcher.put(inForce, release)
      return store.lastNotice
    }
    const prepared = atOnceOrInSlices(matcher.prepare(inForce))
    return prepared instanceof Promise ? prepared.then(enforced) : enforced(prepared)
  }

  /** Ends a subscription from the next turn on; gives the last notice that was made before. */
  unsubscribe(id: SubscriptionId): NoticeNumber {
    this.#parts.matcher.remove(id)
    return this.#parts.store.lastNotice
  }

  /** Replies to what has arrived and closes the ports; front ends were told to send nothing more. */
  close(): void {
    this.#collect()
    while (this.#open.length > 0) this.#turn()
    for (const port of this.#ports) port.close()
  }

  #take(port: MessagePort, batch: Batch): void {
    this.#enter(port, batch)
    // While commands of the last turn are left, new ones queue behind them.
    if (!this.#goingOn) this.#takeTurn()
  }

  #takeTurn(): void {
    this.#collect()
    if (this.#open.length > 0) this.#turn()
    if (this.#open.length === 0 || this.#goingOn) return
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
    const commands = decodeCommands(batch.commands)
    const open = commands.length
    const arrived: Arrived = { port, batch, commands, replies: [], open, deferred: 0, unsent: 0, sent: undefined }
    const before = this.#arrived
    this.#open.push(arrived)
    this.#shares.arrived(
      commands.map((command, at) => ({ command, order: before + at, arrived, at, isDeferred: false })),
    )
    this.#arrived += open
  }

  #turn(): void {
    const { steps } = this.#parts
    const since = steps.begin()
    const first = this.#runTurn()
    if (first !== undefined && steps.isLong(since)) {
      const { commands, batch } = first.arrived
      const which = commands.length === 1 ? '' : 'the first: '
      const turn = `a turn of ${numberOf(commands.length, 'command')} (${which}${first.command.kind})`
      steps.name(turn, lengthOf(batch.commands))
    }
  }

  /** Gives the first command of the turn, if there was one. */
  #runTurn(): Waiting | undefined {
    const times = new TurnTimes()
    this.#refuse(times.begun)
    const offered = this.#shares.next()
    if (offered.length > 0) this.#carryOut(offered, times)
    this.#send(times)
    // The thread ends because of it, and is replaced by one that reads everything from disk.
    if (this.#runner.broken) throw this.#runner.broken.fault
    return offered[0]
  }

  #carryOut(offered: readonly Waiting[], times: TurnTimes): void {
    this.#traceTaken(offered.length)
    const { store, bell, storage, ownership } = this.#parts
    const lastNotice = store.lastNotice
    const replies = this.#runner.run(
      offered.map(({ command }) => command),
      times,
    )
    // Before the next turn, so that commands behind these on the same route are refused in it.
    if (ownership?.isOwner === false && replies.some(isNotOwner)) this.#parts.position?.refused()
    this.#runner.afterCommit(() => {
      this.#measure(offered.slice(0, replies.length), times.begun)
      times.ended = process.hrtime.bigint()
      this.#lastTurnEnd = times.ended
      this.#traceTurn(replies.length, times)
      // The courier looks for the notices in the memtable, and in a snapshot that it takes when it hears this.
      if (store.lastNotice !== lastNotice) bell.ring()
      storage.committed(replies.length, times.ended - times.decided)
      ownership?.turned()
    })
    this.#shares.taken(offered, replies.length)
    for (let index = 0; index < replies.length; index += 1) {
      const waiting = offered[index]
      if (waiting === undefined) break
      const { arrived, at } = waiting
      arrived.replies[at] = replies[index]
      arrived.open -= 1
      arrived.unsent += 1
      if (waiting.isDeferred) arrived.deferred -= 1
    }
  }

  #deferred(waiting: Waiting): void {
    waiting.isDeferred = true
    waiting.arrived.deferred += 1
  }

  /** What earlier turns have taken stands in the log before anything that the sender sends later. */
  #refuse(begun: bigint): void {
    const fencingToken = this.#parts.position?.fencingToken
    const fenced = new Set<Arrived>()
    for (const arrived of this.#open) {
      const refusal = refusalOf(arrived.batch, begun, fencingToken)
      if (refusal === undefined) continue
      fenced.add(arrived)
      arrived.unsent += arrived.open
      arrived.open = 0
      arrived.deferred = 0
      for (let at = 0; at < arrived.commands.length; at += 1) arrived.replies[at] ??= refusal
    }
    if (fenced.size > 0) this.#shares.remove(({ arrived }) => fenced.has(arrived))
  }

  #traceTaken(commands: number): void {
    const { log } = this.#parts
    if (log.traces[traceArea['service.take']] !== 1) return
    log.trace('service.take', `${commands} commands taken`, { commands, batches: this.#open.length })
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

  /** Sends the replies of batches whose remaining commands, if any, are deferred. */
  #send(turn: TurnTimes): void {
    const decided_ns = Number(turn.decided - turn.begun)
    const committed_ns = Number(turn.ended - turn.decided)
    const detail = this.#parts.keepsSlow() ? this.#detailOf(turn) : undefined
    const cost = detail === undefined ? { decided_ns, committed_ns } : { decided_ns, committed_ns, detail }
    let isOver = false
    for (const arrived of this.#open) {
      const { open, deferred, unsent, sent } = arrived
      if (open > deferred || (unsent === 0 && sent !== undefined)) continue
      arrived.port.postMessage({ ...unsentReplies(arrived), ...cost } satisfies BatchReply)
      arrived.unsent = 0
      if (open === 0) isOver = true
    }
    if (isOver) this.#open = this.#open.filter(({ open }) => open > 0)
  }

  #detailOf({ begun, decided, logged }: TurnTimes): TurnDetail {
    return { partition: this.#parts.partition, begun_ns: Number(begun), logged_ns: Number(logged - decided) }
  }

  /**
   * Measures waits. Every command waited in the mailbox from its entry until its turn began; it waited for the turn before only
   * if that was still under way at its entry [management 5.3, 5.4].
   */
  #measure(taken: readonly Waiting[], begun: bigint): void {
    for (const { arrived, at, command } of taken) {
      const { entered } = arrived.batch
      if (entered !== undefined) this.#measureOne(entered[at] ?? 0n, command.kind === 'ping', begun)
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

/** The replies of a batch that are not sent yet; counts them as sent. */
function unsentReplies(arrived: Arrived): Omit<BatchReply, keyof TurnCost> {
  const { batch, replies, open, sent = new Set() } = arrived
  if (open === 0 && arrived.sent === undefined) {
    return { batch: batch.number, replies: encodeReplies(replies.filter(isThere)) }
  }
  const at = Array.from(replies.keys()).filter((each) => replies[each] !== undefined && !sent.has(each))
  for (const each of at) sent.add(each)
  arrived.sent = sent
  return { batch: batch.number, replies: encodeReplies(at.map((each) => replies[each]).filter(isThere)), at }
}

function isThere(reply: Reply | undefined): reply is Reply {
  return reply !== undefined
}

/**
 * Why a turn that begins now refuses a batch: no caller waits any more (see `Batch.until`), or the batch came on a route that was
 * bound to another fencing token. Undefined when the turn takes it.
 *
 * @param fencingToken of the partition at this moment; undefined where it does not move between nodes
 */
export function refusalOf(
  { until, fencingToken: bound }: Pick<Batch, 'until' | 'fencingToken'>,
  begun: bigint,
  fencingToken: FencingToken | undefined,
): Reply | undefined {
  if (until !== undefined && until <= begun) return late
  if (bound === undefined || fencingToken === undefined) return undefined
  return bound.epoch === fencingToken.epoch && bound.refusals === fencingToken.refusals ? undefined : notOwner
}

function isNotOwner(reply: Reply): boolean {
  return reply.kind === 'failed' && reply.why === 'notOwner'
}
