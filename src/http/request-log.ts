import type { IncomingMessage } from 'node:http'
import { type AccessLog, accessFacts, accessLevel, accessText, type EndedRequest } from '../observe/log/access-line.js'
import { type Facts, type LineContext, type Log, lineContextOf } from '../observe/log/log.js'
import { payloadShown, urlWithoutSecrets, withoutSecrets } from '../observe/log/secrets.js'
import { type TraceArea, traceArea } from '../observe/log/trace.js'
import type { Switches } from '../threads/shared-memory/switches.js'
import { clientAddressOf, single, unusedHeaders } from './headers.js'
import type { RenderedResponse } from './response-writer.js'

/** Where and how the lines of requests are written. */
export interface RequestLogParts {
  readonly log: Log
  readonly switches: Switches
  /** Which requests have an access line. */
  readonly accessLog: AccessLog
  /** Makes the number of an incoming request [management 10.3]. */
  readonly transaction: () => string
}

/** Where a request comes from. */
interface RequestSender {
  readonly correlator: string
  /** The address of its connection. */
  readonly peer: string | undefined
}

/** The stages of a request whose times are taken; their facts are made when a line shows them. */
interface TimedStages {
  readonly facts: Facts
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
const responseAreas = numbersOf('http.response', 'http.cors', 'payload.out', 'render', 'security')

/** The log lines of one request. */
export class RequestLog {
  readonly #log: Log
  readonly #switches: Switches
  readonly #accessLog: AccessLog
  readonly #transaction: () => string
  readonly #incoming: IncomingMessage
  readonly #sender: RequestSender
  #context: LineContext | undefined
  #key: string | undefined
  #fault: string | undefined

  constructor(
    { log, switches, accessLog, transaction }: RequestLogParts,
    incoming: IncomingMessage,
    sender: RequestSender,
  ) {
    this.#log = log
    this.#switches = switches
    this.#accessLog = accessLog
    this.#transaction = transaction
    this.#incoming = incoming
    this.#sender = sender
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
    this.#maybe('http.ip', () => `${socket.remoteFamily} ${this.#sender.peer}, taken as ${this.context.from}`)
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
    return this.#shownLevel(true) !== undefined || this.#anyOn(faultAreas)
  }

  /** Logs what is wrong with the payload, and where; the line of the request shows it, too. */
  payloadFault(reason: string, fault: string): void {
    this.#fault = fault
    this.#maybe('parse.check', () => `${reason}: ${fault}`)
  }

  /** The response, in the areas that show parts of it. */
  responseReady(
    { status, headers, body }: RenderedResponse,
    response_bytes: number,
    stages: TimedStages | undefined,
  ): void {
    if (!this.#anyOn(responseAreas)) return
    this.#maybe('http.response', () => `${status}, ${response_bytes} bytes, ${pairs(headers)}`)
    this.#maybe('payload.out', () => this.#shown(body))
    if (this.isTraced('render')) this.trace('render', `${response_bytes} bytes`, stages?.facts)
    const { origin } = this.#incoming.headers
    if (origin !== undefined) this.#maybe('http.cors', () => `origin ${origin}: ${corsHeaders(headers)}`)
    if (status === 401) this.#maybe('security', () => 'the token or the key is missing or wrong')
  }

  /** Whether `ended` has something to log: if not, the request need not be summed up. */
  showsEnd(hasErrors: boolean): boolean {
    return this.#shownLevel(hasErrors) !== undefined || this.isTraced('http.transaction')
  }

  /** The line of the request, unless it is a quiet one [management 10.4]. */
  ended(ended: EndedRequest, stages: TimedStages | undefined, quiet: boolean): void {
    const { method = '', url = '', headers } = this.#incoming
    if (this.isTraced('http.transaction')) {
      this.trace('http.transaction', `done: ${method} ${urlWithoutSecrets(url)}, ${ended.status}`, stages?.facts)
    }
    const level = quiet ? undefined : this.#shownLevel(ended.hasErrors)
    if (level === undefined) return
    const verbosity = this.#switches.get('verbosity')
    const payloads = { limit_bytes: this.#switches.get('infoPayloadMaxSize'), ofAllResponses: verbosity >= 5 }
    const head = { method, target: url, service: single(headers['fiware-service']) ?? '' }
    const text = accessText(head, ended, payloads)
    const facts = { ...accessFacts(head, ended, this.context), ...this.#moreFacts(stages, verbosity) }
    if (level === 'INFO') this.#log.info('http:answer', text, facts, this.context)
    else this.#log.warn('http:answer', text, facts, this.context)
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
    const { headers } = this.#incoming
    const { correlator, peer } = this.#sender
    const from = clientAddressOf(headers, peer)
    return { ...lineContextOf({ correlator, headers }), trans: this.#transaction(), from }
  }

  /** One load for each: nothing is built while all are off. */
  #anyOn(areas: AreaNumbers): boolean {
    const { traces } = this.#log
    for (const area of areas) if (traces[area] === 1) return true
    return false
  }

  #maybe(area: TraceArea, message: () => string): void {
    if (this.isTraced(area)) this.trace(area, message())
  }

  /** The level of an access line, if lines of that level are shown. */
  #shownLevel(hasErrors: boolean): 'INFO' | 'WARN' | undefined {
    const level = accessLevel(this.#accessLog, hasErrors)
    return level !== undefined && this.#log.shows(level) ? level : undefined
  }

  /** What stands behind the facts that every access line has. */
  #moreFacts(stages: TimedStages | undefined, verbosity: number): Facts {
    return {
      ...(this.#key !== undefined && { key: this.#key }),
      ...(this.#fault !== undefined && { fault: this.#fault }),
      ...(verbosity >= 3 && stages?.facts),
      ...(verbosity >= 4 && { headers: JSON.stringify(withoutSecrets(this.#incoming.headers)) }),
    }
  }

  /** On one line, cut at the limit of payloads in the log. */
  #shown(body: string): string {
    return payloadShown(body, this.#switches.get('infoPayloadMaxSize'))
  }
}

/** What came on a connection and is no request: its bytes say neither method nor path. */
interface RefusedInput {
  readonly status: number
  readonly peer: string | undefined
  /** What the parser could not read, in its words. */
  readonly fault: string
}

/** The line of what the HTTP parser has refused, in place of that of a request [management 10.4, 11.5]. */
export function logRefusedInput(parts: RequestLogParts, { status, peer, fault }: RefusedInput): void {
  const { log, accessLog, transaction } = parts
  const level = accessLevel(accessLog, true)
  if (level === undefined || !log.shows(level)) return
  const head = { method: '-', target: '-', service: '' }
  const nothing = { requestBody: '', request_bytes: 0, responseBody: '', response_bytes: 0 }
  const ended = { status, hasErrors: true, route: 'unknown', duration: 0n, ...nothing }
  const from = clientAddressOf({}, peer)
  const context = { ...lineContextOf({ correlator: '', headers: {} }), trans: transaction(), from }
  const text = accessText(head, ended, { limit_bytes: 0, ofAllResponses: false })
  const facts = { ...accessFacts(head, ended, context), fault }
  if (level === 'INFO') log.info('http:answer', text, facts, context)
  else log.warn('http:answer', text, facts, context)
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
