import type { ServicePath } from '../context/entity.js'
import type { PathRange } from '../context/query.js'
import { granted, type Outcome, refused } from '../result.js'

const maxPaths = 10
const maxLevels = 10
const maxLevelLength = 50

const noPaths: Outcome<readonly PathRange[], string> = granted([])

/** The paths of Fiware-ServicePath; a refusal is the text of the error [context 5.2]. */
export function parseServicePaths(header: string | undefined): Outcome<readonly PathRange[], string> {
  if (header === undefined || header.trim() === '') return noPaths
  const texts = header.split(',')
  if (texts.length > maxPaths) {
    return refused('too many service paths - a maximum of ten service paths is allowed')
  }
  const ranges: PathRange[] = []
  for (const text of texts) {
    const range = parseRange(text.trim())
    if (!range.ok) return range
    ranges.push(range.value)
  }
  return granted(ranges)
}

function parseRange(text: string): Outcome<PathRange, string> {
  if (!text.startsWith('/')) {
    return refused('Only /absolute/ Service Paths allowed [a service path must begin with /]')
  }
  const levels = text.replace(/\/+$/, '').split('/').slice(1)
  if (levels.length > maxLevels) return refused('too many components in ServicePath')
  const below = levels.at(-1) === '#'
  const named = below ? levels.slice(0, -1) : levels
  for (const level of named) {
    if (level.length > maxLevelLength) return refused('component-name too long in ServicePath')
    if (level === '') return refused('empty component in ServicePath')
    if (!/^\w+$/.test(level)) return refused('a component of ServicePath contains an illegal character')
  }
  return granted({ path: `/${named.join('/')}` as ServicePath, below })
}
