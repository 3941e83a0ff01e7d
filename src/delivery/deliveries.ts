import { alarmSubject } from '../log/kept-name.js'
import type { CounterName } from '../measure/counters.js'
import type { DeliveryMeter } from '../measure/delivery-table.js'
import type { SentRequest } from '../measure/service-metrics.js'
import type { NoticeHead, NoticeRenderer, StoredNotice } from '../subscription/notice.js'
import { now } from '../time.js'
import type { Backlog } from './backlog.js'
import type { Books } from './books.js'
import { DeliveryLines, type LineParts } from './delivery-lines.js'
import type { Entry } from './entry.js'
import type { Recipient } from './message.js'
import { type AttemptOutcome, reasonText } from './outcome.js'
import type { RecipientQueue } from './recipient-queue.js'
import { headersOf, messageSize, pathsText, tooLong } from './request.js'
import type { Outgoing, Sender } from './sender.js'
import type { Source } from './source.js'

export interface DeliveryParts extends LineParts {
  /** Names this broker in the notifications [subscriptions 8.4]. */
  readonly brokerId: string
  readonly sources: readonly Source[]
  readonly sender: Sender
  readonly backlog: Backlog
  readonly books: Books
  readonly meter: DeliveryMeter
  /** Words the bodies that were not worded when their change was made. */
  readonly word: NoticeRenderer
  /** Bytes of a notification as it is sent, head and body. */
  readonly maxSize: number
  readonly count: (name: CounterName) => void
  /** An attempt has ended; what the receiver answered beside its status is not measured [management 6.2]. */
  readonly sent: (request: SentRequest) => void
  /** An attempt failed for this reason, or succeeded again, at this URL. */
  readonly alarm: (url: string, reason: string | undefined) => void
}

/** URLs at which the last attempt failed, as far as they are remembered; alarms are no longer kept either [management 10.7]. */
const mostAlarmed = 10_000

/** Makes attempts and does what their outcomes ask for [subscriptions 5.3, 5.4]. */
export class Deliveries {
  readonly #parts: DeliveryParts
  readonly #alarmed = new Set<string>()
  #closed = false

  constructor(parts: DeliveryParts) {
    this.#parts = parts
  }

  /** Resolves when the attempt has ended and everything about it is noted. */
  async attempt(queue: RecipientQueue, entry: Entry): Promise<void> {
    const { sources, sender, backlog } = this.#parts
    const { recipient } = queue
    const notice = sources[entry.source]?.at(entry.number)
    if (notice === undefined || recipient === undefined) {
      queue.accepted(entry)
      backlog.left(queue, entry, 'ended')
      return
    }
    if (notice === 'damaged') {
      backlog.refuse(queue, entry, `notice ${entry.number} cannot be read`)
      return
    }
    const body = this.#bodyOf(notice, recipient)
    const lines = new DeliveryLines(this.#parts, notice, body, recipient.reference)
    const headers = headersOf(notice, entry.source, entry.number, this.#parts.brokerId)
    const outgoing = { url: recipient.reference, headers, body: Buffer.from(body), heard: lines.heard }
    const size = notice.body === undefined ? messageSize(outgoing.url, outgoing.headers, outgoing.body.length) : 0
    if (size > this.#parts.maxSize) {
      backlog.refuse(queue, entry, tooLong(size))
      return
    }
    lines.begun(outgoing)
    const begun = process.hrtime.bigint()
    const outcome = await sender.send(outgoing)
    if (this.#closed) return // It was cut off by the end of the courier, which is no failure of the receiver.
    const duration = process.hrtime.bigint() - begun
    this.#parts.meter.attempted(outcome.kind, duration)
    lines.ended(outcome, duration)
    this.#parts.sent(sentRequest(notice, outgoing, outcome))
    this.#alarm(recipient.reference, outcome)
    if (outcome.kind === 'accepted') {
      this.#parts.count(recipient.kind === 'context' ? 'notificationsSent' : 'availabilityNotificationsSent')
    }
    if (!queue.ended) this.#apply(queue, entry, outcome)
  }

  /** What is under way changes nothing any more. */
  close(): void {
    this.#closed = true
  }

  #bodyOf(notice: StoredNotice, { id, attributes }: Recipient): string {
    return notice.body ?? this.#parts.word({ id, attributes }, [notice.entity])
  }

  #apply(queue: RecipientQueue, entry: Entry, outcome: AttemptOutcome): void {
    const { books, backlog } = this.#parts
    const at = now()
    books.attempt(queue.id, entry, outcome, at)
    if (outcome.kind !== 'accepted') {
      if (queue.failed(entry, outcome)) backlog.drop(queue, entry, 'ended')
      return
    }
    queue.dropWarned = false
    queue.accepted(entry)
    backlog.left(queue, entry, 'accepted', BigInt(Math.round((performance.now() - entry.since_ms) * 1e6)))
  }

  #alarm(reference: string, outcome: AttemptOutcome): void {
    if (outcome.kind === 'accepted' && this.#alarmed.size === 0) return
    const url = alarmSubject(reference)
    if (outcome.kind === 'accepted') {
      if (this.#alarmed.delete(url)) this.#parts.alarm(url, undefined)
      return
    }
    this.#alarmed.add(url)
    if (this.#alarmed.size > mostAlarmed) for (const oldest of this.#alarmed) return void this.#alarmed.delete(oldest)
    this.#parts.alarm(url, reasonText(outcome))
  }
}

function sentRequest(notice: NoticeHead, { body }: Outgoing, { kind }: AttemptOutcome): SentRequest {
  const { tenant } = notice
  return {
    service: tenant === '' ? undefined : tenant,
    servicePath: pathsText(notice),
    request_bytes: body.length,
    response_bytes: 0,
    failed: kind !== 'accepted',
  }
}
