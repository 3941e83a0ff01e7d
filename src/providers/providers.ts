import type { Log } from '../log/log.js'
import type { CounterName } from '../measure/counters.js'
import type { SentRequest } from '../measure/service-metrics.js'
import { err, ok, type Result } from '../result.js'
import { AnswerBody, AnswerRoom } from './answer-room.js'
import { ProviderLines } from './provider-lines.js'
import { type AllowedDestinations, ProviderPools } from './provider-pools.js'
import {
  type Heard,
  type ProviderFailure,
  type ProviderOperation,
  type ProviderRequest,
  urlOf,
  urlText,
} from './provider-request.js'

export interface ProvidersSettings {
  /** Time limit of one request, from when it is to be sent to the end of its answer [subscriptions 8.4]. */
  readonly limit_ms: number
  /** A longer request, head included, counts as failed [management 9.3]. */
  readonly requestLimit_bytes: number
  /** Bytes of the answers to the requests that one request of a client causes, together; more are not read. */
  readonly answerLimit_bytes?: number | undefined
  /** Certificates of unknown authorities are accepted. */
  readonly insecure: boolean
  /** Connections to one origin, and in all. */
  readonly perOrigin?: number | undefined
  readonly total?: number | undefined
  readonly destinations?: AllowedDestinations | undefined
  readonly log: Log
  /** Bytes of a payload that a line shows. */
  readonly shownPayload_bytes: () => number
  /** The number of a forwarded request in the log [management 10.3]. */
  readonly transaction: () => string
  readonly count: (counter: CounterName) => void
  /** A request to this URL has failed for this reason, or has succeeded [management 10.7]. */
  readonly attempted: (url: string, reason: string | undefined) => void
  /** A request is over [management 6.2]. */
  readonly exchanged?: ((exchange: SentRequest) => void) | undefined
}

const defaults = { answerLimit_bytes: 4_194_304, perOrigin: 32, total: 256 }

/** As many requests may be answered as much as one may at the same time. */
const fullAnswers = 16

const answersReceived = {
  queryContext: 'queryResponsesReceived',
  updateContext: 'updateResponsesReceived',
} as const satisfies Record<ProviderOperation, CounterName>

/**
 * Passes requests on to the applications that registered as providers: once, without redirects, never by a proxy,
 * within bounds for time, sizes and connections [subscriptions 8.4]. One for each front end.
 */
export class Providers {
  readonly #settings: ProvidersSettings
  readonly #pools: ProviderPools
  readonly #lines: ProviderLines
  /** For all answers that arrive or are read at the same time. */
  readonly #room: AnswerRoom

