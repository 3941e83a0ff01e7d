import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { openDataFolder } from '../../src/lmdb/data-folder.js'

test('a new folder is made with the partitions asked for, else with those preferred', async (t) => {
  const folder = join(t.testdir(), 'deep', 'rigel.data')
  const made = openDataFolder(folder, 3, 1)
  t.match(made, { ok: true, value: { partitions: 3 } })
  t.same(JSON.parse(readFileSync(join(folder, 'format.json'), 'utf8')), { format: 1, partitions: 3 })
  if (made.ok) made.value.release()
  t.match(openDataFolder(join(t.testdir(), 'other'), undefined, 2), { ok: true, value: { partitions: 2 } })
})

test('a folder keeps its number of partitions, and another one is refused with the way out', async (t) => {
  const folder = t.testdir()
  const made = openDataFolder(folder, 3, 1)
  if (made.ok) made.value.release()
  t.match(openDataFolder(folder, 2, 1), { ok: false, refusal: { reason: /made with 3 partitions/ } })
  t.match(openDataFolder(folder, undefined, 1), { ok: true, value: { partitions: 3 } })
})

test('a folder in use by a living process is refused, that of a dead one is taken over', async (t) => {
  const folder = t.testdir()
  const sleeper = `
    const { openDataFolder } = await import(${JSON.stringify(new URL('../../src/lmdb/data-folder.js', import.meta.url).href)})
    const made = openDataFolder(process.argv[1], 1, 1)
    console.log(made.ok ? 'taken' : made.refusal.reason)
    process.kill(process.pid, 'SIGKILL')
  `
  const run = (): string =>
    spawnSync(process.execPath, ['--input-type=module', '-e', sleeper, folder], { encoding: 'utf8' }).stdout.trim()
  t.equal(run(), 'taken')
  t.ok(existsSync(join(folder, 'lock')))
  t.equal(run(), 'taken')
  const own = openDataFolder(folder, 1, 1)
  t.match(own, { ok: true })
  t.equal(run(), `${folder} is in use by another broker (PID: ${process.pid})`)
  if (own.ok) own.value.release()
  t.equal(run(), 'taken')
})

test('a damaged, missing or newer format is refused, not guessed at', async (t) => {
  const damaged = t.testdir({ 'format.json': '{"format":1,' })
  t.match(openDataFolder(damaged, 1, 1), { refusal: { reason: /damaged/ } })
  writeFileSync(join(damaged, 'format.json'), '{"format":99,"partitions":1}')
  t.match(openDataFolder(damaged, 1, 1), { refusal: { reason: /format 99/ } })
  const missing = t.testdir({ 'partition-0': {} })
  t.match(openDataFolder(missing, 1, 1), { refusal: { reason: /missing/ } })
})

test('a path that is no folder is refused', async (t) => {
  const folder = t.testdir({ file: 'x' })
  t.match(openDataFolder(join(folder, 'file'), 1, 1), { refusal: { reason: /file/ } })
  t.match(openDataFolder(join(folder, 'file', 'below'), 1, 1), { refusal: { reason: /cannot be made/ } })
})
