// Writes what is made, not written: docs/flags.md from the tables of flags, docs/measured.svg from the figures in docs/benchmarks.md,
// and in other pages the tables of metrics, waits, stages and trace levels. The pages go to the folder that is named, or to docs.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { flagGroups } from '../dist/src/flags/flag.js'
import { flagRules } from '../dist/src/flags/flag-help.js'
import { flagsByName, takesValue } from '../dist/src/flags/flags.js'
import { traceArea, traceMeanings } from '../dist/src/observe/log/trace.js'
import * as figures from '../dist/src/observe/measure/figures.js'
import { stageMeanings } from '../dist/src/observe/measure/slow-requests.js'
import { waitKinds, waitMeanings } from '../dist/src/observe/measure/waits.js'
import { flagSections } from './flags-page.mjs'

const docs = fileURLToPath(new URL('../docs/', import.meta.url))

/** A text as the cell of a table shows it. */
function cell(text) {
  return text.replaceAll('|', '\\|')
}

function spelled(name, flag) {
  return `\`-${name}\`${takesValue(flag) ? ` \`<${cell(flag.takes.shown)}>\`` : ''}`
}

function variableOf(flag) {
  return flag.variable === undefined ? '' : `\`${flag.variable}\``
}

function row(name, flag) {
  const byDefault = flag.kind === 'value' ? flag.shownDefault : flag.kind === 'switch' ? 'off' : ''
  return `| ${spelled(name, flag)} | ${cell(byDefault)} | ${variableOf(flag)} | ${cell(flag.meaning)} |`
}

/** A table of flags that have an effect, or, under an introduction, of those that have none. */
function section({ title, introduction, members }) {
  if (introduction === undefined) {
    const rows = members.map(([name, flag]) => row(name, flag))
    return [`## ${title}`, '', '| flag | default | variable | meaning |', '|---|---|---|---|', ...rows, '']
  }
  const rows = members.map(([name, flag]) => `| ${spelled(name, flag)} | ${variableOf(flag)} | ${cell(flag.meaning)} |`)
  return [`## ${title}`, '', introduction, '', '| flag | variable | reason |', '|---|---|---|', ...rows, '']
}

function flagsPage() {
  return [
    '# Flags',
    '',
    '`npm run docs` makes this page from the tables that the program parses its command line with.',
    '`rigel -h` prints the same, with the refused flags among those of the network; `rigel -u` prints names and values only.',
    '',
    flagRules,
    'An unknown flag or a wrong value ends the start with exit code 1 and a line that names it.',
    'A variable that looks like a misspelt one of this list is named in a warning at the start.',
    '',
    ...flagSections(flagGroups, flagsByName).flatMap(section),
  ].join('\n')
}

/** The lists of figures that a table of metrics shows, in the order of /metrics. */
const metricTables = {
  broker: [
    ...[figures.brokerFigures, figures.requestFigures, figures.frontEndFigures, figures.partitionFigures],
    ...[figures.diskFigures, figures.backupFigures, figures.deliveryFigures, figures.outboxFigures],
    ...[figures.courierFigures, figures.threadFigures, figures.memoryFigures, figures.alarmFigures],
    ...[figures.waitFigures, figures.processFigures],
  ],
  engine: [figures.engineFigures],
  nodes: [figures.nodeFigures, figures.replicaFigures, figures.remoteFigures],
}

function metricCells({ name, type, labels, help }) {
  return [`\`${name}\``, type, labels.map((label) => `\`${label}\``).join(', '), cell(help)]
}

