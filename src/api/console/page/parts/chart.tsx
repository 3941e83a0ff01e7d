import { useEffect, useRef, useState } from 'preact/hooks'
import type uPlot from 'uplot'
import { clockText } from '../format.js'
import { useObservable } from '../observable.js'
import { colour, colours } from '../theme.js'
import { ScrollRegion } from './small-parts.js'

/** Lines over time. */
export interface ChartContent {
  /** In seconds since 1970, ascending. */
  readonly times_s: readonly number[]
  readonly lines: readonly { readonly label: string; readonly values: readonly (number | null)[] }[]
  /** Marked moments: restarts of the broker. */
  readonly marks_s?: readonly number[]
}

interface ChartShown {
  readonly title: string
  readonly content: ChartContent
  /** Formats a value with its unit. */
  readonly format: (value: number) => string
  /** In CSS pixels. */
  readonly height?: number
}

/** A chart of lines over time, with the same data as a table for screen readers. */
export function Chart({ title, content, format, height = 200 }: ChartShown) {
  const place = useRef<HTMLDivElement>(null)
  const drawn = useRef<uPlot | undefined>(undefined)
  const latest = useRef(content)
  latest.current = content
  const [pointed, setPointed] = useState<number>()
  const palette = useObservable(colours)
  const names = content.lines.map(({ label }) => label).join('\n')
  useEffect(() => {
    let gone = false
    let watch: ResizeObserver | undefined
    // Loaded only by pages with charts.
    void import('uplot').then(({ default: Plot }) => {
      const { current: element } = place
      if (gone || element === null) return
      const options = optionsOf(latest, format, { width: element.clientWidth, height }, setPointed)
      const plot = new Plot(options, columnsOf(latest.current), element)
      drawn.current = plot
      watch = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }))
      watch.observe(element)
    })
    return () => {
      gone = true
      watch?.disconnect()
      drawn.current?.destroy()
      drawn.current = undefined
    }
  }, [palette, names, height])
  useEffect(() => drawn.current?.setData(columnsOf(content)), [content])
  return (
    <figure class="chart">
      <figcaption>{title}</figcaption>
      <Legend content={content} format={format} at={pointed} />
      <div
        class="plot"
        ref={place}
        role="img"
        aria-label={`${title}. The figures are in the table below.`}
        style={{ minHeight: `${height}px` }}
      />
      <ChartTable title={title} content={content} format={format} />
    </figure>
  )
}

/** The name of each line, and its value at the pointer, or its last one. */
function Legend({
  content: { times_s, lines },
  format,
  at,
}: Pick<ChartShown, 'content' | 'format'> & { readonly at: number | undefined }) {
  return (
    <ul class="legend">
      {lines.map(({ label, values }, line) => {
        const value = at === undefined ? values.findLast((each) => each !== null) : values[at]
        return (
          <li key={label}>
            <span class="swatch" style={{ background: `var(--series-${(line % manyColours) + 1})` }} /> {label}{' '}
            <b>{cellText(value, format)}</b>
          </li>
        )
      })}
      {at !== undefined && <li class="quiet">at {clockText(1000 * (times_s[at] ?? 0))}</li>}
    </ul>
  )
}

/** The number of line colours. */
const manyColours = 6

/** The number of moments in the table of a chart. */
const manyRows = 60

function ChartTable({ title, content: { times_s, lines }, format }: ChartShown) {
  const [open, setOpen] = useState(false)
  const step = Math.max(1, Math.ceil(times_s.length / manyRows))
  const rows = open ? times_s.map((_, at) => at).filter((at) => (times_s.length - 1 - at) % step === 0) : []
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>As a table</summary>
      {open && (
        <ScrollRegion label={`${title}, as a table`}>
          <table>
            <thead>
              <tr>
                <th scope="col">time</th>
                {lines.map(({ label }) => (
                  <th scope="col" class="number" key={label}>
                    {label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.toReversed().map((at) => (
                <tr key={times_s[at]}>
                  <th scope="row">{clockText(1000 * (times_s[at] ?? 0))}</th>
                  {lines.map(({ label, values }) => (
                    <td class="number" key={label}>
                      {cellText(values[at], format)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollRegion>
      )}
    </details>
  )
}

function cellText(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? 'none' : format(value)
}

function columnsOf({ times_s, lines }: ChartContent): uPlot.AlignedData {
  return [[...times_s], ...lines.map(({ values }) => [...values])]
}

/** The distances between marks of the time axis; the shortest are labelled to the second. */
const steps_s = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600]

function optionsOf(
  shown: { readonly current: ChartContent },
  format: (value: number) => string,
  size: { readonly width: number; readonly height: number },
  point: (at: number | undefined) => void,
): uPlot.Options {
  const axis = {
    stroke: colour('--quiet'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { stroke: colour('--line'), width: 1 },
    font: '12px system-ui, sans-serif',
  }
  return {
    ...size,
    legend: { show: false },
    cursor: { points: { size: 6 }, y: false },
    scales: { y: { range: (_, least, most) => [Math.min(0, least ?? 0), most > 0 ? most * 1.08 : 1] } },
    axes: [
      {
        ...axis,
        values: (_, seconds) => seconds.map((each) => clockText(1000 * each)),
        space: 80,
        size: 32,
        incrs: [...steps_s],
      },
      { ...axis, size: 70, values: (_, values) => values.map(format) },
    ],
    series: [
      {},
      ...shown.current.lines.map(({ label }, at) => ({
        label,
        stroke: colour(`--series-${(at % manyColours) + 1}`),
        width: 2,
        dash: at < manyColours ? [] : [6, 4],
        spanGaps: false,
        points: { show: false },
      })),
    ],
    hooks: {
      draw: [(plot) => drawMarks(plot, shown.current.marks_s ?? [])],
      setCursor: [({ cursor }) => point(cursor.idx ?? undefined)],
    },
  }
}

/** Draws a dashed vertical line at each restart of the broker. */
function drawMarks(plot: uPlot, marks_s: readonly number[]): void {
  const { ctx, bbox } = plot
  ctx.save()
  ctx.strokeStyle = colour('--quiet')
  ctx.fillStyle = colour('--quiet')
  ctx.textAlign = 'left'
  ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio])
  for (const mark_s of marks_s) {
    const x = Math.round(plot.valToPos(mark_s, 'x', true))
    if (x < bbox.left || x > bbox.left + bbox.width) continue
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()
    ctx.fillText('restart', x + 4 * devicePixelRatio, bbox.top + 12 * devicePixelRatio)
  }
  ctx.restore()
}
