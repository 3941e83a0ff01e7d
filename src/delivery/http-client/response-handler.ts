import type { Dispatcher } from 'undici'
import { whenOver } from '../../time-limit.js'
import { PieceTurns } from './piece-turns.js'

/** Gets the pieces of the body of a response; a fault that it gives back cuts the body off. */
export type TakePiece = (piece: Buffer) => Error | undefined

/** The head of a response, and what becomes of its body. */
export interface HttpResponse {
  readonly status: number
  readonly location: string | undefined
  readonly retryAfter: string | undefined
  /** The header `Fiware-Total-Count`: how many results there are, on whatever page. */
  readonly totalCount: string | undefined
  /** Resolves when the body is over: with the fault if it broke off or was cut off. */
  readonly ended: Promise<unknown>
  /** Closes the connection unless the body is over. */
  cut(reason: Error): void
}

/** How long a request and its response may take. Deadlines are not signals: an `AbortSignal` for each notification doubles the time to send it. */
export interface RequestLimits {
  /** When the head of the response must have come, by `performance.now()`. */
  readonly headDeadline_ms?: number | undefined
  /** Time limit of the body. */
  readonly bodyLimit_ms?: number | undefined
  /** Ends the request, while it waits for the head or for the body. */
  readonly signal?: AbortSignal | undefined
}

interface ResponseHandlerParts {
  readonly limits: RequestLimits
  /** What the connection has received before the request. */
  readonly before_bytes: number
  readonly take: TakePiece
  readonly responded: (response: HttpResponse) => void
  /** There is no head of a response; `unanswered`: the connection broke before anything of it had come. */
  readonly failed: (fault: unknown, unanswered: boolean) => void
  /** Called once, before anybody hears of the end; `complete`: the whole response has been received. */
  readonly over: (complete: boolean) => void
}

/** Of all responses of this thread. */
const turns = new PieceTurns()

/** Takes the response to one request from undici. */
export class ResponseHandler implements Dispatcher.DispatchHandlers {
  readonly #parts: ResponseHandlerParts
  #unlimit = (): void => {}
  #abort = (_fault: Error): void => {}
  #resume = (): void => {}
  #interim = 0
  #body_bytes = 0
  #responding = false
  #over = false
  #bodyEnded: ((fault: unknown) => void) | undefined

  constructor(parts: ResponseHandlerParts) {
    this.#parts = parts
    const { headDeadline_ms, signal } = parts.limits
    if (headDeadline_ms !== undefined) this.#limit(headDeadline_ms - performance.now())
    signal?.addEventListener('abort', this)
  }

  /** Called when the signal is aborted. */
  handleEvent(): void {
    this.#end(this.#parts.limits.signal?.reason)
  }

  onConnect(abort: (fault: Error) => void): void {
    this.#abort = abort
  }

  onResponseStarted(): void {
    this.#responding = true
  }

