import type { NoticeHead } from '../../model/subscription/notice.js'
import { streamReference } from '../../model/subscription/targets.js'
import type { LineContext, Log } from '../../observe/log/log.js'
import { payloadShown, urlWithoutSecrets, withoutSecrets } from '../../observe/log/secrets.js'
import type { TraceArea } from '../../observe/log/trace.js'
import type { Switches } from '../../threads/shared-memory/switches.js'
import { type Nanoseconds, secondsText } from '../../time.js'
import { timedOut } from '../http-client/response-handler.js'
import { type AttemptOutcome, type HttpMessage, type MqttMessage, reasonText, receiverName } from '../queue/outgoing.js'
import { pathsText } from './request.js'

const requestAreas: readonly TraceArea[] = ['notify.request', 'payload.client.out', 'payload.client.dump']

/** What goes out, as far as the lines say it. */
type Shown<Message> = Omit<Message, 'body'> & { readonly body: { readonly length: number } }
type ShownOutgoing = Shown<HttpMessage> | Shown<MqttMessage>

/** What the log lines about attempts need. */
export interface AttemptLineParts {
  readonly log: Log
  readonly switches: Switches
  /** The number by which the log tells notifications apart [management 10.3]. */
  readonly transaction: () => string
}

/** The log lines of one attempt; nothing is built of those that are not shown [management 10.4]. */
export class AttemptLines {
  readonly #parts: AttemptLineParts
  readonly #notice: NoticeHead
  readonly #body: string
  readonly #transaction: string
  #context: LineContext | undefined

  constructor(parts: AttemptLineParts, notice: NoticeHead, body: string) {
    this.#parts = parts
    this.#notice = notice
    this.#body = body
    this.#transaction = parts.transaction()
  }

  begun(outgoing: ShownOutgoing): void {
    if (!requestAreas.some((area) => this.#parts.log.isTraced(area))) return
    const target = targetShown(outgoing)
    const headers = outgoing.kind === 'http' ? ` ${headersShown(outgoing.headers)}` : ''
    this.#trace('notify.request', () => `${target}, ${outgoing.body.length} bytes`)
    this.#trace('payload.client.out', () => this.#shown(this.#body))
    this.#trace('payload.client.dump', () => `${target}${headers} ${this.#shown(this.#body)}`)
  }

  ended(outgoing: ShownOutgoing, outcome: AttemptOutcome, duration: Nanoseconds): void {
    const duration_ns = String(duration)
    this.#trace('notify.response', () => `${resultShown(outcome)} after ${secondsText(duration)} s`, { duration_ns })
    const { log } = this.#parts
    if (!log.shows('INFO')) return
    log.info('notif:delivery', this.#endedText(outgoing, outcome), { duration_ns }, this.#lineContext)
  }

  /** Whether the bodies of responses are shown now. */
  get showResponses(): boolean {
    return this.#parts.log.isTraced('payload.client.in')
  }

  /** The body of a response, a character for each byte. */
  responded(body: string): void {
    this.#trace('payload.client.in', () => this.#shown(Buffer.from(body, 'latin1').toString()))
  }

  #trace(area: TraceArea, message: () => string, facts?: { readonly duration_ns: string }): void {
    const { log } = this.#parts
    if (log.isTraced(area)) log.trace(area, message(), facts, this.#lineContext)
  }

  /** One that failed says what the receiver did [management 10.4]. */
  #endedText(outgoing: ShownOutgoing, outcome: AttemptOutcome): string {
    const notif = `Notif ${outcome.kind === 'accepted' ? 'delivered' : 'failed'} (subId: ${this.#notice.subscription})`
    const payload = `payload (${Buffer.byteLength(this.#body)} bytes): ${this.#shown(this.#body)}`
    if (outgoing.kind === 'http') return `${notif}: ${targetShown(outgoing)}, ${payload}, ${responseShown(outcome)}`
    const published = `broker: ${receiverName(outgoing)}, topic: ${outgoing.topic}, ${payload}`
    return `MQTT ${notif}: ${published}${outcome.kind === 'accepted' ? '' : `, ${responseShown(outcome)}`}`
  }

  #shown(body: string): string {
    return payloadShown(body, this.#parts.switches.get('infoPayloadMaxSize'))
  }

  get #lineContext(): LineContext {
    const { correlator, tenant } = this.#notice
    this.#context ??= {
      corr: correlator,
      trans: this.#transaction,
      from: 'N/A',
      srv: tenant === '' ? '<none>' : tenant,
      subsrv: pathsText(this.#notice),
    }
    return this.#context
  }
}

function targetShown(outgoing: ShownOutgoing): string {
  if (outgoing.kind === 'http') {
    const { url, method = 'POST' } = outgoing
    return url === streamReference ? `EVENT ${url}` : `${method} ${urlWithoutSecrets(url)}`
  }
  return `PUBLISH ${receiverName(outgoing)} ${outgoing.topic}`
}

function resultShown(outcome: AttemptOutcome): string {
  return outcome.kind === 'accepted' ? String(outcome.status ?? 'acknowledged') : reasonText(outcome)
}

/** The status that the receiver responded with, or why it did not. */
function responseShown(outcome: AttemptOutcome): string {
  if (outcome.kind === 'accepted') return `response code: ${outcome.status ?? 'acknowledged'}`
  const { status, reason } = outcome
  if (status !== undefined) return `response code: ${status}`
  return `reason: ${reason === timedOut.message ? 'timed out' : reason}`
}

function headersShown(flat: readonly string[]): string {
  const pairs = flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1] ?? ''] as const] : []))
  return JSON.stringify(withoutSecrets(Object.fromEntries(pairs)))
}
