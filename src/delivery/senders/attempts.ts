import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { InTurn } from '../../in-turn.js'
import type { StoredNotice } from '../../model/subscription/notice.js'
import type { SubscriptionId } from '../../model/subscription/subscription.js'
import { alarmSubject, ownText, secretValues } from '../../observe/log/secrets.js'
import type { CounterName } from '../../observe/measure/counters.js'
import type { DeliveryMeter } from '../../observe/measure/delivery-figures.js'
import type { SentRequest } from '../../observe/measure/service-metrics.js'
import { Slices } from '../../slices.js'
import { now } from '../../time.js'
import { keptResponse_bytes, type ReceivedResponse } from '../queue/attempt-records.js'
import { isQuick } from '../queue/attempt-shares.js'
import type { Recipient } from '../queue/courier-protocol.js'
import type { DeliveryQueue } from '../queue/delivery-queue.js'
import type { OutboxNumber } from '../queue/outboxes.js'
import {
  type AttemptAlarm,
  type AttemptOutcome,
  type Outgoing,
  type ResponseReader,
  reasonText,
  receiverName,
} from '../queue/outgoing.js'
import type { BegunAttempt } from '../queue/receiver-turns.js'
import { type AttemptLineParts, AttemptLines } from './attempt-lines.js'
import type { HttpSender } from './http-sender.js'
import type { MqttSender } from './mqtt-sender.js'
import { type PreparingParts, preparedNotice, type ReadyNotice } from './prepared-notice.js'
import { sentRequest } from './request.js'

export interface AttemptParts extends AttemptLineParts, PreparingParts {
  readonly http: Pick<HttpSender, 'send' | 'close'>
  readonly mqtt: Pick<MqttSender, 'send' | 'close'>
  readonly queue: DeliveryQueue
  readonly meter: Pick<DeliveryMeter, 'attempted'>
  readonly count: (name: CounterName) => void
  /** An attempt has ended; what the receiver responded beside its status is not measured [management 6.2]. */
  readonly sent: (request: SentRequest) => void
  /** An attempt at this URL or MQTT broker failed, for a reason, or succeeded again. */
  readonly alarm: (alarm: AttemptAlarm, subject: string, reason: string | undefined) => void
}

/** Receivers whose last attempt failed that are remembered: as many as there are alarms [management 10.7]. */
const mostAlarmed = 10_000

interface RaisedAlarm {
  readonly alarm: AttemptAlarm
  readonly subject: string
  /** The subscriptions with attempts that failed since it was raised. */
  readonly failing: Set<SubscriptionId>
}

/** A notice that takes more than this while it is sent is long. */
const shortMost_bytes = 2 ** 17

/** How much of a response's body is kept while bodies are traced. */
const traced_bytes = 16 * 1024

/**
 * Attempts at receivers that are not quick that are begun in one turn of the event loop: where connections are refused, these
 * all fail in the next turn, and a failure takes more than a millisecond.
 */
const othersAtOnce = 16

/** How often it is checked whether all attempts of an outbox have ended. */
const endedCheck_ms = 10

/** Makes the attempts that the delivery queue begins, and tells it how they ended [subscriptions 5.3]. */
export class Attempts {
  readonly #parts: AttemptParts
  /** By kind and subject. */
  readonly #alarmed = new Map<string, RaisedAlarm>()
  /** Attempts under way, by outbox. */
  readonly #underWay = new Map<OutboxNumber, number>()
  /** Reading and rendering a long notice may take milliseconds: there is one in a turn of the event loop. */
  readonly #longOnes = new InTurn()
  #accepted = 0
  #scheduled = false
  /** waiting ─▶ beginning: attempts are begun ─▶ finishing: none is begun any more ─▶ closed: those under way were given up. */
  #stage: 'waiting' | 'beginning' | 'finishing' | 'closed' = 'waiting'

  constructor(parts: AttemptParts) {
    this.#parts = parts
  }

