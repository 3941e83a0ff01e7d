import assert from 'node:assert/strict'
import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import { test } from 'tap'
import { fnv1a } from '../../src/hash.js'
import { Memtable, type PublishedRecords } from '../../src/storage/store/memtable.js'
import type { HeldRecord } from '../../src/storage/store/record-cache.js'
import type { Sequence } from '../../src/threads/shared-memory/sequences.js'
import { runs } from '../runs.js'
import { unicodeText } from '../unicode-text.js'
import { until } from '../until.js'
import { isWhole, type MemtableTask } from './memtable-thread.js'

function record(sequence: number, text: string): HeldRecord {
  return { sequence: sequence as Sequence, text }
}

function publish(memtable: Memtable, all: Readonly<Record<string, readonly HeldRecord[]>>): void {
  memtable.publish(named(new Map(Object.entries(all))))
}

/** The records by names, each of an id of its own. */
function named(all: ReadonlyMap<string, readonly HeldRecord[]>): PublishedRecords {
  return new Map(Array.from(all, ([name, records]) => [name, { idName: `id ${name}`, path: '/', records }]))
}

test('another handle on the same memory finds what was published, and nothing once LMDB has it', (t) => {
  const memory = Memtable.memory()
  const [writer, reader] = [new Memtable(memory), new Memtable(memory)]
  t.equal(reader.get('a'), undefined)
  publish(writer, { a: [record(1, 'one'), record(2 ** 52, 'zwölf 🌍')], b: [] })
  t.same(reader.get('a'), [record(1, 'one'), record(2 ** 52, 'zwölf 🌍')])
  t.same(reader.get('b'), [], 'a name without records any more')
  t.equal(reader.get('c'), undefined)
  t.equal(reader.isApplied, false)
  publish(writer, { a: [record(1, 'uno')] })
  t.same(reader.get('a'), [record(1, 'uno')])
  t.same(reader.pathsOf('id a'), ['/'], 'each path once')
  writer.publish(new Map([['other', { idName: 'id a', path: '/other', records: [] }]]))
  t.same([...reader.pathsOf('id a')].sort(), ['/', '/other'])
  t.same(reader.pathsOf('id c'), [])
  writer.applied()
  t.same(reader.pathsOf('id a'), [])
  t.equal(reader.get('a'), undefined)
  t.equal(reader.isApplied, true)
  t.end()
})

test('what is full takes no more, until LMDB has followed', (t) => {
  const memtable = new Memtable(Memtable.memory(1024))
  const [small, large] = [
    named(new Map([['a', [record(1, 'x'.repeat(200))]]])),
    named(new Map([['a', [record(1, 'x'.repeat(400))]]])),
  ]
  t.equal(memtable.fits(large), false, 'not even when it is empty: each of its units may take three bytes')
  t.equal(memtable.fits(small), true)
  for (let put = 0; put < 2; put += 1) memtable.publish(small)
  t.equal(memtable.fits(small), false)
  memtable.applied()
  t.equal(memtable.fits(small), true)
  for (let name = 0; name < 4096; name += 1) {
    const one = named(new Map([[String(name), []]]))
    if (memtable.fits(one)) memtable.publish(one)
  }
  t.equal(memtable.fits(named(new Map([['last', []]]))), false)
  t.end()
})

/** Two names with the same hash in a memory, whose fifth cell is where hashes begin. */
function alike(memory: SharedArrayBuffer): readonly [string, string] {
  const seed = new Int32Array(memory)[4]
  const seen = new Map<number, string>()
  for (let at = 0; ; at += 1) {
    const name = `name ${at}`
    const hash = fnv1a(name, seed) | 0
    const other = seen.get(hash)
    if (other !== undefined) return [other, name]
    seen.set(hash, name)
  }
}

test('names with the same hash are told apart, and nobody knows beforehand which names those are', (t) => {
  const memory = Memtable.memory()
  const [writer, reader] = [new Memtable(memory), new Memtable(memory)]
  const [one, other] = alike(memory)
  publish(writer, { [one]: [record(1, 'one')] })
  t.equal(reader.get(other), undefined)
  publish(writer, { [other]: [record(2, 'other')] })
  publish(writer, { [one]: [record(1, 'uno')] })
  t.same([reader.get(one), reader.get(other)], [[record(1, 'uno')], [record(2, 'other')]])
  t.not(new Int32Array(Memtable.memory())[4], new Int32Array(memory)[4])
  t.end()
})

test('it finds what a map would, whatever the names', async () => {
  const names = fc.oneof(fc.constantFrom('a', 'b', 'ab', ''), unicodeText({ maxLength: 20 }))
  const step = fc.record({
    name: names,
    texts: fc.array(fc.string({ unit: 'grapheme', maxLength: 20 }), { maxLength: 3 }),
    follows: fc.integer({ max: 9, min: 0 }),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const memory = Memtable.memory(2 ** 14)
      const [writer, reader] = [new Memtable(memory), new Memtable(memory)]
      const held = new Map<string, readonly HeldRecord[]>()
      for (const { name, texts, follows } of steps) {
        const records = texts.map((text, at) => record(at, text))
        const all = named(new Map([[name, records]]))
        if (follows === 0 || !writer.fits(all)) {
          writer.applied()
          held.clear()
        }
        writer.publish(all)
        held.set(name, records)
        for (const { name: other } of steps) assert.deepEqual(reader.get(other), held.get(other))
      }
    }),
    { numRuns: runs(50) },
  )
})

test('a reader in another thread finds whole records and no older ones, whenever LMDB follows', async (t) => {
  const memory = Memtable.memory(2 ** 16)
  const task: MemtableTask = { memory, names: 20 }
  const worker = new Worker(new URL('memtable-thread.js', import.meta.url), { workerData: task })
  t.teardown(() => worker.terminate())
  const reader = new Memtable(memory)
  const newest = new Map<string, number>()
  const seen = new Set<number>()
  const look = (): boolean => {
    for (let at = 0; at < 5000; at += 1) {
      const name = `name ${at % task.names}`
      const records = reader.get(name)
      if (records === undefined) continue
      const turn = records[0]?.sequence ?? 0
      assert.ok(isWhole(name, records), `${name} is torn: ${JSON.stringify(records)}`)
      assert.ok(turn >= (newest.get(name) ?? 0), `${name} is older than before`)
      newest.set(name, turn)
      seen.add(turn)
    }
    // However the machine divides its time between the threads: the writer ends when enough of what it writes was read.
    return seen.size >= 5000
  }
  await until(look, 'the other thread writes')
  t.pass(`${seen.size} writes were read`)
})

test('who waits for LMDB is heard, and goes on when it has followed', async (t) => {
  const memory = Memtable.memory()
  const [writer, reader] = [new Memtable(memory), new Memtable(memory)]
  const ended = new AbortController()
  t.teardown(() => ended.abort())
  // Waiting for memory alone keeps no thread alive.
  const alive = setInterval(() => {}, 1000)
  t.teardown(() => clearInterval(alive))
  publish(writer, { a: [record(1, 'one')] })
  t.equal(await reader.whenApplied(20), false, 'nobody applies it')
  t.equal(reader.waitUntilApplied(20), false)
  let requests = 0
  void writer.whenWanted(() => {
    requests += 1
    writer.applied()
  }, ended.signal)
  t.equal(await reader.whenApplied(60_000), true)
  publish(writer, { a: [record(1, 'two')] })
  t.same(await Promise.all([reader.whenApplied(60_000), new Memtable(memory).whenApplied(60_000)]), [true, true])
  t.ok(requests >= 2)
  t.equal(reader.waitUntilApplied(0), true)
})
