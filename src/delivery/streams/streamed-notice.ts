import type { SubscriptionId } from '../../model/subscription/subscription.js'
import { streamReference } from '../../model/subscription/targets.js'
import type { DeliveryMeter } from '../../observe/measure/delivery-figures.js'
import { now } from '../../time.js'
import type { DeliveryQueue } from '../queue/delivery-queue.js'
import type { QueuedNotice } from '../queue/notice-list.js'
import type { Accepted } from '../queue/outgoing.js'
import { type AttemptLineParts, AttemptLines } from '../senders/attempt-lines.js'
import type { AttemptParts } from '../senders/attempts.js'
import { type PreparingParts, preparedNotice } from '../senders/prepared-notice.js'
import { sentRequest } from '../senders/request.js'
import type { ReadyEvent } from './notice-stream.js'
import { idOfPosition, type StreamPosition } from './stream-position.js'

/** What makes events of notices, and tells of them. */
export interface EventParts extends PreparingParts, AttemptLineParts, Pick<AttemptParts, 'count' | 'sent'> {
  readonly queue: DeliveryQueue
  readonly meter: Pick<DeliveryMeter, 'attempted' | 'listening'>
}

const accepted: Accepted = { kind: 'accepted' }

/** The event of a notice that is sent at a position; nothing when it can not be sent, in which case it has left. */
export function streamEvent(
  parts: EventParts,
  subscription: SubscriptionId,
  notice: QueuedNotice,
  position: StreamPosition,
): ReadyEvent | undefined {
  const { queue } = parts
  const own = queue.streamed(subscription)
  const recipient = queue.recipient(subscription)
  if (own === undefined || recipient === undefined) return undefined
  const prepared = preparedNotice(parts, notice, recipient)
  if (prepared.kind !== 'ready') {
    queue.unsendable(own, notice, prepared)
    return undefined
  }
  const { notice: stored, url, headers, body } = prepared
  const length = Buffer.byteLength(body)
  const lines = new AttemptLines(parts, stored, body)
  const outgoing = { kind: 'http' as const, url, headers, body: { length } }
  lines.begun(outgoing)
  return {
    text: noticeEvent(idOfPosition(position, notice.outbox), headers, body),
    sent: (duration) => {
      parts.meter.attempted('accepted', duration)
      lines.ended(outgoing, accepted, duration)
      parts.sent(sentRequest(stored, length, accepted))
      parts.count('notificationsSent')
      const [duration_ms, at] = [Number(duration) / 1e6, now()]
      queue.receiverRecords.ended(streamReference, accepted, duration_ms, at)
      queue.attemptRecords.ended(subscription, accepted, duration_ms, at)
    },
  }
}

/** What a notification says of its sender and what it takes back, which a stream does not; and the fields that mean something in one. */
const leftOut: ReadonlySet<string> = new Set(['user-agent', 'accept', 'id', 'event', 'data', 'retry'])

/**
 * A notification as an event: its headers are fields, which readers of event streams skip unless they look for them, and its body
 * is the data. The headers are names and values in turn.
 */
function noticeEvent(id: string, headers: readonly string[], body: string): string {
  let text = `id: ${id}\n`
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] ?? ''
    if (!leftOut.has(name.toLowerCase())) text += `${name}: ${headers[at + 1] ?? ''}\n`
  }
  return `${text}${dataFields(body)}\n`
}

function dataFields(body: string): string {
  if (!/[\r\n]/.test(body)) return `data: ${body}\n`
  return body
    .split(/\r\n|\r|\n/)
    .map((line) => `data: ${line}\n`)
    .join('')
}
