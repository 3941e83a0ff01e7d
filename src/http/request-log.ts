import type { IncomingMessage } from 'node:http'
import { type Facts, type LineContext, type Log, lineContextOf } from '../observe/log/log.js'
import { payloadShown, urlWithoutSecrets, withoutSecrets } from '../observe/log/secrets.js'
import { type TraceArea, traceArea } from '../observe/log/trace.js'
import type { Switches } from '../threads/shared-memory/switches.js'
import { clientAddressOf, single, unusedHeaders } from './headers.js'

interface LoggedResponse {
  readonly status: number
  readonly headers: readonly string[]
  readonly requestBody: string
  readonly request_bytes: number
  readonly responseBody: string
  readonly response_bytes: number
  readonly stages: Facts
}

/** Trace areas by number: every request looks them all up. */
type AreaNumbers = readonly number[]

const headAreas = numbersOf(
  'http.connection',
  'http.url',
  'http.request',
  'http.headers',
  'http.headers.unknown',
  'http.params',
  'http.tenant',
  'http.servicepath',
  'http.ip',
  'http.transaction',
)
const bodyAreas = numbersOf('http.payload', 'payload.in')
const faultAreas = numbersOf('parse.check', 'alarm')
const responseAreas = numbersOf('http.response', 'http.cors', 'http.transaction', 'payload.out', 'render', 'security')

export class RequestLog {
  readonly #log: Log
  readonly #switches: Switches
  readonly #incoming: IncomingMessage
  readonly #correlator: string
  readonly #transaction: () => string
  #context: LineContext | undefined
  #key: string | undefined
  #fault: string | undefined

  constructor(log: Log, switches: Switches, incoming: IncomingMessage, correlator: string, transaction: () => string) {
    this.#log = log
    this.#switches = switches
    this.#incoming = incoming
    this.#correlator = correlator
    this.#transaction = transaction
  }

  /** Whether lines of an area are wanted: if not, their text need not be built. */
  isTraced(area: TraceArea): boolean {
    return this.#log.isTraced(area)
  }

  /** A line of a trace area; the caller has checked that it is wanted. */
  trace(area: TraceArea, message: string, facts?: Facts): void {
    this.#log.trace(area, message, facts, this.context)
  }

  /** The request has come with the key of this name [management 10.3]. */
  keyUsed(name: string): void {
    this.#key = name
    this.#maybe('security', () => `key ${name}`)
  }

