import { setTimeout as sleep } from 'node:timers/promises'
import { alarmSubject } from '../log/secrets.js'
import type { CounterName } from '../measure/counters.js'
import type { DeliveryMeter } from '../measure/delivery-figures.js'
import type { SentRequest } from '../measure/service-metrics.js'
import type { NoticeRenderer, NumberedNotice, StoredNotice } from '../subscription/notice.js'
import { now } from '../time.js'
import { type AttemptLineParts, AttemptLines } from './attempt-lines.js'
import type { DeliveryQueue } from './delivery-queue.js'
import type { Recipient } from './message.js'
import {
  type AttemptAlarm,
  type AttemptOutcome,
  type HttpMessage,
  type Outgoing,
  reasonText,
  receiverName,
} from './outgoing.js'
import { type PreparedNotice, preparedNotice, tellOfDrop } from './prepared-notice.js'
import type { BegunAttempt } from './receiver-turns.js'
import { headersOf, messageSize, sentRequest, tooLong } from './request.js'
import type { Sender } from './sender.js'
import type { Source, SourceNumber } from './source.js'

/** What decides how long a notification is, and how long it may be. */
export interface MessageLimits {
  /** Names this broker in the notifications [subscriptions 8.4]. */
  readonly brokerId: string
  /** Bytes of a notification as it is sent, head and body. */
  readonly maxSize: number
}

export interface AttemptParts extends AttemptLineParts, MessageLimits {
  readonly sources: readonly Source[]
  readonly sender: Sender
  readonly queue: DeliveryQueue
  readonly meter: DeliveryMeter
  /** Renders the bodies that were not rendered when their change was made. */
  readonly word: NoticeRenderer
  readonly count: (name: CounterName) => void
  /** An attempt has ended; what the receiver responded beside its status is not measured [management 6.2]. */
  readonly sent: (request: SentRequest) => void
  /** An attempt failed for this reason, or succeeded again, at this URL or MQTT broker. */
  readonly alarm: (alarm: AttemptAlarm, subject: string, reason: string | undefined) => void
}

/** Receivers at which the last attempt failed, as far as they are remembered; alarms are no longer kept either [management 10.7]. */
const mostAlarmed = 10_000

/** How often it is checked whether all attempts have ended. */
const idleCheck_ms = 10

/** Makes the attempts that the delivery queue begins, and tells it how they ended [subscriptions 5.3]. */
export class Attempts {
  readonly #parts: AttemptParts
  readonly #alarmed = new Map<string, readonly [alarm: AttemptAlarm, subject: string]>()
  /** How many are under way, by outbox. */
  readonly #underWay = new Map<SourceNumber, number>()
  #ended = 0
  #scheduled = false
  #running = false
  #closed = false

  constructor(parts: AttemptParts) {
    this.#parts = parts
  }

  /** From now on attempts are begun. */
  start(): void {
    this.#running = true
    this.schedule()
  }

