import type { KindOfWait, KindsOfWaits, PartitionWaits, WaitsOf } from '../../shapes.js'
import { countText, durationText } from '../format.js'
import { type StageName, stageNames } from '../moment.js'
import { type Column, DataTable } from '../parts/data-table.js'
import { ScrollRegion } from '../parts/small-parts.js'

/** The figures of a wait, by their names in the broker. */
const waitFigures = ['count', 'waited', 'total', 'max', 'p50', 'p90', 'p99', 'p999'] as const
type WaitFigure = (typeof waitFigures)[number]

const figureTitles: Readonly<Record<WaitFigure, string>> = {
  count: 'asked for',
  waited: 'waited',
  total: 'total s',
  max: 'max',
  p50: 'p50',
  p90: 'p90',
  p99: 'p99',
  p999: 'p99.9',
}

/** With every known digit. */
function exactFigure(wait: WaitsOf, figure: WaitFigure): string {
  const value = wait[figure]
  return typeof value === 'number' ? String(value) : `${value} s`
}

/** The total to the nanosecond, as it is exact; other durations in a suitable unit. */
function figureText(wait: WaitsOf, figure: WaitFigure): string {
  const value = wait[figure]
  if (typeof value === 'number') return countText(value)
  return figure === 'total' ? value : durationText(Number(value))
}

export function WaitsOfAll({ kinds }: { readonly kinds: KindsOfWaits }) {
  return (
    <ScrollRegion label="Waits of all partitions">
      <table class="waits">
        <thead>
          <tr>
            <th scope="col">wait for</th>
            {waitFigures.map((figure) => (
              <th scope="col" class="number" key={figure}>
                {figureTitles[figure]}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {stageNames.map((name) => (
            <tr key={name} data-wait={name}>
              <th scope="row">{waitMeanings[name].title}</th>
              {waitFigures.map((figure) => (
                <td key={figure} class="number" title={exactFigure(kinds[name], figure)}>
                  {figureText(kinds[name], figure)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  )
}

/** One kind of wait in each partition, folded. */
export function WaitsByPartition({
  name,
  kind: { partitions },
}: {
  readonly name: StageName
  readonly kind: KindOfWait
}) {
  if (partitions === undefined) return null
  return (
    <details>
      <summary>By partition</summary>
      <DataTable
        caption={`${waitMeanings[name].title}, by partition`}
        columns={partitionColumns}
        rows={partitions}
        keyOf={({ partition }) => String(partition)}
        empty="There are no partitions."
      />
    </details>
  )
}

const partitionColumns: readonly Column<PartitionWaits>[] = [
  { name: 'partition', cell: ({ partition }) => partition, order: ({ partition }) => partition },
  ...waitFigures.map((figure) => ({
    name: figureTitles[figure],
    cell: (wait: PartitionWaits) => <span title={exactFigure(wait, figure)}>{figureText(wait, figure)}</span>,
    order: (wait: PartitionWaits) => Number(wait[figure]),
    isNumber: true,
    isMinor: figure === 'p50' || figure === 'p90' || figure === 'count',
  })),
]

/** For each kind of wait its cause, the meaning of a high value, and the settings that help. */
export const waitMeanings: Readonly<
  Record<
    StageName,
    { readonly title: string; readonly what: string; readonly high: string; readonly turn: readonly string[] }
  >
> = {
  request: {
    title: 'Permit to work',
    what: 'One of the permits to work; a request has none while a query thread or a context provider works for it.',
    high: 'More arrives than is finished; the other waits say where it is stuck.',
    turn: ['-reqPoolSize'],
  },
  mailbox: {
    title: 'Mailbox',
    what: "From entering a partition's mailbox until its thread takes it out.",
    high: "High while the write transaction's is low: the thread does not get to run, so the processors are busy.",
    turn: ['rigel reshard -partitions'],
  },
  transaction: {
    title: 'Write transaction',
    what: "Its partition's write transaction, while the turn before is under way.",
    high: 'A slow disk, or one partition with more writes than it can take.',
    turn: ['-writeConcern', 'rigel reshard -partitions'],
  },
  dbConnectionPool: {
    title: 'Read handle',
    what: 'One of the read handles of a partition.',
    high: 'Long scans, or a small pool.',
    turn: ['-dbPoolSize'],
  },
}
