/** One line of results: names with their units, and what was measured. */
export type Line = Readonly<Record<string, unknown>>

/** Lines as a table for people: a column for each name that any line has, numbers to the right. */
export function table(lines: readonly Line[]): string {
  const names = [...new Set(lines.flatMap((line) => Object.keys(line)))]
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

function cell(value: unknown): string {
  if (value === undefined) return ''
  if (typeof value === 'number') return value.toLocaleString('en', { maximumFractionDigits: 3 })
  return typeof value === 'string' ? value : JSON.stringify(value)
}
