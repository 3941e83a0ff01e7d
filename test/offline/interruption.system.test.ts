import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type Test, test } from 'tap'
import { backupCommand } from '../../src/data/offline/backup-command.js'
import { checkCommand } from '../../src/data/offline/check-command.js'
import { restoreCommand } from '../../src/data/offline/restore-command.js'
import { exportCommand } from '../../src/data/transfer/export-command.js'
import { brokerProgram } from '../program.js'
import { until } from '../until.js'
import { begun, type Ended, ran } from './given-command.js'

const entities = 12_000
const header = '{"kind":"header","format":"rigel-export","version":1}\n'
const end = `${JSON.stringify({ kind: 'end', counts: { entity: entities, subscription: 0, registration: 0, availability: 0 } })}\n`

/** Lines of an export. */
function lines(from: number, to: number): string {
  const filler = 'x'.repeat(400)
  let all = ''
  for (let number = from; number < to; number += 1) {
    const value = { name: 'a', type: 'Text', value: filler }
    all += `${JSON.stringify({ kind: 'entity', servicePath: '/', id: `E${number}`, type: 'T', attributes: [value] })}\n`
  }
  return all
}

/** Imports from a pipe that is never closed, until a signal ends it. */
async function interruptedImport(data: string, sent: string, signal: NodeJS.Signals): Promise<Ended> {
  const child = begun(['import', '-', '-dbPath', data, '-partitions', '2'])
  if (child.stdin === null || child.stdout === null || child.stderr === null)
    throw new Error('the command has no pipes')
  const [output, errors] = [text(child.stdout), text(child.stderr)]
  child.stdin.on('error', () => {}) // It is closed at the other end.
  await new Promise((resolve) => child.stdin?.write(sent, resolve))
  await until(() => existsSync(join(data, 'format.json')))
  child.kill(signal)
  const [code] = await once(child, 'close')
  return { code, output: await output, errors: await errors }
}

test('an import from a pipe that is silent ends by a signal, says what it took, and can go on', async (t) => {
  const folder = t.testdir()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    const data = join(folder, signal)
    const { code, errors } = await interruptedImport(data, `${header}${lines(0, entities / 2)}`, signal)
    t.equal(code, 1)
    t.match(errors, `the import did not come to its end: it was interrupted (${signal})\n`)
    t.match(errors, /^created: \d+ entities$/m)
    t.match(await ran(checkCommand, ['-dbPath', data]), { code: 0 })
    const whole = begun(['import', '-', '-dbPath', data, '--on-conflict', 'skip'])
    whole.stdin?.end(`${header}${lines(0, entities)}${end}`)
    const [exitCode] = await once(whole, 'close')
    t.equal(exitCode, 0)
  }
})

/** Runs a command of the program that gives itself the signal as soon as it listens for it. */
async function interrupted(words: readonly string[], signal: NodeJS.Signals): Promise<Ended> {
  const source = `const look = () => process.listenerCount('${signal}') > 0
    ? process.kill(process.pid, '${signal}') : setImmediate(look)
    setImmediate(look)`
  const before = ['--import', `data:text/javascript,${encodeURIComponent(source)}`]
  const child = spawn(process.execPath, [...before, brokerProgram, ...words], { stdio: ['ignore', 'pipe', 'pipe'] })
  const [output, errors] = [text(child.stdout), text(child.stderr)]
  const [code] = await once(child, 'close')
  return { code, output: await output, errors: await errors }
}

async function filled(t: Test): Promise<string> {
  const data = join(t.testdir(), 'data')
  const child = begun(['import', '-', '-dbPath', data, '-partitions', '2'])
  child.stdin?.end(`${header}${lines(0, entities)}${end}`)
  const [code] = await once(child, 'close')
  t.equal(code, 0, 'there is data')
  return data
}