  /** The head, in the areas that show parts of it. */
  head(path: string): void {
    if (!this.#anyOn(headAreas)) return
    const { method, url, httpVersion, headers, rawHeaders, socket } = this.#incoming
    const target = urlWithoutSecrets(url ?? '')
    this.#maybe('http.request', () => `${method} ${target} HTTP/${httpVersion}`)
    this.#maybe('http.transaction', () => `begun: ${method} ${target}`)
    this.#maybe('http.url', () => `${target} as received, path ${path}`)
    this.#maybe('http.headers', () => JSON.stringify(withoutSecrets(headers)))
    this.#maybe('http.headers.unknown', () => unusedHeaders(headers).join(', '))
    this.#maybe('http.ip', () => `${socket.remoteFamily} ${socket.remoteAddress}, taken as ${this.context.from}`)
    this.#maybe('http.tenant', () => single(headers['fiware-service']) ?? '<none>')
    this.#maybe('http.servicepath', () => single(headers['fiware-servicepath']) ?? '<none>')
    this.#maybe('http.params', () => target.slice(path.length))
    this.#maybe('http.connection', () => `request with ${rawHeaders.length / 2} headers on port ${socket.remotePort}`)
  }

  /** The body, once it is there. */
  body(body: string, bytes: number): void {
    if (!this.#anyOn(bodyAreas)) return
    const type = this.#incoming.headers['content-type'] ?? 'no type'
    this.#maybe('http.payload', () => `${bytes} bytes, ${type}`)
    this.#maybe('payload.in', () => this.#shown(body))
  }

  /** Whether a line is to show what is wrong with a payload, beyond what the response says. */
  get showsFaults(): boolean {
    return this.#log.shows('INFO') || this.#anyOn(faultAreas)
  }

  /** Logs what is wrong with the payload, and where; the line of the request shows it, too. */
  payloadFault(reason: string, fault: string): void {
    this.#fault = fault
    this.#maybe('parse.check', () => `${reason}: ${fault}`)
  }

  /** The response, and the line of the request [management 10.4]. */
  responseSent(response: LoggedResponse, quiet: boolean): void {
    const shown = !quiet && this.#log.shows('INFO')
    if (!shown && !this.#anyOn(responseAreas)) return
    const { status, headers, responseBody, response_bytes, stages } = response
    this.#maybe('http.response', () => `${status}, ${response_bytes} bytes, ${pairs(headers)}`)
    this.#maybe('payload.out', () => this.#shown(responseBody))
    this.#maybe('render', () => `${response_bytes} bytes`, stages)
    const { method, url, headers: given } = this.#incoming
    if (given.origin !== undefined) this.#maybe('http.cors', () => `origin ${given.origin}: ${corsHeaders(headers)}`)
    if (status === 401) this.#maybe('security', () => 'the token or the key is missing or wrong')
    const target = urlWithoutSecrets(url ?? '')
    this.#maybe('http.transaction', () => `done: ${method} ${target}, ${status}`, stages)
    if (shown)
      this.#log.info(
        'http:answer',
        this.#requestLine(response, `${method} ${target}`),
        this.#facts(stages),
        this.context,
      )
  }

  /** An operation failed in a way that only a developer can mend [management 11.9]. */
  failed(fault: unknown): void {
    const stack = fault instanceof Error ? (fault.stack ?? fault.message) : String(fault)
    this.#log.error('http:fault', `internal error: ${stack}`, undefined, this.context)
  }

  get context(): LineContext {
    this.#context ??= this.#newContext()
    return this.#context
  }

  #newContext(): LineContext {
    const { headers, socket } = this.#incoming
    const from = clientAddressOf(headers, socket.remoteAddress)
    return { ...lineContextOf({ correlator: this.#correlator, headers }), trans: this.#transaction(), from }
  }

  /** One load for each: nothing is built while all are off. */
  #anyOn(areas: AreaNumbers): boolean {
    const { traces } = this.#log
    for (const area of areas) if (traces[area] === 1) return true
    return false
  }

  #maybe(area: TraceArea, message: () => string, facts?: Facts): void {
    if (this.isTraced(area)) this.trace(area, message(), facts)
  }

  #requestLine(
    { status, requestBody, request_bytes, responseBody, response_bytes }: LoggedResponse,
    what: string,
  ): string {
    const request = requestBody === '' ? '' : `, request payload (${request_bytes} bytes): ${this.#shown(requestBody)}`
    const shows = responseBody !== '' && (status >= 400 || this.#switches.get('verbosity') >= 5)
    const response = shows ? `, response payload (${response_bytes} bytes): ${this.#shown(responseBody)}` : ''
    return `Request received: ${what}${request}, response code: ${status}${response}`
  }

  #facts(stages: Facts): Facts | undefined {
    const verbosity = this.#switches.get('verbosity')
    const shown = {
      ...(this.#key !== undefined && { key: this.#key }),
      ...(this.#fault !== undefined && { fault: this.#fault }),
    }
    if (verbosity < 3) return shown
    if (verbosity < 4) return { ...shown, ...stages }
    return { ...shown, ...stages, headers: JSON.stringify(withoutSecrets(this.#incoming.headers)) }
  }

  /** On one line, cut at the limit of payloads in the log. */
  #shown(body: string): string {
    return payloadShown(body, this.#switches.get('infoPayloadMaxSize'))
  }
}

function numbersOf(...areas: readonly TraceArea[]): AreaNumbers {
  return areas.map((area) => traceArea[area])
}

function corsHeaders(headers: readonly string[]): string {
  const isCors = (name: string | undefined) => name?.toLowerCase().startsWith('access-control-') === true
  const shown = headers.filter((_, at) => isCors(headers[at - (at % 2)]))
  return shown.length === 0 ? 'no headers' : pairs(shown)
}

function pairs(headers: readonly string[]): string {
  const texts: string[] = []
  for (let at = 0; at < headers.length; at += 2) texts.push(`${headers[at]}: ${headers[at + 1]}`)
  return texts.join(', ')
}