  start(): void {
    this.#stage = 'beginning'
    this.schedule()
  }

  /** Begins what the queue has to begin, once the caller is done, in slices. */
  schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    // The caller is in the middle of a change of the queue.
    queueMicrotask(() => this.#beginAll())
  }

  /** Attempts under way. */
  get underWay(): number {
    let sum = 0
    for (const attempts of this.#underWay.values()) sum += attempts
    return sum
  }

  /** Attempts that were accepted, ever. */
  get accepted(): number {
    return this.#accepted
  }

  /** Resolves when no attempt of an outbox is under way, and at the latest after this time. */
  async ended(outbox: OutboxNumber, limit_ms: number): Promise<void> {
    const until_ms = performance.now() + limit_ms
    while (this.#underWay.has(outbox) && performance.now() < until_ms) await sleep(endedCheck_ms)
  }

  /** Ends all alarms, since another node makes some of the attempts now; the next failures of this node raise them again. */
  releaseAlarms(): void {
    for (const raised of this.#alarmed.values()) this.#parts.alarm(raised.alarm, raised.subject, undefined)
    this.#alarmed.clear()
  }

  /** A subscription has ended, or has another receiver now: the alarm of this one ends, unless attempts for others failed there too. */
  leave(recipient: Recipient): void {
    if (this.#alarmed.size === 0) return
    const [alarm, subject, key] = alarmOf(recipient)
    const failing = this.#alarmed.get(key)?.failing
    if (!failing?.delete(recipient.id) || failing.size > 0) return
    this.#alarmed.delete(key)
    this.#parts.alarm(alarm, subject, undefined)
  }

  /** Begins no attempt any more. */
  finish(): void {
    this.#stage = 'finishing'
  }

  /** Begins no attempt any more and gives up those under way, whose outcomes are ignored. */
  close(): void {
    this.#stage = 'closed'
    this.#parts.http.close()
    this.#parts.mqtt.close()
  }

  #beginAll(): void {
    const slices = new Slices()
    let atOthers = 0
    while (this.#stage === 'beginning') {
      const attempt = this.#parts.queue.next()
      if (attempt === undefined) break
      const { outbox } = attempt.notice
      this.#count(outbox, 1)
      // A fault in here ends the thread, as every fault does.
      this.#make(attempt).finally(() => this.#count(outbox, -1))
      if (!isQuick(attempt.share.standing)) atOthers += 1
      if (atOthers < othersAtOnce && !slices.isOver) continue
      setImmediate(() => this.#beginAll())
      return
    }
    this.#scheduled = false
  }

  #count(outbox: OutboxNumber, change: number): void {
    const underWay = (this.#underWay.get(outbox) ?? 0) + change
    if (underWay > 0) this.#underWay.set(outbox, underWay)
    else this.#underWay.delete(outbox)
  }

  async #make(attempt: BegunAttempt): Promise<void> {
    const { queue } = this.#parts
    const { notice, recipient } = attempt
    if (notice.sent_bytes > shortMost_bytes) await this.#longOnes.run(nextTurn)
    if (this.#stage === 'closed') return
    const prepared = preparedNotice(this.#parts, notice, recipient)
    if (prepared.kind === 'ready') {
      const lines = new AttemptLines(this.#parts, prepared.notice, prepared.body)
      const received: ReceivedResponse = {}
      const outgoing = outgoingOf(prepared, recipient, readerOf(prepared, lines, received))
      await this.#send(attempt, prepared.notice, outgoing, lines, received)
    } else queue.ended(attempt, prepared)
  }

  async #send(
    attempt: BegunAttempt,
    notice: StoredNotice,
    outgoing: Outgoing,
    lines: AttemptLines,
    received: ReceivedResponse,
  ): Promise<void> {
    const { queue, http, mqtt, meter, sent, count } = this.#parts
    const { kind } = attempt.recipient
    lines.begun(outgoing)
    const begun = process.hrtime.bigint()
    const outcome = await (outgoing.kind === 'http' ? http.send(outgoing) : mqtt.send(outgoing))
    if (this.#stage === 'closed') return // It was cut off by the end of the courier, which is no failure of the receiver.
    const duration = process.hrtime.bigint() - begun
    meter.attempted(outcome.kind, duration)
    const { receiver, recipient } = attempt
    const [duration_ms, at] = [Number(duration) / 1e6, now()]
    queue.receiverRecords.ended(receiver.name, outcome, duration_ms, at)
    lines.ended(outgoing, outcome, duration)
    sent(sentRequest(notice, outgoing.body.length, outcome))
    // If the notice has left meanwhile, its subscription has ended, or another node attempts it and reports.
    if (attempt.notice.state !== 'left') {
      queue.attemptRecords.ended(recipient.id, outcome, duration_ms, at, received)
      // An alarm about the receiver before a change of the subscription would never end.
      if (attempt.queue.recipient?.reference === recipient.reference) this.#alarm(recipient, outcome)
    }
    if (outcome.kind === 'accepted') {
      this.#accepted += 1
      count(kind === 'context' ? 'notificationsSent' : 'availabilityNotificationsSent')
    }
    queue.ended(attempt, outcome)
  }

  #alarm(recipient: Recipient, outcome: AttemptOutcome): void {
    if (outcome.kind === 'accepted' && this.#alarmed.size === 0) return
    const [alarm, subject, key] = alarmOf(recipient)
    if (outcome.kind === 'accepted') {
      if (this.#alarmed.delete(key)) this.#parts.alarm(alarm, subject, undefined)
      return
    }
    const raised = this.#alarmed.get(key) ?? { alarm, subject, failing: new Set() }
    raised.failing.add(recipient.id)
    this.#alarmed.set(key, raised)
    if (this.#alarmed.size > mostAlarmed)
      for (const oldest of this.#alarmed.keys()) return void this.#alarmed.delete(oldest)
    this.#parts.alarm(alarm, subject, reasonText(outcome))
  }
}

/**
 * The alarm about the receiver of a subscription. Its subject is the URL as the subscription gives it, with the macros of a template
 * and without the parameters of its `qs`: each message may have other ones [management 10.7].
 */
function alarmOf({ reference: url, terms }: Recipient): readonly [alarm: AttemptAlarm, subject: string, key: string] {
  const kind = terms?.target.kind ?? 'http'
  const alarm = kind === 'http' ? 'NotificationError' : 'MqttConnectionError'
  const subject = alarmSubject(receiverName({ kind, url }))
  return [alarm, subject, `${alarm} ${subject}`]
}

/** Keeps the start of the last response, and traces the bodies of all its responses if they are traced. */
function readerOf({ headers }: ReadyNotice, lines: AttemptLines, received: ReceivedResponse): ResponseReader {
  return {
    kept_bytes: lines.showResponses ? traced_bytes : keptResponse_bytes,
    take: ({ start, bytes }, isLast) => {
      lines.responded(start)
      if (!isLast) return
      const text = start.length > keptResponse_bytes ? ownText(start.slice(0, keptResponse_bytes)) : start
      received.start = { text, isCut: bytes > keptResponse_bytes, secrets: secretValues(headers) }
    },
  }
}

/** How a notice goes out: as its message says, else as its subscription does now. */
function outgoingOf(
  { notice: { message }, url, headers, body: text }: ReadyNotice,
  { terms }: Recipient,
  response: ResponseReader,
): Outgoing {
  const body = Buffer.from(text)
  const target = terms?.target
  if (target?.kind !== 'mqtt') {
    const timeout_ms = target?.timeout_ms || undefined
    return { kind: 'http', url, method: message?.method, headers, timeout_ms, body, response }
  }
  const { topic, qos, retain, user, passwd: password } = target
  return { kind: 'mqtt', url, user, password, topic: message?.topic ?? topic, qos, retain, body }
}
