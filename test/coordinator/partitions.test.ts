import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { type Test, test } from 'tap'
import { Partitions } from '../../src/coordinator/partitions.js'
import { ReadPool } from '../../src/lmdb/read-pool.js'
import { Mailbox } from '../../src/mailbox/mailbox.js'
import { Measures } from '../../src/measure/measures.js'
import { Bell } from '../../src/shared-memory/bell.js'
import { MailboxCapacity } from '../../src/shared-memory/mailbox-capacity.js'
import { Versions } from '../../src/shared-memory/versions.js'
import { packedWithClocks } from '../../src/subscription/clocks.js'
import { command, given, silentLog, storeSettings } from '../given.js'

interface Around {
  readonly partitions: Partitions<object>
  readonly mailbox: Mailbox
  /** The ports that the front end was given, the newest last. */
  readonly ports: MessagePort[]
  readonly fatal: string[]
  readonly measures: Measures
}

/** One partition in a thread of its own, as the program runs it, and one front end's mailbox to it. */
async function around(t: Test): Promise<Around> {
  const measures = Measures.make({ frontEnds: 1, partitions: 1, queryThreads: 1 })
  const folder = t.testdir()
  const fatal: string[] = []
  const partitions = new Partitions({
    entry: new URL('../../workers/partition.js', import.meta.url),
    count: 1,
    launch: (partition) => {
      const { port1, port2 } = new MessageChannel()
      port1.unref()
      const memory = {
        measures: measures.memory,
        versions: [Versions.memory()],
        pools: [ReadPool.memory(1)],
        bell: new Bell().memory,
      }
      const storage = { ...storeSettings, paths: [folder] }
      const task = {
        partition,
        storage,
        memory,
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
    connect: (_, port) => {
      ports.push(port)
      mailbox.connect(port)
    },
  })
  return { partitions, mailbox, ports, fatal, measures }
}

/** A letter that no front end writes: the partition's thread does not survive it. */
const poison = { commands: 'no letter' }

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
  t.equal(measures.storageTable.reading(0).restarts, 1)
  t.same(fatal, [])
  t.equal(threads.length, 2, 'each thread was started for its task, and no other one')
  mailbox.close()
  await partitions.drain()
})

test('a partition that dies five times within a minute is not replaced again', async (t) => {
  const { mailbox, ports, fatal, measures } = await around(t)
  for (let death = 1; death <= 5; death += 1) {
    await mailbox.connected()
    ports.at(-1)?.postMessage(poison)
    await mailbox.ask({ kind: 'ping' })
    while (ports.length === death && fatal.length === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  t.same(fatal, ['partition 0 died 5 times within a minute'])
  t.equal(measures.storageTable.reading(0).restarts, 4)
})
