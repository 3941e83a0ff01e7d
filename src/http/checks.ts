import { timingSafeEqual } from 'node:crypto'
import type { ApiResponse, Interface, Operation, Resource, Use, Verb } from '../broker/operations/api.js'
import { bearerToken, secretDigest } from '../flags/api-keys.js'
import type { PathRange } from '../model/context/query.js'
import { err, ok, type Result } from '../result.js'
import { type Head, isJson, isText, mediaTypeOf, parseAccept, single } from './headers.js'
import {
  brokerRefusal,
  isOfOrion,
  needsTrust,
  notFromHere,
  type SiteCheck,
  type TrustCheck,
} from './management-access.js'
import { type Cors, errorResponse, statusText } from './responses.js'
import {
  type Interfaces,
  interfaceOf,
  kinds,
  type MatchedRoute,
  noParameters,
  type PathKind,
  parseParameters,
  parsePath,
  refusesBrokers,
  type Target,
  verbsOf,
} from './target.js'

/** The options and interfaces that the checks depend on. */
export interface CheckRules {
  readonly hasToken: TokenCheck
  readonly isTrusted: TrustCheck
  readonly sites: SiteCheck
  readonly maxTarget_bytes: number
  readonly maxBody_bytes: number
  readonly cors: Cors
  readonly interfaces: Interfaces
}

/** A request that has passed the checks of its head. */
export interface Admitted {
  readonly route: MatchedRoute
  /** Nothing for OPTIONS, which has no operation. */
  readonly operation: Operation | undefined
  readonly parameters: ReadonlyMap<string, string>
}

/** Why a request is not carried out. */
export interface RefusedRequest {
  readonly response: ApiResponse
  /** Whether it is counted all the same: unknown paths and wrong verbs are [management 4.3]. */
  readonly counted: boolean
}

/** Checks 1 to 4, which need no body; the value are the service paths [management 11.4]. */
export function checkTarget(rules: CheckRules, head: Head): Result<readonly PathRange[], ApiResponse> {
  const { target, headers } = head
  if (kinds[target.kind].needsToken && !rules.hasToken(headers.authorization)) return err(unauthorized(head))
  const pattern = target.route?.resource.pattern
  const ofOrion = pattern !== undefined && isOfOrion(pattern, head.verb)
  const foreign = kinds[target.kind].refusesSites ? rules.sites.refusal(useOf(head), headers, ofOrion) : undefined
  if (foreign !== undefined) return err(errorResponse(target.kind, 403, foreign))
  const sent = refusesBrokers(target.kind, head.path) ? brokerRefusal(headers) : undefined
  if (sent !== undefined) return err(errorResponse('management', 403, sent))
  if (head.url.length > rules.maxTarget_bytes) {
    return err(errorResponse(target.kind, 414, 'the request target is too long'))
  }
  if (!target.clean) return err(errorResponse(target.kind, 400, 'invalid character in URI'))
  const long = longHeader(head)
  if (long !== undefined) return err(errorResponse(target.kind, 400, long))
  const used = interfaceOf(rules.interfaces, target.kind)
  return used === undefined ? ok([]) : used.parseServicePaths(single(headers['fiware-servicepath']), head.verb)
}

/** The most characters of headers that are stored with each notification, and sent on with it, and with each forwarded request. */
const correlatorMost = 1024
const tokenMost = 8192

function longHeader({ headers, correlator }: Head): string | undefined {
  return (
    lengthFault('Fiware-Correlator', correlator, correlatorMost) ??
    lengthFault('X-Auth-Token', single(headers['x-auth-token']) ?? '', tokenMost)
  )
}

function lengthFault(name: string, { length }: string, most: number): string | undefined {
  return length > most ? `${name} length: ${length}, max length supported: ${most}` : undefined
}

/** Checks 5 to 16, which need to know how long the body is [management 11.4]. */
export function checkRequest(rules: CheckRules, head: Head, body_bytes: number): Result<Admitted, RefusedRequest> {
  const parameters = parseParameters(head.query)
  const refusal =
    checkMediaType(rules, head, body_bytes) ??
    checkAccept(rules, head, parameters) ??
    (body_bytes > rules.maxBody_bytes ? tooLarge(rules, head, body_bytes) : undefined) ??
    checkPresence(head, body_bytes)
  if (refusal !== undefined) return err({ response: refusal, counted: false })
  return checkOperation(rules, head, parameters.ok ? parameters.value : noParameters)
}

