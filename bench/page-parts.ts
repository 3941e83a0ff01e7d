/** How the page looks. */
export const style = `
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 1240px; padding: 0 1rem; color: #1b1f24; }
h2 { margin: 2.5rem 0 0.5rem; }
p { margin: 0.25rem 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
.wide th, .wide td { border-bottom: 1px solid #d0d7de; padding: 0.25rem 0.6rem; text-align: left; white-space: nowrap; }
.wide td.number { text-align: right; }
#charts { display: grid; gap: 2rem 1.5rem; grid-template-columns: repeat(auto-fit, minmax(580px, 1fr)); }
.u-title { font-size: 15px; }
`

/** The page's own program. Values of x stand at even distances, since they grow tenfold or fourfold from one to the next. */
export const drawing = `
'use strict'
const colours = ['#0b62d6', '#d1440c', '#15803d', '#7c3aed', '#b8860b']
const number = (value) => value.toLocaleString('en', { maximumFractionDigits: 3 })
for (const { title, x, unit, series } of JSON.parse(document.getElementById('figures').textContent)) {
  const drawn = series.map(({ label }, sequence) => ({
    label,
    stroke: colours[sequence % colours.length],
    width: 2,
    spanGaps: true,
    points: { show: true, size: 7 },
    value: (_, value) => (value === null ? '' : number(value) + ' ' + unit),
  }))
  const options = {
    title,
    width: 590,
    height: 320,
    scales: {
      x: { time: false, distr: 2 },
      y: { range: (_, least, most) => [Math.min(0, least), most > 0 ? most * 1.1 : 1] },
    },
    axes: [
      { label: x.name, values: (_, places) => places.map((value) => (value === null ? '' : number(value))) },
      { label: unit, size: 80, values: (_, values) => values.map(number) },
    ],
    series: [{ label: x.name, value: (_, value) => (value === null ? '' : number(value)) }, ...drawn],
  }
  new uPlot(options, [x.values, ...series.map(({ values }) => values)], document.getElementById('charts'))
}
`
