import type { ApiResponse, Resource, StatusText } from '../broker/operations/api.js'
import { type ErrorStatus, reasonPhrases, shortForm } from '../broker/operations/response.js'
import type { Head } from './headers.js'
import { type Interfaces, interfaceOf, kinds, type PathKind, verbsOf } from './target.js'

/** Facts for the headers of a response that the response itself does not have. */
interface ResponseFacts {
  readonly head: Head
  readonly body: string
  readonly body_bytes: number
  /** Whether the connection is closed after it. */
  readonly closes: boolean
}

/** The headers of a response, names and values in turn [management 11.1, 11.2, 11.6]. */
export function responseHeaders(cors: Cors, response: ApiResponse, facts: ResponseFacts): string[] {
  const { head, body, body_bytes, closes } = facts
  const headers = ['Fiware-Correlator', head.correlator]
  if (body !== '' || response.stream) headers.push('Content-Type', response.contentType ?? 'application/json')
  if (!lengthless.has(response.status) && response.stream === undefined)
    headers.push('Content-Length', String(body_bytes))
  for (const name in response.headers) headers.push(name, response.headers[name] ?? '')
  if (cors.on) headers.push(...cors.headers(head, response.status))
  if (closes) headers.push('Connection', 'close')
  return headers
}

/** A response without a body, and one whose body the client has already: its length is not that of what is sent [RFC 9110 8.6]. */
const lengthless: ReadonlySet<number> = new Set([204, 304])

/** Orion's list [management 11.6]. */
const exposed = 'Fiware-Correlator, Fiware-Total-Count, Location'
const allowedHeaders =
  'Content-Type, Fiware-Service, Fiware-Servicepath, Ngsiv2-AttrsFormat, Fiware-Correlator, X-Forwarded-For, X-Real-IP, X-Auth-Token, Authorization'

/** Sharing responses with pages of other origins, off unless an origin is allowed [management 11.6]. */
export class Cors {
  readonly #allowed: string | undefined
  readonly #maxAge: string
  readonly #interfaces: Interfaces

  constructor(interfaces: Interfaces, allowedOrigin: string | undefined, maxAge_s: number) {
    this.#interfaces = interfaces
    this.#allowed = allowedOrigin
    this.#maxAge = String(maxAge_s)
  }

  get on(): boolean {
    return this.#allowed !== undefined
  }

  /** Whether OPTIONS is answered on paths of this kind; elsewhere it is a wrong verb. */
  takesOptions(kind: PathKind): boolean {
    return this.on && (kinds[kind].describesBroker || this.#sharesEverything(kind))
  }

  /** Whether the response to a wrong verb names OPTIONS among the verbs. */
  tellsOfOptions(kind: PathKind): boolean {
    return this.on && this.#sharesEverything(kind)
  }

  /** The headers to add to a response, names and values in turn. */
  headers({ target, verb, headers: { origin } }: Head, status: number): readonly string[] {
    const allowed = this.#allowed
    if (allowed === undefined || status === 405 || !this.#isShared(target.kind, verb)) return []
    const headers = allowed === '__ALL' ? [] : ['Vary', 'Origin']
    if (origin === undefined || (allowed !== '__ALL' && allowed !== origin)) return headers
    headers.push('Access-Control-Allow-Origin', allowed === '__ALL' ? '*' : allowed)
    headers.push('Access-Control-Expose-Headers', exposed)
    if (verb === 'OPTIONS') {
      const verbs = target.route === undefined ? [] : sharedVerbs(target.route.resource)
      headers.push('Access-Control-Allow-Methods', [...verbs, 'OPTIONS'].join(', '))
      headers.push('Access-Control-Allow-Headers', allowedHeaders)
      headers.push('Access-Control-Max-Age', this.#maxAge)
    }
    return headers
  }

  #sharesEverything(kind: PathKind): boolean {
    return interfaceOf(this.#interfaces, kind)?.shares === 'everything'
  }

  #isShared(kind: PathKind, verb: string): boolean {
    if (this.#sharesEverything(kind)) return true
    if (kinds[kind].describesBroker) return verb === 'GET' || verb === 'OPTIONS'
    return verb === 'GET' && kind === 'ngsi1'
  }
}

function sharedVerbs(resource: Resource): readonly string[] {
  const { operations, sharedOrder } = resource
  return sharedOrder?.filter((verb) => operations[verb] !== undefined) ?? verbsOf(resource)
}

/** An error in the form that the path's interface has for errors [management 1, 11.3]. */
export function errorResponse(kind: PathKind, status: ErrorStatus, text: string): ApiResponse {
  if (kinds[kind].hasShortErrors) return shortForm(status, text)
  return { status, body: JSON.stringify({ orionError: statusText(status, text) }) }
}

/** There is too much to do now, and may be less in a second [management 11.9]. */
export function overloaded(kind: PathKind, text: string): ApiResponse {
  return { ...errorResponse(kind, 503, text), headers: { 'Retry-After': '1' } }
}

/** The status object of NGSIv1 [context 1.1]. */
export function statusText(status: ErrorStatus, details: string): StatusText {
  return { code: String(status), reasonPhrase: reasonPhrases[status], details }
}

/** The details of an error, whatever form it has: for logs. */
export function reasonOf({ status, body = '' }: ApiResponse): string {
  const text = typeof body === 'string' ? body : body()
  const [, quoted] = /"(?:details|description)":("(?:[^"\\]|\\.)*")/.exec(text) ?? []
  return quoted === undefined ? `HTTP status ${status}` : String(JSON.parse(quoted))
}
