import {
  AttemptShares,
  isQuick,
  long_ms,
  type Remembered,
  RememberedReceivers,
  type Share,
  type Standing,
  type TotalLimits,
} from './attempt-shares.js'
import type { Recipient } from './courier-protocol.js'
import { Fifo, type QueuedNotice } from './notice-list.js'
import type { AttemptOutcome, Unsendable } from './outgoing.js'
import { receiverOf } from './receiver-names.js'
import type { QueueClock, SubscriptionQueue } from './subscription-queue.js'

export interface ReceiverLimits extends TotalLimits {
  /** Attempts at a time against one scheme, host and port, or over one connection of MQTT [NGSIv2 subscriptions 7.1]. */
  readonly perReceiver: number
  /** The usual time limit of an attempt over HTTP. */
  readonly timeout_ms: number
}

/** A receiver that is slow with large notifications leaves the others the rest of the bytes under way. */
const shareOfReceiver = 1 / 4

/** A receiver with the subscriptions that have something to send to it, in the order of their turns. */
interface Receiver {
  readonly name: string
  readonly turns: Fifo<SubscriptionQueue>
  underWay: number
  bytes: number
  /** Attempts under way that are long. */
  long: number
  /** By its last attempt that has ended. */
  last: Remembered
  /** Its turn, while it may begin an attempt. */
  turn: Turn | undefined
}

/** The turn of a receiver among those of one standing; one that it does not have any more is passed over. */
interface Turn {
  readonly receiver: Receiver
  readonly standing: Standing
}

/** An attempt under way: a notice, and the recipient as it was known when the attempt was begun. */
export interface BegunAttempt {
  readonly notice: QueuedNotice
  readonly recipient: Recipient
  readonly queue: SubscriptionQueue
  readonly receiver: Receiver
  readonly share: Share
}

interface ReceiverTurnsParts {
  readonly limits: ReceiverLimits
  readonly clock: Pick<QueueClock, 'steady_ms' | 'later'>
  /** Called when `next()` may return an attempt because attempts under way have become long. */
  readonly ready: () => void
}

/** Receivers of these standings have every fourth turn, and those that the quick ones do not take. */
const othersInTurn: readonly Standing[] = ['untried', 'slow', 'failing']
const turnOfOthers = 4

/** The orders in which standings are looked at, by which of the others comes first among these. */
const orders = othersInTurn.map((_, at) => [...othersInTurn.slice(at), ...othersInTurn.slice(0, at)])
const quickFirst = orders.map((others): readonly Standing[] => ['free', 'quick', ...others])
const othersFirst = orders.map((others): readonly Standing[] => [...others, 'free', 'quick'])

/**
 * Shares the attempts that may run at a time: receivers take turns, and so do the subscriptions of a receiver. A receiver
 * that uses up its share only makes its own notifications wait [subscriptions 5.4]. Quick receivers have three turns of four, and those
 * at which nothing is under way come first among them; the others have the rest, and limited shares of what may be under way.
 */
