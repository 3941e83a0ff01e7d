import { countText, durationText } from '../format.js'
import {
  type PartitionWaits,
  type WaitFigure,
  type WaitsOf,
  type WaitsReading,
  waitFigures,
  waitMeanings,
  waitNames,
} from './waits-reading.js'

/** The figures of a wait as people call them. */
export const figureTitles: Readonly<Record<WaitFigure, string>> = {
  count: 'asked for',
  waited: 'waited',
  total: 'total s',
  max: 'max',
  p50: 'p50',
  p90: 'p90',
  p99: 'p99',
  p999: 'p99.9',
}

/** Every digit that is known. */
export function exactFigure(wait: WaitsOf, figure: WaitFigure): string {
  const value = wait[figure]
  return typeof value === 'number' ? String(value) : `${signOf(wait, figure)}${value} s`
}

/** The total to the nanosecond, as it is exact; other durations in the unit that suits them. */
export function figureText(wait: WaitsOf, figure: WaitFigure): string {
  const value = wait[figure]
  if (typeof value === 'number') return countText(value)
  return figure === 'total' ? value : `${signOf(wait, figure)}${durationText(Number(value))}`
}

/** Whether it is about so much, or at most. */
function signOf({ inexact, ...wait }: WaitsOf, figure: WaitFigure): string {
  if (inexact === undefined || figure === 'count' || figure === 'waited' || figure === 'total') return ''
  if (figure === 'max') return inexact.isMaxLimit ? '≤ ' : ''
  return Number(wait[figure]) === 0 ? '' : '≈ '
}

/** An interval of waits with the name that it is shown under; empty for the only one. */
export interface NamedWaits {
  readonly name: string
  readonly reading: WaitsReading
}

/** The waits of one interval, or of several beside each other, as a table in Markdown, for a report or a ticket. */
export function waitsMarkdown(intervals: readonly NamedWaits[]): string {
  const isNamed = intervals.length > 1
  const row = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`
  const named = (name: string) => (isNamed ? [name] : [])
  const cells = (wait: WaitsOf) =>
    waitFigures.map((figure) => (figure === 'total' ? wait.total : `${signOf(wait, figure)}${wait[figure]}`))
  const lines = waitNames.flatMap((kind) => {
    const { title } = waitMeanings[kind]
    const known = intervals.flatMap(({ name, reading: { kinds } }) => (kinds ? [{ name, wait: kinds[kind] }] : []))
    const numbers = (known[0]?.wait.partitions ?? []).map(({ partition }) => partition)
    const ofPartition = (number: number) =>
      known.flatMap(({ name, wait }) => {
        const found: PartitionWaits | undefined = wait.partitions?.find(({ partition }) => partition === number)
        return found === undefined ? [] : [row([title, number, ...named(name), ...cells(found)])]
      })
    return [
      ...known.map(({ name, wait }) => row([title, 'all', ...named(name), ...cells(wait)])),
      ...numbers.flatMap(ofPartition),
    ]
  })
  const lengths = intervals.map(({ name, reading }) => `${isNamed ? `${name}: ` : ''}${reading.interval_s} s`)
  return [
    `Waits over ${lengths.join(', ')}; durations in seconds:`,
    '',
    row(['wait for', 'partition', ...named('interval'), ...waitFigures]),
    row(['---', '--:', ...named('---'), ...waitFigures.map(() => '--:')]),
    ...lines,
    '',
  ].join('\n')
}