  /** The queue may have something to begin. */
  schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    // Whoever calls is in the middle of a change of the queue.
    queueMicrotask(() => {
      this.#scheduled = false
      this.#beginAll()
    })
  }

  /**
   * Resolves when nothing is under way and nothing can be begun, and at the latest after this time, or when no attempt
   * has ended for as long as patience lasts. Time in which the process stood still does not count as patience: what has
   * arrived meanwhile is read only afterwards.
   */
  async idle(limit_ms: number, patience_ms: number): Promise<void> {
    const begun = performance.now()
    let [ended, looked, quiet_ms] = [this.#ended, begun, 0]
    while (!this.#parts.queue.isIdle) {
      const at = performance.now()
      quiet_ms = this.#ended === ended ? quiet_ms + Math.min(at - looked, 2 * idleCheck_ms) : 0
      ;[ended, looked] = [this.#ended, at]
      if (at - begun >= limit_ms || quiet_ms >= patience_ms) return
      await sleep(idleCheck_ms)
    }
  }

  /** Resolves when no attempt of an outbox is under way, and at the latest after this time. */
  async ended(source: SourceNumber, limit_ms: number): Promise<void> {
    const until_ms = performance.now() + limit_ms
    while (this.#underWay.has(source) && performance.now() < until_ms) await sleep(idleCheck_ms)
  }

  /** Another node makes some of the attempts: what is still so is found out by the next ones of this one. */
  releaseAlarms(): void {
    for (const [alarm, subject] of this.#alarmed.values()) this.#parts.alarm(alarm, subject, undefined)
    this.#alarmed.clear()
  }

  /** No attempt is begun any more, and what is under way changes nothing. */
  close(): void {
    this.#running = false
    this.#closed = true
  }

  #beginAll(): void {
    const { queue } = this.#parts
    while (this.#running) {
      const attempt = queue.next()
      if (attempt === undefined) return
      const { source } = attempt.notice
      this.#count(source, 1)
      // A fault in here ends the thread, as every fault does.
      this.#make(attempt).finally(() => {
        this.#count(source, -1)
        this.#ended += 1
      })
    }
  }

  #count(source: SourceNumber, change: number): void {
    const underWay = (this.#underWay.get(source) ?? 0) + change
    if (underWay > 0) this.#underWay.set(source, underWay)
    else this.#underWay.delete(source)
  }

  async #make(attempt: BegunAttempt): Promise<void> {
    const { queue, maxSize, brokerId } = this.#parts
    const { notice: queued, recipient } = attempt
    const prepared = preparedNotice(this.#parts, queued, recipient)
    if (prepared.kind !== 'ready') {
      this.#drop(attempt, prepared)
      return
    }
    const { notice, body } = prepared
    const lines = new AttemptLines(this.#parts, notice, body)
    const outgoing = outgoingOf(notice, recipient, Buffer.from(body), lines.onBody, () =>
      headersOf(notice, queued.source, queued.number, brokerId),
    )
    const headers = outgoing.kind === 'http' ? outgoing.headers : []
    const size = notice.body === undefined ? messageSize(outgoing.url, headers, outgoing.body.length) : 0
    if (size > maxSize) queue.unsendable(attempt, tooLong(size))
    else await this.#send(attempt, notice, outgoing, lines)
  }

  async #send(attempt: BegunAttempt, notice: StoredNotice, outgoing: Outgoing, lines: AttemptLines): Promise<void> {
    const { queue, sender, meter, sent, count } = this.#parts
    const { kind } = attempt.recipient
    lines.begun(outgoing)
    const begun = process.hrtime.bigint()
    const outcome = await sender.send(outgoing)
    if (this.#closed) return // It was cut off by the end of the courier, which is no failure of the receiver.
    const duration = process.hrtime.bigint() - begun
    meter.attempted(outcome.kind, duration)
    const { receiver, recipient } = attempt
    queue.receiverRecords.ended(receiver.name, recipient.id, outcome, Number(duration) / 1e6, now())
    lines.ended(outgoing, outcome, duration)
    sent(sentRequest(notice, outgoing.body.length, outcome))
    // Of a notice that has left meanwhile another node tells.
    if (attempt.notice.state !== 'left') this.#alarm(outgoing, outcome)
    if (outcome.kind === 'accepted') {
      count(kind === 'context' ? 'notificationsSent' : 'availabilityNotificationsSent')
      queue.accepted(attempt, outcome)
    } else queue.failed(attempt, outcome)
  }

  #drop(attempt: BegunAttempt, unprepared: Exclude<PreparedNotice, { readonly kind: 'ready' }>): void {
    const { queue, log } = this.#parts
    if (unprepared.kind === 'missing') queue.missing(attempt)
    else if (unprepared.kind === 'damaged') queue.unsendable(attempt, unprepared.reason)
    else {
      tellOfDrop(log, attempt.recipient.id, unprepared.why)
      queue.undeliverable(attempt)
    }
  }

  #alarm(outgoing: Outgoing, outcome: AttemptOutcome): void {
    if (outcome.kind === 'accepted' && this.#alarmed.size === 0) return
    const alarm: AttemptAlarm = outgoing.kind === 'http' ? 'NotificationError' : 'MqttConnectionError'
    const subject = alarmSubject(receiverName(outgoing))
    const key = `${alarm} ${subject}`
    if (outcome.kind === 'accepted') {
      if (this.#alarmed.delete(key)) this.#parts.alarm(alarm, subject, undefined)
      return
    }
    this.#alarmed.set(key, [alarm, subject])
    if (this.#alarmed.size > mostAlarmed)
      for (const oldest of this.#alarmed.keys()) return void this.#alarmed.delete(oldest)
    this.#parts.alarm(alarm, subject, reasonText(outcome))
  }
}

/** Where and how a notice goes out: as its message says, else as its subscription does now. */
function outgoingOf(
  { message }: StoredNotice,
  { reference, terms }: Recipient,
  body: Buffer,
  onBody: HttpMessage['onBody'],
  headers: () => readonly string[],
): Outgoing {
  const url = message?.url ?? reference
  const target = terms?.target
  if (target?.kind !== 'mqtt') {
    const timeout_ms = target?.timeout_ms || undefined
    return { kind: 'http', url, method: message?.method, headers: headers(), timeout_ms, body, onBody }
  }
  const { topic, qos, retain, user, passwd: password } = target
  return { kind: 'mqtt', url, user, password, topic: message?.topic ?? topic, qos, retain, body }
}

/** What a notification is longer than its record on disk, at most: names of headers, and what they always contain. */
const headSpare_bytes = 1024

/** Why a notice whose body is rendered is too long to be sent to a recipient; undefined of any other notice. */
export function tooLongFor(
  { reference }: Recipient,
  source: SourceNumber,
  { number, notice, size_bytes, body_bytes }: NumberedNotice,
  { maxSize, brokerId }: MessageLimits,
): string | undefined {
  const url = notice.message?.url ?? reference
  if (body_bytes === undefined || size_bytes + url.length + headSpare_bytes <= maxSize) return undefined
  const size = messageSize(url, headersOf(notice, source, number, brokerId), body_bytes)
  return size > maxSize ? tooLong(size) : undefined
}
