import type { Log } from '../log/log.js'
import { payloadShown, urlWithoutSecrets } from '../log/secrets.js'
import { type TraceArea, traceArea } from '../trace-area.js'
import { type Heard, type ProviderRequest, urlText } from './provider-request.js'

/** The log lines of requests that are passed on [management 2.5, 10.4]. */
export class ProviderLines {
  readonly #log: Log
  readonly #shown_bytes: () => number

  constructor(log: Log, shown_bytes: () => number) {
    this.#log = log
    this.#shown_bytes = shown_bytes
  }

  /** A request is about to go out. */
  asked(request: ProviderRequest): void {
    this.#maybe(request, 'payload.forward.out', () => payloadShown(request.body, this.#shown_bytes()))
  }

  /** A request is over, answered or not. */
  answered(request: ProviderRequest, heard: Heard | undefined, failure: string | undefined): void {
    const status = heard?.status ?? failure
    if (heard !== undefined) {
      this.#maybe(request, 'payload.forward.in', () => payloadShown(heard.body, this.#shown_bytes()))
    }
    this.#maybe(request, 'forward', () => `passed on to ${shownUrl(request)}: ${status}`)
    if (failure !== undefined) {
      this.#maybe(request, 'forward.error', () => `${shownUrl(request)} failed: ${failure}`)
    }
    if (this.#log.shows('INFO')) this.#info(request, heard?.body ?? '', status)
  }

  #info(request: ProviderRequest, answer: string, status: number | string | undefined): void {
    const shown = (payload: string) =>
      `(${Buffer.byteLength(payload)} bytes): ${payloadShown(payload, this.#shown_bytes())}`
    const url = `POST ${shownUrl(request)}`
    const payloads = `request payload ${shown(request.body)}, response payload ${shown(answer)}`
    this.#log.info(
      'forward:answer',
      `Request forwarded (regId: ${request.registration}): ${url}, ${payloads}, response code: ${status}`,
      undefined,
      request.context,
    )
  }

  #maybe({ context }: ProviderRequest, area: TraceArea, message: () => string): void {
    if (this.#log.traces[traceArea[area]] === 1) this.#log.trace(area, message(), undefined, context)
  }
}

function shownUrl(request: ProviderRequest): string {
  return urlWithoutSecrets(urlText(request))
}
