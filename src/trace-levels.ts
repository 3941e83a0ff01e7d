import { granted, type Outcome, refused } from './outcome.js'

/** Why a trace level expression is no such thing [management 2.2]. */
export interface TraceLevelsMalformed {
  readonly kind: 'traceLevelsMalformed'
}

const highest = 255

/** The levels that an expression such as `19, 21-25` names, ascending, each once [management 2.2]. */
export function parseTraceLevels(text: string): Outcome<readonly number[], TraceLevelsMalformed> {
  const levels = new Set<number>()
  for (const item of text.split(',')) {
    const [, first, last = first] = /^ *(\d+)(?:-(\d+))? *$/.exec(item) ?? []
    const from = Number(first)
    const to = Number(last)
    if (first === undefined || from > to || to > highest) return refused({ kind: 'traceLevelsMalformed' })
    for (let level = from; level <= to; level += 1) levels.add(level)
  }
  return granted([...levels].sort((one, other) => one - other))
}

/** The levels that are on in normal form: ascending, neighbours as ranges [management 2.3]. Empty when none is on. */
export function traceLevelsText(traces: Uint8Array): string {
  const items: string[] = []
  for (let level = 0; level <= highest; level += 1) {
    if (traces[level] !== 1) continue
    const first = level
    while (traces[level + 1] === 1) level += 1
    items.push(first === level ? `${first}` : `${first}-${level}`)
  }
  return items.join(', ')
}
