import type { Steps } from '../slices.js'
import type { SubscriptionId } from '../subscription/subscription.js'
import type { Milliseconds } from '../time.js'
import type { ReceiverPage, ReceiverState, Recipient, WhichReceivers } from './message.js'
import type { ReceiverRecords } from './receiver-records.js'
import { receiverOf, shownReceiver } from './receiver-turns.js'
import type { SubscriptionQueue } from './subscription-queue.js'

/** What a page of receivers is made of. */
export interface ReceiverPageParts {
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
  const found = [...byName].filter(([, { receiver }]) => text === '' || receiver.toLowerCase().includes(text))
  found.sort(([, a], [, b]) => b.queueDepth - a.queueDepth || (a.receiver < b.receiver ? -1 : 1))
  const receivers = found.slice(offset, offset + limit).map(
    ([name, gathered]): ReceiverState => ({
      ...gathered,
      underWay: parts.underWay(name),
      ...parts.records.of(name),
    }),
  )
  return { count: found.length, receivers }
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
