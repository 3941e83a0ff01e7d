import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** A metric as it is documented, or as a broker shows it. */
export interface MetricFacts {
  readonly type: string
  readonly help: string
  /** In their order; those of a histogram without `le`. */
  readonly labels: readonly string[]
}

export const root = fileURLToPath(new URL('../../', import.meta.url))

/** The text of a file of the project. */
export function fileText(path: string): string {
  return readFileSync(`${root}${path}`, 'utf8')
}

/** Every metric in the tables of a guide by its name. */
export function documentedMetrics(guide = 'docs/observe.md'): ReadonlyMap<string, MetricFacts> {
  const rows = fileText(guide).matchAll(/^\| `(rigel_\w+)` \| (\w+) \| ([^|]*) \| (.*) \|$/gm)
  return new Map(
    Array.from(rows, ([, name = '', type = '', labels = '', help = '']) => [
      name,
      { type, help, labels: Array.from(labels.matchAll(/`(\w+)`/g), ([, label = '']) => label) },
    ]),
  )
}

/** Every metric in a text for Prometheus by its name; `samples` are its lines without their values. */
export function shownMetrics(text: string): ReadonlyMap<string, MetricFacts & { readonly samples: readonly string[] }> {
  const metrics = new Map<string, MetricFacts & { samples: string[] }>()
  for (const [, name = '', help = '', type = ''] of text.matchAll(/^# HELP (\w+) (.*)\n# TYPE \w+ (\w+)$/gm)) {
    metrics.set(name, { type, help, labels: [], samples: [] })
  }
  for (const [line, name = '', labels = ''] of text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
    const family = metrics.has(name) ? name : name.replace(/_(?:bucket|sum|count)$/, '')
    const metric = metrics.get(family)
    if (metric === undefined) throw new Error(`nothing says what this is: ${line}`)
    const names = Array.from(labels.matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g), ([, label = '']) => label)
    metrics.set(family, {
      ...metric,
      labels: names.filter((label) => label !== 'le'),
      samples: [...metric.samples, line],
    })
  }
  return metrics
}

/** The tool of Prometheus that checks metrics, rules and expressions. */
export const promtool = {
  skip:
    spawnSync('promtool', ['--version']).status === 0 ? false : 'there is no promtool (Debian has it in prometheus)',
  /** What it says about a file or an input; the empty text when it has nothing to say against it. */
  objections(words: readonly string[], input = ''): string {
    const { status, stdout, stderr } = spawnSync('promtool', words, { input, cwd: root, encoding: 'utf8' })
    const output = `${stdout}${stderr}`.trim()
    return status === 0
      ? output.replace(/^.*(?:SUCCESS|Checking|Unit Testing).*$/gm, '').trim()
      : `${output} (${status})`
  },
} as const
