import { once } from 'node:events'
import { BroadcastChannel, type Worker } from 'node:worker_threads'
import { type Test, test } from 'tap'
import { PoolThreads } from '../../src/broker/front-end/pool-threads.js'
import { QueryPool } from '../../src/broker/front-end/query-pool.js'
import { ScanStops } from '../../src/broker/front-end/scan-queue.js'
import { Measures, rowOf, rowsOf } from '../../src/observe/measure/measures.js'
import { openRoot } from '../../src/storage/environment/environment.js'
import { PartitionStore } from '../../src/storage/store/partition-store.js'
import { ReadPool } from '../../src/storage/store/read-pool.js'
import { CounterTable } from '../../src/threads/shared-memory/counter-table.js'
import { Versions } from '../../src/threads/shared-memory/versions.js'
import { command, given, matcher, noWords, query, storeSettings, takeTurn, tenant, versions } from '../given.js'
import { until } from '../until.js'

const entities = 3000
const handles = 2
const long = query({ order: [{ by: 'level', reversed: false }], limit: 1 })

/** A store with enough in it that a scan takes a while. */
async function filled(folder: string): Promise<void> {
  const store = new PartitionStore(folder, storeSettings)
  const parts = { store, interpret: noWords, matcher: matcher(), versions: versions() }
  takeTurn(
    parts,
    Array.from({ length: entities }, (_, n) => command('APPEND', `Silo${n}`, [given('level', String(n))])),
  )
  await store.close()
}

/** A reader in the list of LMDB that has a snapshot: its process, its thread, and the number of the transaction; one without keeps nothing. */
const snapshot = /^\s*\d+\s+\w+\s+\d+\s*$/m

const queryEntry = new URL('../../workers/query.js', import.meta.url)

interface Around {
  readonly queries: QueryPool
  /** The real threads, the newest last. */
  readonly workers: Worker[]
  readonly handles: ReadPool
  readonly measures: Measures
  /** Lines of the log. */
  readonly lines: string[]
}

async function around(t: Test, entry = queryEntry): Promise<Around> {
  const folder = t.testdir()
  await filled(folder)
  const threads = { frontEnds: 1, partitions: 1, queryThreads: 1 }
  const measures = Measures.make(threads)
  const pool = ReadPool.memory(handles, rowsOf(threads))
  const memory = { measures: measures.memory, versions: [Versions.memory()], memtables: [], pools: [pool] }
  const row = rowOf(threads, 'queryThread', 0)
  const members = PoolThreads.memory(1)
  const stops = ScanStops.memory(4)
  const readPool = new ReadPool(pool, 0, measures.wait('dbConnectionPool', 0))
  const workers: Worker[] = []
  const lines: string[] = []
  const watch = (worker: Worker): number => workers.push(worker)
  process.on('worker', watch)
  const queries = new QueryPool({
    entry,
    threads: 1,
    permits: { long: 3, short: 1 },
    queueLimit: 100,
    limit_ms: 60_000,
    stops: new ScanStops(stops),
    members: new PoolThreads(members),
    ended: (number) => readPool.giveBackOf(row + number),
    workerData: { storage: { ...storeSettings, paths: [folder] }, memory, row, members, stops, page_bytes: 2 ** 20 },
    log: { error: (_, text) => lines.push(text) },
  })
  t.teardown(async () => {
    process.off('worker', watch)
    await queries.close()
  })
  return { queries, workers, handles: readPool, measures, lines }
}

test('a query thread that dies in its scans gives back what it held, and keeps its row', {
  timeout: 300_000,
}, async (t) => {
  const entry = new URL('./fixtures/mortal-query.js', import.meta.url)
  const { queries, workers, handles: readPool, measures, lines } = await around(t, entry)
  const deaths = new BroadcastChannel('query threads die')
  t.teardown(() => deaths.close())
  measures.switchPart('semWait', true, process.hrtime.bigint())
  const root = openRoot(t.testdirName, { ...storeSettings, readOnly: true })
  for (let death = 1; death <= 3; death += 1) {
    t.ok((await queries.page(long)).ok, 'a scan gets its handle')
    t.equal(readPool.free, handles)
    let isDead = false
    const again = async (): Promise<boolean> => {
      const { ok } = await queries.page(long)
      return ok && (isDead || again())
    }
    const lost = [1, 2, 3, 4].map(again)
    await until(() => readPool.free <= 0 && snapshot.test(root.readerList()), 'scans have all handles and a snapshot')
    const [dying] = workers.slice(-1)
    if (dying === undefined) throw new Error('there is no query thread')
    const exit = once(dying, 'exit')
    deaths.postMessage('now')
    await exit
    isDead = true
    t.same(await Promise.all(lost), [true, true, true, true], 'what died with it was done again')
    await until(() => !snapshot.test(root.readerList()), 'LMDB has no reader with a snapshot any more')
  }
  t.ok((await queries.page(long)).ok)
  t.equal(readPool.free, handles, 'all handles are there')
  t.equal(workers.length, 4, 'each thread was replaced')
  t.equal(lines.length, 3)
  t.match(lines[0], /a query thread failed: exit code 1/)
  const table = new CounterTable(measures.memory.waits.table)
  const written = Array.from({ length: table.rows }, (_, row) =>
    Array.from({ length: measures.memory.waits.table.width }, (_, column) => table.value(row, column)).some(
      (cell) => cell > 0n,
    ),
  )
  t.same(written, [false, false, true, false], 'all threads have counted in the row of query threads, and nowhere else')
  await root.close()
})

test('a scan that dies with two threads is refused, others go on', { timeout: 300_000 }, async (t) => {
  const { queries, workers, lines } = await around(t, new URL('./fixtures/dying-query.js', import.meta.url))
  t.same(await queries.page(long), { ok: false, error: { kind: 'scanLost' } })
  t.same(await queries.types(tenant, []), { ok: true, value: [] })
  t.equal(workers.length, 3, 'each thread was replaced')
  t.same(lines, ['a query thread failed: exit code 3', 'a query thread failed: exit code 3'])
})

test('a fault of a scan ends neither its thread nor is it tried again', { timeout: 300_000 }, async (t) => {
  const { queries, workers, lines } = await around(t, new URL('./fixtures/dying-query.js', import.meta.url))
  await t.rejects(queries.state(long), /a fault of the scan/)
  t.same([workers.length, lines], [1, []])
})

test('a query thread that dies with nothing to do is replaced', { timeout: 300_000 }, async (t) => {
  const { queries, workers, lines } = await around(t)
  t.ok((await queries.page(long)).ok)
  workers[0]?.emit('error', new Error('nothing to do'))
  await workers[0]?.terminate()
  t.ok((await queries.page(long)).ok)
  t.match(lines, [/a query thread failed: Error: nothing to do/])
})