test('an export, a backup, a restore and a reshard that are interrupted say so, leave nothing, and can be repeated', async (t) => {
  const data = await filled(t)
  const folder = join(data, '..')
  const [file, backup, restored] = ['export.jsonl', 'backup', 'restored'].map((name) => join(folder, name))
  if (file === undefined || backup === undefined || restored === undefined) throw new Error('there are three names')
  const members = readdirSync(data).sort()
  const all = [
    { words: ['export', file, '-dbPath', data], failed: 'nothing was exported' },
    { words: ['backup', backup, '-dbPath', data], failed: 'no backup was made' },
    { words: ['reshard', '-partitions', '5', '-dbPath', data], failed: 'nothing was changed' },
    { words: ['restore', backup, '-dbPath', restored], failed: 'nothing was restored' },
  ] as const
  for (const [at, { words, failed }] of all.entries()) {
    const isRestore = words[0] === 'restore'
    if (isRestore) t.match(await ran(backupCommand, [backup, '-dbPath', data]), { code: 0 })
    const signal = at % 2 === 0 ? 'SIGTERM' : 'SIGINT'
    t.match(await interrupted(words, signal), {
      code: 1,
      errors: `${failed}: it was interrupted (${signal})\n`,
    })
    t.same(readdirSync(data).sort(), members, `${failed}: the data folder is as it was`)
    const beside = readdirSync(folder).filter((name) => !['data', 'restored'].includes(name))
    t.same(beside, isRestore ? ['backup'] : [], `${failed}: nothing is left beside it`)
  }
  t.match(await ran(checkCommand, ['-dbPath', data]), { code: 0 })
  t.match(await ran(restoreCommand, [backup, '-dbPath', restored]), { code: 0 })
  t.match(await ran(exportCommand, [file, '-dbPath', restored]), { code: 0, errors: `${entities} entities` })
})

test('an export to a reader that takes nothing ends by the first signal', async (t) => {
  const data = await filled(t)
  const child = begun(['export', '-', '-dbPath', data])
  if (child.stdout === null || child.stderr === null) throw new Error('the command has no pipes')
  const errors = text(child.stderr)
  // Not read: the first bytes have come, and the pipe is full soon.
  await once(child.stdout, 'readable')
  const ended = once(child, 'exit')
  await new Promise((resolve) => setTimeout(resolve, 500))
  t.equal(child.exitCode, null, 'it waits for its reader')
  child.kill('SIGTERM')
  t.same(await ended, [1, null])
  t.equal(await errors, 'nothing was exported: it was interrupted (SIGTERM)\n')
})

test('an export that was interrupted before it has to wait for its reader does not wait', async (t) => {
  const module = import.meta.resolve('../../src/data/transfer/export-file.js')
  const source = `import { writeExport } from ${JSON.stringify(module)}
    process.stdout.write('x'.repeat(2 ** 20))
    writeExport('-', (async function* () {})(), () => {}, AbortSignal.abort(new Error('interrupted')))
      .catch(({ message }) => process.stderr.write(message, () => process.exit(3)))`
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], { stdio: ['ignore', 'pipe', 'pipe'] })
  t.teardown(() => child.kill('SIGKILL'))
  const errors = text(child.stderr)
  await until(() => child.exitCode !== null)
  t.equal(child.exitCode, 3)
  t.equal(await errors, 'interrupted')
})

test('a second signal ends what does not look at the first one', async (t) => {
  const module = import.meta.resolve('../../src/data/offline/interruption.js')
  const source = `import { interruptibly } from ${JSON.stringify(module)}
    setInterval(() => {}, 1000)
    interruptibly((interrupted) => new Promise(() => interrupted.addEventListener('abort', () => console.log('heard'))))
    console.log('listens')`
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', (piece: Buffer) => {
    output += piece
  })
  const ended = once(child, 'close')
  await until(() => output.includes('listens'))
  child.kill('SIGINT')
  await until(() => output.includes('heard'))
  t.equal(child.exitCode ?? child.signalCode, null, 'the first one is for the work')
  child.kill('SIGINT')
  t.same(await ended, [null, 'SIGINT'])
})
