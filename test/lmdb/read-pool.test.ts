import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { test } from 'tap'
import { ReadPool } from '../../src/storage/store/read-pool.js'

function noted(on = true): {
  readonly waits: bigint[]
  frees: number
  on: boolean
  free(): void
  waited(wait: bigint): void
} {
  return {
    on,
    waits: [],
    frees: 0,
    free() {
      this.frees += 1
    },
    waited(wait) {
      this.waits.push(wait)
    },
  }
}

test('a free handle is had at once and counts as no wait', async (t) => {
  const meter = noted()
  const pool = new ReadPool(ReadPool.memory(2), 0, meter)
  t.equal(pool.take(), undefined)
  t.equal(pool.take(), undefined)
  t.equal(pool.free, 0)
  pool.release()
  t.equal(pool.free, 1)
  t.same([meter.frees, meter.waits], [2, []])
})

test('who finds no handle is served in the order of asking, and the wait is measured', async (t) => {
  const meter = noted()
  const pool = new ReadPool(ReadPool.memory(1), 0, meter)
  pool.take()
  const order: number[] = []
  const waiting = [1, 2, 3].map((n) => Promise.resolve(pool.take()).then(() => order.push(n)))
  for (let n = 0; n < 3; n += 1) {
    t.equal(order.length, n)
    pool.release()
    await waiting[n]
  }
  t.same(order, [1, 2, 3])
  t.equal(meter.waits.length, 3)
  t.ok(meter.waits.every((wait) => wait > 0n))
})

test('a handle that another thread gives back wakes the thread that waits here', async (t) => {
  const memory = ReadPool.memory(1)
  const pool = new ReadPool(memory, 0, noted(false))
  pool.take()
  const wait = pool.take()
  const code = `
    const { workerData } = require('node:worker_threads')
    const cells = new Int32Array(workerData)
    Atomics.add(cells, 1, 1)
    Atomics.notify(cells, 1)
  `
  // It may have ended before this thread looks.
  const ended = once(new Worker(code, { eval: true, workerData: memory }), 'exit')
  await wait
  t.equal(pool.free, 0)
  await ended
})

test('positions in the queue for permits may wrap around', async (t) => {
  const memory = ReadPool.memory(1)
  const cells = new Int32Array(memory)
  cells[0] = 0x7fffffff
  cells[1] = 0x7fffffff + 1
  const pool = new ReadPool(memory, 0, noted(false))
  t.equal(pool.free, 1)
  t.equal(pool.take(), undefined)
  const wait = pool.take()
  t.ok(wait)
  pool.release()
  await wait
})

test('what a thread held that has ended goes to the others, be it taken or waited for', async (t) => {
  const memory = ReadPool.memory(2, 3)
  const [dead, alive, waiting] = [0, 1, 2].map((row) => new ReadPool(memory, row, noted(false)))
  if (!dead || !alive || !waiting) throw new Error('there are three')
  dead.take()
  alive.take()
  dead.take() // It waits, and never comes to know that it was given one.
  const wait = waiting.take()
  t.ok(wait)
  alive.giveBackOf(0)
  await wait
  t.equal(alive.free, 0)
  alive.release()
  waiting.release()
  t.equal(alive.free, 2, 'all handles are there again')
  alive.giveBackOf(0)
  t.equal(alive.free, 2, 'nothing is given back twice')
})
