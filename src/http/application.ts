import type { IncomingMessage, ServerResponse } from 'node:http'
import { getRequestListener, RequestError } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { Hono } from 'hono'
import type { Resource } from '../broker/operations/api.js'
import { LruCache } from '../lru-cache.js'
import { type MatchedRoute, parsePath, placeholderName, type RequestPath, splitTarget, type Target } from './target.js'

/** `outgoing` is undefined for a request that Node's parser has given up. */
interface NodeRequest {
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse | undefined
  /** Its path, once it was parsed. */
  path?: RequestPath
}

/** Serves a request whose path has been resolved. Never throws. */
type Serve = (incoming: IncomingMessage, outgoing: ServerResponse | undefined, target: Target) => void

/**
 * The Hono application of a listening socket. Each resource is a route of it, under its pattern and its aliases and for
 * all verbs: a wrong verb is answered with the resource's own list [management 11.4].
 *
 * Handlers use Node's request and response, which Hono passes on as `env`. A `Response` could not say what goes out
 * today: header names in the case of the specification, 100 and 102, a response while the body still arrives.
 *
 * The fast path: the target that Hono has found for a path is remembered, and later requests for the same path go to it
 * without the adapter, a `Request`, a `Context` and the router. Processor time of a request as a ratio to a bare Hono
 * handler (2026-11-22): GET of an entity 0.39 through Hono, 0.20 by the fast path; updateContext 0.53
 * and 0.34.
 *
 * Hono's middleware is not used. It continues in promises, but a request enters the queue of its connection within the
 * parser's call; and what it adds to a `Response` loses the case of its names. Each has a reason of its own too:
 *
 * | middleware           | what the specification has instead                                                          |
 * | -------------------- | ------------------------------------------------------------------------------------------- |
 * | hono/cors            | OPTIONS is 200, not 204; nothing on 405; by kind of path; lists with `, ` [management 11.6]  |
 * | hono/bearer-auth     | a malformed header is 401, not 400; a token may have any characters [management 13]          |
 * | hono/secure-headers  | a fixed set of headers, to which it would add [management 11.1]                              |
 * | hono/body-limit      | 413 is the twelfth check, says how much came, and has the operation's form [management 11.4] |
 */
export class Application {
  readonly #serve: Serve
  readonly #app: Hono<{ Bindings: NodeRequest }>
  readonly #adapter: (incoming: IncomingMessage, outgoing: ServerResponse) => unknown
  readonly #remembered: LruCache<Target>
  /** The first segments, in lower case, of the paths whose fixed segments are compared without regard to case. */
  readonly #anyCase = new Map<string, boolean>()
  /** By path: resources that only navigation in a browser reaches. */
  readonly #navigated = new Map<string, Resource>()
  #latest: NodeRequest | undefined

