import assert from 'node:assert/strict'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import { type Test, test } from 'tap'
import type { NewNotice, NoticeNumber } from '../../src/model/subscription/notice.js'
import type { SubscriptionId } from '../../src/model/subscription/subscription.js'
import type { TurnChanges } from '../../src/storage/records/store.js'
import { Memtable } from '../../src/storage/store/memtable.js'
import { OutboxReader } from '../../src/storage/store/outbox-reader.js'
import { PartitionStore } from '../../src/storage/store/partition-store.js'
import { Versions } from '../../src/threads/shared-memory/versions.js'
import { entity } from '../context/given-entity.js'
import { storeSettings } from '../given.js'
import { notice, subscriptionId } from '../given-subscription.js'
import { runs } from '../runs.js'
import { until } from '../until.js'
import type { NoticesTask } from './notices-thread.js'

const stats = { tried: [] }

/** A store whose LMDB follows its log, with the reader that a courier has. */
class Noticing {
  readonly store: PartitionStore
  readonly memtable: Memtable
  readonly reader: OutboxReader
  /** Up to this number notices were read. */
  known = 0

  constructor(folder: string, memory_bytes = 2 ** 20) {
    const memory = Memtable.memory(memory_bytes)
    this.memtable = new Memtable(memory)
    const deferral = { memtable: new Memtable(memory), versions: new Versions(Versions.memory()) }
    this.store = new PartitionStore(folder, storeSettings, { deferral })
    this.reader = new OutboxReader(folder, storeSettings, assert.fail, undefined, this.memtable)
  }

  commit(changes: Partial<TurnChanges>): void {
    this.store.commit({ entities: [], notices: [], acks: [], ...changes })
  }

  notify(...bodies: readonly string[]): void {
    this.commit({ notices: bodies.map((body) => notice({ body })) })
  }

  ack(...gone: readonly NoticeNumber[]): void {
    this.commit({ acks: [{ subscription: subscriptionId(), gone, stats: undefined }] })
  }

  /** What is new, as a courier reads it: up to the last number, in slices. */
  read(slice = 100): readonly NoticeNumber[] {
    const last = this.reader.last()
    const numbers: NoticeNumber[] = []
    while (this.known < last) {
      const found = this.reader.after(this.known, slice)
      numbers.push(...found.map(({ number }) => number))
      this.known = found.at(-1)?.number ?? last
    }
    return numbers
  }

  async close(): Promise<void> {
    await this.reader.close()
    await this.store.close()
  }
}

function opened(t: Test): Noticing {
  const noticing = new Noticing(t.testdir())
  t.teardown(() => noticing.close())
  return noticing
}

function stored({ store, reader }: Noticing): readonly NoticeNumber[] {
  store.applyPublished()
  reader.refresh()
  return reader.before(Number.POSITIVE_INFINITY, 1000).map(({ number }) => number)
}

test('a notice is read before LMDB has it, and afterwards by a reader whose snapshot is older', async (t) => {
  const noticing = opened(t)
  const { reader, store, memtable } = noticing
  noticing.notify('first', 'second')
  t.equal(memtable.isApplied, false)
  t.equal(reader.last(), 2)
  t.same(noticing.read(1), [1, 2])
  t.match(reader.at(2), { body: 'second' })
  t.match(reader.head(2), { number: 2, body_bytes: 6 })
  t.equal(reader.at(3), undefined)
  store.applyPublished()
  t.equal(memtable.isApplied, true)
  t.match(reader.at(2), { body: 'second' }, 'asked for its body')
  noticing.notify('third')
  t.same(noticing.read(), [3])
  store.applyPublished()
  t.match(reader.head(3), { number: 3 }, 'asked for its head')
  noticing.notify('fourth')
  t.equal(reader.last(), 4)
  store.applyPublished()
  t.same(noticing.read(), [4], 'asked for what is new')
  t.equal(reader.holds(4), true)
})

test('a notice that has left before LMDB follows is never written there, and its number is not given again', async (t) => {
  const noticing = opened(t)
  noticing.notify('first', 'second', 'third')
  noticing.ack(1, 3)
  t.same(stored(noticing), [2])
  noticing.notify('fourth')
  t.equal(noticing.reader.last(), 4)
  noticing.ack(2, 4)
  t.same(stored(noticing), [])
  noticing.ack(2, 4)
  t.same(stored(noticing), [], 'an ack may come twice')
  t.equal(noticing.reader.last(), 4)
})

test('LMDB gets the last delivery stats of a subscription only', async (t) => {
  const noticing = opened(t)
  const [one, other] = [subscriptionId(), subscriptionId()]
  const first = { ...stats, timesSent: 1 }
  const ack = (subscription: SubscriptionId, of: unknown) => ({ subscription, gone: [], stats: of as undefined })
  noticing.commit({ acks: [ack(one, first), ack(other, first)] })
  noticing.commit({ acks: [ack(one, { ...stats, timesSent: 2 })] })
  noticing.commit({ acks: [ack(other, undefined)] })
  t.same([...noticing.reader.stats()], [])
  noticing.store.applyPublished()
  noticing.reader.refresh()
  t.match([...noticing.reader.stats()], [[one, { timesSent: 2 }]])
})

