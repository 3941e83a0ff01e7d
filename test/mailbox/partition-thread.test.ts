import { MessageChannel } from 'node:worker_threads'
import { test } from 'tap'
import { noLimits } from '../../src/model/context/entity-size.js'
import { packedWithClocks } from '../../src/model/subscription/clocks.js'
import { Measures } from '../../src/observe/measure/measures.js'
import { partitionEvents, partitionOperations } from '../../src/partition/mailbox/batch.js'
import { Mailbox } from '../../src/partition/mailbox/mailbox.js'
import type { PartitionTask, ThreadPorts } from '../../src/runtime/tasks.js'
import { LinkedThread } from '../../src/threads/calls/linked-thread.js'
import { methodsOf } from '../../src/threads/calls/service.js'
import { MailboxCapacity } from '../../src/threads/shared-memory/limits.js'
import { Bell } from '../../src/threads/shared-memory/signals.js'
import { sharedMemory } from '../delivery/shared-memory.js'
import { command, given, storeSettings } from '../given.js'
import { nth, nthId } from '../subscription/given.js'

test("a partition's thread puts subscriptions in force and says after which notice", async (t) => {
  const bell = new Bell()
  const { port1, port2 } = new MessageChannel()
  port1.unref()
  const task: PartitionTask & Pick<ThreadPorts, 'log'> = {
    partition: 0,
    storage: { ...storeSettings, paths: [t.testdir()] },
    memory: sharedMemory(Measures.make({ frontEnds: 1, partitions: 1, queryThreads: 1 }), bell),
    entityCache_bytes: 10_000,
    limits: noLimits,
    templates: { fillsIn: true, max_bytes: 10_000 },
    subscriptions: packedWithClocks([nth(1).subscription], () => nth(1).clock),
    log: port2,
  }
  const entry = new URL('../../workers/partition.js', import.meta.url)
  const offered = methodsOf({ owns: () => {} }, partitionEvents)
  const thread = new LinkedThread({ entry, task, transfer: [port2], far: partitionOperations, offered })
  const { far } = thread
  t.equal(await far.opened(), 0)
  const mailbox = new Mailbox({ room: new MailboxCapacity(100), measured: () => false, depth: () => {} })
  const front = new MessageChannel()
  mailbox.connect(front.port1)
  far.connect(front.port2)

  t.ok((await mailbox.ask(command('APPEND', 'Silo1', [given('level', '1')]))).ok)
  t.equal(await far.subscribe(nth(2)), 1)
  t.ok((await mailbox.ask(command('APPEND', 'Silo1', [given('level', '2')]))).ok)
  t.equal(await far.unsubscribe(nthId(1)), 3)
  t.ok((await mailbox.ask(command('APPEND', 'Silo1', [given('level', '3')]))).ok)
  t.equal(await far.unsubscribe(nthId(1)), 4)
  t.equal(new Int32Array(bell.memory)[0], 3)
  mailbox.close()
  far.drain()
  await thread.ended
  await thread.close()
})
