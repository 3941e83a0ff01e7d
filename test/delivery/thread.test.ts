import { join } from 'node:path'
import { MessageChannel } from 'node:worker_threads'
import { test } from 'tap'
import {
  type CourierEvents,
  type CourierOperations,
  courierEvents,
  courierOperations,
} from '../../src/delivery/queue/courier-protocol.js'
import { packedRecipients } from '../../src/delivery/queue/packed-recipients.js'
import { readOptions } from '../../src/flags/command-line.js'
import { noLimits } from '../../src/model/context/entity-size.js'
import { packedWithClocks } from '../../src/model/subscription/clocks.js'
import type { NoticeAck } from '../../src/model/subscription/notice.js'
import { Measures } from '../../src/observe/measure/measures.js'
import { type PartitionOperations, partitionEvents, partitionOperations } from '../../src/partition/mailbox/batch.js'
import type { CourierTask, PartitionTask, ThreadPorts } from '../../src/runtime/tasks.js'
import { LinkedThread } from '../../src/threads/calls/linked-thread.js'
import { methodsOf } from '../../src/threads/calls/service.js'
import { newTransactions } from '../../src/threads/shared-memory/sequences.js'
import { Bell } from '../../src/threads/shared-memory/signals.js'
import { clockStart } from '../../src/time.js'
import { FarEnd } from '../far-end.js'
import { storeSettings } from '../given.js'
import { until } from '../until.js'
import { notice, OwnedOutbox, recipient, subscriptionId } from './given.js'
import { sharedMemory } from './shared-memory.js'

const one = subscriptionId(1)

function entry(name: string): URL {
  return new URL(`../../workers/${name}.js`, import.meta.url)
}

/** The coordinator stores acks in its outbox. */
function storing(metadata: OwnedOutbox, stored: (readonly NoticeAck[])[]): CourierEvents {
  return {
    ack: async (acks) => {
      stored.push(acks)
      metadata.store(acks)
      return true
    },
    alarm: () => {},
    failing: () => {},
  }
}

test('the thread of the courier delivers what partition and coordinator hold, and they store the outcomes', async (t) => {
  const end = await FarEnd.listen(t)
  const folder = t.testdir()
  const partitionPath = join(folder, 'partition-0')
  const held = new OwnedOutbox(partitionPath)
  held.enqueue(notice(one, 'a', 'from the partition'))
  await held.close()
  const metadata = new OwnedOutbox(join(folder, 'control'))
  metadata.enqueue(notice(one, { kind: 'initial' }, 'from the coordinator', { after: [1] }))
  const measures = Measures.make({ frontEnds: 1, partitions: 1, queryThreads: 0 })
  const bell = new Bell()
  const storage = { paths: [partitionPath], ...storeSettings }
  const memory = sharedMemory(measures, bell)
  const run = readOptions([], {})
  if (run.kind !== 'run') throw new Error(run.text)

  const log = () => new MessageChannel().port2
  const partitionLog = log()
  const partition = new LinkedThread<PartitionTask & Pick<ThreadPorts, 'log'>, PartitionOperations>({
    ...{ entry: entry('partition'), far: partitionOperations, offered: methodsOf({ owns: () => {} }, partitionEvents) },
    task: {
      partition: 0,
      storage,
      memory,
      entityCache_bytes: 10_000,
      limits: noLimits,
      templates: { fillsIn: true, max_bytes: 10_000 },
      subscriptions: packedWithClocks([], () => undefined),
      log: partitionLog,
    },
    transfer: [partitionLog],
  })
  await partition.far.opened()
  const courierLog = log()
  const stored: (readonly NoticeAck[])[] = []
  const known = recipient(one, end.url())
  const options = run.options.notifications
  const courier = new LinkedThread<CourierTask & Pick<ThreadPorts, 'log'>, CourierOperations>({
    ...{ entry: entry('courier'), far: courierOperations },
    offered: methodsOf(storing(metadata, stored), courierEvents),
    task: {
      storage,
      memory,
      metadataPath: metadata.path,
      recipients: packedRecipients([known]),
      begun: { held: [], closed: [] },
      options,
      brokerId: '0123456789abcdef',
      threadSilence_s: 30,
      clock: clockStart(),
      transactions: newTransactions(),
      log: courierLog,
    },
    transfer: [courierLog],
  })
  await courier.far.begin()
  const { port1, port2 } = new MessageChannel()
  partition.far.connect(port1)
  courier.far.connect(0, port2)
  await until(() => stored.length === 1)
  t.same(end.bodies, ['from the partition', 'from the coordinator'])
  t.same(metadata.numbers, [])
  t.match(metadata.stats(one), { sent: 1, lastSuccessCode: 200 })

  metadata.enqueue(notice(one, { kind: 'tick' }, 'tick'))
  bell.ring()
  await until(() => end.bodies.includes('tick'))
  await until(() => stored.length === 2)
  t.equal(measures.counts.flat('notificationsSent'), 3n)
  t.match(measures.delivery.read(), { out: 3, sentOk: 3, size: 0 })
  await courier.far.drain(1000)
  await courier.ended
  await courier.close()
  partition.far.drain()
  await partition.ended
  await partition.close()
  await metadata.close()
  const left = new OwnedOutbox(partitionPath)
  t.same(left.numbers, [])
  t.match(left.stats(one), { sent: 1, lastSuccessCode: 200 })
  await left.close()
})

test('what the courier asks for before it knows all that waits is answered', async (t) => {
  const folder = t.testdir()
  const partitionPath = join(folder, 'partition-0')
  await new OwnedOutbox(partitionPath).close()
  const metadata = new OwnedOutbox(join(folder, 'control'))
  const gone = subscriptionId(9)
  metadata.enqueue(...Array.from({ length: 400 }, (_, n) => notice(gone, { kind: 'tick' }, `tick ${n}`)))
  const measures = Measures.make({ frontEnds: 1, partitions: 1, queryThreads: 0 })
  const storage = { paths: [partitionPath], ...storeSettings }
  const run = readOptions([], {})
  if (run.kind !== 'run') throw new Error(run.text)
  const { port2 } = new MessageChannel()
  const stored: (readonly NoticeAck[])[] = []
  const courier = new LinkedThread<CourierTask & Pick<ThreadPorts, 'log'>, CourierOperations>({
    ...{ entry: entry('courier'), far: courierOperations },
    offered: methodsOf(storing(metadata, stored), courierEvents),
    task: {
      storage,
      memory: sharedMemory(measures, new Bell()),
      metadataPath: metadata.path,
      recipients: packedRecipients([]),
      begun: { held: [], closed: [] },
      options: run.options.notifications,
      brokerId: '0123456789abcdef',
      threadSilence_s: 30,
      clock: clockStart(),
      transactions: newTransactions(),
      log: port2,
    },
    transfer: [port2],
  })
  await courier.far.begin()
  t.not(stored.length, 0, 'it has asked for something before')
  await until(() => metadata.numbers.length === 0)
  await courier.far.drain(1000)
  await courier.ended
  await courier.close()
  await metadata.close()
})
