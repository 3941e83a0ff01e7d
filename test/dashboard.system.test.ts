import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { documentedMetrics, fileText, promtool } from './documented-metrics.js'

const rulesFile = 'deploy/prometheus/rigel.rules.yml'
const runbooks = ['docs/troubleshoot.md', 'docs/cluster.md']
const metrics = new Map(['docs/observe.md', 'docs/cluster.md'].flatMap((guide) => [...documentedMetrics(guide)]))

/** Those of prom-client and of Prometheus that are used, without labels of their own. */
const others = new Set([
  'up',
  'process_cpu_user_seconds_total',
  'process_cpu_system_seconds_total',
  'process_open_fds',
  'process_max_fds',
  'process_start_time_seconds',
])

/** Labels that Prometheus gives to every metric. */
const ofPrometheus = ['job', 'instance']

interface Panel {
  readonly title: string
  readonly type: string
  readonly description?: string
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[]
  /** Of a row: whether it is folded, and the panels that it has then. */
  readonly collapsed?: boolean
  readonly panels?: readonly Panel[]
}
interface Annotation {
  readonly name: string
  readonly expr: string
  readonly useValueForTime: string
}
const dashboard: { readonly panels: readonly Panel[]; readonly annotations: { readonly list: readonly Annotation[] } } =
  JSON.parse(fileText('deploy/grafana/rigel.json'))
const panels = dashboard.panels.flatMap((panel) => [panel, ...(panel.panels ?? [])])
const queries = panels.flatMap(({ title, targets = [] }) => targets.map((target) => ({ title, ...target })))
const rules = Array.from(
  fileText(rulesFile).matchAll(/- alert: (\w+)\n {8}expr: (?:\|\n((?: {10}.*\n)+)|(.*)\n)[\s\S]*?runbook: (\S+)\n/g),
  ([, name = '', block = '', line = '', runbook = '']) => ({ name, expr: block === '' ? line : block.trim(), runbook }),
)

/** What is wrong with the names in an expression: metrics that a broker does not show, and labels that they do not have. */
function unknownNames(expr: string): readonly string[] {
  const bare = expr.replace(/"(?:[^"\\]|\\.)*"/g, '""')
  const used = [...bare.matchAll(/\b(rigel_\w+|process_\w+|nodejs_\w+|up)\b(?:\{([^}]*)\})?/g)].map(
    ([, name = '', of = '']) => ({
      name,
      matched: Array.from(of.matchAll(/(\w+)\s*[=!]/g), ([, label = '']) => label),
    }),
  )
  const labels = used.flatMap(({ name, matched }) => {
    const [metric, own] = labelsOf(name)
    if (own === undefined) return [`${name} is no metric`]
    return matched
      .filter((label) => ![...own, ...ofPrometheus].includes(label))
      .map((label) => `${metric} has no ${label}`)
  })
  const all = new Set(used.flatMap(({ name }) => labelsOf(name)[1] ?? []))
  const grouped = [...bare.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) =>
    list.split(',').map((one) => one.trim()),
  )
  const unknown = grouped.filter((label) => !all.has(label) && !ofPrometheus.includes(label))
  return [...labels, ...unknown.map((label) => `nothing here has ${label}`)]
}

function labelsOf(name: string): readonly [string, readonly string[] | undefined] {
  const histogram = name.replace(/_(?:bucket|sum|count)$/, '')
  const of = metrics.get(histogram)
  if (of?.type === 'histogram') return [histogram, name.endsWith('_bucket') ? [...of.labels, 'le'] : of.labels]
  return [name, metrics.get(name)?.labels ?? (others.has(name) ? [] : undefined)]
}

test('every query of the dashboard names only metrics and labels that a broker has, and its legend too', async (t) => {
  t.ok(queries.length > 60, `${queries.length} queries`)
  for (const { title, expr, legendFormat } of queries) {
    t.same(unknownNames(expr), [], `${title}: ${expr}`)
    for (const [, label = ''] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) {
      t.ok(expr.includes(label) || expr.startsWith('rigel_build_info'), `${title}: {{${label}}}`)
    }
  }
})

test('the dashboard shows every metric', async (t) => {
  const all = [...queries, ...rules].map(({ expr }) => expr).join('\n')
  for (const name of metrics.keys()) t.ok(all.includes(name) || name === 'rigel_trace_levels_enabled', name)
})

test('every panel has a title and says what it shows', async (t) => {
  for (const { type, title, description = '' } of panels) {
    t.ok(title !== '' && (type === 'row' || description !== ''), title)
  }
})

test('rows that most brokers have nothing for are folded, and the starts of brokers are marked', async (t) => {
  const folded = dashboard.panels.filter(({ collapsed }) => collapsed === true)
  t.same(
    folded.map(({ title }) => title.split(' ', 1).join()),
    ['Waits', 'Cluster'],
  )
  for (const row of folded) t.ok((row.panels ?? []).length > 3, `${row.title} has its panels inside`)
  const [starts, ...more] = dashboard.annotations.list
  t.same([starts?.name, starts?.useValueForTime, more], ['Starts', 'on', []])
  t.same(unknownNames(starts?.expr ?? ''), [])
})

test('promtool can parse every query of the dashboard', { skip: promtool.skip }, async (t) => {
  const parsable = ({ expr }: { readonly expr: string }) =>
    expr.replaceAll('$__rate_interval', '5m').replaceAll('$instance', '.*')
  const records = queries.map((query, at) => `- record: query_${at}\n  expr: ${JSON.stringify(parsable(query))}\n`)
  const indented = records.join('').replace(/^/gm, '      ')
  const file = join(t.testdir(), 'queries.yml')
  writeFileSync(file, `groups:\n  - name: queries\n    rules:\n${indented}`)
  t.match(promtool.objections(['check', 'rules', file]), /^(?:\d+ rules? found)?$/m)
  t.notMatch(promtool.objections(['check', 'rules', file]), /error|FAILED/i)
})

test('every alert names only what a broker shows, and its runbook is a section of the guide', async (t) => {
  t.equal(rules.length, fileText(rulesFile).split('- alert:').length - 1)
  for (const { name, expr, runbook } of rules) {
    t.same(unknownNames(expr), [], `${name}: ${expr}`)
    const [guide = '', anchor] = runbook.split('#')
    t.ok(runbooks.includes(guide), runbook)
    t.equal(anchor, name.toLowerCase())
    const [, section = ''] = fileText(guide).split(`\n### ${name}\n`)
    t.ok((section.split('\n#')[0] ?? '').trim().length > 100, `${name} has a runbook`)
  }
  for (const [, name = ''] of runbooks
    .map(fileText)
    .join('')
    .matchAll(/^### (Rigel\w+)$/gm))
    t.ok(
      rules.some((rule) => rule.name === name),
      name,
    )
})

test('every alert is raised by what it is about, and by nothing like it', { skip: promtool.skip }, async (t) => {
  const files = [
    'deploy/prometheus/rigel.rules.test.yml',
    'deploy/prometheus/rigel.backups.test.yml',
    'deploy/prometheus/rigel.cluster.test.yml',
  ]
  const tests = files.map(fileText).join('')
  for (const { name } of rules) t.ok(tests.includes(`${name} fires`) && tests.includes(`${name} is quiet`), name)
  t.equal(promtool.objections(['test', 'rules', ...files]), '')
  t.notMatch(promtool.objections(['check', 'config', 'deploy/prometheus/prometheus.yml']), /FAILED|error/i)
})
