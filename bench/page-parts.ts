/** How the page looks, on paper, in the dark, and on a phone. */
export const style = `
:root {
  color-scheme: light dark;
  --text: #1b1f24; --quiet: #57606a; --page: #ffffff; --card: #f6f8fa; --line: #d0d7de;
  --met: #116329; --missed: #a40e26;
  --series-1: #0b62d6; --series-2: #b93a08; --series-3: #15703a; --series-4: #7c3aed; --series-5: #8a6400;
}
@media (prefers-color-scheme: dark) {
  :root {
    --text: #e6edf3; --quiet: #9da7b3; --page: #0d1117; --card: #161b22; --line: #3d444d;
    --met: #4ac26b; --missed: #ff8182;
    --series-1: #6cb0ff; --series-2: #ff9b6a; --series-3: #56d381; --series-4: #c8a6ff; --series-5: #e3b341;
  }
}
body { font: 15px/1.5 system-ui, sans-serif; margin: 0; color: var(--text); background: var(--page); overflow-wrap: anywhere; }
main { margin: 0 auto; max-width: 1240px; padding: 1rem; }
h1 { font-size: 1.6rem; margin: 0.5rem 0; }
h2 { font-size: 1.25rem; margin: 2rem 0 0.5rem; }
p { margin: 0.25rem 0; }
summary { cursor: pointer; padding: 0.25rem 0; }
.cards { display: grid; gap: 0.75rem; grid-template-columns: repeat(auto-fill, minmax(min(14rem, 100%), 1fr)); list-style: none; padding: 0; }
.card { background: var(--card); border: 1px solid var(--line); border-left: 0.35rem solid; border-radius: 0.4rem; padding: 0.5rem 0.75rem; }
.card.met { border-left-color: var(--met); }
.card.missed { border-left-color: var(--missed); }
.verdict { font-weight: 600; }
.met .verdict { color: var(--met); }
.missed .verdict { color: var(--missed); }
.value { font-size: 1.6rem; font-variant-numeric: tabular-nums; line-height: 1.2; }
.bar { color: var(--quiet); font-size: 0.85rem; }
dl { display: grid; gap: 0.5rem 1.5rem; grid-template-columns: repeat(auto-fill, minmax(min(16rem, 100%), 1fr)); }
dt { color: var(--quiet); font-size: 0.85rem; }
dd { margin: 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
.wide th, .wide td { border-bottom: 1px solid var(--line); padding: 0.25rem 0.6rem; text-align: left; white-space: nowrap; }
.wide td.number { text-align: right; }
#charts { display: grid; gap: 2rem 1.5rem; grid-template-columns: repeat(auto-fit, minmax(min(560px, 100%), 1fr)); }
figure { margin: 0; min-width: 0; }
figcaption { font-weight: 600; }
.plot { min-height: 320px; overflow: hidden; }
`

/** The page's own program. Values of x stand at even distances, since they grow tenfold or fourfold from one to the next. */
export const drawing = `
'use strict'
const figures = JSON.parse(document.getElementById('figures').textContent)
const places = document.querySelectorAll('.plot')
const dark = matchMedia('(prefers-color-scheme: dark)')
const number = (value) => value.toLocaleString('en', { maximumFractionDigits: 3 })
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim()
const height = 320
let plots = []

/** From the lowest round to the highest, across each point. */
function drawSpread(plot, series) {
  const { ctx } = plot
  const cap = 4 * devicePixelRatio
  ctx.save()
  ctx.lineWidth = 1.5 * devicePixelRatio
  series.forEach(({ spread = [] }, sequence) => {
    if (!plot.series[sequence + 1].show) return
    ctx.strokeStyle = colour('--series-' + ((sequence % 5) + 1))
    spread.forEach((range, at) => {
      if (range === null) return
      const x = plot.valToPos(at, 'x', true)
      const [low, high] = range.map((value) => plot.valToPos(value, 'y', true))
      ctx.beginPath()
      ctx.moveTo(x, low)
      ctx.lineTo(x, high)
      for (const end of [low, high]) {
        ctx.moveTo(x - cap, end)
        ctx.lineTo(x + cap, end)
      }
      ctx.stroke()
    })
  })
  ctx.restore()
}

function most(series) {
  const all = series.flatMap(({ values, spread = [] }) => [...values, ...spread.flatMap((range) => range ?? [])])
  return Math.max(0, ...all.filter((value) => value !== null))
}

function draw({ x, unit, series }, place) {
  const lines = { stroke: colour('--text'), grid: { stroke: colour('--line') }, ticks: { stroke: colour('--line') } }
  const drawn = series.map(({ label }, sequence) => ({
    label,
    stroke: colour('--series-' + ((sequence % 5) + 1)),
    width: 2,
    spanGaps: true,
    points: { show: true, size: 7 },
    value: (_, value) => (value === null ? '' : number(value) + ' ' + unit),
  }))
  const top = most(series)
  // The legend has the figures of the last place, on paper as well, while the pointer is at none.
  const atRest = (plot) => plot.cursor.idx == null && plot.setLegend({ idx: x.values.length - 1 }, false)
  const options = {
    width: place.clientWidth,
    height,
    scales: { x: { time: false, distr: 2 }, y: { range: (_, least) => [Math.min(0, least), top > 0 ? top * 1.1 : 1] } },
    axes: [
      { ...lines, label: x.name.replaceAll('_', ' '), values: (_, at) => at.map((value) => (value === null ? '' : number(value))) },
      { ...lines, label: unit, size: 80, values: (_, values) => values.map(number) },
    ],
    series: [{ label: x.name.replaceAll('_', ' '), value: (_, value) => (value === null ? '' : number(value)) }, ...drawn],
    hooks: { draw: [(plot) => drawSpread(plot, series)], ready: [atRest], setCursor: [atRest] },
  }
  return new uPlot(options, [x.values, ...series.map(({ values }) => values)], place)
}

function drawAll() {
  for (const plot of plots) plot.destroy()
  plots = figures.map((figure, at) => draw(figure, places[at]))
}

drawAll()
dark.addEventListener('change', drawAll)
addEventListener('resize', () => {
  plots.forEach((plot, at) => plot.setSize({ width: places[at].clientWidth, height }))
})
`
