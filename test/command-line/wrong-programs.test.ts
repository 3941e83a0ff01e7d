import { spawnSync } from 'node:child_process'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { readOptions } from '../../src/flags/command-line.js'
import { readCommand } from '../../src/flags/command-words.js'
import { dataCommands } from '../../src/runtime/commands/data-commands.js'
import { builtFile } from '../../src/version.js'
import { ran } from '../offline/given-command.js'
import { areAll } from '../runs.js'

/** The words that `rigel help` lists. */
const names = Array.from(textOf(['help']).matchAll(/^ {2}(\w+) /gm), ([, name = '']) => name)

/** Of each command: an option without its value, a word that is wrong or too many, and fewer words than it needs, as far as there are such. */
const wrong: Readonly<Record<string, readonly string[]>> = {
  backup: ['DIR --url', 'DIR more', ''],
  restore: ['DIR -dbPath', 'DIR more', ''],
  check: ['-dbPath', 'DIR more', ''],
  reshard: ['-partitions', '-partitions 2 more', ''],
  export: ['- --tenant', '- more', ''],
  import: ['- --on-conflict', '- more', ''],
  bench: ['--rounds', 'nosuch'],
  feed: ['--cycles', 'more'],
  cluster: ['status -cluster', 'status more', 'nosuch', 'remove', 'recover --copy', ''],
  health: ['nowhere', 'http://127.0.0.1:9/ more', 'http://127.0.0.1:9/v2', 'http://127.0.0.1:9/version'],
  key: ['a --tenants', 'a more', ''],
}

/** What the broker itself cannot carry out: it ends with 1, since 2 is a port in use. */
const wrongOfBroker = [
  '--nothing',
  '-port',
  '-port x',
  '-port 1 more',
  'nosuch',
  'help nosuch',
  'help key more',
  'version 1',
]

function textOf(words: readonly string[]): string {
  const command = readCommand(words)
  return command.kind === 'print' || command.kind === 'wrong' ? command.text : ''
}

interface Outcome {
  readonly code: number | null
  readonly output: string
  readonly errors: string
}

/** Of the lines of a command as many as are tried: one that is a program of its own takes as long as a start of Node. */
function tried(name: string, lines: readonly string[]): readonly string[] {
  return areAll || readCommand([name]).kind === 'data' ? lines : lines.slice(0, 2)
}

/** Runs a command as `rigel NAME` does, of what was compiled with this test. */
async function outcomeOf(name: string, words: readonly string[]): Promise<Outcome> {
  const command = readCommand([name, ...words])
  if (command.kind === 'data') return ran(dataCommands[command.command], words)
  const script = command.kind === 'program' ? relative(builtFile('.'), command.script) : 'none'
  const program = fileURLToPath(new URL(`../../${script}`, import.meta.url))
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...words], { encoding: 'utf8' })
  return { code: status, output: stdout, errors: stderr }
}

test('every command ends a wrong command line with 2 and a hint on stderr', async (t) => {
  t.same(
    Object.keys(wrong),
    names.filter((name) => name !== 'version' && name !== 'help'),
  )
  for (const [name, lines] of Object.entries(wrong)) {
    for (const line of tried(name, ['--nothing', ...lines])) {
      const { code, output, errors } = await outcomeOf(name, line === '' ? [] : line.split(' '))
      t.same([code, output], [2, ''], `rigel ${name} ${line}`)
      t.match(errors, new RegExp(`'rigel help ${name}'`), `rigel ${name} ${line}`)
    }
  }
})

test('rigel cluster names what is missing', async (t) => {
  t.match((await outcomeOf('cluster', [])).errors, /^rigel cluster needs status, remove or recover\n/)
  t.match((await outcomeOf('cluster', ['status'])).errors, /^give -cluster and -clusterUrl\n/)
})

test('every command has its help', async (t) => {
  for (const name of Object.keys(wrong)) {
    const flags = ['-h', '-help', '--help']
    for (const flag of flags) t.same(readCommand([flag, name]), readCommand(['help', name]))
    for (const flag of areAll ? flags : flags.slice(-1)) {
      const { code, output, errors } = await outcomeOf(name, [flag])
      t.same([code, errors], [0, ''], `rigel ${name} ${flag}`)
      t.match(output, `rigel ${name}`)
    }
  }
})

test('a command that fails ends with 1', async (t) => {
  const { code, errors } = await outcomeOf('health', ['http://127.0.0.1:9/health/ready'])
  t.equal(code, 1)
  t.match(errors, /^not ready: /)
})

test('a wrong command line of the broker, and an unknown command, end with 1', async (t) => {
  for (const line of wrongOfBroker) {
    const command = readCommand(line.split(' '))
    if (command.kind !== 'flags') t.equal(command.kind, 'wrong', line)
    else t.match(readOptions([...command.words], {}), { kind: 'wrong', exitCode: 1 }, line)
  }
})

test('the help of the broker names the commands', async (t) => {
  const help = readOptions(['-h'], {})
  for (const name of names) t.match(help, { kind: 'print', text: new RegExp(`\\b${name}\\b`) })
})
