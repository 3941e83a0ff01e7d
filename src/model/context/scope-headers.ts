import { err, ok, type Result } from '../../result.js'
import type { ServicePath, Tenant } from './entity.js'
import type { PathRange } from './query.js'

const maxPaths = 10
const maxLevels = 10
const maxLevelLength = 50

const noPaths: Result<readonly PathRange[], string> = ok([])

/**
 * Parses the paths of a Fiware-ServicePath header; a refusal is the text of the error [context 5.2]. NGSIv1 ignores all slashes
 * at the end of a path, NGSIv2 one [NGSIv2 context 5].
 */
export function parseServicePaths(
  header: string | undefined,
  ignoredSlashes: 'one' | 'all',
): Result<readonly PathRange[], string> {
  if (header === undefined || header.trim() === '') return noPaths
  const texts = header.split(',')
  if (texts.length > maxPaths) {
    return err('too many service paths - a maximum of ten service paths is allowed')
  }
  const ranges: PathRange[] = []
  for (const text of texts) {
    const range = parseRange(text.trim(), ignoredSlashes)
    if (!range.ok) return range
    ranges.push(range.value)
  }
  return ok(ranges)
}

function parseRange(text: string, ignoredSlashes: 'one' | 'all'): Result<PathRange, string> {
  if (!text.startsWith('/')) {
    return err('Only /absolute/ Service Paths allowed [a service path must begin with /]')
  }
  const levels = withoutSlashes(text, ignoredSlashes).split('/').slice(1)
  if (levels.length > maxLevels) return err('too many components in ServicePath')
  const below = levels.at(-1) === '#'
  const named = below ? levels.slice(0, -1) : levels
  for (const level of named) {
    if (level.length > maxLevelLength) return err('component-name too long in ServicePath')
    if (level === '') return err('empty component in ServicePath')
    if (!/^\w+$/.test(level)) return err('a component of ServicePath contains an illegal character')
  }
  return ok({ path: `/${named.join('/')}` as ServicePath, below })
}

function withoutSlashes(text: string, which: 'one' | 'all'): string {
  let end = text.length
  while (text.charCodeAt(end - 1) === slash) {
    end -= 1
    if (which === 'one') break
  }
  return text.slice(0, end)
}

const slash = 0x2f

/**
 * The single path of an update, the root without a header; refuses a header that names several or a wildcard [context 5.2],
 * [NGSIv2 context 5].
 */
export function onePath(paths: readonly PathRange[]): Result<ServicePath, 'several' | 'wildcard'> {
  const [first] = paths
  if (first === undefined) return ok('/' as ServicePath)
  if (paths.length > 1) return err('several')
  return first.below ? err('wildcard') : ok(first.path)
}

/** All paths: `/#`. */
export const everywhere: PathRange = { path: '/' as ServicePath, below: true }

/** Whether a request whose header names these paths may address a subscription of this path. */
export function isBoundTo(paths: readonly PathRange[], { path, below }: PathRange): boolean {
  return meansEverywhere(paths) || paths.some((each) => each.path === path && each.below === below)
}

/** Whether any path is meant: none is named, or `/#` is among them. */
export function meansEverywhere(paths: readonly PathRange[]): boolean {
  return paths.length === 0 || paths.some(({ path, below }) => path === everywhere.path && below)
}

const allPaths: readonly PathRange[] = [everywhere]

/** The paths of a read: everywhere unless the request names some [context 5.2], [NGSIv2 context 5]. */
export function pathsOfRead(paths: readonly PathRange[]): readonly PathRange[] {
  return paths.length === 0 ? allPaths : paths
}

const defaultTenant = '' as Tenant
const maxTenant_characters = 50

/**
 * Parses the tenant that a Fiware-Service header names; a refusal is the text of the error. Without `multiservice` the header is
 * checked and otherwise ignored [context 5.1], [NGSIv2 context 5].
 */
export function parseTenant(header: string | undefined, multiservice: boolean): Result<Tenant, string> {
  if (header === undefined || header === '') return ok(defaultTenant)
  if (header.length > maxTenant_characters) return err('bad length - a tenant name can be max 50 characters long')
  if (!/^[A-Za-z0-9_]+$/.test(header)) {
    return err('bad character in tenant name - only underscore and alphanumeric characters are allowed')
  }
  return ok(multiservice ? (header.toLowerCase() as Tenant) : defaultTenant)
}