/** Notices of several subscriptions that show the same: LMDB has them at once. */
function shared(count: number): NewNotice {
  const { subscription: _, body: __, after: ___, ...common } = notice()
  return {
    ...common,
    subscriptions: Array.from({ length: count }, () => subscriptionId()),
    entity: entity({ id: 'T' }),
  }
}

test('reader and list agree on what waits, whenever LMDB follows and snapshots are taken, and behind a start', async (t) => {
  const step = fc.oneof(
    fc.record({ does: fc.constant('notify' as const), count: fc.integer({ min: 1, max: 4 }) }),
    fc.record({ does: fc.constant('share' as const), count: fc.integer({ min: 2, max: 3 }) }),
    fc.record({ does: fc.constant('ack' as const), count: fc.integer({ min: 1, max: 5 }) }),
    fc.record({ does: fc.constant('read' as const), count: fc.integer({ min: 1, max: 3 }) }),
    fc.record({ does: fc.constantFrom('apply', 'refresh', 'close', 'die'), count: fc.constant(0) }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), fc.constantFrom(2000, 2 ** 20), async (steps, memory_bytes) => {
      const folders = t.testdir()
      let lives = 0
      const folder = (): string => join(folders, String(lives))
      let noticing = new Noticing(folder(), memory_bytes)
      /** The bodies of those that wait; of groups there is none. */
      const waiting = new Map<NoticeNumber, string | undefined>()
      let last = 0
      const unread = new Set<NoticeNumber>()
      const made = (body: string | undefined): void => {
        last += 1
        waiting.set(last, body)
        unread.add(last)
      }
      for (const { does, count } of steps) {
        if (does === 'notify') {
          const bodies = Array.from({ length: count }, (_, at) => `body ${last + at}`)
          noticing.notify(...bodies)
          for (const body of bodies) made(body)
        } else if (does === 'share') {
          noticing.commit({ notices: [shared(count)] })
          for (let at = 0; at < count; at += 1) made(undefined)
        } else if (does === 'ack') {
          // A courier acks what it has read.
          const gone = [...waiting.keys()].filter((number) => !unread.has(number)).slice(-count)
          noticing.ack(...gone)
          for (const number of gone) waiting.delete(number)
        } else if (does === 'read') {
          assert.deepEqual(noticing.read(count), [...unread])
          unread.clear()
        } else if (does === 'apply') noticing.store.applyPublished()
        else if (does === 'refresh') noticing.reader.refresh()
        else {
          // Whoever dies leaves the files as they are.
          if (does === 'die') cpSync(folder(), join(folders, String(lives + 1)), { recursive: true })
          await noticing.close()
          if (does === 'die') lives += 1
          noticing = new Noticing(folder(), memory_bytes)
          assert.equal(noticing.reader.last(), last)
          assert.deepEqual(noticing.read(), [...waiting.keys()])
          unread.clear()
        }
        for (const [number, body] of waiting) {
          const found = noticing.reader.at(number)
          assert.ok(found !== undefined && found !== 'damaged', `notice ${number} is there`)
          if (body !== undefined) assert.equal(found.body, body)
          assert.equal(noticing.reader.head(number)?.number, number)
        }
      }
      await noticing.close()
    }),
    { numRuns: runs(200) },
  )
})

test('a reader in another thread than the writer reads each notice once, in order, whenever LMDB follows', async (t) => {
  const folder = t.testdir()
  const [memory, goal] = [Memtable.memory(2 ** 15), 5000]
  const task: NoticesTask = { folder, memory, notices: goal }
  const worker = new Worker(new URL('notices-thread.js', import.meta.url), { workerData: task })
  t.teardown(() => worker.terminate())
  await new Promise((resolve) => worker.once('message', resolve))
  const reader = new OutboxReader(folder, storeSettings, assert.fail, undefined, new Memtable(memory))
  t.teardown(() => reader.close())
  let known = 0
  const read = (): boolean => {
    reader.refresh()
    const last = reader.last()
    while (known < last) {
      const found = reader.after(known, 100)
      assert.notEqual(found.length, 0, `${known + 1} to ${last} are lost`)
      for (const { number } of found) {
        assert.equal(number, known + 1)
        const whole = reader.at(number)
        assert.ok(whole !== undefined && whole !== 'damaged' && whole.body === `body ${number}`, `notice ${number}`)
        known = number
      }
    }
    return known >= goal
  }
  await until(read, 'all notices are read')
  t.equal(known, goal)
})
