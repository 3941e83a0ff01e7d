import type { PathKind } from './path-kind.js'

/** What CORS needs to know of an answer. */
export interface OriginCheck {
  readonly kind: PathKind
  readonly verb: string
  readonly status: number
  readonly origin: string | undefined
  /** The verbs of the resource, for OPTIONS. */
  readonly verbs: readonly string[]
}

const exposed = 'Fiware-Correlator, Fiware-Total-Count, Location'
const allowedHeaders =
  'Authorization, Content-Type, Fiware-Service, Fiware-Servicepath, Ngsiv2-AttrsFormat, Fiware-Correlator, X-Forwarded-For, X-Real-IP, X-Auth-Token'

/** Sharing answers with pages of other origins, off unless an origin is allowed [management 11.6]. */
export class Cors {
  readonly #allowed: string | undefined
  readonly #maxAge: string

  constructor(allowedOrigin: string | undefined, maxAge_s: number) {
    this.#allowed = allowedOrigin
    this.#maxAge = String(maxAge_s)
  }

  get on(): boolean {
    return this.#allowed !== undefined
  }

  /** Whether OPTIONS is answered on paths of this kind; elsewhere it is a wrong verb. */
  takesOptions(kind: PathKind): boolean {
    return this.on && hasOptions(kind)
  }

  /** The headers to add to an answer, names and values in turn. */
  headers(crossing: OriginCheck): readonly string[] {
    const { kind, verb, status, origin, verbs } = crossing
    const allowed = this.#allowed
    if (allowed === undefined || status === 405 || !isShared(kind, verb)) return []
    const headers = allowed === '__ALL' ? [] : ['Vary', 'Origin']
    if (origin === undefined || (allowed !== '__ALL' && allowed !== origin)) return headers
    headers.push('Access-Control-Allow-Origin', allowed === '__ALL' ? '*' : allowed)
    headers.push('Access-Control-Expose-Headers', exposed)
    if (verb === 'OPTIONS') {
      headers.push('Access-Control-Allow-Methods', [...verbs, 'OPTIONS'].join(', '))
      headers.push('Access-Control-Allow-Headers', allowedHeaders)
      headers.push('Access-Control-Max-Age', this.#maxAge)
    }
    return headers
  }
}

function hasOptions(kind: PathKind): boolean {
  return kind === 'ngsi2' || kind === 'version'
}

function isShared(kind: PathKind, verb: string): boolean {
  if (kind === 'ngsi2') return true
  return (verb === 'GET' && (kind === 'ngsi1' || kind === 'version')) || (verb === 'OPTIONS' && hasOptions(kind))
}
