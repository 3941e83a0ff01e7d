import type { Interface, Resource } from '../broker/operations/api.js'
import { hasForbidden } from '../model/context/entity.js'
import { err, ok, type Result } from '../result.js'

/** A resource and what stands for the placeholders of its pattern. */
export interface MatchedRoute {
  readonly resource: Resource
  readonly segments: Readonly<Record<string, string>>
}

/** The verbs of a resource, in the order of the Allow header. */
export function verbsOf({ operations }: Resource): readonly string[] {
  return Object.keys(operations)
}

/** The resource and the kind of a path. */
export interface Target {
  readonly kind: PathKind
  /** Nothing for an unknown path. */
  readonly route: MatchedRoute | undefined
  /** Whether the decoded path is free of forbidden characters and could be decoded at all. */
  readonly clean: boolean
  readonly needsNoBody: boolean
}

/** The path of a request, before it is known which resource it is. */
export interface RequestPath extends Omit<Target, 'route'> {
  /** As it came. */
  readonly path: string
  /** Whether it is a path at all, unlike the asterisk of OPTIONS. */
  readonly isPath: boolean
  /** Decoded; as they came if they could not be. */
  readonly segments: readonly string[]
}

/** Reads a path as it came: split at the slashes before it is decoded [management 1]. */
export function parsePath(path: string): RequestPath {
  const raw = segmentsOf(path)
  const decoded = decodedSegments(raw)
  const segments = decoded ?? raw
  const clean = decoded !== undefined && !decoded.some(hasForbidden)
  const isPath = path.startsWith('/')
  return { path, isPath, segments, clean, kind: kindOf(segments), needsNoBody: needsNoBody(segments) }
}

/** The segments of a path as it came or of a pattern; one slash at the end is ignored. */
export function segmentsOf(path: string): readonly string[] {
  const end = path.endsWith('/') ? path.length - 1 : path.length
  return end <= 0 ? [] : path.slice(path.startsWith('/') ? 1 : 0, end).split('/')
}

/** The name of a placeholder; nothing for a fixed segment of a pattern. */
export function placeholderName(segment: string): string | undefined {
  return /^\{(\w+)\}$/.exec(segment)?.[1]
}

/** The path and the query of a request target; the absolute form [management 11.1] loses its scheme and host. */
export function splitTarget(target: string): { readonly path: string; readonly query: string } {
  const local = target.charCodeAt(0) === 47 ? target : target.replace(/^https?:\/\/[^/?]*/i, '')
  const question = local.indexOf('?')
  const path = question === -1 ? local : local.slice(0, question)
  return { path: utf8(path === '' ? '/' : path), query: question === -1 ? '' : utf8(local.slice(question + 1)) }
}

/** The parameters of a target without query. */
export const noParameters: ReadonlyMap<string, string> = new Map()

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
    const name = decoded(plusToSpace(equals === -1 ? item : item.slice(0, equals)))
    const value = equals === -1 ? '' : decoded(plusToSpace(item.slice(equals + 1)))
    if (name === undefined || value === undefined) return err('malformed')
    parameters.set(name, value)
  }
  return ok(parameters)
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

function plusToSpace(text: string): string {
  return text.replaceAll('+', ' ')
}

/** Bytes beyond ASCII come as one character each. */
function utf8(text: string): string {
  return /[\x80-\xff]/.test(text) ? Buffer.from(text, 'latin1').toString('utf8') : text
}

/** The kind of a path by its first segments, known or not [management 1]. */
export type PathKind =
  | 'ngsi1'
  | 'ngsi2'
  | 'management'
  | 'version'
  | 'reference'
  | 'health'
  | 'metrics'
  /** For people, where it is served; elsewhere such a path is none of the above. */
  | 'console'
  | 'other'

const exactKinds: ReadonlyMap<string, PathKind> = new Map([
  ['admin', 'management'],
  ['version', 'version'],
  ['docs', 'reference'],
  ['openapi.json', 'reference'],
  ['health', 'health'],
  ['metrics', 'metrics'],
  ['v2', 'ngsi2'],
])

