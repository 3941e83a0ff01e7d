import { test } from 'tap'
import { LocalLog } from '../../src/storage/wal/local-log.js'
import { type LogPosition, LogScan, parsePosition, positionText } from '../../src/storage/wal/log-scan.js'
import {
  append,
  begun,
  cutFile,
  damageByte,
  folders,
  half,
  nth,
  opening_bytes,
  readFrom,
  reopened,
  small,
  textsIn,
  written,
} from './given.js'

const first = '0000000000000001.log'

for (const [where, folderOf] of Object.entries(folders)) {
  test(`in ${where}, a record that is damaged with later ones behind it is named`, async (t) => {
    const folder = folderOf(t)
    const log = begun(folder)
    const { position } = log
    append(log, 'one', half('b'), half('c'), 'four')
    log.close()
    damageByte(folder, first, opening_bytes + 33)
    const opened = LocalLog.open(folder, position, small)
    const what = 'record 1 is damaged, and later ones are sound'
    t.same(opened, { ok: false, error: { file: `${folder.path}/${first}`, offset: opening_bytes, what } })
  })

  test(`in ${where}, a damaged last record of a segment is named, whose later ones stand in the next`, async (t) => {
    const folder = folderOf(t)
    const log = begun(folder)
    const { position } = log
    append(log, half('a'), half('b'), half('c'))
    log.close()
    damageByte(folder, first, 2100)
    const opened = LocalLog.open(folder, position, small)
    t.match(opened, { ok: false, error: { file: `${folder.path}/${first}`, offset: opening_bytes + 2016 } })
  })

  test(`in ${where}, a segment that is missing or shorter than it was is damage`, async (t) => {
    const folder = folderOf(t)
    const log = begun(folder)
    append(log, half('a'))
    const { position } = log
    log.close()
    const opened = (from: LogPosition): unknown => LocalLog.open(folder, from, small)
    t.match(opened({ ...position, offset: 5000 }), { ok: false, error: { what: 'it is shorter than it was' } })
    folder.remove(first)
    t.match(opened(position), { ok: false, error: { file: `${folder.path}/${first}`, what: 'it is missing' } })
  })

  test(`in ${where}, a last record that is not whole is cut, and its bytes are counted`, async (t) => {
    const folder = folderOf(t)
    const log = begun(folder)
    const { position } = log
    append(log, 'one', 'two')
    log.close()
    damageByte(folder, first, opening_bytes + 40 + 33)
    const opened = LocalLog.open(folder, position, small)
    if (!opened.ok) throw new Error(opened.error.what)
    t.equal(opened.value.cut_bytes, 40)
    opened.value.log.close()
    t.match(LocalLog.open(folder, position, small), { value: { cut_bytes: 0 } }, 'they are cut once')
    const again = reopened(folder, position)
    append(again, 'zwei')
    t.same(textsIn(again), ['one', 'zwei'])
    again.close()
  })

  test(`in ${where}, a log of which nothing sound is left behind its checkpoint is damage`, async (t) => {
    const noise = (length: number): Buffer => Buffer.from(Array.from({ length }, (_, at) => (at * 89 + 13) % 251))
    const behind = { what: 'what follows record 2 is no record that was being written' }
    for (const [from, length, error] of [
      [0, 4096, { what: 'record 2 before it, which the checkpoint names, is damaged' }],
      [opening_bytes + 80, 4096, behind],
      [opening_bytes + 80, 300, behind],
    ] as const) {
      const folder = folderOf(t)
      const log = begun(folder)
      append(log, 'one', 'two')
      const { position } = log
      append(log, 'three', 'four', 'five')
      log.close()
      written(folder, from, noise(Math.min(length, 4096 - from)))
      const { what } = error
      const expected = { ok: false, error: { file: `${folder.path}/${first}`, offset: position.offset, what } }
      t.same(LocalLog.open(folder, position, small), expected, `${length} bytes from ${from} on`)
    }
  })

  test(`in ${where}, noise from some record up to the end of the file is damage`, async (t) => {
    for (const more of [40, 60]) {
      const folder = folderOf(t)
      const log = begun(folder)
      const { position } = log
      append(log, 'one', 'two', 'three')
      log.close()
      written(folder, opening_bytes + more, Buffer.alloc(4096 - opening_bytes - more, 'noise'))
      const what = 'what follows record 1 is no record that was being written'
      const expected = { ok: false, error: { file: `${folder.path}/${first}`, offset: opening_bytes + 40, what } }
      t.same(LocalLog.open(folder, position, small), expected, `from ${more} on`)
    }
  })

  test(`in ${where}, records that are missing before a later segment are damage`, async (t) => {
    const folder = folderOf(t)
    const log = begun(folder)
    const { position } = log
    append(log, 'one', 'two')
    log.close()
    folder.open('0000000000009999.log').close()
    const what = 'record 3 is missing or damaged, and 0000000000009999.log was begun later'
    t.match(LocalLog.open(folder, position, small), { ok: false, error: { what } })
  })

  test(`in ${where}, a part of the next record behind the checkpoint is cut`, async (t) => {
    for (const length of [4, 14, 20, 32]) {
      const folder = folderOf(t)
      const log = begun(folder)
      append(log, 'one')
      const { position } = log
      append(log, 'two')
      log.close()
      const { offset } = position
      const file = folder.open(first)
      const begin = readFrom(file, offset, length)
      file.close()
      written(folder, offset, Buffer.concat([begin, Buffer.alloc(40 - length)]))
      const again = reopened(folder, position)
      t.same(textsIn(again, 1), [], `${length} bytes of it`)
      again.close()
    }
  })

  test(`in ${where}, a record that was written behind one that is lost is cut, and never fits again`, async (t) => {
    const folder = folderOf(t)
    const log = begun(folder, { ...small, durable: false })
    const { position } = log
    append(log, 'one', 'two', 'three')
    log.close()
    damageByte(folder, first, opening_bytes + 40 + 33)
    const cut = reopened(folder, position)
    t.same(textsIn(cut), ['one'])
    cut.close()
    t.same(
      Array.from(new LogScan(folder).laterThan(cut.position), ({ offset }) => offset),
      [],
    )
  })

  test(`in ${where}, a record that follows another one than that of the position is not read`, async (t) => {
    const folder = folderOf(t)
    const log = begun(folder)
    append(log, 'one')
    const { position } = log
    append(log, 'two')
    log.close()
    const scan = new LogScan(folder)
    t.same([...scan.records({ ...position, crc: position.crc ^ 1 })], [])
    t.same([...scan.records({ ...position, sequence: nth(0) })], [])
    t.same([...scan.records({ ...position, offset: 0 })], [])
    t.equal([...scan.records(position)].length, 1)
  })

  test(`in ${where}, a scan says whether there are records at all`, async (t) => {
    const folder = folderOf(t)
    t.ok(new LogScan(folder).isEmpty)
    const log = begun(folder)
    t.ok(new LogScan(folder).isEmpty)
    append(log, 'one')
    t.notOk(new LogScan(folder).isEmpty)
    log.close()
  })
}

