import type { ApiResponse, Use } from '../broker/operations/api.js'
import { type ApiKey, type ApiKeys, bearerToken } from '../flags/api-keys.js'
import type { Tenant } from '../model/context/entity.js'
import { parseTenant } from '../model/context/scope-headers.js'
import { numberOf } from '../number-of.js'
import { FrequentEvent } from '../observe/log/frequent-event.js'
import type { Log } from '../observe/log/log.js'
import type { Result } from '../result.js'
import type { TenantRates } from '../threads/shared-memory/tenant-rates.js'
import type { Nanoseconds } from '../time.js'
import { type Head, single } from './headers.js'
import type { RequestLog } from './request-log.js'
import { errorResponse } from './responses.js'
import { kinds } from './target.js'

/** The parts of a head that say who asks for what. */
type AccessRequest = Pick<Head, 'target' | 'verb' | 'headers'>

/** Who may use the interfaces for clients, and how much. */
interface AccessRules {
  /** From `-apiKeys`. */
  readonly keys: ApiKeys | undefined
  /** From `-rateLimit`. */
  readonly rates: TenantRates | undefined
  readonly multiservice: boolean
  /** Whether a request is a browser's preflight, which carries no key. */
  readonly isPreflight: (head: Head) => boolean
  readonly lines: RefusalLines
}

/**
 * Says who may use the interfaces for clients: who has a key for the tenant and the operation, and a tenant that does not
 * send more than it may. Both come before all other checks, and before refusals because of overload, so that nothing can be learnt without a key.
 */
export class ClientAccess {
  readonly #rules: AccessRules

  constructor(rules: AccessRules) {
    this.#rules = rules
  }

  /** The response to a request that may not go on. A key is taken out of the head: it is for nobody else. */
  refusal(head: Head, log: RequestLog, now: Nanoseconds): ApiResponse | undefined {
    const { keys, multiservice, isPreflight } = this.#rules
    if (kinds[head.target.kind].isManagement || isPreflight(head)) return undefined
    if (keys !== undefined) {
      const key = takeKey(keys, head)
      if (key !== undefined) log.keyUsed(key.name)
      const refusal = keyRefusal(key, head, tenantOf(head, multiservice))
      if (refusal !== undefined) return refusal
    }
    return this.tooMuch(head, now)
  }

  /** Whether a request needs a key, and has none for what it asks for. Nothing is taken out of its head. */
  lacksKey(request: AccessRequest): boolean {
    const { keys, multiservice } = this.#rules
    if (keys === undefined || kinds[request.target.kind].isManagement) return false
    const { ofBearer, ofToken } = keysIn(keys, request)
    return keyRefusal(ofBearer ?? ofToken, request, tenantOf(request, multiservice)) !== undefined
  }

  /** The response to a request whose tenant sends more than it may; every call counts a request. */
  tooMuch(head: AccessRequest, now: Nanoseconds): ApiResponse | undefined {
    const { rates, lines, multiservice } = this.#rules
    if (rates === undefined) return undefined
    const tenant = tenantOf(head, multiservice)
    const wait = tenant.ok ? rates.take(tenant.value, now) : rates.takeUnnamed(now)
    if (wait === 0n) return undefined
    lines.refused(tenant.ok && tenant.value !== '' ? `tenant ${tenant.value}` : 'no tenant')
    const text = 'this tenant sends more requests than it may'
    const headers = { 'Retry-After': String((wait + 999_999_999n) / 1_000_000_000n) }
    return { ...errorResponse(head.target.kind, 429, text), headers }
  }
}

function tenantOf({ headers }: AccessRequest, multiservice: boolean): Result<Tenant, string> {
  return parseTenant(single(headers['fiware-service']), multiservice)
}

/** Why a key is not good for a request; nothing when it is. */
function keyRefusal(
  key: ApiKey | undefined,
  request: AccessRequest,
  tenant: Result<Tenant, string>,
): ApiResponse | undefined {
  const { kind } = request.target
  if (key === undefined) {
    const text = 'the request needs a valid key, as X-Auth-Token: KEY or as Authorization: Bearer KEY'
    return { ...errorResponse(kind, 401, text), headers: { 'WWW-Authenticate': 'Bearer realm="context"' } }
  }
  if (key.tenants !== undefined && !(tenant.ok && key.tenants.includes(tenant.value))) {
    return errorResponse(kind, 403, 'this key is for other tenants')
  }
  return useOf(request) === 'write' && !key.mayWrite ? errorResponse(kind, 403, 'this key is for reading') : undefined
}

/**
 * The key of a request. An X-Auth-Token that is none is the client's, and goes on to receivers and providers as it does
 * without keys; of several in one, nobody knows which are keys.
 */
function takeKey(keys: ApiKeys, head: Head): ApiKey | undefined {
  const { ofBearer, ofToken, token } = keysIn(keys, head)
  if (ofToken !== undefined || token?.includes(',') === true) delete head.headers['x-auth-token']
  return ofBearer ?? ofToken
}

function keysIn(keys: ApiKeys, { headers }: AccessRequest) {
  const bearer = bearerToken(headers.authorization)
  const ofBearer = bearer === undefined ? undefined : keys.find(bearer)
  const token = single(headers['x-auth-token'])
  const ofToken = token === undefined ? undefined : keys.find(token.trim())
  return { ofBearer, ofToken, token }
}

/** How the operation of a request uses the broker; nothing where there is none, which is said later. */
function useOf({ target, verb }: AccessRequest): Use | undefined {
  const operations: Readonly<Record<string, { readonly use: Use } | undefined>> | undefined =
    target.route?.resource.operations
  return operations?.[verb]?.use
}

/** Logs that requests are refused, in a limited number of lines, each of which says how many there were. */
export class RefusalLines {
  readonly #log: Log
  readonly #type: string
  readonly #why: string
  readonly #refusals = new FrequentEvent()

  /** `why`: what the lines end with. */
  constructor(log: Log, type: string, why: string) {
    this.#log = log
    this.#type = type
    this.#why = why
  }

  /** A request was refused; `which` is said of the last one. */
  refused(which?: string): void {
    const refused = this.#refusals.happened()
    if (refused === undefined) return
    const last = which === undefined ? '' : ` (${refused === 1 ? '' : 'the last one: '}${which})`
    const were = refused === 1 ? 'was' : 'were'
    this.#log.warn(this.#type, `${numberOf(refused, 'request')} ${were} refused${last}: ${this.#why}`)
  }
}
