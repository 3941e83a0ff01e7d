import { test } from 'tap'
import { mostWrites, writesFor } from '../../src/storage/store/unapplied-turns.js'

/** What is gathered after transactions of as many writes as are gathered, each of which takes so long. */
function settled(first: number, cost_us: number): readonly number[] {
  const all = [first]
  for (let turn = 0; turn < 8; turn += 1) {
    const writes = all.at(-1) ?? first
    all.push(writesFor(writes, { writes, took_ms: (writes * cost_us) / 1000 }))
  }
  return all
}

test('as many writes are gathered as LMDB takes 16 ms for, within bounds', async (t) => {
  t.same(settled(mostWrites, 3).at(-1), mostWrites, 'fast enough')
  t.match(settled(mostWrites, 14), [4096, 2048, 1142, 1142], 'at most half as many as before')
  t.match(settled(mostWrites, 100), [4096, 2048, 1024, 512, 512], 'never fewer than pay')
  t.match(settled(512, 4), [512, 1024, 2048, 4000, 4000], 'at most twice as many as before')
})

test('a transaction of a few writes says nothing about what one costs', async (t) => {
  t.equal(writesFor(2000, { writes: 255, took_ms: 50 }), 2000)
  t.equal(writesFor(2000, { writes: 256, took_ms: 50 }), 1000)
  t.equal(writesFor(2000, { writes: 256, took_ms: 0 }), 4000)
})
