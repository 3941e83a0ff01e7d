import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { brokerProgram, nodeBySh } from '../program.js'

export interface Ended {
  readonly code: number | null
  readonly output: string
  readonly errors: string
}

/** Starts a command of the program. */
export function begun(...words: readonly string[]): ChildProcess {
  return spawn('sh', nodeBySh([brokerProgram, ...words]), { stdio: ['ignore', 'pipe', 'pipe'] })
}

/** Runs a command of the program to its end. */
export async function rigel(...words: readonly string[]): Promise<Ended> {
  const { child, output, errors } = piped(begun(...words))
  const [[code]] = await Promise.all([once(child, 'exit') as Promise<[number | null]>, output, errors])
  return { code, output: await output, errors: await errors }
}

function piped(child: ChildProcess) {
  if (child.stdout === null || child.stderr === null) throw new Error('the command has no output')
  return { child, output: text(child.stdout), errors: text(child.stderr) }
}
