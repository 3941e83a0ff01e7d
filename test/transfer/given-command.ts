import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { OfflineCommand } from '../../src/offline/command-result.js'
import { brokerProgram, nodeBySh } from '../program.js'

/** How a command has ended. */
export interface Ended {
  readonly code: number | null
  readonly output: string
  readonly errors: string
}

/** Starts a command of `rigel`. */
export function begun(words: readonly string[]): ChildProcess {
  return spawn('sh', nodeBySh([brokerProgram, ...words]), { stdio: ['pipe', 'pipe', 'pipe'] })
}

/** Runs a command of `rigel` to its end. */
export async function rigel(words: readonly string[], input = ''): Promise<Ended> {
  const command = begun(words)
  let [output, errors] = ['', '']
  command.stdout?.on('data', (piece: Buffer) => {
    output += piece
  })
  command.stderr?.on('data', (piece: Buffer) => {
    errors += piece
  })
  command.stdin?.on('error', () => {}) // It may end without reading all of it.
  command.stdin?.end(input)
  const [code] = await once(command, 'close')
  return { code, output, errors }
}

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

/** Runs a command in this process, which takes a part of the time that a process needs to start. */
export async function ran(command: OfflineCommand, words: readonly string[]): Promise<Omit<Ended, 'output'>> {
  let errors = ''
  const write = (piece: unknown): boolean => {
    errors += piece
    return true
  }
  const code = await command({ words, environment: {}, output: { write }, errors: { write } })
  return { code, errors }
}