  onHeaders(status: number, raw: readonly Buffer[], resume: () => void): boolean {
    this.#resume = resume
    if (status < 200) return this.#tookInterim()
    if (this.#over) return true
    const ended = new Promise<unknown>((resolve) => {
      this.#bodyEnded = resolve
    })
    this.#unlimit()
    const { bodyLimit_ms } = this.#parts.limits
    if (bodyLimit_ms !== undefined) this.#limit(bodyLimit_ms)
    this.#parts.responded({ status, ...headersOf(raw), ended, cut: (reason) => this.#end(reason) })
    return true
  }

  /** False pauses the parser within what it has read. */
  onData(piece: Buffer): boolean {
    if (this.#over) return false
    this.#body_bytes += piece.length
    const fault = this.#parts.take(piece)
    if (fault !== undefined) this.#end(fault)
    return fault === undefined && turns.goesOn(this.#resume)
  }

  /** The connection has received this much in all; what is not body is framing, also where the parser has not told of it. */
  received(all_bytes: number): void {
    const allowed_bytes = framing_bytes + framingOfByte_bytes * this.#body_bytes
    if (all_bytes - this.#parts.before_bytes - this.#body_bytes > allowed_bytes) this.#end(tooMuchFraming)
  }

  onComplete(): void {
    this.#end()
  }

  onError(fault: Error): void {
    this.#end(fault, !this.#responding)
  }

  /** The parser goes on with all that has come, unless the request is aborted. */
  #tookInterim(): boolean {
    this.#interim += 1
    if (this.#interim > interimMost) this.#abort(tooManyInterim)
    return true
  }

  #limit(limit_ms: number): void {
    this.#unlimit = whenOver(limit_ms, () => this.#end(timedOut))
  }

  #end(fault?: unknown, unanswered = false): void {
    if (this.#over) return
    this.#over = true
    this.#unlimit()
    this.#parts.limits.signal?.removeEventListener('abort', this)
    this.#parts.over(fault === undefined)
    if (this.#bodyEnded === undefined) this.#parts.failed(fault, unanswered)
    else this.#bodyEnded(fault)
  }
}

/** Responses with a status below 200 before the one that counts: a server has reason to send one or two. */
const interimMost = 8

/**
 * How much a response may have beside its body: in all, and for each byte of the body. A byte that is a chunk of its own has five bytes of
 * framing; the extension of a chunk, which nobody reads, may have any length.
 */
const framing_bytes = 256 * 1024
const framingOfByte_bytes = 16

const known: ReadonlySet<string> = new Set(['location', 'retry-after', 'fiware-total-count'])
const knownLengths: ReadonlySet<number> = new Set(Array.from(known, ({ length }) => length))

function headersOf(raw: readonly Buffer[]): Pick<HttpResponse, 'location' | 'retryAfter' | 'totalCount'> {
  const headers = new Map<string, string>()
  for (let at = 0; at + 1 < raw.length; at += 2) {
    // Most responses have none of them.
    if (!knownLengths.has(raw[at]?.length ?? 0)) continue
    const name = String(raw[at]).toLowerCase()
    if (known.has(name)) headers.set(name, raw[at + 1]?.toString('latin1') ?? '')
  }
  return {
    location: headers.get('location'),
    retryAfter: headers.get('retry-after'),
    totalCount: headers.get('fiware-total-count'),
  }
}

/** A request was given up on this side, for this reason. */
export class GivenUp extends Error {}

export const timedOut = new GivenUp('timeout')

const tooMuchFraming = new GivenUp('too much HTTP framing')
const tooManyInterim = new GivenUp('too many interim responses')

/** Why there is no response. */
interface FaultReason {
  /** A few words: `timeout`, `connection refused`. */
  readonly reason: string
  /** The request itself is at fault: it would fail again. */
  readonly permanent: boolean
}

/** The code by which a connection is refused to a destination that is not allowed. */
const deniedCode = 'DESTINATION_DENIED'

export function denial(hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${hostname} is not allowed as a destination`), { code: deniedCode })
}

/** The reasons for codes of Node, of undici and of the resolver; what is not here is shown by its code. */
const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  ECONNABORTED: 'connection reset',
  EPIPE: 'connection reset',
  UND_ERR_SOCKET: 'connection reset',
  ETIMEDOUT: 'timeout',
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'host unreachable',
  ENOTFOUND: 'name not resolved',
  EAI_AGAIN: 'name not resolved',
  EAI_FAIL: 'name not resolved',
  EAI_NODATA: 'name not resolved',
  UND_ERR_HEADERS_OVERFLOW: 'response head too long',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'malformed response',
  ERR_ASSERTION: 'malformed response', // undici takes a status below 100 for a mistake of its own.
}

/** What it means that a connection or a request failed; without addresses, which would only repeat the URL. */
export function reasonOfFault(fault: unknown): FaultReason {
  if (fault instanceof GivenUp) return { reason: fault.message, permanent: false }
  const code = fault instanceof Error && 'code' in fault ? String(fault.code) : ''
  if (code === deniedCode) return { reason: 'destination not allowed', permanent: true }
  if (code === 'UND_ERR_INVALID_ARG') return { reason: 'the request cannot be written', permanent: true }
  return { reason: reasonOfCode(code), permanent: false }
}

function reasonOfCode(code: string): string {
  if (code.startsWith('HPE_')) return 'malformed response'
  const reason = reasons[code]
  if (reason !== undefined) return reason
  if (/CERT|SSL|TLS|SIGNATURE|EPROTO/.test(code)) return `TLS failed (${code})`
  return code === '' ? 'connection failed' : code
}
