/** One line of results: names with their units, and what was measured. */
export type Line = Readonly<Record<string, unknown>>

/** Lines as a table for people: a column for each name that any line has, numbers to the right. */
export function table(lines: readonly Line[]): string {
  const names = namesOf(lines)
  const rows = lines.map((line) => names.map((name) => cell(line[name])))
  const widths = names.map((name, column) => Math.max(name.length, ...rows.map((row) => (row[column] ?? '').length)))
  const numeric = names.map((name) => lines.every((line) => typeof (line[name] ?? 0) === 'number'))
  const written = (row: readonly string[]) =>
    row
      .map((text, column) =>
        numeric[column] === true ? text.padStart(widths[column] ?? 0) : text.padEnd(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd()
  return [names, ...rows].map(written).join('\n')
}

/** The columns of a table: every name that any line has, each behind the one that it follows in a line. */
export function namesOf(lines: readonly Line[]): readonly string[] {
  const names: string[] = []
  for (const line of lines) {
    let behind = -1
    for (const name of Object.keys(line)) {
      if (!names.includes(name)) names.splice(behind + 1, 0, name)
      behind = names.indexOf(name)
    }
  }
  return names
}

const units: Readonly<Record<string, string>> = {
  per_s: 'per s',
  ms: '(ms)',
  us: '(µs)',
  ns: '(ns)',
  s: '(s)',
  MiB: '(MiB)',
  GiB: '(GiB)',
}

/** The name of a figure as people read it: `rate_per_s` is `rate per s`, `p50_ms` is `p50 (ms)`. */
export function humanName(name: string): string {
  const [, figure, unit = ''] = /^(.*?)(?:_(per_s|ms|us|ns|s|MiB|GiB))?$/.exec(name) ?? []
  const words = (figure ?? name).replaceAll('_', ' ')
  const apart = words.replace(
    /([a-z])([A-Z])(?=[a-z])/g,
    (_, end: string, start: string) => `${end} ${start.toLowerCase()}`,
  )
  return `${apart} ${units[unit] ?? ''}`.trim()
}

/** A value as people read it. */
export function cell(value: unknown): string {
  if (value === undefined) return ''
  if (typeof value === 'number') return value.toLocaleString('en', { maximumFractionDigits: 3 })
  return typeof value === 'string' ? value : JSON.stringify(value)
}
