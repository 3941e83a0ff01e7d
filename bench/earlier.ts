import { readFileSync } from 'node:fs'
import { items, member } from './ngsi.js'
import { orWrong, WrongCommandLine } from './options.js'
import type { Line } from './table.js'

/** What a case varies: lines of two runs with the same of all of these are about the same. */
const varied = ['bench', 'case', 'connections', 'elements', 'entities', 'offset', 'subscriptions'] as const

/** What is not measured and thus not compared, besides what is varied. */
const settings: ReadonlySet<string> = new Set([...varied, 'rounds', 'reference_entities'])

/** Stands behind the name of a figure that an earlier run has measured. */
export const earlierMark = ' (earlier)'

/** The results of an earlier run, perhaps of another broker. */
export class EarlierRun {
  /** The machine, the versions and the date. */
  readonly environment: Line
  readonly lines: readonly Line[]
  readonly #lines: ReadonlyMap<string, Line>

  constructor(environment: Line, lines: readonly Line[]) {
    this.environment = environment
    this.lines = lines
    this.#lines = new Map(lines.map((line) => [identity(line), line]))
  }

  /** The line, with each figure that the earlier run has as well beside that of this one. */
  beside(line: Line): Line {
    const earlier = this.#lines.get(identity(line))
    if (earlier === undefined) return line
    return Object.fromEntries(
      Object.entries(line).flatMap(([name, value]) => {
        const before = earlier[name]
        const compared = !settings.has(name) && before !== undefined
        return compared
          ? [
              [name, value],
              [`${name}${earlierMark}`, before],
            ]
          : [[name, value]]
      }),
    )
  }
}

/** What `--json` wrote. Anything else is a wrong command line. */
export function readEarlierRun(file: string): EarlierRun {
  const document: unknown = orWrong(() => JSON.parse(readFileSync(file, 'utf8')))
  const results = member(document, 'results')
  if (!Array.isArray(results)) throw new WrongCommandLine(`--compare: ${file} holds no results of a run`)
  return new EarlierRun(
    { machine: member(document, 'machine'), versions: member(document, 'versions'), at: member(document, 'at') },
    items(results).map((line) => ({ ...Object(line) })),
  )
}

function identity(line: Line): string {
  return JSON.stringify(varied.map((name) => line[name] ?? null))
}
