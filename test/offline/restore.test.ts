import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readdirSync, watch, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { t as root, test } from 'tap'
import { made, opened } from '../lmdb/given-folder.js'
import { RunningBroker } from '../running.js'
import { begun, rigel } from './given-command.js'

const folder = root.testdir()
const [source, backup, old] = [join(folder, 'source'), join(folder, 'backup'), join(folder, 'old')]

/** Which folder it is to whoever opens it, by its id. */
async function idOf(data: string): Promise<string> {
  const held = await opened(data)
  if (typeof held === 'string') return held
  held.release()
  return held.id
}

await (async () => {
  const broker = await RunningBroker.startIn(source, ['-partitions', '3'])
  const attributes = [{ name: 'name', type: 'Text', value: 'x'.repeat(500_000) }]
  for (let n = 0; n < 12; n += 1) await broker.update('APPEND', { id: `New${n}`, type: 'Thing', attributes })
  await broker.end('SIGTERM')
  if ((await rigel('backup', backup, '-dbPath', source)).code !== 0) throw new Error('there is no backup')
  await made(old, 2)
})()
const ids = { old: await idOf(old), restored: await idOf(source) }

test('a folder that holds data is replaced with --force only; what it held comes back, and can be forgotten', async (t) => {
  const data = join(folder, 'data')
  cpSync(old, data, { recursive: true })
  t.match(await rigel('restore', backup, '-dbPath', data), { code: 1, errors: /data holds data: --force replaces it/ })
  t.equal(await idOf(data), ids.old)
  const forced = await rigel('restore', backup, '-dbPath', data, '--force')
  t.match(forced, { code: 0, output: /what it held before is in .*previous/ })
  t.equal(await idOf(data), ids.restored)
  const again = await rigel('restore', backup, '-dbPath', data, '--force')
  t.match(again, { code: 1, errors: /--forget-previous/ })
  t.match(await rigel('restore', '--previous', '-dbPath', data), { code: 0 })
  t.equal(await idOf(data), ids.old)
  const forgotten = await rigel('restore', '--forget-previous', '-dbPath', data)
  t.match(forgotten, { code: 0, output: /previous is removed/ })
  t.match(await rigel('restore', '--previous', '-dbPath', data), { code: 1, errors: /nothing was replaced/ })
  t.equal(await idOf(data), ids.old)
})

test('a folder that has nothing but what others put there is taken, and has what was backed up', async (t) => {
  const data = join(folder, 'mounted')
  mkdirSync(join(data, 'lost+found'), { recursive: true })
  writeFileSync(join(data, 'notes.txt'), 'mine')
  t.match(await rigel('restore', backup, '-dbPath', data), { code: 0 })
  const names = readdirSync(data)
  t.ok(names.includes('lost+found') && names.includes('notes.txt'))
  const broker = await RunningBroker.startOn(t, data)
  const { json } = await broker.send('GET', '/v2/entities?attrs=id&limit=100')
  t.equal((json as unknown[]).length, 12)
  const refused = await rigel('restore', backup, '-dbPath', data, '--force')
  t.match(refused, { code: 1, errors: /in use by another broker/ })
})

test('what is not there is not made, and one thing is done at a time', async (t) => {
  const nowhere = join(folder, 'nowhere')
  t.match(await rigel('restore', '--previous', '-dbPath', nowhere), { code: 1, errors: /is not there/ })
  t.notOk(existsSync(nowhere))
  t.match(await rigel('restore', backup, '--previous'), { code: 2, errors: /needs either/ })
})

/** As many of its files have come, gone or changed when a restore is killed. */
const moments =
  process.env['RIGEL_FAULTS'] === undefined ? [1, 6, 12, 18] : Array.from({ length: 60 }, (_, at) => at + 1)

test('killed when any of its files comes or goes, a restore leaves the old folder or the new one', async (t) => {
  for (const moment of moments) {
    const data = join(folder, `killed-${moment}`)
    cpSync(old, data, { recursive: true })
    const child = begun('restore', backup, '-dbPath', data, '--force')
    let met = 0
    const watcher = watch(data, { recursive: true }, () => {
      met += 1
      if (met === moment) child.kill('SIGKILL')
    })
    await once(child, 'exit')
    watcher.close()
    const id = await idOf(data)
    t.ok(id === ids.old || id === ids.restored, `after ${met} events: ${id}`)
    t.notOk(existsSync(join(data, 'next')), 'what was not decided is gone')
  }
})