  constructor(resources: readonly Resource[], serve: Serve) {
    this.#serve = serve
    this.#remembered = new LruCache(rememberedMax_bytes)
    this.#app = new Hono<{ Bindings: NodeRequest }>({
      // Not the URL of the web standard, which resolves dots and decodes before a path can be split.
      getPath: (_, { env } = {}) => (env === undefined ? unroutable : this.#routedPath(requestPath(env))),
    })
    this.#register(resources)
    this.#app.notFound(({ env }) => {
      this.#notFound(env)
      return RESPONSE_ALREADY_SENT
    })
    this.#adapter = getRequestListener(this.#app.fetch, {
      overrideGlobalObjects: false,
      autoCleanupIncoming: false,
      hostname: 'localhost',
      // The adapter has no URL for some targets and hosts that HTTP allows. It calls this before it returns.
      errorHandler: (fault) => {
        if (!(fault instanceof RequestError)) throw fault
        if (this.#latest !== undefined) this.#fetch(this.#latest)
      },
    })
  }

  /** Finds what the path of a request means and passes both on before it returns. */
  route(incoming: IncomingMessage, outgoing: ServerResponse | undefined): void {
    const target = this.#remembered.get(splitTarget(incoming.url ?? '').path)
    if (target !== undefined) this.#serve(incoming, outgoing, target)
    else if (outgoing === undefined) this.#fetch({ incoming, outgoing })
    else {
      this.#latest = { incoming, outgoing }
      void this.#adapter(incoming, outgoing)
    }
  }

  /** Routes a request that the adapter cannot represent: handlers look at nothing but `env`. */
  #fetch(request: NodeRequest): void {
    void this.#app.fetch(noRequest, request)
  }

  /** Hono takes the first route that matches: a pattern with a fixed segment is registered before one with a placeholder there. */
  #register(resources: readonly Resource[]): void {
    for (const resource of resources.filter(isForNavigation)) {
      for (const path of [resource.pattern, ...(resource.aliases ?? [])]) this.#navigated.set(path, resource)
    }
    const others = resources.filter((resource) => !isForNavigation(resource))
    const routes = others.flatMap((resource) =>
      [resource.pattern, ...(resource.aliases ?? [])].map((pattern) => this.#newRoute(resource, pattern)),
    )
    const patterns = new Map<string, string>()
    for (const { pattern, honoPath, resource, names } of routes.sort(fixedFirst)) {
      const same = patterns.get(honoPath)
      if (same !== undefined) throw new Error(`${pattern} and ${same} are the same path`)
      patterns.set(honoPath, pattern)
      this.#app.all(honoPath, ({ env }) => {
        this.#found(env, resource, names)
        return RESPONSE_ALREADY_SENT
      })
    }
  }

  #newRoute(resource: Resource, pattern: string): Route {
    const segments = pattern.split('/').slice(1)
    const first = (segments[0] ?? '').toLowerCase()
    const anyCase = this.#anyCase.get(first) ?? resource.anyCase
    if (anyCase !== resource.anyCase) throw new Error(`case matters for some paths that begin as ${pattern} does`)
    this.#anyCase.set(first, anyCase)
    const names = segments.map(placeholderName)
    // Hono's names for placeholders are their positions: `{id}` and `{type}` may have the same one.
    const parts = segments.map((segment, at) => (names[at] === undefined ? folded(segment, anyCase) : `:at${at}`))
    return { resource, pattern, honoPath: `/${parts.join('/')}`, names }
  }

  /** A path as the router compares it: each segment decoded, in lower case where case does not matter, escaped again. */
  #routedPath({ segments, clean, isPath }: RequestPath): string {
    if (!clean || !isPath) return unroutable
    const anyCase = this.#anyCase.get((segments[0] ?? '').toLowerCase()) ?? false
    return `/${segments.map((segment) => folded(segment, anyCase)).join('/')}`
  }

  #notFound(request: NodeRequest): void {
    const { incoming, outgoing } = request
    const { path, kind, clean, needsNoBody } = requestPath(request)
    const resource = isNavigation(incoming) ? this.#navigated.get(path) : undefined
    if (resource === undefined) this.#serve(incoming, outgoing, { kind, clean, needsNoBody, route: undefined })
    else
      this.#serve(incoming, outgoing, {
        kind: 'console',
        clean,
        needsNoBody,
        route: { resource, segments: noSegments },
      })
  }

  #found(request: NodeRequest, resource: Resource, names: Route['names']): void {
    const { path, segments, kind, clean, needsNoBody } = requestPath(request)
    const route: MatchedRoute = { resource, segments: namedSegments(names, segments) }
    const target = { kind: resource.forPeople === undefined ? kind : 'console', clean, needsNoBody, route } as const
    if (path.length <= longestRemembered) {
      this.#remembered.put(path, target, target_bytes + 2 * path.length)
    }
    this.#serve(request.incoming, request.outgoing, target)
  }
}

function isForNavigation({ forPeople }: Resource): boolean {
  return forPeople === 'navigation'
}

/** Whether somebody has typed the address into a browser, or followed a link. */
function isNavigation({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.accept?.toLowerCase().includes('text/html') === true
}

interface Route {
  readonly resource: Resource
  readonly pattern: string
  readonly honoPath: string
  /** The names of placeholders by position; undefined for fixed segments. */
  readonly names: readonly (string | undefined)[]
}

/** For paths that are requested again and again; longer paths are not remembered. */
const rememberedMax_bytes = 8 * 2 ** 20
const longestRemembered = 256
/** The size of a target without the characters of its segments, of which there are no more than in the path. */
const target_bytes = 128

/** A path that no resource has: the root is an unknown one [management 11.4]. */
const unroutable = '/'

const noRequest = new Request('http://localhost/')

function requestPath(request: NodeRequest): RequestPath {
  request.path ??= parsePath(pathOf(request.incoming.url ?? ''))
  return request.path
}

/** A path that is only a part of its target is copied: it would keep all of that in memory. */
function pathOf(target: string): string {
  const { path } = splitTarget(target)
  return path.length === target.length ? path : Buffer.from(path, 'utf16le').toString('utf16le')
}

/** The order of two routes by the first segment in which one is fixed and the other is not. */
function fixedFirst({ names: one }: Route, { names: other }: Route): number {
  for (let at = 0; at < Math.min(one.length, other.length); at += 1) {
    const difference = Number(one[at] !== undefined) - Number(other[at] !== undefined)
    if (difference !== 0) return difference
  }
  // The length only makes it an order: without it a shorter route would be equal to two that are not equal.
  return one.length - other.length
}

/** A segment as the router compares it; a slash that was escaped in it is escaped again. */
function folded(segment: string, anyCase: boolean): string {
  const escaped = /[%/]/.test(segment) ? segment.replaceAll('%', '%25').replaceAll('/', '%2F') : segment
  return anyCase ? escaped.toLowerCase() : escaped
}

const noSegments: MatchedRoute['segments'] = Object.freeze({})

/** The values of the placeholders as they came: the routed path has lost upper and lower case. */
function namedSegments(names: Route['names'], segments: readonly string[]): MatchedRoute['segments'] {
  const named: Record<string, string> = {}
  let isEmpty = true
  for (const [at, name] of names.entries()) {
    if (name === undefined) continue
    named[name] = segments[at] ?? ''
    isEmpty = false
  }
  return isEmpty ? noSegments : named
}
