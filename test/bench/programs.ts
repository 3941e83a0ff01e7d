import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { ownBroker } from '../../bench/broker-process.js'
import { member } from '../../bench/ngsi.js'
import { memoryFolder } from '../memory-folder.js'
import { nodeBySh } from '../program.js'

/** The script of a broker that can be told to do wrong: see there. */
export const standIn = fileURLToPath(new URL('./stand-in.js', import.meta.url))

/** The broker itself, for what the stand-in can not do, with the reason to skip it, if there is one. */
export const own = {
  name: 'the broker',
  main: ownBroker,
  skip: !existsSync(ownBroker) && 'the program is not built yet (npm run build)',
} as const

/** The brokers that simple benchmarks are tried on. */
export const brokers = [{ name: 'a stand-in', main: standIn, skip: false }, own] as const

export interface Ended {
  readonly code: number | null
  /** Standard output, each line parsed; one text when it is no JSON. */
  readonly lines: readonly unknown[]
  readonly errors: string
}

/** A program of the benchmarks under way. */
export interface Running {
  readonly ended: Promise<Ended>
  /** Resolves with its first output. */
  readonly speaking: Promise<unknown>
  interrupt(): void
}

/** The programs of the benchmarks. */
type Program = 'run' | 'feed' | 'soak' | 'console-soak'

/**
 * Starts a program of the benchmarks, with a folder for its data. They fail when an update does, as it has to where etcd does not answer for
 * seconds.
 */
export function start(program: Program, argv: readonly string[], folder = memoryFolder): Running {
  const script = fileURLToPath(new URL(`../../bench/${program}.js`, import.meta.url))
  const child = spawn('sh', nodeBySh([script, ...argv]), {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, TMPDIR: folder },
  })
  const closed = Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return {
    ended: closed.then(([output, errors]) => ({ code: child.exitCode, lines: parsed(output), errors })),
    speaking: once(child.stdout, 'data'),
    interrupt: () => child.kill('SIGINT'),
  }
}

/** Runs a program of the benchmarks to its end. */
export function run(program: Program, ...argv: readonly string[]): Promise<Ended> {
  return start(program, argv).ended
}

/** The lines of one benchmark. */
export function linesOf(ended: Ended, bench: string): readonly unknown[] {
  return ended.lines.filter((line) => member(line, 'bench') === bench)
}

/** A run that is over soon: enough for each case to have been measured. */
export const short = ['--duration', '0.2', '--rounds', '2', '--connections', '1,4', '--devices', '20']

/** Runs benchmarks for one moment and gives their lines, of which those of loads are whole. */
export async function linesFrom(t: Test, ...argv: readonly string[]): Promise<readonly unknown[]> {
  const ended = await run('run', ...short, '--duration', '0.05', '--rounds', '1', ...argv)
  t.equal(ended.code, 0, ended.errors)
  const [, ...lines] = ended.lines
  t.ok(lines.length > 0)
  for (const line of lines.filter((line) => member(line, 'rate_per_s') !== undefined)) isMeasured(t, line)
  return lines
}

/** Some columns of lines, for a comparison of all rows at once. */
export function columns(lines: readonly unknown[], ...names: readonly string[]): readonly (readonly unknown[])[] {
  return lines.map((line) => names.map((name) => member(line, name)))
}

/** What every load says, whatever was measured. */
export function isMeasured(t: Test, line: unknown): void {
  for (const name of ['rate_per_s', 'p50_ms', 'p90_ms', 'p99_ms', 'p999_ms', 'max_ms', 'generator_cpu_ratio']) {
    t.ok(Number(member(line, name)) > 0, `${name} is above 0`)
  }
  t.equal(member(line, 'failures'), undefined, 'no request failed')
}

/** What loads say that another version of the broker was measured beside. */
export function areCompared(t: Test, lines: readonly unknown[]): void {
  for (const line of lines) {
    for (const name of ['against_per_s', 'against_ratio', 'against_p99_ms', 'against_p99_ratio']) {
      t.ok(Number(member(line, name)) > 0, `${name} is above 0`)
    }
  }
}

function parsed(output: string): readonly unknown[] {
  if (!output.startsWith('{')) return [output] // The help.
  return output
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}
