import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { test } from 'tap'
import { until } from '../until.js'
import { cut, made, opened, tried } from './given-folder.js'

/** Whether processes of this user may have numbers of their own. */
const namespaces = spawnSync('unshare', ['--pid', '--fork', 'true']).status === 0

/** A process that opens a folder, says what came of it, and lives until it is killed. */
function holder(folder: string, ...before: readonly string[]) {
  const module = new URL('../../src/storage/folder/data-folder.js', import.meta.url).href
  const program = `
    const { openDataFolder } = await import(${JSON.stringify(module)})
    const opened = await openDataFolder(process.argv[1], { preferred: 1, everyPage_bytes: 0, maxReaders: 64, maps: { sizeMax_bytes: 2 ** 26, others_bytes: () => 0 } })
    console.log(process.pid, opened.ok ? 'taken' : opened.error.reason)
    setInterval(() => {}, 1000)
  `
  const [command = '', ...args] = [...before, process.execPath, '--input-type=module', '-e', program, folder]
  return spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
}

async function output(process: ReturnType<typeof holder>): Promise<string> {
  const [chunk]: Buffer[] = await once(process.stdout, 'data')
  return String(chunk).trim()
}

async function killed(process: ReturnType<typeof holder>): Promise<void> {
  const exit = once(process, 'exit')
  process.kill('SIGKILL')
  await exit
}

test('a new folder is made with the partitions asked for, else with those preferred, and has an id', async (t) => {
  const folder = join(t.testdir(), 'deep', 'rigel.data')
  await made(folder, 3)
  const format = JSON.parse(readFileSync(join(folder, 'format.json'), 'utf8'))
  t.match(format, { format: 6, partitions: 3, folder: /^[0-9a-f-]{36}$/ })
  t.same(readdirSync(folder).sort(), ['control', 'format.json', 'partition-0', 'partition-1', 'partition-2'])
  t.match(await opened(join(t.testdir(), 'other'), { preferred: 2 }), { partitions: 2 })
})

test('a folder keeps its number of partitions, and another one is refused with the way out', async (t) => {
  const folder = t.testdir()
  await made(folder, 3)
  t.match(await tried(folder, { partitions: 2 }), /made with 3 partitions/)
  t.match(await opened(folder), { partitions: 3 })
  const single = join(t.testdirName, 'single')
  await made(single, 1)
  t.match(await tried(single, { partitions: 2 }), /made with 1 partition and keeps/)
})

test('a folder in use is refused, that of a process that was killed is taken over', async (t) => {
  const folder = t.testdir()
  const first = holder(folder)
  t.equal(await output(first), `${first.pid} taken`)
  t.equal(
    await tried(folder),
    `${folder} is in use by another broker (PID: ${first.pid} on ${hostname()}): end that, or name another place with -dbPath`,
  )
  await killed(first)
  t.ok(existsSync(join(folder, 'lock')), 'the file is no lock')
  const own = await opened(folder)
  t.type(own, 'object')
  t.match(await tried(folder), /in use/, 'not even the same process opens it twice')
  if (typeof own === 'object') own.release()
  t.notOk(existsSync(join(folder, 'lock')))
  t.equal(await tried(folder), 'opened')
})

test('a folder in use is refused also when its file lock was removed, until its owner has ended', async (t) => {
  const folder = t.testdir()
  const first = holder(folder)
  t.equal(await output(first), `${first.pid} taken`)
  rmSync(join(folder, 'lock'))
  const refusal = `${folder} is in use by another broker, whose file ${join(folder, 'lock')} was removed`
  t.equal(await tried(folder), refusal)
  t.equal(await tried(folder), refusal, 'who was refused has taken nothing')
  await killed(first)
  t.equal(await tried(folder), 'opened')
})

const isolated = namespaces ? {} : { skip: 'this user can not make a PID namespace' }

