import type { SubscriptionId } from '../../model/subscription/subscription.js'
import { type Steps, sortedInSteps } from '../../slices.js'
import type { Milliseconds } from '../../time.js'
import type { ReceiverCounts, ReceiverPage, ReceiverState, Recipient, WhichReceivers } from './courier-protocol.js'
import { type AttemptOutcome, reasonText } from './outgoing.js'
import { receiverOf, shownReceiver } from './receiver-names.js'
import type { SubscriptionQueue } from './subscription-queue.js'

/** Receivers that are remembered; beyond this number the one remembered first is forgotten. */
const mostReceivers = 10_000
/** The share of the last attempt in the average of how long attempts take. */
const lastShare = 0.1

interface ReceiverRecord {
  accepted: number
  failed: number
  meanLatency_ms: number
  lastLatency_ms: number
  lastSuccess: Milliseconds | undefined
  lastFailure: Milliseconds | undefined
  lastFailureReason: string | undefined
}

/** How attempts ended since the courier began, by receiver, for operators; nothing is decided by it. */
export class ReceiverRecords {
  readonly #receivers = new Map<string, ReceiverRecord>()

  /** An attempt has ended. */
  ended(receiver: string, outcome: AttemptOutcome, latency_ms: number, at: Milliseconds): void {
    const record = this.#recordOf(receiver)
    const isFirst = record.accepted + record.failed === 0
    record.lastLatency_ms = latency_ms
    record.meanLatency_ms = isFirst
      ? latency_ms
      : record.meanLatency_ms + lastShare * (latency_ms - record.meanLatency_ms)
    if (outcome.kind === 'accepted') {
      record.accepted += 1
      record.lastSuccess = at
      return
    }
    record.failed += 1
    record.lastFailure = at
    record.lastFailureReason = reasonText(outcome)
  }

  /** How the attempts at a receiver went; nothing if there was none. */
  of(receiver: string): ReceiverCounts | undefined {
    return this.#receivers.get(receiver)
  }

  #recordOf(receiver: string): ReceiverRecord {
    const held = this.#receivers.get(receiver)
    if (held !== undefined) return held
    const record = {
      ...{ accepted: 0, failed: 0, meanLatency_ms: 0, lastLatency_ms: 0 },
      ...{ lastSuccess: undefined, lastFailure: undefined, lastFailureReason: undefined },
    }
    this.#receivers.set(receiver, record)
    if (this.#receivers.size > mostReceivers) this.#forgetOldest()
    return record
  }

  #forgetOldest(): void {
    for (const oldest of this.#receivers.keys()) return void this.#receivers.delete(oldest)
  }
}

/** What a page of receivers is made of. */
interface ReceiverPageParts {
  readonly recipients: Iterable<Recipient>
  readonly queue: (id: SubscriptionId) => SubscriptionQueue | undefined
  /** Attempts under way at a receiver. */
  readonly underWay: (receiver: string) => number
  readonly records: ReceiverRecords
}

/** Subscriptions that are named of each receiver. */
const mostNamed = 20

interface Gathered {
  readonly receiver: string
  readonly ids: SubscriptionId[]
  subscriptions: number
  queueDepth: number
  queueBytes: number
  oldestQueued: Milliseconds | undefined
  nextAttempt: Milliseconds | undefined
}

/** A page of the receivers of all subscriptions, in steps: there may be very many. */
export function* receiverPage(
  { text = '', offset, limit }: WhichReceivers,
  parts: ReceiverPageParts,
): Steps<ReceiverPage> {
  const byName = new Map<string, Gathered>()
  for (const recipient of parts.recipients) {
    gather(byName, recipient, parts.queue(recipient.id))
    yield
  }
  const meant: (readonly [name: string, gathered: Gathered])[] = []
  for (const each of byName) {
    if (text === '' || each[1].receiver.toLowerCase().includes(text)) meant.push(each)
    yield
  }
  const found = yield* sortedInSteps(meant, longestQueueFirst)
  const receivers = found.slice(offset, offset + limit).map(
    ([name, gathered]): ReceiverState => ({
      ...gathered,
      underWay: parts.underWay(name),
      ...parts.records.of(name),
    }),
  )
  return { count: found.length, receivers }
}

function longestQueueFirst([, a]: readonly [string, Gathered], [, b]: readonly [string, Gathered]): number {
  return b.queueDepth - a.queueDepth || (a.receiver < b.receiver ? -1 : 1)
}

function gather(byName: Map<string, Gathered>, recipient: Recipient, queue: SubscriptionQueue | undefined): void {
  const name = receiverOf(recipient)
  let of = byName.get(name)
  if (of === undefined) {
    const nothing = { subscriptions: 0, queueDepth: 0, queueBytes: 0, oldestQueued: undefined, nextAttempt: undefined }
    of = { receiver: shownReceiver(recipient), ids: [], ...nothing }
    byName.set(name, of)
  }
  of.subscriptions += 1
  if (of.ids.length < mostNamed) of.ids.push(recipient.id)
  if (queue === undefined) return
  of.queueDepth += queue.depth
  of.queueBytes += queue.bytes
  of.oldestQueued = earlier(of.oldestQueued, queue.order.oldest('all')?.made)
  of.nextAttempt = earlier(of.nextAttempt, queue.nextAttempt)
}

function earlier(a: Milliseconds | undefined, b: Milliseconds | undefined): Milliseconds | undefined {
  return a === undefined || (b !== undefined && b < a) ? b : a
}