  constructor(settings: ProvidersSettings) {
    this.#settings = settings
    this.#room = new AnswerRoom(fullAnswers * (settings.answerLimit_bytes ?? defaults.answerLimit_bytes))
    const { limit_ms, insecure, destinations, perOrigin, total } = settings
    this.#pools = new ProviderPools({
      connectLimit_ms: limit_ms,
      insecure,
      perOrigin: perOrigin ?? defaults.perOrigin,
      total: total ?? defaults.total,
      destinations,
    })
    this.#lines = new ProviderLines(settings.log, settings.shownPayload_bytes)
  }

  /** The room for the answers to what one request of a client causes to be asked; to be ended when they are done with. */
  answerRoom(): AnswerRoom {
    return new AnswerRoom(this.#settings.answerLimit_bytes ?? defaults.answerLimit_bytes, this.#room)
  }

  /** Asks a provider. `read` makes sense of what it answered, and gives nothing where that is no NGSI. */
  async ask<Read>(
    request: ProviderRequest,
    read: ReadAnswer<Read>,
    room = this.answerRoom(),
  ): Promise<Result<Read, ProviderFailure>> {
    const numbered = { ...request, context: { ...request.context, trans: this.#settings.transaction() } }
    this.#lines.asked(numbered)
    const heard = await this.#send(numbered, room)
    if (heard.ok) this.#settings.count(answersReceived[request.operation])
    const understood = heard.ok ? await understand(heard.value, read) : heard
    this.#report(numbered, heard, understood)
    return understood
  }

  /** Gives up what is under way. */
  close(): Promise<void> {
    return this.#pools.close()
  }

  async #send(request: ProviderRequest, room: AnswerRoom): Promise<Result<Heard, ProviderFailure>> {
    const { body } = request
    const url = urlOf(request)
    if (url === undefined) return unreachable('no URL of http or https')
    if (this.#settings.destinations?.mayConnect(url.hostname) === false) return unreachable('destination not allowed')
    const headers = { ...request.headers, ...authorizationOf(url) }
    const sent = Buffer.from(body)
    if (sentBytes(url, headers, sent) > this.#settings.requestLimit_bytes) return unreachable('request too long')
    const ending = new AbortController()
    const timer = setTimeout(() => ending.abort(timeout), this.#settings.limit_ms)
    const giveUp = () => ending.abort(unwanted)
    request.gone?.addEventListener('abort', giveUp)
    if (request.gone?.aborted) giveUp()
    try {
      return ok(await this.#exchange(url, headers, sent, ending.signal, room))
    } catch (fault) {
      return unreachable(reasonOf(fault))
    } finally {
      clearTimeout(timer)
      request.gone?.removeEventListener('abort', giveUp)
    }
  }

  #exchange(
    url: URL,
    headers: ProviderRequest['headers'],
    body: Buffer,
    signal: AbortSignal,
    room: AnswerRoom,
  ): Promise<Heard> {
    return this.#pools.with(url.origin, signal, async (pool, reset) => {
      const path = `${url.pathname}${url.search}`
      const response = await pool.request({ method: 'POST', path, headers, body, signal, reset })
      const answer = new AnswerBody(room)
      for await (const piece of response.body) if (!answer.add(piece)) throw tooLong
      return { status: response.statusCode, body: answer.text }
    })
  }

  #report(
    request: ProviderRequest,
    heard: Result<Heard, ProviderFailure>,
    result: Result<unknown, ProviderFailure>,
  ): void {
    const { headers, body } = request
    const failure = result.ok ? undefined : reasonText(result.error)
    // A client that goes says nothing about the provider.
    if (request.gone?.aborted !== true) this.#settings.attempted(urlText(request), failure)
    this.#lines.answered(request, heard.ok ? heard.value : undefined, failure)
    this.#settings.exchanged?.({
      service: headers['Fiware-Service'],
      servicePath: headers['Fiware-ServicePath'],
      request_bytes: Buffer.byteLength(body),
      response_bytes: heard.ok ? Buffer.byteLength(heard.value.body) : 0,
      failed: failure !== undefined || (heard.ok && heard.value.status >= 400),
    })
  }
}

const timeout = new Error('timeout')
const unwanted = new Error('the client has gone')
const tooLong = new Error('answer too long')

/** Makes sense of what a provider answered; gives nothing where that is no NGSI. */
export type ReadAnswer<Read> = (body: string) => Read | undefined | Promise<Read | undefined>

async function understand<Read>({ body }: Heard, read: ReadAnswer<Read>): Promise<Result<Read, ProviderFailure>> {
  if (body.trim() === '') return err({ kind: 'answerEmpty' })
  const understood = await read(body)
  return understood === undefined ? err({ kind: 'answerUnreadable' }) : ok(understood)
}

/** The length of a request as it goes out, with what the client adds to its head. */
function sentBytes(url: URL, headers: ProviderRequest['headers'], body: Buffer): number {
  const lines = [
    `POST ${url.pathname}${url.search} HTTP/1.1`,
    `host: ${url.host}`,
    'connection: keep-alive',
    `content-length: ${body.length}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ]
  return lines.reduce((sum, line) => sum + line.length + 2, 2) + body.length
}

/** User and password of a URL, as every client of HTTP sends them. */
function authorizationOf({ username, password }: URL): { readonly Authorization?: string } {
  if (username === '' && password === '') return {}
  const pair = `${unescaped(username)}:${unescaped(password)}`
  return { Authorization: `Basic ${Buffer.from(pair).toString('base64')}` }
}

/** With escapes that are none as they stand. */
function unescaped(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function unreachable(reason: string): Result<never, ProviderFailure> {
  return err({ kind: 'unreachable', reason })
}

/** In the words of the operating system, without addresses that only repeat the URL. */
function reasonOf(fault: unknown): string {
  if (!(fault instanceof Error)) return String(fault)
  const code = 'code' in fault && typeof fault.code === 'string' ? fault.code : undefined
  return code === 'ECONNREFUSED' ? 'connection refused' : (code ?? fault.message)
}

function reasonText(failure: ProviderFailure): string {
  switch (failure.kind) {
    case 'unreachable':
      return failure.reason
    case 'answerEmpty':
      return 'empty answer'
    case 'answerUnreadable':
      return 'no NGSI in the answer'
  }
}