/** A table of a page, by its columns and the cells of its rows. */
function table(columns, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |\n`
  return [line(columns), `|${'---|'.repeat(columns.length)}\n`, ...rows.map(line)].join('')
}

/** The tables that pages have of what is in the program, by the kind that their first comment names. */
const tables = {
  metrics: (name) => {
    const rows = metricTables[name].flatMap(({ metrics }) => metrics.map(metricCells))
    return table(['metric', 'type', 'labels', 'what it says'], rows)
  },
  waits: () =>
    table(
      ['wait', 'a request waits for', 'a high value means'],
      waitKinds.map((kind) => [`\`${kind}\``, waitMeanings[kind].waitsFor, waitMeanings[kind].whenHigh]),
    ),
  stages: () =>
    table(
      ['stage', 'what took the time', 'when it is high'],
      Object.entries(stageMeanings).map(([stage, { takes, whenHigh }]) => [`\`${stage}\``, takes, whenHigh]),
    ),
  traces: () =>
    table(
      ['level', 'name', 'its lines show'],
      Object.entries(traceArea).map(([area, level]) => [level, `\`${area}\``, traceMeanings[area]]),
    ),
}

/** A page with its tables, which stand between two comments, made anew. */
function withTables(page) {
  const marked = /(<!-- (\w+): (\w+),.*-->\n)[\s\S]*?(?=<!-- end of \2 -->)/g
  return page.replace(marked, (_, comment, kind, name) => `${comment}${tables[kind](name)}`)
}

/** The rows of the first table below a heading of a page, as arrays of cells. */
function tableBelow(page, heading) {
  const [, text = ''] = page.split(`\n${heading}\n`)
  const lines = text
    .split(/\n#/, 1)[0]
    .split('\n')
    .filter((line) => line.startsWith('| '))
  return lines.slice(1).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((each) => each.trim()),
  )
}

/** Requests per second of Rigel and of the bare server, by connections, as two bars for each row of the table. */
function chart(rows) {
  const figures = rows.map(([, connections, rigel, bare]) => ({ connections, rigel, bare }))
  const numberOf = (text) => Number(text.replaceAll(',', ''))
  const longest = Math.max(...figures.flatMap(({ rigel, bare }) => [numberOf(rigel), numberOf(bare)]))
  const width = (text) => ((numberOf(text) / longest) * 420).toFixed(1)
  const bars = figures.flatMap(({ connections, rigel, bare }, at) => {
    const top = 66 + at * 50
    const bar = (y, text, colour) => [
      `  <rect x="130" y="${y}" width="${width(text)}" height="16" fill="${colour}"/>`,
      `  <text x="${(136 + Number(width(text))).toFixed(1)}" y="${y + 13}">${text}</text>`,
    ]
    return [
      `  <text x="120" y="${top + 22}" text-anchor="end">${connections} connection${connections === '1' ? '' : 's'}</text>`,
      ...bar(top, rigel, '#1f6feb'),
      ...bar(top + 18, bare, '#b6bdc6'),
    ]
  })
  const height = 76 + figures.length * 50
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="640" height="${height}" viewBox="0 0 640 ${height}" font-family="sans-serif" font-size="13" fill="#1f2328">`,
    `  <rect width="640" height="${height}" fill="#ffffff"/>`,
    '  <text x="16" y="24" font-size="15" font-weight="bold">Durable updates per second</text>',
    '  <rect x="16" y="36" width="12" height="12" fill="#1f6feb"/>',
    '  <text x="34" y="47">Rigel: on disk before the response</text>',
    '  <rect x="276" y="36" width="12" height="12" fill="#b6bdc6"/>',
    '  <text x="294" y="47">bare Hono server that echoes the same JSON</text>',
    ...bars,
    '</svg>',
    '',
  ].join('\n')
}

const folder = process.argv[2] ?? docs
writeFileSync(join(folder, 'flags.md'), flagsPage())
for (const page of ['observe.md', 'cluster.md']) {
  writeFileSync(join(folder, page), withTables(readFileSync(join(docs, page), 'utf8')))
}
const benchmarks = readFileSync(join(docs, 'benchmarks.md'), 'utf8')
const updates = tableBelow(benchmarks, '### Updates and reads of one entity').filter(
  ([what]) => what === 'durable `updateContext`',
)
writeFileSync(join(folder, 'measured.svg'), chart(updates))
