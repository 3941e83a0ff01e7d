import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { reachedBars } from './bars.js'
import { machineFacts } from './machine.js'
import { pageOf } from './page.js'
import { type Line, table } from './table.js'

/** Where results go: JSON lines to standard output for programs, all else to standard error for people. */
export class Report {
  readonly #lines: Line[] = []
  readonly #notes: string[] = []
  #environment: Line = {}
  #failures = 0

  /** The first line: what the numbers of all others hold for. */
  begin(environment: Line): void {
    this.#environment = environment
    console.log(JSON.stringify(environment))
  }

  add(line: Line): void {
    this.#lines.push(line)
    this.clearProgress()
    console.log(JSON.stringify(line))
  }

  /** Something that makes the whole run a failure. */
  fail(why: string): void {
    this.#failures += 1
    this.note(`FAILED: ${why}`)
  }

  get failed(): boolean {
    return this.#failures > 0
  }

  note(text: string): void {
    this.#notes.push(text)
    this.clearProgress()
    console.error(text)
  }

  /** What goes on at the moment; on a terminal only, each over the last one. */
  progress(text: string): void {
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`)
  }

  clearProgress(): void {
    if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
  }

  /** The tables for people: one for each benchmark, since each has columns of its own. */
  end(): void {
    for (const { name, lines } of this.#tables()) console.error(`\n${name}\n${table(lines)}`)
    if (this.failed)
      console.error(`\n${this.#failures} failed: the numbers above are worth nothing until it is clear why`)
  }

  /** The last table: which bars were reached. Reaching none is no failure. */
  endWithBars(): void {
    console.error(`\nbars\n${table(reachedBars(this.#lines).map(({ unit, ...row }) => row))}`)
  }

  /** Everything in one JSON document. */
  writeTo(file: string): void {
    const bars = reachedBars(this.#lines)
    const document = { ...this.#environment, failures: this.#failures, results: this.#lines, bars }
    writeFileSync(file, `${JSON.stringify(document, undefined, 2)}\n`)
  }

  /** Everything as a page with charts that needs nothing but itself. */
  writePageTo(file: string): void {
    const page = pageOf({
      environment: this.#environment,
      lines: this.#lines,
      tables: [...this.#tables()],
      bars: reachedBars(this.#lines),
      notes: this.#notes,
    })
    writeFileSync(file, page)
  }

  *#tables(): Generator<{ readonly name: string; readonly lines: readonly Line[] }> {
    for (const name of new Set(this.#lines.map((line) => line['bench']))) {
      const lines = this.#lines.filter((line) => line['bench'] === name)
      yield {
        name: String(name),
        lines: lines.map((line) => {
          const { bench, spread, reference_spread, against_spread, by_partition, ...columns } = line
          return columns
        }),
      }
    }
  }
}

/** The run, the machine and the versions that a result depends on, with those of the brokers. */
export function environment(brokers: Line, run?: Line): Line {
  return {
    machine: machineFacts(),
    versions: { node: process.version, ...brokers, ...referenceVersions() },
    ...(run !== undefined && { run }),
    at: new Date().toISOString(),
  }
}

function referenceVersions(): Record<string, string> {
  const require = createRequire(import.meta.url)
  const { devDependencies = {}, dependencies = {} } = require('../../package.json')
  const versions = { ...devDependencies, ...dependencies }
  const names = ['hono', '@hono/node-server', 'lmdb', 'fastify', 'pg'] as const
  return Object.fromEntries(names.map((name) => [name, versions[name]]))
}
