import { cpSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { test } from 'tap'
import { DiskFault } from '../../src/faults.js'
import { Checkpoints, readCheckpoint, restoreCheckpoint } from '../../src/storage/environment/checkpoint.js'
import { checkpointFile, noteMax_bytes } from '../../src/storage/environment/checkpoint-file.js'
import { damageOf } from '../../src/storage/environment/file-check.js'
import { failingDisk, mayMountImage } from '../small-disk.js'
import { during } from '../until.js'
import { checkpointIn, givenRecords, UnsyncedEnvironment } from './given-checkpoints.js'
import { bytesAt, filled, overwritten } from './given-folder.js'

const everyPage = 2 ** 30
const slot_bytes = 4096

test('what is restored is the state of the checkpoint, whatever was committed after it', async (t) => {
  const path = await givenRecords(t)
  t.same(restoreCheckpoint(path), { ok: true, value: undefined }, 'there is none at first')
  for (let round = 1; round < 8; round += 1) {
    const environment = new UnsyncedEnvironment(path)
    for (let n = 0; n < 5 * round; n += 1) environment.turn()
    environment.checkpoints.takeSync(`round ${round}`)
    const { contents } = environment
    for (let n = 0; n < 60; n += 1) environment.turn()
    t.not(environment.contents, contents)
    await environment.close()

    t.match(restoreCheckpoint(path), { ok: true, value: { note: `round ${round}`, number: round } })
    t.equal(damageOf(join(path, 'data.mdb'), everyPage), undefined)
    const restored = new UnsyncedEnvironment(path)
    t.equal(restored.contents, contents)
    await restored.close()
  }
})

test('after an orderly end the restore changes nothing', async (t) => {
  const path = await givenRecords(t)
  const environment = new UnsyncedEnvironment(path)
  environment.turn()
  environment.checkpoints.takeSync('the end')
  await environment.close()
  const before = readFileSync(join(path, 'data.mdb'))
  const { mtimeMs } = statSync(join(path, 'data.mdb'))
  t.match(restoreCheckpoint(path), { ok: true, value: { note: 'the end' } })
  t.ok(readFileSync(join(path, 'data.mdb')).equals(before))
  t.equal(statSync(join(path, 'data.mdb')).mtimeMs, mtimeMs)
})

test('turns go on while a checkpoint is taken, and are not in it', async (t) => {
  const path = await givenRecords(t)
  const environment = new UnsyncedEnvironment(path)
  let turns = 0
  for (let round = 0; round < 40; round += 1) {
    const { contents } = environment
    const taken = environment.checkpoints.take(`round ${round}`)
    t.ok(environment.checkpoints.isUnderWay)
    const isTaken = await during(taken, () => {
      environment.turn()
      turns += 1
    })
    t.equal(isTaken, true)
    for (let n = 0; n < 10; n += 1) environment.turn()
    if (round % 10 > 0) continue
    const copy = `${path} ${round}`
    cpSync(path, copy, { recursive: true })
    t.match(restoreCheckpoint(copy), { ok: true, value: { note: `round ${round}` } })
    t.equal(damageOf(join(copy, 'data.mdb'), everyPage), undefined)
    const restored = new UnsyncedEnvironment(copy)
    t.equal(restored.contents, contents)
    await restored.close()
  }
  t.ok(turns >= 40, `${turns} turns during 40 checkpoints`)
  await environment.close()
})

test('one checkpoint is taken at a time, and none after the end', async (t) => {
  const path = await givenRecords(t)
  const environment = new UnsyncedEnvironment(path)
  const { checkpoints } = environment
  const first = checkpoints.take('first')
  await t.rejects(checkpoints.take('second'), { message: 'a checkpoint is under way' })
  t.throws(() => checkpoints.takeSync('second'), { message: 'a checkpoint is under way' })
  t.equal(await first, true)
  await t.rejects(checkpoints.take('é'.repeat(noteMax_bytes / 2 + 1)), RangeError)
  checkpoints.takeSync('é'.repeat(noteMax_bytes / 2))
  t.equal(checkpointIn(path).note.length, noteMax_bytes / 2)

  const last = checkpoints.take('last')
  checkpoints.close()
  t.equal(await last, false, 'the one that was under way is given up')
  t.equal(checkpointIn(path).number, 2)
  await t.rejects(checkpoints.take('later'), { message: 'checkpoints are closed' })
  await environment.close()
})

test('a slot that is torn or flipped anywhere leaves the checkpoint before', async (t) => {
  const path = await givenRecords(t)
  const environment = new UnsyncedEnvironment(path)
  for (const note of ['first', 'second', 'third']) {
    environment.turn()
    environment.checkpoints.takeSync(note)
  }
  await environment.close()
  const file = checkpointFile(path)
  const [second, third] = [bytesAt(file, 0, slot_bytes), bytesAt(file, slot_bytes, slot_bytes)]
  t.equal(checkpointIn(path).note, 'third')
  for (let at = 0; at < slot_bytes; at += 1) {
    overwritten(file, slot_bytes + at, Buffer.from([(third[at] ?? 0) ^ (1 << (at % 8))]))
    if (checkpointIn(path).note !== 'second') t.fail(`a flipped bit in byte ${at}`)
    overwritten(file, slot_bytes + at, third.subarray(at, at + 1))
  }
  for (const length of [0, 512, 1024, 4095]) {
    overwritten(file, slot_bytes, Buffer.concat([third.subarray(0, length), Buffer.alloc(slot_bytes - length)]))
    // The end of a slot is empty, so a write that lacks only that is whole.
    t.equal(checkpointIn(path).note, length < 512 ? 'second' : 'third', `${length} bytes were written`)
    truncateSync(file, slot_bytes + length)
    t.equal(checkpointIn(path).note, length < 512 ? 'second' : 'third', `${length} bytes are there`)
  }
  overwritten(file, 0, third)
  overwritten(file, slot_bytes, second)
  t.match(readCheckpoint(path), { ok: false, error: { reason: `${file} is damaged (neither of its slots is sound)` } })
})

test('without a sound slot, or with one of another version, nothing is restored', async (t) => {
  const path = await givenRecords(t)
  const environment = new UnsyncedEnvironment(path)
  for (const note of ['first', 'second']) environment.checkpoints.takeSync(note)
  environment.turn()
  await environment.close()
  const file = checkpointFile(path)
  const before = readFileSync(join(path, 'data.mdb'))
  const checkRefusal = (reason: RegExp): void => {
    t.match(restoreCheckpoint(path), { ok: false, error: { reason } })
    t.match(readCheckpoint(path), { ok: false, error: { reason } })
    t.throws(() => Checkpoints.open(path, { maxReaders: 64, sizeMax_bytes: 2 ** 28 }), { message: reason })
    t.ok(readFileSync(join(path, 'data.mdb')).equals(before))
  }
  const later = bytesAt(file, 0, slot_bytes)
  later.writeUInt32LE(2, 12)
  later.writeUInt32LE(crc32(later.subarray(12)), 8)
  overwritten(file, 0, later)
  checkRefusal(/checkpoint was written by another version of the broker/)
  for (const bytes of [Buffer.alloc(2 * slot_bytes), Buffer.alloc(0), Buffer.alloc(2 * slot_bytes, 'RGLCHKPT')]) {
    writeFileSync(file, bytes)
    checkRefusal(/checkpoint is damaged \(neither of its slots is sound\)/)
  }
})

test('the checkpoint of another data file is not restored into it', async (t) => {
  const path = await givenRecords(t)
  const data = join(path, 'data.mdb')
  const older = readFileSync(data)
  const environment = new UnsyncedEnvironment(path)
  environment.turn()
  environment.checkpoints.takeSync('later')
  await environment.close()
  writeFileSync(data, older)
  t.match(restoreCheckpoint(path), { ok: false, error: { reason: /is older than its checkpoint, or another file/ } })
  t.ok(readFileSync(data).equals(older))
  rmSync(data)
  t.match(restoreCheckpoint(path), { ok: false, error: { reason: /data.mdb is missing/ } })
})

test('meta pages that were torn are written again', async (t) => {
  const path = await givenRecords(t)
  const environment = new UnsyncedEnvironment(path)
  environment.checkpoints.takeSync('sound')
  const { contents } = environment
  await environment.close()
  for (const at of [0, slot_bytes]) overwritten(join(path, 'data.mdb'), at, Buffer.alloc(512))
  t.match(restoreCheckpoint(path), { ok: true, value: { note: 'sound' } })
  const restored = new UnsyncedEnvironment(path)
  t.equal(restored.contents, contents)
  await restored.close()
})

test('the bytes of the file are what they were', async (t) => {
  const path = await givenRecords(t)
  const environment = new UnsyncedEnvironment(path)
  environment.checkpoints.takeSync('one')
  environment.checkpoints.takeSync('log 7 at 4096')
  await environment.close()
  const bytes = readFileSync(checkpointFile(path))
  const data = readFileSync(join(path, 'data.mdb'))
  const slot = (number: number, note: string): Buffer => {
    const expected = Buffer.alloc(slot_bytes)
    expected.write('RGLCHKPT', 0)
    expected.writeUInt32LE(1, 12)
    expected.writeUInt32LE(number, 16)
    expected.writeUInt32LE(note.length, 24)
    data.copy(expected, 32, 0, 168)
    data.copy(expected, 200, slot_bytes, slot_bytes + 168)
    expected.write(note, 368)
    expected.writeUInt32LE(crc32(expected.subarray(12)), 8)
    return expected
  }
  t.ok(bytes.equals(Buffer.concat([slot(2, 'log 7 at 4096'), slot(1, 'one')])))
})

test('a flush that fails is a fault of the disk, and is not tried again', mayMountImage, async (t) => {
  const { path } = failingDisk(t, 12, 64)
  await filled(join(path, 'environment'), 2000)
  const environment = new UnsyncedEnvironment(join(path, 'environment'))
  t.teardown(() => environment.close())
  environment.checkpoints.takeSync('while there is room')
  // Some turns may fail as well, once the system has found out.
  t.throws(() => {
    for (let n = 0; n < 400; n += 1) environment.turn(100)
    environment.checkpoints.takeSync('beyond it')
  })
  const fault = await environment.checkpoints.take('beyond it').catch((reason: unknown) => reason)
  t.type(fault, DiskFault)
  t.match(fault, { message: /data.mdb cannot be used any more: .*E[A-Z]+/ })
  t.equal(await environment.checkpoints.take('once more').catch((reason: unknown) => reason), fault)
  t.equal(checkpointIn(join(path, 'environment')).note, 'while there is room')
})
