import type { ServicePath } from '../context/entity.js'
import type { PathRange } from '../context/query.js'
import { err, ok, type Result } from '../result.js'

const maxPaths = 10
const maxLevels = 10
const maxLevelLength = 50

const noPaths: Result<readonly PathRange[], string> = ok([])

/** The paths of Fiware-ServicePath; a refusal is the text of the error [context 5.2]. */
export function parseServicePaths(header: string | undefined): Result<readonly PathRange[], string> {
  if (header === undefined || header.trim() === '') return noPaths
  const texts = header.split(',')
  if (texts.length > maxPaths) {
    return err('too many service paths - a maximum of ten service paths is allowed')
  }
  const ranges: PathRange[] = []
  for (const text of texts) {
    const range = parseRange(text.trim())
    if (!range.ok) return range
    ranges.push(range.value)
  }
  return ok(ranges)
}

function parseRange(text: string): Result<PathRange, string> {
  if (!text.startsWith('/')) {
    return err('Only /absolute/ Service Paths allowed [a service path must begin with /]')
  }
  const levels = text.replace(/\/+$/, '').split('/').slice(1)
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
