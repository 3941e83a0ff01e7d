import { memoryLeft_bytes, memoryLimit_bytes, memoryUsed_bytes } from '../machine-memory.js'
import { type Measures, threadsOf } from '../measure/measures.js'
import { type GarbageCollection, garbageCollections, type ThreadReading } from '../measure/thread-table.js'
import type { Labels, MetricRegistry, Sample } from './metric-registry.js'

/** How the kinds of threads are called in labels. */
const kinds = { frontEnd: 'front_end', partition: 'partition', queryThread: 'query', courier: 'courier' } as const

/** The threads: how busy they are, their heaps and collections; and the memory of the process [management 7]. */
export function addThreadMetrics(metrics: MetricRegistry, { threads, threadTable, stepTable }: Measures): void {
  const all = threadsOf(threads).map(({ kind, number, row }) => {
    const labels: Labels = { kind: kinds[kind], number: String(number) }
    return { labels, row }
  })
  const each = (value: (reading: ThreadReading) => number) => () =>
    all.map(({ labels, row }): Sample => ({ labels, value: value(threadTable.reading(row)) }))
  const eachCollection = (value: (collected: ThreadReading['collected'][GarbageCollection]) => number) => () =>
    all.flatMap(({ labels, row }) => {
      const { collected } = threadTable.reading(row)
      return garbageCollections.map(
        (collection): Sample => ({ labels: { ...labels, collection }, value: value(collected[collection]) }),
      )
    })
  const names = ['kind', 'number']
  metrics.counter(
    'rigel_thread_busy_seconds_total',
    'Time that a thread was busy: its rate is the busy share; front end 0 is the main thread',
    names,
    each(({ busy }) => Number(busy) / 1e9),
  )
  metrics.gauge(
    'rigel_thread_longest_step_seconds',
    'The longest time within the last minute or two in which a thread worked on one thing and did nothing else',
    names,
    () =>
      all.map(({ labels, row }) => ({ labels, value: Number(stepTable.longest(row, process.hrtime.bigint())) / 1e9 })),
  )
  metrics.gauge(
    'rigel_thread_heap_used_bytes',
    'What is in the heap of a thread, garbage that was not collected yet included',
    names,
    each(({ heapUsed_bytes }) => heapUsed_bytes),
  )
  metrics.gauge(
    'rigel_thread_heap_limit_bytes',
    'What the heap of a thread may grow to: a thread that needs more dies and is replaced, the main thread ends the process',
    names,
    each(({ heapLimit_bytes }) => heapLimit_bytes),
  )
  metrics.gauge(
    'rigel_thread_external_bytes',
    'Memory outside of the heap of a thread that it refers to, buffers above all',
    names,
    each(({ external_bytes }) => external_bytes),
  )
  metrics.counter(
    'rigel_thread_collections_total',
    'Collections of garbage in the heap of a thread, by kind',
    [...names, 'collection'],
    eachCollection(({ count }) => count),
  )
  metrics.counter(
    'rigel_thread_collection_seconds_total',
    'Time that collections of garbage in the heap of a thread took, by kind',
    [...names, 'collection'],
    eachCollection(({ time }) => Number(time) / 1e9),
  )
}

/** The memory of the process and of the machine or container that it runs in. */
export function addMemoryMetrics(metrics: MetricRegistry): void {
  metrics.gauge(
    'rigel_memory_used_bytes',
    'Memory that the process holds, without the pages of mapped data files, which the system takes back when it needs them',
    [],
    memoryUsed_bytes,
  )
  metrics.gauge(
    'rigel_memory_limit_bytes',
    'Memory of the machine, or of the container where that has less',
    [],
    memoryLimit_bytes,
  )
  metrics.gauge(
    'rigel_memory_left_bytes',
    'Memory that the process may still take: up to its limit, or what other processes have left of the machine',
    [],
    memoryLeft_bytes,
  )
}
