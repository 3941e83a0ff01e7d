import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readdirSync, statSync, watch, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { t as root, test } from 'tap'
import { made, opened } from '../lmdb/given-folder.js'
import { RunningBroker } from '../running.js'
import { failingDisk, mayMount, mayMountImage, smallDisk } from '../small-disk.js'
import { begun, rigel, rigelProgram } from './given-command.js'

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
  const page = (letter: string) => [{ name: 'name', type: 'Text', value: letter.repeat(500_000) }]
  // The second time frees what the first one has taken.
  for (let n = 0; n < 24; n += 1) {
    await broker.update('APPEND', { id: `New${n % 12}`, type: 'Thing', attributes: page(n < 12 ? 'x' : 'y') })
  }
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
  const forced = await rigelProgram(['restore', backup, '-dbPath', data, '--force'])
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
  const outcome = await rigel('restore', backup, '-dbPath', data, '--force')
  t.match(outcome, { code: 1, errors: /in use by another broker/ })
})

test('--compact leaves out what is free in the files, and nothing else', async (t) => {
  const data = join(folder, 'compact')
  t.match(await rigel('restore', backup, '-dbPath', data, '--compact'), { code: 0 })
  const sizeOf = (place: string): number =>
    [0, 1, 2].reduce((sum, number) => sum + statSync(join(place, `partition-${number}`, 'data.mdb')).size, 0)
  t.ok(sizeOf(data) < 0.8 * sizeOf(backup), `${sizeOf(data)} of ${sizeOf(backup)} bytes`)
  t.equal(statSync(join(data, 'partition-0/data.mdb')).mode & 0o777, 0o600)
  t.same(readdirSync(join(data, 'partition-0')), ['data.mdb'])
  t.match(await rigel('check', '-dbPath', data), { code: 0, output: /: sound: 12 entities in 3 partitions/ })
  t.equal(await idOf(data), ids.restored)
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
    const child = begun(['restore', backup, '-dbPath', data, '--force'])
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

test(
  'a data folder that is a mount point is restored to; members that are one are refused first',
  mayMount,
  async (t) => {
    const { path } = smallDisk(t, 64)
    t.match(await rigel('restore', backup, '-dbPath', path), { code: 0 })
    t.match(await rigel('restore', backup, '-dbPath', path, '--force'), {
      code: 0,
      output: /what it held before is in/,
    })
    t.equal(await idOf(path), ids.restored)
    t.match(await rigel('restore', '--forget-previous', '-dbPath', path), { code: 0 })

    const member = join(folder, 'apart')
    cpSync(old, member, { recursive: true })
    t.equal(spawnSync('mount', ['-t', 'tmpfs', 'tmpfs', join(member, 'partition-0')]).status, 0)
    t.teardown(() => spawnSync('umount', ['--lazy', join(member, 'partition-0')]))
    t.match(await rigel('restore', backup, '-dbPath', member, '--force'), {
      code: 1,
      errors: /partition-0 is a link or on another file system, and cannot be moved: put all of .*apart on one/,
    })
    t.notOk(existsSync(join(member, 'next')), 'nothing was copied')
  },
)

test('a disk without room is said before anything is copied', mayMount, async (t) => {
  const { path } = smallDisk(t, 4)
  t.match(await rigel('restore', backup, '-dbPath', join(path, 'data')), {
    code: 1,
    errors: /the backup needs \d+ MiB on the disk of .*, which has [34] MiB free: \d+ MiB are missing, make room/,
  })
  t.same(readdirSync(join(path, 'data')), [])
})

const hasLimits = spawnSync('prlimit', ['--version']).status === 0 ? {} : { skip: 'there is no prlimit' }

test(
  'what cannot be written in the middle of a restore leaves the folder as it was, and its room',
  hasLimits,
  async (t) => {
    const data = join(folder, 'limited')
    cpSync(old, data, { recursive: true })
    const words = ['restore', backup, '-dbPath', data, '--force']
    const limited = await rigelProgram(words, '', ['prlimit', `--fsize=${2 ** 20}`])
    t.match(limited, { code: 1, errors: /nothing was restored: a file may not become so large/ })
    t.notOk(existsSync(join(data, 'next')))
    t.equal(await idOf(data), ids.old)
  },
)

test('a disk that fails in the middle of a restore leaves the folder as it was', mayMountImage, async (t) => {
  // It believes to have room for the backup, and has it for the folder only.
  const disk = failingDisk(t, 6, 64)
  const data = join(disk.path, 'data')
  mkdirSync(data)
  const { code, errors } = await rigel('restore', backup, '-dbPath', data)
  t.match({ code, errors }, { code: 1, errors: /^nothing was restored: .*(EIO|EROFS|ENOSPC)/ })
  t.notOk(existsSync(join(data, 'format.json')))
})
