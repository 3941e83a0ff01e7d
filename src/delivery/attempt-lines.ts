import type { LineContext, Log } from '../log/log.js'
import { payloadShown, urlWithoutSecrets, withoutSecrets } from '../log/secrets.js'
import type { Switches } from '../shared-memory/switches.js'
import type { NoticeHead } from '../subscription/notice.js'
import { type Nanoseconds, secondsText } from '../time.js'
import type { TraceArea } from '../trace-area.js'
import { type AttemptOutcome, reasonText } from './outcome.js'
import { pathsText } from './request.js'
import type { Outgoing } from './sender.js'

const requestAreas: readonly TraceArea[] = ['notify.request', 'payload.client.out', 'payload.client.dump']

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
  readonly #url: string
  readonly #transaction: string
  #context: LineContext | undefined

  constructor(parts: AttemptLineParts, notice: NoticeHead, body: string, url: string) {
    this.#parts = parts
    this.#notice = notice
    this.#body = body
    this.#url = url
    this.#transaction = parts.transaction()
  }

  begun({ headers, body }: Outgoing): void {
    if (!requestAreas.some((area) => this.#parts.log.isTraced(area))) return
    const url = urlWithoutSecrets(this.#url)
    this.#trace('notify.request', () => `POST ${url}, ${body.length} bytes`)
    this.#trace('payload.client.out', () => this.#shown(this.#body))
    this.#trace('payload.client.dump', () => `POST ${url} ${headersShown(headers)} ${this.#shown(this.#body)}`)
  }

  ended(outcome: AttemptOutcome, duration: Nanoseconds): void {
    const result = outcome.kind === 'accepted' ? String(outcome.status) : reasonText(outcome)
    const duration_ns = String(duration)
    this.#trace('notify.response', () => `${result} after ${secondsText(duration)} s`, { duration_ns })
    const { log } = this.#parts
    if (!log.shows('INFO')) return
    const { subscription } = this.#notice
    const payload = `payload (${Buffer.byteLength(this.#body)} bytes): ${this.#shown(this.#body)}`
    const request = `POST ${urlWithoutSecrets(this.#url)}, ${payload}`
    const message = `Notif delivered (subId: ${subscription}): ${request}, response code: ${result}`
    log.info('notif:delivery', message, { duration_ns }, this.#lineContext)
  }

  /** To be called with the body of the response; undefined while that is not traced. */
  get onBody(): ((body: string) => void) | undefined {
    if (!this.#parts.log.isTraced('payload.client.in')) return undefined
    return (body) => this.#trace('payload.client.in', () => this.#shown(body))
  }

  #trace(area: TraceArea, message: () => string, facts?: { readonly duration_ns: string }): void {
    const { log } = this.#parts
    if (log.isTraced(area)) log.trace(area, message(), facts, this.#lineContext)
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

function headersShown(flat: readonly string[]): string {
  const pairs = flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1] ?? ''] as const] : []))
  return JSON.stringify(withoutSecrets(Object.fromEntries(pairs)))
}
