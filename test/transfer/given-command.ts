import { readFileSync } from 'node:fs'

/** The lines of an export, as what they say. */
export function linesIn(text: string): readonly Readonly<Record<string, unknown>>[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}

/** A file as text. */
export function textOf(file: string): string {
  return readFileSync(file, 'utf8')
}

/** The text of an export with these lines. */
export function exportOf(lines: readonly object[]): string {
  const counts: Record<string, number> = {}
  for (const line of lines) {
    const kind = 'kind' in line ? String(line.kind) : ''
    counts[kind] = (counts[kind] ?? 0) + 1
  }
  const all = [{ kind: 'header', format: 'rigel-export', version: 1 }, ...lines, { kind: 'end', counts }]
  return `${all.map((line) => JSON.stringify(line)).join('\n')}\n`
}
