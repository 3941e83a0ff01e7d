/** What a path belongs to, by its first segments, be it known or not [management 1]. */
export type PathKind = 'ngsi1' | 'ngsi2' | 'management' | 'version' | 'health' | 'metrics' | 'other'

const exactKinds: ReadonlyMap<string, PathKind> = new Map([
  ['admin', 'management'],
  ['version', 'version'],
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

/** Whether errors have the short form instead of the orionError form [management 1]. */
export function hasShortErrors(kind: PathKind): boolean {
  return kind !== 'ngsi1' && kind !== 'other'
}

/** Whether the path is one of the management interface: bodies and service paths are not looked at [management 11.4]. */
export function isManagement(kind: PathKind): boolean {
  return kind === 'management' || isPolled(kind)
}

/** Paths that machines poll: they may use HEAD [management 8.2]. */
export function isPolled(kind: PathKind): boolean {
  return kind === 'version' || kind === 'health' || kind === 'metrics'
}

/** Whether the token is needed, if there is one [management 13]. */
export function needsToken(kind: PathKind): boolean {
  return kind === 'management' || kind === 'metrics'
}

/** Whether the path is answered on the port of the context interface and on the one of the management [management 13]. */
export function isOnBothPorts(kind: PathKind): boolean {
  return kind === 'version' || kind === 'health'
}

/** `/metrics` and `/health/…` have one form of answer, whatever the client would take [management 11.4]. */
export function ignoresAccept(kind: PathKind): boolean {
  return kind === 'metrics' || kind === 'health'
}

/** Whether POST, PUT and PATCH may come without a body: under `/log/`, `/admin/` and `/v1/admin/` [management 11.4]. */
export function needsNoBody(segments: readonly string[]): boolean {
  const [first = '', second = ''] = segments
  const folded = first.toLowerCase()
  if (folded === 'v1') return second.toLowerCase() === 'admin' && segments.length > 2
  return (folded === 'log' || first === 'admin') && segments.length > 1
}