/** Whether a request only reads, which pages of some other sites may do: a GET, unless its parameters make it change something. */
function useOf({ verb, target, query }: Head): Use {
  if (verb !== 'GET') return 'write'
  const changes = target.route?.resource.operations.GET?.changes
  if (changes === undefined) return 'read'
  const parameters = parseParameters(query)
  return parameters.ok && changes(parameters.value) ? 'write' : 'read'
}

/** The response to a body that is longer than the limit [management 11.7]. */
export function tooLarge(rules: CheckRules, head: Head, body_bytes: number): ApiResponse {
  return bodyError(head, 413, `payload size: ${body_bytes}, max size supported: ${rules.maxBody_bytes}`)
}

/** The response to a body whose bytes are no text: stored as they can be read, they would be lost. */
export function notUtf8(head: Head): ApiResponse {
  return bodyError(head, 400, 'the body is not UTF-8')
}

/** Codings of content that make a body something else than its text. Others are ignored: some clients name a set of characters here. */
const compressions: ReadonlySet<string> = new Set(['gzip', 'x-gzip', 'deflate', 'br', 'zstd', 'compress', 'x-compress'])

function checkMediaType({ interfaces }: CheckRules, head: Head, body_bytes: number): ApiResponse | undefined {
  const { target, headers, verb } = head
  const used = interfaceOf(interfaces, target.kind)
  if (body_bytes === 0 || used === undefined) return undefined
  const encoding = single(headers['content-encoding'])
  if (encoding?.split(',').some((coding) => compressions.has(coding.trim().toLowerCase()))) {
    return errorResponse(target.kind, 415, `not supported content encoding: ${encoding}`)
  }
  const type = mediaTypeOf(headers['content-type'])
  if (type === undefined) {
    const text = 'Content-Type header not used, default application/octet-stream is not supported'
    return errorResponse(target.kind, 415, text)
  }
  if (isJson(type) || (verb === 'PUT' && isText(type) && isOfText(used, head))) return undefined
  return errorResponse(target.kind, 415, `not supported content type: ${type}`)
}

/** Whether a path takes and gives text beside JSON. An attribute may be called value: what counts is the pattern of a known path. */
function isOfText(used: Interface, { target, path }: Head): boolean {
  return used.isOfText(target.route?.resource.pattern ?? path)
}

/** Accept is checked before the parameters; whether it allows text only, after them. */
function checkAccept(rules: CheckRules, head: Head, parameters: ReturnType<typeof parseParameters>) {
  const { kind, route } = head.target
  const used = interfaceOf(rules.interfaces, kind)
  const hasOneType = kinds[kind].ignoresAccept || route?.resource.givesEvents === true
  const accept = hasOneType ? ok('json' as const) : parseAccept(head.headers.accept)
  if (!accept.ok) return errorResponse(kind, accept.error.status, accept.error.text)
  const refusal = checkParameters(rules, head, parameters)
  if (refusal !== undefined || accept.value === 'json' || (used !== undefined && isOfText(used, head))) return refusal
  return errorResponse(kind, 406, 'acceptable MIME types: application/json')
}

function checkParameters(
  rules: CheckRules,
  { target, query }: Head,
  parameters: ReturnType<typeof parseParameters>,
): ApiResponse | undefined {
  if (query === '') return undefined
  if (!parameters.ok) return errorResponse(target.kind, 400, 'invalid character in URI parameter')
  // Management has its own texts for parameters, which come with its operations [management 3.2, 4.5].
  return interfaceOf(rules.interfaces, target.kind)?.checkParameters(parameters.value)
}

