import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { type Test, test } from 'tap'
import { CourierThread } from '../../src/broker/coordinator/courier-thread.js'
import type { CourierStart, Recipient } from '../../src/delivery/queue/courier-protocol.js'
import { packedRecipients } from '../../src/delivery/queue/packed-recipients.js'
import { readOptions } from '../../src/flags/command-line.js'
import { LineLog, type Line as LogLine } from '../../src/observe/log/log.js'
import { Measures } from '../../src/observe/measure/measures.js'
import type { CourierTask, ThreadPorts } from '../../src/runtime/tasks.js'
import { PartitionPosition } from '../../src/threads/shared-memory/partition-position.js'
import { newTransactions } from '../../src/threads/shared-memory/sequences.js'
import { Bell } from '../../src/threads/shared-memory/signals.js'
import { Switches } from '../../src/threads/shared-memory/switches.js'
import { clockStart } from '../../src/time.js'
import { notice, nth, OwnedOutbox, recipient, subscriptionId } from '../delivery/given.js'
import { sharedMemory } from '../delivery/shared-memory.js'
import { FarEnd } from '../far-end.js'
import { storeSettings } from '../given.js'
import { during, until } from '../until.js'

const [one, two] = [subscriptionId(1), subscriptionId(2)]
const tick = { kind: 'tick' } as const

const tasks = '/proc/self/task'

/** Why tests are left out that have to know when a thread has ended. */
const skip = !existsSync(tasks) && 'the system does not say which threads there are'

/** The threads of this process, as the system numbers them. */
function threadsNow(): readonly string[] {
  return skip ? [] : readdirSync(tasks)
}

/** A courier in its thread, on the outbox of a partition and that of the coordinator, which can be made to die. */
async function given(t: Test, known: readonly Recipient[], isOneOfSeveral = false) {
  const folder = t.testdir()
  const partition = new OwnedOutbox(join(folder, 'partition-0'))
  const metadata = new OwnedOutbox(join(folder, 'control'))
  const measures = Measures.make({ frontEnds: 1, partitions: 1, queryThreads: 0 })
  const bell = new Bell()
  const run = readOptions([], {})
  if (run.kind !== 'run') throw new Error(run.text)
  const { notifications: options } = run.options
  const memories = [PartitionPosition.memory(), PartitionPosition.memory()]
  const own = (epoch: number): void => {
    for (const memory of memories) {
      const position = new PartitionPosition(memory)
      position.own(epoch)
      position.confirm(clockStart(), 600_000)
    }
  }
  own(7)
  const begun: CourierStart[] = []
  const lines: LogLine[] = []
  const streams: MessagePort[] = []
  const thread: CourierThread<CourierTask & Pick<ThreadPorts, 'log'>> = new CourierThread({
    entry: new URL('../../workers/courier.js', import.meta.url),
    launch: (start) => {
      begun.push(start)
      const log = new MessageChannel().port2
      const task = {
        ...{ storage: { paths: [partition.path], ...storeSettings }, memory: sharedMemory(measures, bell) },
        ...{ metadataPath: metadata.path, recipients: packedRecipients(known), begun: start, options },
        ...{
          brokerId: '0123456789abcdef',
          threadSilence_s: 30,
          clock: clockStart(),
          transactions: newTransactions(),
          log,
        },
        positions: isOneOfSeveral ? memories : undefined,
      }
      return { task, transfer: [log] }
    },
    epochOf: (outbox) => new PartitionPosition(nth(memories, outbox)).epoch,
    join: () => {},
    ack: async (acks) => metadata.store(acks),
    alarm: () => {},
    failing: () => {},
    log: new LineLog(new Switches(), (line) => lines.push(line)),
    fatal: (reason) => t.fail(reason),
  })
  thread.prepare()
  await thread.start()
  thread.addStreams((port) => streams.push(port))
  t.teardown(async () => {
    await thread.drain(1000)
    await partition.close()
    await metadata.close()
  })
  /** The thread dies; something is said that it does not hear any more, before it is known that it is dead. */
  const die = async (unheard?: () => void): Promise<void> => {
    const before = begun.length
    const threads = threadsNow()
    // No instruction: the thread fails over it.
    streams.at(-1)?.postMessage(null)
    if (unheard) {
      // Nothing that the thread tells is heard meanwhile.
      for (let looks = 0; threads.every((id) => threadsNow().includes(id)); looks += 1) {
        if (looks > 12_000) throw new Error('the thread does not die')
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
      }
      unheard()
    }
    await until(() => begun.length > before && streams.length > before)
  }
  return { thread, partition, metadata, bell, own, die, lines }
}

