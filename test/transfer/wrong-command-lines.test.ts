import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { backupCommand } from '../../src/data/offline/backup-command.js'
import { checkCommand } from '../../src/data/offline/check-command.js'
import { restoreCommand } from '../../src/data/offline/restore-command.js'
import { exportCommand } from '../../src/data/transfer/export-command.js'
import { importCommand } from '../../src/data/transfer/import-command.js'
import { reshardCommand } from '../../src/data/transfer/reshard-command.js'
import { ran } from '../offline/given-command.js'
import { exportOf } from './given-command.js'

const commands = {
  backup: backupCommand,
  check: checkCommand,
  restore: restoreCommand,
  export: exportCommand,
  import: importCommand,
  reshard: reshardCommand,
}

/** Command lines that cannot be carried out, and what is said of them. */
const wrong: readonly (readonly [keyof typeof commands, readonly string[], RegExp])[] = [
  ['backup', [], /needs a folder/],
  ['backup', ['DIR', '--url', 'nowhere'], /--url: 'nowhere' is no URL/],
  ['backup', ['DIR', '--url', 'ftp://localhost'], /--url: 'ftp:\/\/localhost' is no URL/],
  ['backup', ['DIR', '--url', 'http://localhost', '-dbPath', 'data'], /either --url or -dbPath/],
  ['check', ['DIR', '-dbPath', 'data'], /either -dbPath or the folder/],
  ['restore', ['DIR', '--previous'], /either the folder/],
  ['export', [], /needs a file/],
  ['export', ['FILE', '--kind', 'things'], /--kind: 'things'/],
  ['export', ['FILE', '--url', 'nowhere'], /--url: 'nowhere' is no URL/],
  ['export', ['FILE', '-dbSizeMax', 'large'], /-dbSizeMax: 'large' is not an integer from 16 to 8388608/],
  ['export', ['FILE', '-dbSizeMax', '8388609'], /-dbSizeMax: '8388609' is not an integer from 16 to 8388608/],
  ['export', ['FILE', '--url', 'http://localhost', '-dbPath', 'data'], /--url means a broker, -dbPath a folder/],
  ['import', [], /needs a file/],
  ['import', ['FILE', '--orion', 'DUMP'], /takes either a file or --orion/],
  ['import', ['FILE', '--on-conflict', 'ask'], /--on-conflict: 'ask' is none of/],
  ['import', ['FILE', '-partitions', '0'], /-partitions: '0' is not an integer from 1 to 256/],
  ['import', ['FILE', '-partitions', '257'], /-partitions: '257' is not an integer from 1 to 256/],
  ['import', ['FILE', '-dbSizeMax', '15'], /-dbSizeMax: '15' is not an integer from 16 to 8388608/],
  ['import', ['FILE', '-dbSizeMax', '-1'], /-dbSizeMax/],
  ['import', ['FILE', '--url', 'nowhere'], /--url: 'nowhere' is no URL/],
  ['import', ['FILE', '--url', 'http://localhost', '-partitions', '2'], /--url means a broker, -partitions a folder/],
  ['reshard', [], /needs -partitions N/],
  ['reshard', ['-partitions', 'two'], /-partitions: 'two' is not an integer from 1 to 256/],
  ['reshard', ['-partitions', '257'], /-partitions: '257' is not an integer from 1 to 256/],
  ['reshard', ['-partitions', '2', '-dbSizeMax', '0'], /-dbSizeMax: '0' is not an integer from 16 to 8388608/],
]

test('a wrong command line ends with 2, and nothing is made', async (t) => {
  const folder = t.testdir({})
  const file = join(folder, 'file')
  writeFileSync(file, exportOf([]))
  const places: Readonly<Record<string, string>> = { FILE: file, DIR: join(folder, 'dir'), data: join(folder, 'data') }
  for (const [name, words, message] of wrong) {
    const placed = words.map((word) => places[word] ?? word)
    const { code, output, errors } = await ran(commands[name], placed)
    t.same([code, output], [2, ''], `rigel ${name} ${words.join(' ')}`)
    t.match(errors, message)
  }
  t.notOk(existsSync(join(folder, 'dir')))
  t.notOk(existsSync(join(folder, 'data')))
})

test('an unknown option, a word too many and a missing value end with 2, and help with 0', async (t) => {
  for (const [name, command] of Object.entries(commands)) {
    for (const words of [['--wrong'], ['one', 'two'], ['-dbPath']]) {
      const { code, errors } = await ran(command, words)
      t.equal(code, 2, `rigel ${name} ${words.join(' ')}`)
      t.match(errors, new RegExp(`'rigel help ${name}' lists what it takes`))
    }
    t.match(await ran(command, ['--help']), { code: 0, output: new RegExp(`^Usage: rigel ${name}`), errors: '' })
  }
})

test('the help of a command names the values that its options share with the flags of the broker', async (t) => {
  for (const name of ['export', 'import', 'reshard'] as const) {
    t.match((await ran(commands[name], ['--help'])).output, /-dbSizeMax MIB .*, 16 to 8388608 \(65536\)\n/, name)
  }
  t.match((await ran(commands.restore, ['--help'])).output, /-dbPath FOLDER .* \(\.\/rigel-data\);/)
  for (const name of ['import', 'reshard'] as const) {
    t.match((await ran(commands[name], ['--help'])).output, /-partitions N .*, 1 to 256\n/, name)
  }
})