for (const [where, folderOf] of Object.entries(folders)) {
  const large = { durable: true, failed: () => {} }
  const shorter = { ok: false, error: { what: 'it is shorter than it was' } }

  test(`in ${where}, a log that is cut anywhere before its first checkpoint is damage`, async (t) => {
    for (const part of [0, 0.001, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99]) {
      const folder = folderOf(t)
      const log = begun(folder, large)
      const { position } = log
      for (let n = 0; n < 200; n += 1) append(log, 'x'.repeat(2000))
      log.close()
      cutFile(folder, first, part)
      t.match(LocalLog.open(folder, position, large), shorter, `${part} of it is left`)
    }
  })

  test(`in ${where}, a log that is cut after a checkpoint is damage, also when nothing has followed that`, async (t) => {
    for (const more of [0, 5]) {
      const folder = folderOf(t)
      const log = begun(folder, large)
      append(log, 'one', 'two', 'three')
      const { position } = log
      for (let n = 0; n < more; n += 1) append(log, 'x')
      log.close()
      cutFile(folder, first, 0.5)
      t.match(LocalLog.open(folder, position, large), shorter, `${more} records follow it`)
    }
  })

  test(`in ${where}, a segment that is cut to nothing behind others is damage`, async (t) => {
    for (const part of [0, 0.5]) {
      const folder = folderOf(t)
      const log = begun(folder)
      const { position } = log
      append(log, half('a'), half('b'), half('c'))
      log.close()
      cutFile(folder, '0000000000000003.log', part)
      const what = { ok: false, error: { file: `${folder.path}/0000000000000003.log`, what: shorter.error.what } }
      t.match(LocalLog.open(folder, position, small), what, `${part} of it is left`)
    }
  })

  test(`in ${where}, a log that an earlier version has begun and never written is told of once`, async (t) => {
    const folder = folderOf(t)
    folder.open(first).close()
    const from = { sequence: nth(0), segment: nth(1), offset: 0, crc: 0 }
    const opened = LocalLog.open(folder, from, small)
    if (!opened.ok) throw new Error(opened.error.what)
    t.equal(opened.value.isEmpty, true)
    append(opened.value.log, 'one')
    const { position } = opened.value.log
    opened.value.log.close()
    t.match(LocalLog.open(folder, position, small), { value: { isEmpty: false, cut_bytes: 0 } })
    t.same(textsIn(reopened(folder, from)), ['one'], 'also where the checkpoint before is the last one that is whole')
  })
}

test('a position is read from its text, and from no other', async (t) => {
  const position = { sequence: nth(7), segment: nth(3), offset: 120, crc: 99 }
  t.equal(positionText(position), '[7,3,120,99]')
  t.same(parsePosition('[7,3,120,99]'), position)
  for (const text of ['', '[]', '[7,3,120]', '[7,3,120,-1]', '[7,3,120,99] ', '{"sequence":7}']) {
    t.equal(parsePosition(text), undefined, text)
  }
})
