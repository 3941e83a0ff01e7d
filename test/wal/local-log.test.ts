import { test } from 'tap'
import { LocalLog } from '../../src/storage/wal/local-log.js'
import { append, appendInPool, begun, folders, half, nth, reopened, small, textsIn } from './given.js'

const later = { ...small, durable: false }

for (const [where, folderOf] of Object.entries(folders)) {
  test(`in ${where}, what was appended is there when the log is opened again`, async (t) => {
    for (const settings of [small, later]) {
      const folder = folderOf(t)
      const log = begun(folder, settings)
      const { position } = log
      append(log, 'one', '')
      t.same(await appendInPool(folder, log, 'three'), { ok: true, value: 3 })
      log.close()
      const again = reopened(folder, position, settings)
      t.same(textsIn(again), ['one', '', 'three'])
      t.same(textsIn(again, 2), ['three'])
      append(again, 'four')
      again.close()
      const last = reopened(folder, position, settings)
      t.same([last.last, textsIn(last).at(-1)], [4, 'four'])
      last.close()
      for (const name of folder.names()) folder.remove(name)
    }
  })

  test(`in ${where}, a log begins behind any sequence, and opens from any position`, async (t) => {
    const folder = folderOf(t)
    const log = LocalLog.begin(folder, nth(41), small)
    const positions = [log.position]
    for (const text of ['a', 'b', half('c'), half('d'), 'e']) {
      append(log, text)
      positions.push(log.position)
    }
    log.close()
    t.same(folder.names(), ['0000000000000042.log', '0000000000000045.log'])
    for (const [at, position] of positions.entries()) {
      const opened = reopened(folder, position)
      t.same(textsIn(opened), ['a', 'b', half('c'), half('d'), 'e'].slice(at))
      t.same(opened.position, log.position)
      t.same(opened.positionOf(nth(46)), log.position)
      t.equal(opened.positionOf(nth(40)), undefined)
      opened.close()
    }
  })

  test(`in ${where}, an append behind another record than the last one is refused`, async (t) => {
    const log = begun(folderOf(t))
    append(log, 'one')
    for (const expected of [0, 2]) {
      t.same(log.appendSync(nth(expected), Buffer.from('x')), { ok: false, error: { kind: 'fenced', last: 1 } })
      t.same(await log.append(nth(expected), Buffer.from('x')), { ok: false, error: { kind: 'fenced', last: 1 } })
    }
    t.same(textsIn(log), ['one'])
    log.close()
  })

  test(`in ${where}, a record that was retracted is not there, and another one takes its sequence`, async (t) => {
    const folder = folderOf(t)
    const log = begun(folder)
    const { position } = log
    append(log, half('a'), half('b'))
    log.retract(nth(2))
    t.same([log.last, textsIn(log)], [1, [half('a')]])
    t.throws(() => log.retract(nth(1)), /can not be retracted/)
    append(log, half('c'), half('d'))
    t.equal(folder.names().length, 2)
    log.retract(nth(3)) // It was the first one of its segment.
    log.close()
    const again = reopened(folder, position)
    t.same(textsIn(again), [half('a'), half('c')])
    append(again, 'e')
    t.same(textsIn(again), [half('a'), half('c'), 'e'])
    again.close()
  })

  test(`in ${where}, a record that is longer than a segment gets one of its own`, async (t) => {
    const folder = folderOf(t)
    const log = begun(folder)
    const { position } = log
    const long = 'x'.repeat(5_000_000)
    append(log, 'a', long, 'b', long)
    log.close()
    t.same(
      folder.names().toSorted(),
      [1, 2, 3, 4].map((first) => `000000000000000${first}.log`),
    )
    const again = reopened(folder, position)
    t.same(textsIn(again), ['a', long, 'b', long])
    again.close()
  })

  test(`in ${where}, a record that could not be read as one text is refused, and the log goes on`, async (t) => {
    const folder = folderOf(t)
    const log = begun(folder)
    append(log, 'one')
    const limit_bytes = 2 ** 28
    const refused = log.appendSync(nth(1), new Uint8Array(limit_bytes + 1))
    t.same(refused, { ok: false, error: { kind: 'tooLarge', limit_bytes } })
    append(log, 'two')
    t.equal(log.last, 2)
    log.close()
  })

  test(`in ${where}, no other segment is longer than it may be`, async (t) => {
    const folder = folderOf(t)
    const log = begun(folder)
    // With nothing behind them, both would fit.
    append(log, 'x'.repeat(2016), half('b'))
    log.close()
    t.same(
      folder.names().map((name) => folder.open(name).size_bytes),
      [4096, 4096],
    )
  })

  test(`in ${where}, segments that are given up are used again, and one of them is kept for that`, async (t) => {
    const folder = folderOf(t)
    const log = begun(folder)
    for (const letter of 'abcdefgh') append(log, half(letter))
    const first = log.position
    append(log, 'i')
    t.equal(folder.names().length, 5)
    log.truncate(nth(6))
    t.same(
      folder.names().toSorted(),
      [5, 7, 9].map((each) => `000000000000000${each}.log`).concat('spare-0000000000000001.log'),
    )
    append(log, half('j'), half('k'))
    t.same(
      folder.names().toSorted(),
      [5, 7, 9].map((each) => `000000000000000${each}.log`).concat('0000000000000011.log'),
    )
    log.close()
    const opened = LocalLog.open(folder, first, small)
    if (!opened.ok) throw new Error(opened.error.what)
    t.equal(opened.value.cut_bytes, 0, 'what the segment held before is not taken for a torn record')
    t.same(textsIn(opened.value.log), ['i', half('j'), half('k')])
    opened.value.log.close()
  })

  test(`in ${where}, the segment in which the log was truncated stays, for it is opened from there`, async (t) => {
    const folder = folderOf(t)
    const log = begun(folder)
    append(log, half('a'), half('b'))
    const { position } = log
    append(log, half('c'))
    log.truncate(nth(2))
    log.close()
    const again = reopened(folder, position)
    t.same(textsIn(again), [half('c')])
    again.truncate(nth(3))
    again.close()
    t.equal(folder.names().length, 2, 'it goes when the log is truncated behind it')
    reopened(folder, again.position).close()
  })
}
