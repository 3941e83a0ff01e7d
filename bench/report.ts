import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { arch, cpus, platform, release, totalmem } from 'node:os'
import { type Line, table } from './table.js'

/** Where results go: JSON lines to standard output for programs, all else to standard error for people. */
export class Report {
  readonly #lines: Line[] = []
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

  /** The table for people: one for each benchmark, since each has columns of its own. */
  end(): void {
    for (const name of new Set(this.#lines.map((line) => line['bench']))) {
      const lines = this.#lines.filter((line) => line['bench'] === name)
      console.error(`\n${String(name)}\n${table(lines.map(({ bench, ...columns }) => columns))}`)
    }
    if (this.failed)
      console.error(`\n${this.#failures} failed: the numbers above are worth nothing until it is clear why`)
  }

  /** Everything in one JSON document. */
  writeTo(file: string): void {
    const document = { ...this.#environment, failures: this.#failures, results: this.#lines }
    writeFileSync(file, `${JSON.stringify(document, undefined, 2)}\n`)
  }
}

/** The machine and the versions that a result depends on. */
export function environment(broker: string | undefined): Line {
  const [processor] = cpus()
  return {
    machine: {
      processor: processor?.model.trim() ?? 'unknown',
      processors: cpus().length,
      memory_GiB: Number((totalmem() / 2 ** 30).toFixed(1)),
      system: `${platform()} ${release()} ${arch()}`,
    },
    versions: { node: process.version, broker: broker ?? 'unknown', ...referenceVersions() },
    at: new Date().toISOString(),
  }
}

function referenceVersions(): Record<string, string> {
  const require = createRequire(import.meta.url)
  const { devDependencies = {}, dependencies = {} } = require('../../package.json')
  const versions = { ...devDependencies, ...dependencies }
  return { hono: versions.hono, '@hono/node-server': versions['@hono/node-server'], autocannon: versions.autocannon }
}

/** To three digits after the point: more is noise. */
export function rounded(value: number): number {
  return Math.round(value * 1000) / 1000
}