const anyCaseKinds: ReadonlyMap<string, PathKind> = new Map([
  ['log', 'management'],
  ['cache', 'management'],
  ['statistics', 'management'],
  ['v1', 'ngsi1'],
  ['ngsi9', 'ngsi1'],
  ['ngsi10', 'ngsi1'],
])

/** The kind of the path with these segments. */
export function kindOf([first = '', second = '']: readonly string[]): PathKind {
  const folded = first.toLowerCase()
  if (folded === 'v1' && second.toLowerCase() === 'admin') return 'management'
  return exactKinds.get(first) ?? anyCaseKinds.get(folded) ?? 'other'
}

/** The interfaces for clients. */
export interface Interfaces {
  readonly ngsi1: Interface
  readonly ngsi2: Interface
}

/** The interface that paths of a kind belong to; what nobody serves is NGSIv1's, and that of management is no interface for clients. */
export function interfaceOf({ ngsi1, ngsi2 }: Interfaces, kind: PathKind): Interface | undefined {
  if (kind === 'ngsi2') return ngsi2
  return kinds[kind].isManagement ? undefined : ngsi1
}

/** How paths of a kind differ from those of NGSIv1. */
interface KindTraits {
  /** Errors have the short form instead of the orionError form [management 1]. */
  readonly hasShortErrors: boolean
  /** Of the management interface: bodies and service paths are not looked at [management 11.4]. */
  readonly isManagement: boolean
  /** Polled by machines, of the console, or version and description: HEAD is allowed [management 8.2]. */
  readonly isPolled: boolean
  /** Version and description: reads are shared with pages of other origins [management 11.6]. */
  readonly describesBroker: boolean
  /** The token is needed, if there is one [management 13]. */
  readonly needsToken: boolean
  /** Requests that another web site caused are refused; what other kinds tell is not worth it [management 13]. */
  readonly refusesSites: boolean
  /** Served on the port of the context interface and on that of the management [management 13]. */
  readonly isOnBothPorts: boolean
  /** Responses have one media type, whatever the client accepts [management 11.4]. */
  readonly ignoresAccept: boolean
}

const plain: KindTraits = {
  hasShortErrors: false,
  isManagement: false,
  isPolled: false,
  describesBroker: false,
  needsToken: false,
  refusesSites: false,
  isOnBothPorts: false,
  ignoresAccept: false,
}
const managed: KindTraits = { ...plain, hasShortErrors: true, isManagement: true }
const polled: KindTraits = { ...managed, isPolled: true }

/** The traits of each kind of path. */
export const kinds: { readonly [Kind in PathKind]: KindTraits } = {
  ngsi1: plain,
  ngsi2: { ...plain, hasShortErrors: true },
  management: { ...managed, needsToken: true, refusesSites: true },
  version: { ...polled, describesBroker: true, isOnBothPorts: true },
  reference: { ...polled, describesBroker: true, isOnBothPorts: true, ignoresAccept: true },
  health: { ...polled, isOnBothPorts: true, ignoresAccept: true },
  metrics: { ...polled, needsToken: true, ignoresAccept: true },
  console: { ...polled, ignoresAccept: true },
  other: plain,
}

/** Whether requests that a broker has sent are refused: of management, and all of the console, be it served or not [management 13]. */
export function refusesBrokers(kind: PathKind, path: string): boolean {
  return kinds[kind].refusesSites || isConsole(path)
}

/** Whether the first segment of a path is that of the console: every request asks, so the path is not split for it. */
function isConsole(path: string): boolean {
  const from = path.startsWith('/') ? 1 : 0
  const end = from + 'console'.length
  return path.startsWith('console', from) && (path.length === end || path[end] === '/')
}

/** Whether POST, PUT and PATCH may come without a body: under `/log/`, `/admin/` and `/v1/admin/` [management 11.4]. */
export function needsNoBody(segments: readonly string[]): boolean {
  const [first = '', second = ''] = segments
  const folded = first.toLowerCase()
  if (folded === 'v1') return second.toLowerCase() === 'admin' && segments.length > 2
  return (folded === 'log' || first === 'admin') && segments.length > 1
}
