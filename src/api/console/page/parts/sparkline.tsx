const width = 100
const height = 28

/**
 * The course of a figure without axes, from zero to its highest value; gaps stay gaps. It is decoration: the figure is beside it
 * as text.
 */
export function Sparkline({ values }: { readonly values: ArrayLike<number> }) {
  return (
    <svg class="sparkline" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
      {runsOf(values).map(({ line, area }) => (
        <g key={line}>
          <path class="spark-area" d={area} />
          <path class="spark-line" d={line} />
        </g>
      ))}
    </svg>
  )
}

interface Run {
  readonly line: string
  readonly area: string
}

/** The pieces between gaps (NaN), as paths. */
function runsOf(values: ArrayLike<number>): readonly Run[] {
  let most = 0
  for (let at = 0; at < values.length; at += 1) most = Math.max(most, values[at] || 0)
  const scale = most === 0 ? 0 : (height - 3) / most
  const step = values.length > 1 ? width / (values.length - 1) : width
  const runs: Run[] = []
  let points: string[] = []
  let first = 0
  const end = (next: number) => {
    if (points.length > 0) {
      const line = `M${points.join('L')}${points.length === 1 ? 'h0.5' : ''}`
      runs.push({ line, area: `${line}V${height}H${(first * step).toFixed(1)}Z` })
    }
    points = []
    first = next
  }
  for (let at = 0; at < values.length; at += 1) {
    const value = values[at] ?? Number.NaN
    if (Number.isNaN(value)) end(at + 1)
    else points.push(`${(at * step).toFixed(1)},${(height - 1.5 - value * scale).toFixed(1)}`)
  }
  end(values.length)
  return runs
}
