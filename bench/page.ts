import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Reached } from './bars.js'
import { chartsOf } from './charts.js'
import { drawing, style } from './page-parts.js'
import { cell, type Line, namesOf } from './table.js'

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
  const sections = tables.map((one) => `<h2>${escaped(one.name)}</h2>\n${tableOf(one.lines)}`)
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
<h1>Benchmarks</h1>
${environmentOf(environment)}
<h2>Bars</h2>
${tableOf(bars.map((row) => ({ ...row })))}
<p>Measured against a reference in the same run. A bar that was not measured is not missed.</p>
${notes.length === 0 ? '' : `<h2>Notes</h2>\n<ul>${notes.map((note) => `<li>${escaped(note)}`).join('\n')}</ul>`}
<h2>Charts</h2>
<div id="charts"></div>
${sections.join('\n')}
<script id="figures" type="application/json">${inScript(charts)}</script>
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

function environmentOf(environment: Line): string {
  const facts = Object.entries(environment).map(([name, value]) => {
    const parts = typeof value === 'object' && value !== null ? Object.entries(value) : [[name, value]]
    return `<p>${parts.map(([part, what]) => `<b>${escaped(String(part))}</b> ${escaped(String(what))}`).join(' · ')}</p>`
  })
  return facts.join('\n')
}

function tableOf(lines: readonly Line[]): string {
  const names = namesOf(lines)
  const head = names.map((name) => `<th>${escaped(name)}`).join('')
  const rows = lines.map((line) => {
    const cells = names.map((name) => {
      const kind = typeof line[name] === 'number' ? ' class="number"' : ''
      return `<td${kind}>${escaped(cell(line[name]))}`
    })
    return `<tr>${cells.join('')}`
  })
  return `<div class="wide"><table>\n<tr>${head}\n${rows.join('\n')}\n</table></div>`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}

/** JSON that can not end the script that it stands in. */
function inScript(value: unknown): string {
  return JSON.stringify(value).replaceAll('<', '\\u003c')
}
