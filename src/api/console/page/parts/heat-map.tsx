import { useEffect, useRef, useState } from 'preact/hooks'
import { clockText, countText } from '../format.js'
import { useObservable } from '../observable.js'
import { colour, colours } from '../theme.js'
import { Heads } from './small-parts.js'

/** The counts of buckets over time. */
export interface HeatMapContent {
  /** The end of each column in seconds since 1970. */
  readonly times_s: readonly number[]
  /** The names of the buckets, the smallest first. */
  readonly buckets: readonly string[]
  /** A column for each time, with a count for each bucket; undefined for a gap. */
  readonly columns: readonly (readonly number[] | undefined)[]
}

const row_px = 14

/** Buckets over time, darker where there is more, with the same data as a table for screen readers. */
export function HeatMap({ title, content }: { readonly title: string; readonly content: HeatMapContent }) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const palette = useObservable(colours)
  const [width, setWidth] = useState(0)
  const height = row_px * content.buckets.length
  useEffect(() => {
    const { current } = canvas
    if (current === null) return
    const watch = new ResizeObserver(() => setWidth(current.clientWidth))
    watch.observe(current)
    return () => watch.disconnect()
  }, [])
  useEffect(() => {
    if (canvas.current !== null && width > 0) draw(canvas.current, content, width, height)
  }, [content, palette, width, height])
  return (
    <figure class="chart">
      <figcaption>{title}</figcaption>
      <div class="heat">
        <ol class="heat-names" aria-hidden="true">
          {content.buckets.toReversed().map((name) => (
            <li key={name}>{name}</li>
          ))}
        </ol>
        <canvas
          ref={canvas}
          role="img"
          aria-label={`${title}. The figures are in the table below.`}
          style={{ height: `${height}px` }}
        />
      </div>
      <p class="heat-times" aria-hidden="true">
        <span>{timeAt(content, 0)}</span>
        <span>{timeAt(content, content.times_s.length - 1)}</span>
      </p>
      <HeatTable title={title} content={content} />
    </figure>
  )
}

/** Colours follow the logarithm of counts, so that a few slow requests are visible beside thousands of fast ones. */
function draw(canvas: HTMLCanvasElement, { columns, buckets }: HeatMapContent, width: number, height: number): void {
  const context = canvas.getContext('2d')
  if (context === null) return
  canvas.width = width * devicePixelRatio
  canvas.height = height * devicePixelRatio
  context.scale(devicePixelRatio, devicePixelRatio)
  const most = columns.reduce((sofar, column) => Math.max(sofar, ...(column ?? [])), 0)
  const [empty, full, gap] = [colour('--heat-empty'), colour('--heat-full'), colour('--card')]
  context.fillStyle = empty
  context.fillRect(0, 0, width, height)
  const step = width / Math.max(1, columns.length)
  for (const [at, column] of columns.entries()) {
    const x = at * step
    if (column === undefined) {
      context.globalAlpha = 1
      context.fillStyle = gap
      context.fillRect(x, 0, step + 0.5, height)
      continue
    }
    context.fillStyle = full
    for (const [bucket, count] of column.entries()) {
      if (count <= 0) continue
      context.globalAlpha = 0.15 + 0.85 * (most <= 1 ? 1 : Math.log(count + 1) / Math.log(most + 1))
      context.fillRect(x, height - (bucket + 1) * row_px, step + 0.5, row_px - 1)
    }
  }
  context.globalAlpha = 1
  if (buckets.length === 0) context.clearRect(0, 0, width, height)
}

function timeAt({ times_s }: HeatMapContent, at: number): string {
  const time_s = times_s[at]
  return time_s === undefined ? '' : clockText(1000 * time_s)
}

/** The totals of each bucket: single moments would be thousands of cells. */
function HeatTable({
  title,
  content: { buckets, columns },
}: {
  readonly title: string
  readonly content: HeatMapContent
}) {
  const [open, setOpen] = useState(false)
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>As a table</summary>
      {open && (
        <table>
          <caption class="unseen">{title}, sums of all that is shown</caption>
          <Heads names={{ 'up to': '', times: 'number' }} />
          <tbody>
            {buckets.map((name, bucket) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td class="number">{countText(columns.reduce((sum, column) => sum + (column?.[bucket] ?? 0), 0))}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </details>
  )
}
