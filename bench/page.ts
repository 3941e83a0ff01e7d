import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Reached } from './bars.js'
import { type Chart, chartsOf, type Series } from './charts.js'
import { drawing, style } from './page-parts.js'
import { cell, humanName, type Line, namesOf } from './table.js'

/** What a page shows. */
export interface Shown {
  readonly environment: Line
  readonly lines: readonly Line[]
  readonly tables: readonly { readonly name: string; readonly lines: readonly Line[] }[]
  readonly bars: readonly Reached[]
  readonly notes: readonly string[]
}

/** Results as one HTML file: the program that draws the charts is in it, so that it can be kept and sent as it is. */
export function pageOf({ environment, lines, tables, bars, notes }: Shown): string {
  const charts = chartsOf(lines)
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Rigel benchmarks</title>
<!-- Charts by uPlot:
${escaped(fileOfPlot('LICENSE'))}-->
<style>
${fileOfPlot('dist/uPlot.min.css')}
${style}
</style>
<main>
<h1>Rigel benchmarks</h1>
${headlines(bars)}
${notesOf(notes)}
<section aria-labelledby="run">
<h2 id="run">The run</h2>
${environmentOf(environment)}
</section>
<section aria-labelledby="drawn">
<h2 id="drawn">Charts</h2>
<p>Lines are medians of the rounds; a bar across a point reaches from the lowest round to the highest.</p>
<div id="charts">
${charts.map(figureOf).join('\n')}
</div>
</section>
<section aria-labelledby="all">
<h2 id="all">All results</h2>
${tables.map(({ name, lines }) => folded(humanName(name), tableOf(humanName(name), lines))).join('\n')}
</section>
</main>
<script id="figures" type="application/json">${inScript(charts.filter(isDrawn))}</script>
<script>
${fileOfPlot('dist/uPlot.iife.min.js')}
${drawing}
</script>
</html>
`
}

/** A file of the package that draws. */
function fileOfPlot(name: string): string {
  return readFileSync(createRequire(import.meta.url).resolve(`uplot/${name}`), 'utf8')
}

/** A card for each figure that was measured; the others are named, folded. */
function headlines(bars: readonly Reached[]): string {
  const measured = bars.filter(({ met }) => met !== '')
  const others = bars.filter(({ met }) => met === '')
  const met = measured.filter((bar) => bar.met === 'yes').length
  const summary = `${met} of ${measured.length} figures that were measured are met. Ratios stand against a reference in the same run.`
  const list = `<ul>${others.map(({ what, bar }) => `<li>${escaped(what)}: ${escaped(bar)}`).join('\n')}</ul>`
  return `<section aria-labelledby="headlines">
<h2 id="headlines">Headline figures</h2>
<p>${summary}</p>
<ul class="cards">
${measured.map(cardOf).join('\n')}
</ul>
${others.length === 0 ? '' : folded(`${others.length} figures were not measured`, list)}
</section>`
}

function cardOf({ what, bar, reached, rounds, met, unit }: Reached): string {
  const [kind, icon, verdict] = met === 'yes' ? ['met', '✓', 'met'] : ['missed', '✗', 'missed']
  const value = `${cell(reached)}${unit === '' ? ' ×' : unit}`
  return `<li class="card ${kind}">
<p class="verdict"><span aria-hidden="true">${icon}</span> ${verdict}</p>
<p class="value">${escaped(value)}</p>
<p>${escaped(what)}</p>
<p class="bar">${escaped(barText(bar, unit))}, median of ${rounds} ${rounds === 1 ? 'round' : 'rounds'}</p>`
}

function barText(bar: string, unit: string): string {
  const text = bar.replace('>=', 'at least').replace('<=', 'at most')
  return unit === '' ? `${text} ×` : text
}

function notesOf(notes: readonly string[]): string {
  if (notes.length === 0) return ''
  return `<section aria-labelledby="notes">
<h2 id="notes">Notes</h2>
<ul>${notes.map((note) => `<li>${escaped(note)}`).join('\n')}</ul>
</section>`
}

/** What was run, where and with what: a list for each part of it. */
function environmentOf(environment: Line): string {
  const parts = Object.entries(environment).flatMap(([name, value]) =>
    typeof value === 'object' && value !== null ? Object.entries(value) : [[name, value] as const],
  )
  const rows = parts.map(([name, value]) => `<div><dt>${escaped(humanName(name))}<dd>${escaped(cell(value))}</div>`)
  return `<dl>\n${rows.join('\n')}\n</dl>`
}

/** A line needs two places: what was measured at one is a table alone. */
function isDrawn({ x }: Chart): boolean {
  return x.values.length > 1
}

/** A chart, which the page's program draws, with its figures as a table for those who do not see it. */
function figureOf(chart: Chart): string {
  const title = escaped(chart.title)
  const table = tableOf(chart.title, rowsOf(chart))
  if (!isDrawn(chart)) return `<figure>\n<figcaption>${title}</figcaption>\n${table}\n</figure>`
  const text = `${title}: ${escaped(chart.unit)} by ${escaped(humanName(chart.x.name))}. The figures are in the table below.`
  return `<figure>
<figcaption>${title}</figcaption>
<div class="plot" role="img" aria-label="${text}"></div>
${folded('As a table', table)}
</figure>`
}

function rowsOf({ x, unit, series }: Chart): readonly Line[] {
  return x.values.map((value, at) => ({
    [x.name]: value,
    ...Object.fromEntries(series.map((each) => [`${each.label}, ${unit}`, pointText(each, at)])),
  }))
}

function pointText({ values, spread }: Series, at: number): string {
  const value = values[at]
  if (value === null || value === undefined) return ''
  const range = spread?.[at]
  return range === null || range === undefined ? cell(value) : `${cell(value)} (${cell(range[0])} to ${cell(range[1])})`
}

function folded(summary: string, content: string): string {
  return `<details><summary>${escaped(summary)}</summary>\n${content}\n</details>`
}

/** A table that scrolls by itself where it is wider than the page, also by keyboard. */
function tableOf(caption: string, lines: readonly Line[]): string {
  const names = namesOf(lines)
  const head = names.map((name) => `<th scope="col">${escaped(humanName(name))}`).join('')
  const rows = lines.map((line) => {
    const cells = names.map((name) => {
      const kind = typeof line[name] === 'number' ? ' class="number"' : ''
      return `<td${kind}>${escaped(cell(line[name]))}`
    })
    return `<tr>${cells.join('')}`
  })
  const label = `${caption}, as a table`
  return `<div class="wide" role="region" tabindex="0" aria-label="${escaped(label)}"><table>\n<tr>${head}\n${rows.join('\n')}\n</table></div>`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}

/** JSON that can not end the script that it stands in. */
function inScript(value: unknown): string {
  return JSON.stringify(value).replaceAll('<', '\\u003c')
}