function checkPresence(head: Head, body_bytes: number): ApiResponse | undefined {
  const { verb, target } = head
  // On a path that has no such verb that is the error to tell.
  const isWrongVerb = target.route !== undefined && operationOf(target.route.resource, verb, false) === undefined
  if ((verb === 'GET' || verb === 'DELETE') && body_bytes > 0 && !kinds[target.kind].isManagement && !isWrongVerb) {
    return errorResponse(target.kind, 400, 'Rigel accepts no payload for GET/DELETE requests')
  }
  const needsBody = verb === 'POST' || verb === 'PUT' || verb === 'PATCH'
  if (!needsBody || body_bytes > 0 || target.needsNoBody || target.route?.resource.givesEvents) return undefined
  return bodyError(head, 411, 'Zero/No Content-Length in PUT/POST/PATCH request')
}

function checkOperation(
  rules: CheckRules,
  head: Head,
  parameters: ReadonlyMap<string, string>,
): Result<Admitted, RefusedRequest> {
  const { target, verb, path } = head
  const { route, kind } = target
  if (route === undefined) return err({ response: unknownPath(rules, kind, path, verb), counted: true })
  if (verb === 'OPTIONS' && rules.cors.takesOptions(kind)) {
    return ok({ route, operation: undefined, parameters })
  }
  const operation = operationOf(route.resource, verb, kinds[kind].isPolled)
  if (operation === undefined) return err({ response: wrongVerb(rules, target, route.resource), counted: true })
  const verbInEffect = operation.changes?.(parameters) === true ? 'DELETE' : verb
  if (kind === 'management' && needsTrust(route.resource.pattern, verbInEffect) && !rules.isTrusted(head)) {
    return err({ response: errorResponse(kind, 403, notFromHere), counted: false })
  }
  return ok({ route, operation, parameters })
}

function unknownPath({ interfaces }: CheckRules, kind: PathKind, path: string, verb: string): ApiResponse {
  const used = interfaceOf(interfaces, kind)
  if (used === undefined) return errorResponse(kind, 400, 'service not found')
  return used.unknownPath(parsePath(path).segments, verb)
}

/** The operation of a verb; HEAD is GET where machines poll [management 8.2]. */
function operationOf({ operations }: Resource, verb: string, polled: boolean): Operation | undefined {
  if (verb === 'HEAD') return polled ? operations.GET : undefined
  return isVerb(verb) ? operations[verb] : undefined
}

function wrongVerb({ cors }: CheckRules, { kind }: Target, resource: Resource): ApiResponse {
  const verbs = verbsOf(resource)
  const allowed = cors.tellsOfOptions(kind) ? [...verbs, 'OPTIONS'] : verbs
  const headers = { Allow: allowed.join(', ') }
  if (!kinds[kind].hasShortErrors) return { status: 405, headers }
  return { ...errorResponse(kind, 405, 'method not allowed'), headers }
}

/** 400, 411 and 413 stand where the operation of the path reports its errors, also for a wrong verb [management 11.3]. */
function bodyError({ target, verb }: Head, status: 400 | 411 | 413, text: string): ApiResponse {
  const operations = target.route?.resource.operations ?? {}
  const operation = (isVerb(verb) ? operations[verb] : undefined) ?? Object.values(operations)[0]
  if (operation?.wrapStatus === undefined) return errorResponse(target.kind, status, text)
  return { status, body: JSON.stringify(operation.wrapStatus(statusText(status, text))) }
}

function unauthorized({ target }: Head): ApiResponse {
  const headers = { 'WWW-Authenticate': 'Bearer realm="management"' }
  return { ...errorResponse(target.kind, 401, 'the management interface needs a valid token'), headers }
}

const verbs: ReadonlySet<string> = new Set([
  'GET',
  'POST',
  'PUT',
  'DELETE',
  'PATCH',
  'HEAD',
  'OPTIONS',
] satisfies Verb[])

/** Whether a method is one that resources can have. */
export function isVerb(method: string): method is Verb {
  return verbs.has(method)
}

/** Says whether an Authorization header carries the token of the management interface [management 13]. */
type TokenCheck = (authorization: string | undefined) => boolean

/** The check of a token. Digests are compared, so that the time says nothing, not even the token's length. */
export function tokenCheck(token: string | undefined): TokenCheck {
  if (token === undefined) return () => true
  const expected = secretDigest(token)
  return (authorization) => {
    const given = bearerToken(authorization)
    return given !== undefined && timingSafeEqual(secretDigest(given), expected)
  }
}
