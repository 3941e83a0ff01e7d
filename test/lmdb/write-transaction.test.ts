import { test } from 'tap'
import { openEnvironment } from '../../src/storage/environment/environment.js'
import { writeInTransaction } from '../../src/storage/environment/write-transaction.js'
import { ThreadBeats } from '../../src/threads/shared-memory/thread-beats.js'
import { storeSettings } from '../given.js'
import { sourcesOf } from '../sources.js'

test('every write transaction goes through one place', async (t) => {
  const writing = sourcesOf('src', 'workers').filter(({ code }) => /\.(transactionSync|childTransaction)\(/.test(code))
  t.same(
    writing.map(({ path }) => path),
    ['src/storage/environment/write-transaction.ts'],
  )
})

test('a thread says since when it is inside a write transaction, also of one that fails', async (t) => {
  const { root, facts } = openEnvironment(t.testdir(), { ...storeSettings, readOnly: false })
  t.teardown(() => root.close())
  const beats = new ThreadBeats(ThreadBeats.memory(2))
  const since = () => beats.of(1).writingSince
  const before = process.hrtime.bigint()
  const write = (): bigint => {
    facts.putSync(['a fact'], 'x')
    return since()
  }
  const inside = writeInTransaction(root, write, beats.writing(1))
  t.ok(inside >= before && inside <= process.hrtime.bigint())
  t.equal(since(), 0n)
  const fail = (): never => {
    throw new Error('no')
  }
  t.throws(() => writeInTransaction(root, fail, beats.writing(1)))
  t.equal(since(), 0n)
})

test('a thread shows beats while it is watched, and what it leaves behind is not looked at', async (t) => {
  const beats = new ThreadBeats(ThreadBeats.memory(2))
  t.match(beats.of(0), { isWatched: false, beats: 0n })
  const stop = beats.watch(0)
  const { beats: shown, thread, isWatched } = beats.of(0)
  t.ok(isWatched && shown > 0n && thread >= 0)
  beats.beat(0)
  t.equal(beats.of(0).beats, shown + 1n)
  stop()
  t.equal(beats.of(0).isWatched, false)
  t.equal(beats.of(1).isWatched, false)
})
