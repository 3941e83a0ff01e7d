import { LruCache } from '../lru-cache.js'
import { err, ok, type Result } from '../result.js'
import { kindOf, needsNoBody, type PathKind } from './path-kind.js'
import { type MatchedRoute, type Router, segmentsOf } from './router.js'

/** What the path of a request means. */
export interface Target {
  readonly kind: PathKind
  /** Nothing for an unknown path. */
  readonly route: MatchedRoute | undefined
  /** Whether the decoded path is free of forbidden characters and could be decoded at all. */
  readonly clean: boolean
  readonly needsNoBody: boolean
}

/** Forbidden in paths and in URI parameters [context 4.1]. */
const forbidden = /[<>"'=;()]/

/** For paths that are asked for again and again; long ones are worth no memory. */
const remembered_bytes = 8 * 2 ** 20
const longestRemembered = 256
/** What a target takes beside the characters of its segments, which are not more than those of the path. */
const target_bytes = 512

/** Finds out what paths mean, and remembers it of those that were asked for lately. */
export class Targets {
  readonly #router: Router
  readonly #remembered = new LruCache<Target>(remembered_bytes)

  constructor(router: Router) {
    this.#router = router
  }

  /** What a path means, as it came: split at the slashes before it is decoded [management 1]. */
  find(path: string): Target {
    const remembered = this.#remembered.get(path)
    if (remembered !== undefined) return remembered
    if (path.length > longestRemembered) return this.#resolve(path)
    const copied = copyOf(path)
    const target = this.#resolve(copied)
    if (target.route !== undefined) this.#remembered.put(copied, target, target_bytes + 2 * path.length)
    return target
  }

  #resolve(path: string): Target {
    const raw = segmentsOf(path)
    const decoded = decodedSegments(raw)
    const segments = decoded ?? raw
    const clean = decoded !== undefined && !decoded.some((segment) => forbidden.test(segment))
    // A target that is no path, like the asterisk of OPTIONS, is no resource either.
    const route = clean && path.startsWith('/') ? this.#router.find(segments) : undefined
    return { kind: kindOf(segments), route, clean, needsNoBody: needsNoBody(segments) }
  }
}

/** A text of its own: the path of a target with a query is a part of it, which would hold all of it in memory. */
function copyOf(path: string): string {
  return Buffer.from(path, 'utf16le').toString('utf16le')
}

/** The path and the query of a request target; the absolute form [management 11.1] loses its scheme and host. */
export function splitTarget(target: string): { readonly path: string; readonly query: string } {
  const local = target.charCodeAt(0) === 47 ? target : target.replace(/^https?:\/\/[^/?]*/i, '')
  const question = local.indexOf('?')
  const path = question === -1 ? local : local.slice(0, question)
  return { path: utf8(path === '' ? '/' : path), query: question === -1 ? '' : utf8(local.slice(question + 1)) }
}

/** Of a target without query. */
export const noParameters: ReadonlyMap<string, string> = new Map()

/** Parameters whose values have a syntax of their own, in which those characters have a meaning [context 1.6]. */
const freeValues: ReadonlySet<string> = new Set(['q', 'mq', 'idPattern', 'typePattern'])

/**
 * The URI parameters, decoded. The last of several with one name counts; a refusal says that percent-encoding is
 * malformed.
 */
export function parseParameters(query: string): Result<ReadonlyMap<string, string>, 'malformed'> {
  if (query === '') return ok(noParameters)
  const parameters = new Map<string, string>()
  for (const item of query.split('&')) {
    if (item === '') continue
    const equals = item.indexOf('=')
    const name = decoded(plusToBlank(equals === -1 ? item : item.slice(0, equals)))
    const value = equals === -1 ? '' : decoded(plusToBlank(item.slice(equals + 1)))
    if (name === undefined || value === undefined) return err('malformed')
    parameters.set(name, value)
  }
  return ok(parameters)
}

/** Whether a name or value holds a character that URI parameters must not have [context 10.2]. */
export function hasForbiddenParameter(parameters: ReadonlyMap<string, string>): boolean {
  for (const [name, value] of parameters) {
    if (forbidden.test(name) || (!freeValues.has(name) && forbidden.test(value))) return true
  }
  return false
}

function decodedSegments(raw: readonly string[]): readonly string[] | undefined {
  const segments: string[] = []
  for (const segment of raw) {
    const text = decoded(segment)
    if (text === undefined) return undefined
    segments.push(text)
  }
  return segments
}

function decoded(text: string): string | undefined {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

function plusToBlank(text: string): string {
  return text.replaceAll('+', ' ')
}

/** Bytes beyond ASCII come as one character each. */
function utf8(text: string): string {
  return /[\x80-\xff]/.test(text) ? Buffer.from(text, 'latin1').toString('utf8') : text
}
