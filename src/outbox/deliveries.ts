import type { CounterName } from '../measure/counters.js'
import type { DeliveryMeter } from '../measure/delivery-sheet.js'
import type { SentRequest } from '../measure/service-metrics.js'
import type { Notice } from '../subscription/notice.js'
import { now } from '../time.js'
import type { Backlog } from './backlog.js'
import type { Books } from './books.js'
import { DeliveryLines, type LineParts } from './delivery-lines.js'
import type { Entry } from './entry.js'
import type { Recipient } from './message.js'
import { type AttemptOutcome, reasonText } from './outcome.js'
import type { RecipientQueue } from './recipient-queue.js'
import { headersOf, pathsText } from './request.js'
import type { Outgoing, Sender } from './sender.js'
import type { Source } from './source.js'

export interface DeliveryParts extends LineParts {
  readonly sources: readonly Source[]
  readonly sender: Sender
  readonly backlog: Backlog
  readonly books: Books
  readonly meter: DeliveryMeter
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
    const lines = new DeliveryLines(this.#parts, notice, recipient.reference)
    const outgoing = outgoingOf(notice, entry, recipient, lines)
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
    backlog.left(queue, entry, 'accepted', BigInt(Math.max(0, at - entry.made)) * 1_000_000n)
  }

  #alarm(url: string, outcome: AttemptOutcome): void {
    if (outcome.kind === 'accepted') {
      if (this.#alarmed.delete(url)) this.#parts.alarm(url, undefined)
      return
    }
    this.#alarmed.add(url)
    if (this.#alarmed.size > mostAlarmed) for (const oldest of this.#alarmed) return void this.#alarmed.delete(oldest)
    this.#parts.alarm(url, reasonText(outcome))
  }
}

function outgoingOf(notice: Notice, entry: Entry, { reference }: Recipient, lines: DeliveryLines): Outgoing {
  const headers = headersOf(notice, entry.source, entry.number)
  return { url: reference, headers, body: Buffer.from(notice.body), heard: lines.heard }
}

function sentRequest(notice: Notice, { body }: Outgoing, { kind }: AttemptOutcome): SentRequest {
  const { tenant } = notice
  return {
    service: tenant === '' ? undefined : tenant,
    servicePath: pathsText(notice),
    request_bytes: body.length,
    response_bytes: 0,
    failed: kind !== 'accepted',
  }
}
