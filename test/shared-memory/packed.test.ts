import { test } from 'tap'
import { packedWithClocks, unpackedWithClocks } from '../../src/model/subscription/clocks.js'
import { packed, unpacked } from '../../src/threads/shared-memory/packed.js'

test('packed values come out as they went in and in their order, however many there are', async (t) => {
  for (const number of [0, 1, 2048, 5000]) {
    const values = Array.from({ length: number }, (_, at) => ({ at, text: `é${at}` }))
    t.same([...unpacked(structuredClone(packed(values)))], values)
  }
})

test('every value keeps its own clock, which both ends share', async (t) => {
  const first = new BigInt64Array(new SharedArrayBuffer(3 * 8))
  const second = new BigInt64Array(new SharedArrayBuffer(2 * 8))
  const clocks = [
    { moments: second, at: 1 },
    { moments: first, at: 0 },
    { moments: first, at: 2 },
    { moments: second, at: 0 },
  ]
  const values = ['a', 'b', 'c', 'd']
  const found = [...unpackedWithClocks(structuredClone(packedWithClocks(values, (at) => clocks[at])))]
  t.same(
    found.map(([value]) => value),
    values,
  )
  for (const [at, [, clock]] of found.entries()) Atomics.store(clock.moments, clock.at, BigInt(at + 1))
  t.same(
    clocks.map(({ moments, at }) => String(moments[at])),
    ['1', '2', '3', '4'],
  )
})