test('of two processes of the same number in two PID namespaces one gets the folder', isolated, async (t) => {
  const folder = t.testdir()
  const inside = ['unshare', '--pid', '--fork', '--kill-child']
  const first = holder(folder, ...inside)
  t.equal(await output(first), '1 taken')
  const second = holder(folder, ...inside)
  t.match(await output(second), /^1 .* is in use by another broker \(PID: 1 on /)
  await killed(first)
  await killed(second)
  // What was killed is the command around the broker; the system ends the broker itself a moment later.
  await until(async () => (await tried(folder)) === 'opened')
})

test('a folder is the same by whatever name', async (t) => {
  const parent = t.testdir({ folder: {} })
  symlinkSync('folder', join(parent, 'link'))
  const own = await opened(join(parent, 'folder'))
  t.match(await tried(join(parent, 'link')), /in use/)
  if (typeof own === 'object') own.release()
})

test('a damaged, missing or other format is refused, not guessed at', async (t) => {
  const damaged = t.testdir({ 'format.json': '{"format":1,' })
  t.match(await tried(damaged), /format\.json is damaged/)
  writeFileSync(join(damaged, 'format.json'), '{"format":6,"partitions":1}')
  t.match(await tried(damaged), /format\.json is damaged/)
  for (const version of [3, 99]) {
    writeFileSync(join(damaged, 'format.json'), JSON.stringify({ format: version, partitions: 1, folder: 'x' }))
    const reason = `${damaged} has format ${version}, this program reads format 6: use the version of Rigel that wrote it`
    t.equal(await tried(damaged), reason)
  }
  for (const left of ['partition-0', 'control']) t.match(await tried(t.testdir({ [left]: {} })), /missing/)
})

test('a number of partitions that is not the one of the folder is refused, and no entity is missed', async (t) => {
  const folder = t.testdir()
  await made(folder, 3)
  const file = join(folder, 'format.json')
  const whole = readFileSync(file, 'utf8')
  for (const [from, to] of [
    ['"partitions":3', '"partitions":1'],
    ['"partitions":3', '"partitions":7'],
    ['"crc":', '"crc":1'],
  ] as const) {
    writeFileSync(file, whole.replace(from, to))
    t.match(await tried(folder), /format\.json is damaged: restore it from a backup/, to)
  }
  const { crc: _, ...earlier } = JSON.parse(whole)
  writeFileSync(file, JSON.stringify(earlier))
  t.equal(await tried(folder), 'opened', 'a version before this one has written no checksum')
  writeFileSync(file, JSON.stringify({ ...earlier, partitions: 1 }))
  const beyond =
    /says 1 partition, but there is .*\/partition-[12]: restore the folder from a backup, or move partition-/
  t.match(await tried(folder), beyond)
})

test('a making that was interrupted leaves no partitions that the folder does not get', async (t) => {
  const folder = t.testdir()
  await made(folder, 4)
  renameSync(join(folder, 'format.json'), join(folder, 'format.making.json'))
  t.equal(await tried(folder, { partitions: 2 }), 'opened')
  t.same(readdirSync(folder).sort(), ['control', 'format.json', 'partition-0', 'partition-1'])
  const other = t.testdir({ 'partition-5': {} })
  t.match(await tried(other, { partitions: 2 }), /says 2 partitions, but there is .*\/partition-5/)
})

test('a path that is no folder, or can not be one, is refused', async (t) => {
  const folder = t.testdir({ file: 'x', unreadable: { 'format.json': {} }, locked: { lock: {} } })
  t.match(await tried(join(folder, 'file')), /file is not a folder/)
  t.match(await tried(join(folder, 'file', 'below')), /cannot be made/)
  symlinkSync('nowhere', join(folder, 'dangling'))
  t.match(await tried(join(folder, 'dangling')), /cannot be made/)
  t.match(
    await tried(join(folder, 'unreadable')),
    /unreadable\/format\.json cannot be read: it is a folder \(EISDIR\): restore it from a backup/,
  )
  t.match(await tried(join(folder, 'locked')), /lock cannot be used: it is a folder \(EISDIR\)/)
})

test('what stands in the place of a file of the folder is refused by name, with what helps', async (t) => {
  const folder = join(t.testdir(), 'whole')
  await made(folder, 2)
  const restoring = 'restore the data folder from a backup'
  const files: readonly (readonly [file: string, what: string, wayOut: string])[] = [
    ['format.json', 'it is a folder (EISDIR)', 'restore it from a backup'],
    ['cluster.json', 'it is a folder (EISDIR)', 'restore it from a backup of the folder'],
    ['swap.json', 'it is a folder (EISDIR)', 'restore the folder from a backup'],
    ['partition-0/checkpoint', 'it is a folder', restoring],
    ['partition-1/data.mdb', 'it is a folder', restoring],
  ]
  for (const [name, what, wayOut] of files) {
    for (const [place, reason] of [
      [(file: string) => mkdirSync(file), what],
      [(file: string) => spawnSync('mkfifo', [file]), 'it is no regular file'],
    ] as const) {
      const damaged = join(t.testdirName, `${name.replace('/', '-')} ${reason}`)
      cpSync(folder, damaged, { recursive: true })
      const file = join(damaged, name)
      rmSync(file, { force: true })
      place(file)
      t.match(await tried(damaged), `${file} cannot be read: ${reason}: ${wayOut}`)
    }
  }
  const locks = join(folder, 'control', 'lock.mdb')
  rmSync(locks)
  spawnSync('mkfifo', [locks])
  t.match(await tried(folder), `${locks} cannot be read: it is no regular file: remove it`)
  writeFileSync(join(folder, 'swap.json'), '')
  t.match(await tried(folder), `${join(folder, 'swap.json')} is damaged: restore the folder from a backup`)
})

test('what is missing in a folder is refused by name, never made anew and empty', async (t) => {
  const lost: readonly (readonly string[])[] = [
    ['partition-1'],
    ['partition-0', 'data.mdb'],
    ['control'],
    ['control', 'data.mdb'],
  ]
  for (const path of lost) {
    const folder = t.testdir()
    await made(folder, 2)
    rmSync(join(folder, ...path), { recursive: true })
    const file = join(folder, path[0] ?? '', 'data.mdb')
    t.equal(await tried(folder), `${file} is missing: restore the folder from a backup, or start with an empty -dbPath`)
    t.notOk(existsSync(file))
  }
})

test('files that were swapped, or are those of another folder, are refused by name', async (t) => {
  const [folder, other] = [join(t.testdir(), 'a'), join(t.testdir(), 'b')]
  await made(folder, 2)
  await made(other, 2)
  const file = (name: string, of = folder) => join(of, name, 'data.mdb')
  renameSync(file('partition-0'), join(folder, 'aside'))
  renameSync(file('partition-1'), file('partition-0'))
  renameSync(join(folder, 'aside'), file('partition-1'))
  t.match(await tried(folder), `${file('partition-0')} is that of partition-1: put the files back`)
  cpSync(file('partition-0', other), file('partition-0'))
  t.match(await tried(folder), `${file('partition-0')} belongs to another data folder`)
  cpSync(file('partition-1'), file('partition-0'))
  t.match(await tried(folder), `${file('partition-1')} is that of partition-0`)
})

test('a making that was interrupted is begun anew, wherever it was', async (t) => {
  const folder = t.testdir()
  await made(folder, 2)
  renameSync(join(folder, 'format.json'), join(folder, 'format.making.json'))
  rmSync(join(folder, 'control'), { recursive: true })
  cut(join(folder, 'partition-1', 'data.mdb'), 0.5)
  t.equal(await tried(folder), 'opened')
  t.same(readdirSync(folder).sort(), ['control', 'format.json', 'partition-0', 'partition-1'])
  t.equal(await tried(folder), 'opened')
})
