import { test } from 'tap'
import { memoryNeeded, memoryWarnings, threadHeaps } from '../../src/runtime/resources/memory-needed.js'

const flags = {
  httpThreads: 1,
  queryThreads: 1,
  readCache_MiB: 64,
  entityCache_MiB: 64,
  requestMemory_MiB: 64,
  responseMemory_MiB: 256,
  pageMaxSize: 32 * 2 ** 20,
}
const waiting = { memory_MiB: 64, window_MiB: 32, queueMax_MB: 4096 }
const notifications = { ...waiting, streams: { listeners: 1000 } }

test('every flag that lets the broker take memory counts', async (t) => {
  const { process_MiB } = memoryNeeded({ ...flags, notifications }, 1)
  t.equal(process_MiB, 128 + 4 * 96 + 4 + 1.5 * (64 + 64 + 3 * 8 + 16 + 3 * 64 + 256 + 8 * 32 + 3 * 64 + 3 * 32 + 16))
  for (const name of Object.keys(flags) as (keyof typeof flags)[]) {
    t.ok(memoryNeeded({ ...flags, [name]: 2 * flags[name], notifications }, 1).process_MiB > process_MiB, name)
  }
  for (const name of Object.keys(waiting) as (keyof typeof waiting)[]) {
    const more = { ...notifications, [name]: 2 * waiting[name] }
    t.ok(memoryNeeded({ ...flags, notifications: more }, 1).process_MiB > process_MiB, name)
  }
  const listening = { ...notifications, streams: { listeners: 512 * 40 } }
  t.equal(
    memoryNeeded({ ...flags, notifications: listening }, 1).process_MiB,
    process_MiB + 1.5 * 8,
    'one of each listener',
  )
  t.ok(memoryNeeded({ ...flags, notifications }, 2).process_MiB > process_MiB)
})

test('a machine, a container or a heap that is too small is warned of, with the way out', async (t) => {
  const needed = memoryNeeded({ ...flags, notifications }, 1)
  t.same(memoryWarnings(needed, { process_MiB: 4096, heap_MiB: 2048 }), [])
  t.match(memoryWarnings(needed, { process_MiB: 512, heap_MiB: 256 }), [
    /there are 512 MiB: lower -readCache/,
    /Node allows 256 MiB: .*--max-old-space-size/,
  ])
})

test('the heap of a thread may grow to twice what its flags let it hold, and never beyond what Node allows', async (t) => {
  const heaps = (more: object = {}, subscriptionsMax = 1024, window_MiB = 8, memory_MiB = 16) =>
    threadHeaps(
      {
        ...flags,
        ...more,
        notifications: { ...notifications, subscriptionsMax, window_MiB, queueMax_MB: 1024, memory_MiB },
      },
      4096,
    )
  const { partition_MiB, query_MiB, courier_MiB } = heaps()
  t.same(
    { partition_MiB, query_MiB, courier_MiB },
    {
      partition_MiB: 2 * (96 + 1.5 * (64 + 8 + 3 * 64)) + 3,
      query_MiB: 2 * (96 + 1.5 * 4 * 32),
      courier_MiB: 2 * (96 + 1.5 * (2 * 16 + 8 + 16 + 3 * 8 + 4)) + 6,
    },
  )
  t.ok(heaps({ entityCache_MiB: 128 }).partition_MiB > partition_MiB)
  t.ok(heaps({ requestMemory_MiB: 128 }).partition_MiB > partition_MiB)
  t.ok(heaps({ pageMaxSize: 2 ** 26 }).query_MiB > query_MiB)
  t.ok(heaps({}, 2048).partition_MiB > partition_MiB)
  t.ok(heaps({}, 2048).courier_MiB > courier_MiB)
  t.ok(heaps({}, 1024, 16).courier_MiB > courier_MiB)
  t.ok(heaps({}, 1024, 8, 32).courier_MiB > courier_MiB)
  t.equal(heaps({ entityCache_MiB: 65536 }).partition_MiB, 4096)
})
