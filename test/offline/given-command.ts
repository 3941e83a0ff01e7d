import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { backupCommand } from '../../src/data/offline/backup-command.js'
import { checkCommand } from '../../src/data/offline/check-command.js'
import type { CommandSurroundings, OfflineCommand } from '../../src/data/offline/command.js'
import { restoreCommand } from '../../src/data/offline/restore-command.js'
import { brokerProgram, nodeBySh } from '../program.js'

/** How a command has ended. */
export interface Ended {
  readonly code: number | null
  readonly output: string
  readonly errors: string
}

const commands = { backup: backupCommand, check: checkCommand, restore: restoreCommand }

/** Runs a command in this process, which takes a part of the time that a process needs to start. */
export function rigel(name: keyof typeof commands, ...words: readonly string[]): Promise<Ended> {
  return ran(commands[name], words)
}

/** The same for any command. */
export async function ran(
  command: OfflineCommand,
  words: readonly string[],
  environment: CommandSurroundings['environment'] = {},
): Promise<Ended> {
  let [output, errors] = ['', '']
  const code = await command({
    words,
    environment,
    output: {
      write: (piece: unknown) => {
        output += piece
        return true
      },
    },
    errors: {
      write: (piece: unknown) => {
        errors += piece
        return true
      },
    },
  })
  return { code, output, errors }
}

/** Starts a command of the program, `before` by what is to start it in its turn. */
export function begun(words: readonly string[], before: readonly string[] = []): ChildProcess {
  const [program = '', ...given] = [...before, 'sh', ...nodeBySh([brokerProgram, ...words])]
  return spawn(program, given, { stdio: ['pipe', 'pipe', 'pipe'] })
}

/** Runs a command of the program to its end. */
export async function rigelProgram(
  words: readonly string[],
  input: string | Buffer = '',
  before: readonly string[] = [],
): Promise<Ended> {
  const child = begun(words, before)
  if (child.stdout === null || child.stderr === null) throw new Error('the command has no output')
  const [output, errors] = [text(child.stdout), text(child.stderr)]
  child.stdin?.on('error', () => {}) // It may end without reading all of it.
  child.stdin?.end(input)
  await once(child, 'close')
  return { code: child.exitCode, output: await output, errors: await errors }
}
