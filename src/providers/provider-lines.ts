import type { Log } from '../log/log.js'
import { payloadShown, urlWithoutSecrets } from '../log/secrets.js'
import type { TraceArea } from '../trace-area.js'
import { type ProviderRequest, type ProviderResponse, urlText } from './provider-request.js'

/** The log lines of requests that are passed on [management 2.5, 10.4]. */
export class ProviderLines {
  readonly #log: Log
  readonly #shown_bytes: () => number

  constructor(log: Log, shown_bytes: () => number) {
    this.#log = log
    this.#shown_bytes = shown_bytes
  }

  /** A request is about to go out. */
  begun(request: ProviderRequest): void {
    this.#maybe(request, 'payload.forward.out', () => payloadShown(request.body, this.#shown_bytes()))
  }

  /** A request is over; with a response, a failure, or both. */
  ended(request: ProviderRequest, response: ProviderResponse | undefined, failure: string | undefined): void {
    const status = response?.status ?? failure
    if (response !== undefined) {
      this.#maybe(request, 'payload.forward.in', () => payloadShown(response.body, this.#shown_bytes()))
    }
    this.#maybe(request, 'forward', () => `passed on to ${shownUrl(request)}: ${status}`)
    if (failure !== undefined) {
      this.#maybe(request, 'forward.error', () => `${shownUrl(request)} failed: ${failure}`)
    }
    if (this.#log.shows('INFO')) this.#info(request, response?.body ?? '', status)
  }

  #info(request: ProviderRequest, body: string, status: number | string | undefined): void {
    const shown = (payload: string) =>
      `(${Buffer.byteLength(payload)} bytes): ${payloadShown(payload, this.#shown_bytes())}`
    const url = `POST ${shownUrl(request)}`
    const payloads = `request payload ${shown(request.body)}, response payload ${shown(body)}`
    this.#log.info(
      'forward:answer',
      `Request forwarded (regId: ${request.registration}): ${url}, ${payloads}, response code: ${status}`,
      undefined,
      request.context,
    )
  }

  #maybe({ context }: ProviderRequest, area: TraceArea, message: () => string): void {
    if (this.#log.isTraced(area)) this.#log.trace(area, message(), undefined, context)
  }
}

function shownUrl(request: ProviderRequest): string {
  return urlWithoutSecrets(urlText(request))
}
