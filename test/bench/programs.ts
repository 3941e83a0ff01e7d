import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { ownBroker } from '../../bench/broker-process.js'
import { member } from '../../bench/ngsi.js'

/** The script of a broker that can be told to do wrong: see there. */
export const standIn = fileURLToPath(new URL('./stand-in.js', import.meta.url))

/** The brokers that every benchmark is tried on, each with the reason to skip it, if there is one. */
export const brokers = [
  { name: 'a stand-in', main: standIn, skip: false },
  { name: 'the broker', main: ownBroker, skip: !existsSync(ownBroker) && 'dist/src/main.js is not built yet' },
] as const

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

/** Starts a program of the benchmarks, with a folder for temporary files. */
export function start(program: 'run' | 'feed', argv: readonly string[], folder = tmpdir()): Running {
  const script = fileURLToPath(new URL(`../../bench/${program}.js`, import.meta.url))
  const child = spawn(process.execPath, [script, ...argv], {
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
export function run(program: 'run' | 'feed', ...argv: readonly string[]): Promise<Ended> {
  return start(program, argv).ended
}

/** The lines of one benchmark. */
export function linesOf(ended: Ended, bench: string): readonly unknown[] {
  return ended.lines.filter((line) => member(line, 'bench') === bench)
}

function parsed(output: string): readonly unknown[] {
  if (!output.startsWith('{')) return [output] // The help.
  return output
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}