export class ReceiverTurns {
  readonly #parts: ReceiverTurnsParts
  readonly #receivers = new Map<string, Receiver>()
  readonly #remembered = new RememberedReceivers()
  readonly #rounds: Readonly<Record<Standing, Round>> = {
    free: new Round(),
    quick: new Round(),
    untried: new Round(),
    slow: new Round(),
    failing: new Round(),
  }
  readonly #waiting = new Set<SubscriptionQueue>()
  readonly #shares: AttemptShares
  /** Attempts that are not long, in the order in which they were begun, among others that are over. */
  readonly #short = new Fifo<BegunAttempt>()
  /** Whether a timer waits for the next attempt to become long. */
  #isWatched = false
  /** Attempts begun, and those at other receivers than quick ones. */
  #begun = 0
  #begunAtOthers = 0

  constructor(parts: ReceiverTurnsParts) {
    this.#parts = parts
    this.#shares = new AttemptShares(parts.limits)
  }

  /** Whether no attempt is under way and no subscription waits for its turn. */
  get isIdle(): boolean {
    return this.#waiting.size === 0 && this.#shares.attempts === 0
  }

  /** How many attempts are under way at a receiver. */
  underWay(name: string): number {
    return this.#receivers.get(name)?.underWay ?? 0
  }

  /** The subscription gets turns until it has nothing to send; whether that is new. */
  add(queue: SubscriptionQueue): boolean {
    if (queue.recipient === undefined || this.#waiting.has(queue) || !queue.mayBegin()) return false
    this.#waiting.add(queue)
    const receiver = this.#receiverOf(receiverOf(queue.recipient))
    receiver.turns.push(queue)
    this.#offer(receiver)
    return true
  }

  /** Begins the next attempt, if the limits allow one and there is something to send. */
  next(): BegunAttempt | undefined {
    this.#findLong()
    for (let turn = this.#takeTurn(); turn !== undefined; turn = this.#takeTurn()) {
      const { receiver, standing } = turn
      receiver.turn = undefined
      const queue = receiver.turns.shift()
      if (queue === undefined) continue
      this.#waiting.delete(queue)
      const attempt = this.#begin(receiver, queue, standing)
      this.#offer(receiver)
      this.#forgetIdle(receiver)
      if (attempt !== undefined) return attempt
    }
    this.#watchShort()
    return undefined
  }

  /** The attempt has ended. */
  ended({ receiver, share }: BegunAttempt, outcome: AttemptOutcome | Unsendable): void {
    this.#findLong()
    receiver.underWay -= 1
    receiver.bytes -= share.bytes
    if (share.state === 'long') receiver.long -= 1
    receiver.last = standingAfter(outcome, share) ?? receiver.last
    this.#shares.end(share)
    this.#offer(receiver)
    this.#forgetIdle(receiver)
  }

  #begin(receiver: Receiver, queue: SubscriptionQueue, standing: Standing): BegunAttempt | undefined {
    const { recipient } = queue
    if (recipient !== undefined && receiverOf(recipient) !== receiver.name) {
      this.add(queue) // The subscription was changed while it waited for its turn.
      return undefined
    }
    const notice = queue.begin()
    if (recipient === undefined || notice === undefined) return undefined
    this.#begun += 1
    if (!isQuick(standing)) this.#begunAtOthers += 1
    receiver.underWay += 1
    receiver.bytes += notice.sent_bytes
    const share = this.#shares.begin(standing, notice.sent_bytes, this.#parts.clock.steady_ms())
    const attempt = { notice, recipient, queue, receiver, share }
    this.#short.push(attempt)
    this.add(queue)
    return attempt
  }

  /** Takes the turn of the receiver that comes next, if any may begin an attempt. */
  #takeTurn(): Turn | undefined {
    const isOfOthers = this.#begun % turnOfOthers === turnOfOthers - 1
    const standings = (isOfOthers ? othersFirst : quickFirst)[this.#begunAtOthers % othersInTurn.length] ?? othersInTurn
    for (const standing of standings) {
      const turn = this.#shares.mayBegin(standing) ? this.#rounds[standing].shift() : undefined
      if (turn !== undefined) return turn
    }
    return undefined
  }

  /** Gives a receiver a turn among those of its standing, if it may begin an attempt. */
  #offer(receiver: Receiver): void {
    const { perReceiver, underWay_bytes, timeout_ms } = this.#parts.limits
    const isBusy = receiver.underWay >= perReceiver || receiver.bytes >= underWay_bytes * shareOfReceiver
    if (receiver.turn === undefined && (receiver.turns.size === 0 || isBusy)) return
    const standing = standingOf(receiver, timeout_ms)
    if (receiver.turn?.standing === standing) return
    const before = receiver.turn
    receiver.turn = { receiver, standing }
    this.#rounds[standing].push(receiver.turn)
    if (before !== undefined) this.#rounds[before.standing].left()
  }

  /** Attempts that take long by now are counted as such, and their receivers are slow. */
  #findLong(): void {
    const begunBy_ms = this.#parts.clock.steady_ms() - long_ms
    for (let first = this.#short.first; first !== undefined; first = this.#short.first) {
      const { share, receiver } = first
      if (share.state === 'short' && share.begun_ms > begunBy_ms) return
      this.#short.shift()
      if (share.state === 'over') continue
      this.#shares.becomeLong(share)
      receiver.long += 1
      this.#offer(receiver)
    }
  }

  /** Where receivers wait for a share, it is looked again when the next attempt has become long: then there may be room. */
  #watchShort(): void {
    const { clock, ready } = this.#parts
    const first = this.#short.first
    if (this.#isWatched || first === undefined || this.#waiting.size === 0) return
    this.#isWatched = true
    clock.later(Math.max(1, first.share.begun_ms + long_ms - clock.steady_ms()), () => {
      this.#isWatched = false
      ready()
    })
  }

  #receiverOf(name: string): Receiver {
    let receiver = this.#receivers.get(name)
    if (receiver === undefined) {
      const last = this.#remembered.of(name)
      receiver = { name, turns: new Fifo(), underWay: 0, bytes: 0, long: 0, last, turn: undefined }
      this.#receivers.set(name, receiver)
    }
    return receiver
  }

  #forgetIdle(receiver: Receiver): void {
    if (receiver.turns.size > 0 || receiver.underWay > 0) return
    this.#receivers.delete(receiver.name)
    this.#remembered.put(receiver.name, receiver.last)
  }
}

/** Receivers of one standing in the order of their turns. */
class Round {
  readonly #turns = new Fifo<Turn>()
  /** Turns among them that their receivers do not have any more. */
  #stale = 0

  push(turn: Turn): void {
    this.#turns.push(turn)
  }

  shift(): Turn | undefined {
    for (let turn = this.#turns.shift(); turn !== undefined; turn = this.#turns.shift()) {
      if (isCurrent(turn)) return turn
      this.#stale -= 1
    }
    return undefined
  }

  /** A receiver takes its turns among those of another standing now. */
  left(): void {
    this.#stale += 1
    if (this.#stale <= fewStale || this.#stale * 2 <= this.#turns.size) return
    this.#turns.keep(isCurrent)
    this.#stale = 0
  }
}

/** So many stale turns are not worth being looked for. */
const fewStale = 16

function isCurrent(turn: Turn): boolean {
  return turn.receiver.turn === turn
}

/** Whoever asks for more than the usual time counts as slow: such attempts could take all others' places for half an hour. */
function standingOf({ last, long, underWay, turns }: Receiver, usual_ms: number): Standing {
  if (last === 'failing') return 'failing'
  const target = turns.first?.recipient?.terms?.target
  if (long > 0 || (target?.kind === 'http' && target.timeout_ms > usual_ms)) return 'slow'
  return last === 'quick' && underWay === 0 ? 'free' : last
}

/** What an attempt has shown of its receiver; nothing if there was none. */
function standingAfter(outcome: AttemptOutcome | Unsendable, { state }: Share): Remembered | undefined {
  const responded = state === 'long' ? 'slow' : 'quick'
  switch (outcome.kind) {
    case 'missing':
    case 'unsendable':
      return undefined
    case 'accepted':
      return responded
    default:
      return outcome.status === undefined ? 'failing' : responded
  }
}