test('what is on hold is so in the thread that replaces one which has died', async (t) => {
  const end = await FarEnd.listen(t)
  const [held, other] = [recipient(one, end.url('/held')), recipient(two, end.url('/other'))]
  const { thread, metadata, bell, die } = await given(t, [held, other])
  await thread.hold(one)
  await die()
  metadata.enqueue(notice(one, tick, 'held back'), notice(two, tick, 'not held back'))
  bell.ring()
  await until(() => end.bodies.length > 0)
  t.same((await thread.inspected(one)).state, 'on hold')
  thread.put(held)
  await until(() => end.bodies.length > 1)
  t.same(end.bodies, ['not held back', 'held back'])

  await thread.hold(one)
  await thread.remove(one)
  await die()
  t.not((await thread.inspected(one)).state, 'on hold', 'what has ended is held no more')
})

test('an outbox that is about to be released is not sent by the thread that replaces one which has died', async (t) => {
  const end = await FarEnd.listen(t)
  const known = [recipient(one, end.url()), recipient(two, end.url())]
  const { thread, partition, metadata, bell, die } = await given(t, known, true)
  await thread.release(0, 100)
  await die()
  partition.enqueue(notice(one, 'tank', 'of the partition'))
  bell.ring()
  await until(async () => (await thread.report([one])).get(one)?.queueDepth === 1)
  metadata.enqueue(notice(two, tick, 'of the coordinator'))
  bell.ring()
  await until(() => end.bodies.length > 0)
  t.same(end.bodies, ['of the coordinator'])
  t.equal((await thread.report([one])).get(one)?.queueDepth, 1)
})

test('what was said to a dead thread, and is over, is not said to the thread that replaces it', { skip }, async (t) => {
  const end = await FarEnd.listen(t)
  const known = [recipient(one, end.url()), recipient(two, end.url())]
  const { thread, partition, metadata, bell, own, die } = await given(t, known, true)
  const responses: Promise<unknown>[] = []
  await die(() => {
    responses.push(thread.hold(one), thread.expire(two), thread.release(0, 60_000))
    // The first subscription is let go, the second one is extended, and the outbox comes back under another epoch.
    for (const recipient of known) thread.put(recipient)
    metadata.enqueue(notice(one, tick, 'let go'), notice(two, tick, 'extended'))
    own(8)
  })
  t.same((await Promise.all(responses))[1], false, 'nobody knows what has become of the expiry')
  partition.enqueue(notice(one, 'tank', 'of the outbox'))
  bell.ring()
  await until(() => end.bodies.length > 2)
  t.same([...end.bodies].sort(), ['extended', 'let go', 'of the outbox'])
})

test('a courier that ends while it reads, and is asked meanwhile, ends in order', async (t) => {
  const end = await FarEnd.listen(t)
  const known = [recipient(one, end.url()), recipient(two, end.url())]
  const { thread, partition, bell, lines } = await given(t, known)
  const many = Array.from({ length: 3000 }, (_, number) => notice(one, `tank ${number}`, '{}'))
  partition.enqueue(...many)
  bell.ring()
  const responses: Promise<unknown>[] = []
  await during(thread.drain(0), () => {
    // What another node changes comes into force until the end: a put has the outbox of the coordinator read.
    responses.push(thread.report([one]), thread.hold(two), thread.expire(two))
    thread.put(nth(known, 1))
  })
  await Promise.all(responses)
  t.same(lines, [], 'nothing was logged')
})
