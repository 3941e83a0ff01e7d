import { spanText } from '../format.js'
import { type Column, DataTable } from '../parts/data-table.js'
import { ScrollRegion } from '../parts/scroll-region.js'
import { waitsBetween } from './waits-between.js'
import {
  type PartitionWaits,
  type WaitFigure,
  type WaitName,
  type WaitsOf,
  type WaitsReading,
  waitFigures,
  waitMeanings,
} from './waits-reading.js'
import { exactFigure, figureText, figureTitles } from './waits-text.js'

/** Two intervals: A has ended, and B runs from where A ended or a later one began, or has been stopped. */
export interface Comparison {
  readonly a: WaitsReading
  /** Where B began. */
  readonly begun: WaitsReading
  readonly stopped?: WaitsReading | undefined
}

/** B as it is by now. */
export function secondInterval({ begun, stopped }: Comparison, now: WaitsReading): WaitsReading {
  return stopped ?? waitsBetween(begun, now)
}

/** How long each interval is, and how to read what stands beside each other. */
export function ComparisonNote({ a, b, isRunning }: TwoIntervals & { readonly isRunning: boolean }) {
  return (
    <p class="quiet">
      A: {spanText(a.interval_s)}, frozen. B: {spanText(b.interval_s)}, {isRunning ? 'running' : 'stopped'}. The last
      column has B as a multiple of A, numbers and totals by second. ≈ is about, ≤ at most: the broker keeps percentiles
      and the maximum since its last reset only.
    </p>
  )
}

/** Two intervals of all waits. */
interface TwoIntervals {
  readonly a: WaitsReading
  readonly b: WaitsReading
}

/** Two intervals of one wait side by side. */
export function ComparedKind({ name, a, b }: TwoIntervals & { readonly name: WaitName }) {
  const [ofA, ofB] = [a.kinds?.[name], b.kinds?.[name]]
  if (ofA === undefined || ofB === undefined) return null
  const { title } = waitMeanings[name]
  return (
    <>
      <ScrollRegion label={`${title}, A and B`}>
        <table class="compared" data-compared={name}>
          <thead>
            <tr>
              <th scope="col">figure</th>
              <th scope="col" class="number">
                A
              </th>
              <th scope="col" class="number">
                B
              </th>
              <th scope="col" class="number">
                B to A
              </th>
            </tr>
          </thead>
          <tbody>
            {waitFigures.map((figure) => (
              <tr key={figure} data-figure={figure}>
                <th scope="row">{figureTitles[figure]}</th>
                <td class="number" title={exactFigure(ofA, figure)}>
                  {figureText(ofA, figure)}
                </td>
                <td class="number" title={exactFigure(ofB, figure)}>
                  {figureText(ofB, figure)}
                </td>
                <td class="number">{timesText(figure, ofA, ofB, a.interval_s / b.interval_s)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
      {ofA.partitions && ofB.partitions && (
        <details>
          <summary>By partition</summary>
          <DataTable
            caption={`${title}, A and B by partition`}
            columns={partitionColumns}
            rows={pairsOf(ofA.partitions, ofB.partitions)}
            keyOf={({ b: { partition } }) => String(partition)}
            empty="There are no partitions."
          />
        </details>
      )}
    </>
  )
}

const bySecond: ReadonlySet<WaitFigure> = new Set(['count', 'waited', 'total'])

/** How many times A's figure is B's; numbers and totals as if both intervals were of the same length. */
function timesText(figure: WaitFigure, a: WaitsOf, b: WaitsOf, lengths: number): string {
  const times = (Number(b[figure]) / Number(a[figure])) * (bySecond.has(figure) ? lengths : 1)
  return Number.isFinite(times) ? `× ${times >= 100 ? Math.round(times) : times.toPrecision(2)}` : '–'
}

interface Pair {
  readonly a: PartitionWaits
  readonly b: PartitionWaits
}

function pairsOf(a: readonly PartitionWaits[], b: readonly PartitionWaits[]): readonly Pair[] {
  return b.flatMap((each) => {
    const found = a.find(({ partition }) => partition === each.partition)
    return found === undefined ? [] : [{ a: found, b: each }]
  })
}

const comparedFigures = ['waited', 'total', 'p99'] as const

const partitionColumns: readonly Column<Pair>[] = [
  { name: 'partition', cell: ({ b: { partition } }) => partition, order: ({ b: { partition } }) => partition },
  ...comparedFigures.flatMap((figure) =>
    (['a', 'b'] as const).map((side) => ({
      name: `${figureTitles[figure]} ${side.toUpperCase()}`,
      cell: (pair: Pair) => <span title={exactFigure(pair[side], figure)}>{figureText(pair[side], figure)}</span>,
      order: (pair: Pair) => Number(pair[side][figure]),
      isNumber: true,
      isMinor: figure === 'waited',
    })),
  ),
]
