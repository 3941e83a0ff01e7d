import type { UnitResult } from './unit-run.js'

/** How much of a failure's details is shown; the stream of its unit has all. */
const shownLines = 12

/** How much of a failure's name stands in its one line. */
const shownCharacters = 240

/** How much of it stands before the details: a message may be all that a broker has written. */
const nameMost = 4000

const seconds = (duration_ms: number) => `${(duration_ms / 1000).toFixed(1)} s`

/** One room that has ended: whether all is well, how many files and checks, and the time of its processes. */
export function roomLine(room: string, results: readonly UnitResult[]): string {
  const files = sum(results, ({ unit }) => unit.files.length)
  const failed = sum(results, ({ failures }) => failures.length)
  const checks = sum(results, ({ passed }) => passed)
  const time = seconds(sum(results, ({ duration_ms }) => duration_ms))
  const word = failed === 0 ? 'ok    ' : 'FAILED'
  return `${word} ${room.padEnd(16)} ${`${files}`.padStart(3)} files ${`${checks}`.padStart(6)} checks ${time.padStart(9)}`
}

/** Every failure once more, with the command that repeats it. */
export function failureLines(results: readonly UnitResult[]): readonly string[] {
  return results.flatMap(({ failures }) =>
    failures.flatMap(({ file, name, details }) => {
      const lines = details.split('\n').filter((line) => line.trim() !== '')
      const more = lines.length > shownLines ? ['… and more in .tap/streams'] : []
      return [
        '',
        `FAILED ${name.slice(0, nameMost)}`,
        ...[...lines.slice(0, shownLines), ...more].map((line) => `  ${line}`),
        `  again: npm run t ${sourceOf(file)}`,
      ]
    }),
  )
}

/** Every failure in one line, for those who see only the end. */
export function briefLines(results: readonly UnitResult[]): readonly string[] {
  return results.flatMap(({ failures }) =>
    failures.map(({ file, name }) => {
      const line = name.replace(/\s+/g, ' ')
      return `failed: ${sourceOf(file)}: ${line.length > shownCharacters ? `${line.slice(0, shownCharacters)} …` : line}`
    }),
  )
}

/** The last line: what was counted, and how long all took. */
export function summaryLine(results: readonly UnitResult[], duration_ms: number): string {
  const passed = sum(results, (result) => result.passed)
  const failed = sum(results, ({ failures }) => failures.length)
  const skipped = sum(results, (result) => result.skipped)
  return `${passed} passed, ${failed} failed, ${skipped} skipped in ${seconds(duration_ms)}`
}

/** The source of a compiled file. */
function sourceOf(file: string): string {
  return file.replace(/^[^/]+\//, '').replace(/\.js$/, '.ts')
}

function sum<T>(list: readonly T[], of: (each: T) => number): number {
  return list.reduce((total, each) => total + of(each), 0)
}
