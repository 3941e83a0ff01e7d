import { err, ok, type Result } from './result.js'

/** Trace levels are numbered 0 to 255 [management 2.1]. */
const highest = 255

/** Why a text is no trace level expression. */
export interface MalformedTraceLevels {
  readonly kind: 'malformedTraceLevels'
  readonly item: string
}

/**
 * The levels that an expression such as `19, 21-25` names, ascending and each once; refuses what is malformed and names
 * the first bad item [management 2.2].
 */
export function parseTraceLevels(text: string): Result<readonly number[], MalformedTraceLevels> {
  const levels = new Set<number>()
  for (const item of text.split(',')) {
    const range = rangeOf(item)
    if (range === undefined) return err({ kind: 'malformedTraceLevels', item })
    for (let level = range.first; level <= range.last; level += 1) levels.add(level)
  }
  return ok([...levels].sort((one, other) => one - other))
}

/**
 * The levels that are on, in normal form: ascending, neighbours as `first-last`, joined with a comma and a space; the
 * empty text when all are off [management 2.3].
 */
export function traceLevelsText(traces: Uint8Array): string {
  const runs: string[] = []
  for (let first = 0; first < traces.length; first += 1) {
    if (traces[first] !== 1) continue
    let last = first
    while (traces[last + 1] === 1) last += 1
    runs.push(first === last ? String(first) : `${first}-${last}`)
    first = last
  }
  return runs.join(', ')
}

function rangeOf(item: string): { readonly first: number; readonly last: number } | undefined {
  const match = /^ *(\d+)(?:-(\d+))? *$/.exec(item)
  if (match === null) return undefined
  const first = Number(match[1])
  const last = Number(match[2] ?? match[1])
  return first <= last && last <= highest ? { first, last } : undefined
}
