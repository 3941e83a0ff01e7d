import { join } from 'node:path'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { type Test, test } from 'tap'
import { Partitions } from '../../src/broker/coordinator/partitions.js'
import { packedWithClocks } from '../../src/model/subscription/clocks.js'
import { Measures } from '../../src/observe/measure/measures.js'
import { Mailbox } from '../../src/partition/mailbox/mailbox.js'
import { Memtable } from '../../src/storage/store/memtable.js'
import { ReadPool } from '../../src/storage/store/read-pool.js'
import { MailboxCapacity } from '../../src/threads/shared-memory/limits.js'
import { Bell } from '../../src/threads/shared-memory/signals.js'
import { Versions } from '../../src/threads/shared-memory/versions.js'
import { command, given, silentLog, storeSettings } from '../given.js'
import { inForce } from '../given-subscription.js'
import { until } from '../until.js'
import { cellsOfHeld, endingCell, gatesCell, heldCell } from './fixtures/held-partition.js'

interface Around {
  readonly partitions: Partitions<object>
  readonly mailbox: Mailbox
  /** The ports that the front end was given, the newest last. */
  readonly ports: MessagePort[]
  readonly fatal: string[]
  readonly measures: Measures
}

/** Partitions in threads of their own, as the program runs them, and one front end's mailbox to the first of them. */
async function around(t: Test, count = 1, held?: SharedArrayBuffer): Promise<Around> {
  const measures = Measures.make({ frontEnds: 1, partitions: count, queryThreads: 1 })
  const folder = t.testdir()
  const fatal: string[] = []
  const numbers = Array.from({ length: count }, (_, number) => number)
  const partitions = new Partitions({
    entry: new URL(held ? 'fixtures/held-partition.js' : '../../workers/partition.js', import.meta.url),
    count,
    launch: (partition) => {
      const { port1, port2 } = new MessageChannel()
      port1.unref()
      const memory = {
        measures: measures.memory,
        versions: numbers.map(() => Versions.memory()),
        memtables: numbers.map(() => Memtable.memory()),
        pools: numbers.map(() => ReadPool.memory(1)),
        bell: new Bell().memory,
      }
      const storage = { ...storeSettings, paths: numbers.map((number) => join(folder, `partition-${number}`)) }
      const task = {
        ...{ partition, storage, memory, held },
        entityCache_bytes: 10_000,
        subscriptions: packedWithClocks([], () => undefined),
        log: port2,
      }
      return { task, transfer: [port2] }
    },
    log: silentLog,
    restarted: (partition) => measures.restarted(partition),
    isWriting: () => false,
    fatal: (reason) => fatal.push(reason),
    behind: (reason) => fatal.push(`behind: ${reason}`),
  })
  await partitions.start()
  const mailbox = new Mailbox({ room: new MailboxCapacity(100), measured: () => false, depth: () => {} })
  const ports: MessagePort[] = []
  partitions.add({
    connect: (partition, port) => {
      if (partition > 0) return port.unref()
      ports.push(port)
      mailbox.connect(port)
    },
  })
  return { partitions, mailbox, ports, fatal, measures }
}

/** A batch that no front end writes: the partition's thread does not survive it. */
const poison = { commands: 'no commands' }

test('a partition that dies is replaced, its open requests are answered, and what was acknowledged is there', async (t) => {
  const threads: unknown[] = []
  const started = (thread: unknown): unknown => threads.push(thread)
  process.on('worker', started)
  t.teardown(() => process.off('worker', started))
  const { partitions, mailbox, ports, fatal, measures } = await around(t)
  t.ok((await mailbox.ask(command('APPEND', 'Silo1', [given('level', '1')]))).ok)
  ports[0]?.postMessage(poison)
  const lost = await mailbox.ask(command('UPDATE', 'Silo1', [given('level', '2')]))
  t.match(lost, { error: { kind: 'outcomeUnknown' } })
  await mailbox.connected()
  const outcome = await mailbox.ask(command('UPDATE', 'Silo1', [given('level', '3')]))
  t.match(outcome, { ok: true, value: { reply: { items: [{ id: 'Silo1' }] } } })
  t.equal(measures.partitions.value('restarts', 0), 1)
  t.same(fatal, [])
  t.equal(threads.length, 2, 'each thread was started for its task, and no other one')
  mailbox.close()
  await partitions.drain()
})

/** Slows the clock down until the test ends: starts of threads take no minute of it, on however slow a machine. */
function slowClock(t: Test): void {
  const { now } = performance
  const begun_ms = performance.now()
  performance.now = () => begun_ms + (now.call(performance) - begun_ms) / 20
  t.teardown(() => {
    performance.now = now
  })
}

test('a partition that dies five times within a minute is not replaced again', async (t) => {
  slowClock(t)
  const { partitions, mailbox, ports, fatal, measures } = await around(t)
  for (let death = 1; death <= 5; death += 1) {
    await mailbox.connected()
    ports.at(-1)?.postMessage(poison)
    await mailbox.ask({ kind: 'ping' })
    await until(() => ports.length > death || fatal.length > 0)
  }
  t.same(fatal, ['partition 0 died 5 times within a minute'])
  t.equal(measures.partitions.value('restarts', 0), 4)
  await t.rejects(partitions.subscribe(inForce()), { name: 'LogGivenUp' }, 'nobody waits for its thread')
})

test('a partition whose log is given up since the process ends is not replaced, and that is no fault of the broker', async (t) => {
  const held = new SharedArrayBuffer(cellsOfHeld * Int32Array.BYTES_PER_ELEMENT)
  const { partitions, mailbox, ports, fatal } = await around(t, 1, held)
  Atomics.store(new Int32Array(held), endingCell, 1)
  ports[0]?.postMessage(poison)
  await mailbox.ask({ kind: 'ping' })
  await t.rejects(
    partitions.subscribe(inForce()),
    /not answered before the end/,
    'whoever waits for its thread hears of it',
  )
  await t.rejects(partitions.subscribe(inForce()), { name: 'LogGivenUp' }, 'and whoever asks later')
  t.same(fatal, [])
  mailbox.close()
  await partitions.drain()
})

test('no partition stands still for a backup while another one does not answer, and the backup is refused', async (t) => {
  const held = new SharedArrayBuffer(cellsOfHeld * Int32Array.BYTES_PER_ELEMENT)
  const cells = new Int32Array(held)
  const { partitions, mailbox } = await around(t, 2, held)
  Atomics.store(cells, heldCell, 1)
  await until(() => Atomics.load(cells, heldCell) !== 1)
  let moments = 0
  const moment = (): void => {
    moments += 1
  }
  t.same(await partitions.pin(moment), { ok: false, error: 'notTogether' }, 'which is not waited for')
  t.equal(Atomics.load(cells, gatesCell), 0)
  t.equal(moments, 0)
  t.ok((await mailbox.ask(command('APPEND', 'Silo1', [given('level', '1')]))).ok)
  Atomics.store(cells, heldCell, 0)
  Atomics.notify(cells, heldCell)
  let pinned = await partitions.pin(moment)
  // The machine may have other work while they stand still.
  for (let attempt = 0; attempt < 20 && !pinned.ok; attempt += 1) pinned = await partitions.pin(moment)
  t.ok(pinned.ok, 'nothing is left of what was refused')
  t.ok(Atomics.load(cells, gatesCell) > 0)
  if (pinned.ok) t.ok(await pinned.value.release())
  mailbox.close()
  await partitions.drain()
})
