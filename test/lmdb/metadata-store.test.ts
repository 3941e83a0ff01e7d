import assert from 'node:assert'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import fc from 'fast-check'
import { type Test, test } from 'tap'
import { DiskFault, LogGivenUp } from '../../src/faults.js'
import type { Notice } from '../../src/model/subscription/notice.js'
import { openRoot } from '../../src/storage/environment/environment.js'
import { noticeWrite } from '../../src/storage/records/notice-write.js'
import { MetadataStore } from '../../src/storage/store/metadata-store.js'
import { type OutboxDatabases, openOutbox, statsOf } from '../../src/storage/store/outbox.js'
import { noticeAt } from '../../src/storage/store/outbox-reader.js'
import { LocalLog } from '../../src/storage/wal/local-log.js'
import type { LogSequence } from '../../src/storage/wal/record-log.js'
import { at, path, storeSettings } from '../given.js'
import { notice, subscription, subscriptionId } from '../given-subscription.js'
import { runs } from '../runs.js'
import { fullLogFolder } from '../wal/given.js'
import { storedAfter } from './stored-notices.js'

function opened(folder: string): MetadataStore {
  return new MetadataStore(folder, storeSettings, assert.fail)
}

/** The outbox of a folder as another thread would read it, as it is whenever it is asked for. */
function outboxOf(t: Test, folder: string): () => OutboxDatabases {
  const root = openRoot(folder, { ...storeSettings, readOnly: true })
  t.teardown(() => root.close())
  const outbox = openOutbox(root)
  return () => {
    root.resetReadTxn()
    return outbox
  }
}

const stats = { sent: 1, discarded: 0, tried: [], fails: 0 }

test('subscriptions are there again when the store is opened again, by creation', async (t) => {
  const folder = t.testdir()
  const store = opened(folder)
  const [second, first, gone] = [subscription({ order: 2 }), subscription({ order: 1 }), subscription({ order: 3 })]
  await Promise.all([second, first, gone].map((put) => store.commit({ put })))
  await store.commit({ ticked: { id: gone.id, due: at(5) } })
  await store.commit({ remove: gone.id, ticked: { id: first.id, due: at(7) } })
  await store.close()
  const again = opened(folder)
  t.teardown(() => again.close())
  t.same(again.subscriptions(), JSON.parse(JSON.stringify([first, second])), 'what is undefined is left out')
  t.same([...again.ticks()], [[first.id, 7]])
})

test('notices are numbered over restarts, and stay until they are acked', async (t) => {
  const folder = t.testdir()
  const store = opened(folder)
  const notices = [1, 2, 3].map((n) => notice({ body: `{"n":"${n}"}` }))
  await store.commit({ notices })
  await store.commit({ acks: [{ subscription: subscriptionId(), gone: [1, 2, 3], stats }] })
  await store.close()
  const again = opened(folder)
  t.teardown(() => again.close())
  t.equal(again.lastNotice, 3)
  await again.commit({ notices: [notice({ body: '4' })] })
  const outbox = outboxOf(t, folder)
  t.match(storedAfter(outbox(), 0, 10), [{ number: 4, notice: { body: '4' } }])
  t.equal(noticeAt(outbox(), 3), undefined)
})

test('delivery stats are those of the last ack, and go with their subscription', async (t) => {
  const folder = t.testdir()
  const store = opened(folder)
  t.teardown(() => store.close())
  const [kept, ended] = [subscriptionId(), subscriptionId()]
  const acksOf = (sent: number) =>
    [kept, ended].map((id) => ({ subscription: id, gone: [], stats: { ...stats, sent } }))
  await store.commit({ acks: acksOf(1) })
  await store.commit({ acks: [...acksOf(2), { subscription: ended, gone: [], stats: undefined }] })
  t.same([...statsOf(outboxOf(t, folder)())], [[kept, { ...stats, sent: 2 }]])
})

test('a write that fails fails alone, and gives back the numbers of its notices', async (t) => {
  const folder = t.testdir()
  const store = opened(folder)
  t.teardown(() => store.close())
  const tooLong = { database: 'ticks', id: 'x'.repeat(5000), text: '' } as const
  const poison = { writes: [tooLong], notices: [noticeWrite(notice({ body: 'lost' }))] }
  const outcomes = await Promise.allSettled([
    store.commit({ notices: [notice({ body: 'a' })] }),
    store.transact(poison, true),
    store.commit({ notices: [notice({ body: 'b' })] }),
  ])
  t.same(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  t.match(storedAfter(outboxOf(t, folder)(), 0, 10), [
    { number: 1, notice: { body: 'a' } },
    { number: 2, notice: { body: 'b' } },
  ])
})

test('many changes look for room on the disk as often as time passes, not as often as they are', async (t) => {
  const store = opened(t.testdir())
  t.teardown(() => store.close())
  const { statfsSync } = fs
  const put = (statfs: typeof fs.statfsSync): void => {
    Object.assign(fs, { statfsSync: statfs })
    syncBuiltinESMExports()
  }
  t.teardown(() => put(statfsSync))
  let looks = 0
  const counted = (...given: Parameters<typeof statfsSync>): ReturnType<typeof statfsSync> => {
    looks += 1
    return statfsSync(...given)
  }
  put(counted as typeof statfsSync)
  const begun_ms = performance.now()
  const ack = { subscription: subscriptionId(), gone: [], stats }
  await Promise.all(Array.from({ length: 2000 }, () => store.commit({ acks: [ack] })))
  t.ok(looks <= 2 + (performance.now() - begun_ms) / 10, `${looks} looks`)
})

test('when the log has no space for a record, what removes something is written, and what grows is refused', async (t) => {
  const { folder, fill } = fullLogFolder()
  let appended = 0
  const openLog = (applied: LogSequence) => {
    const log = LocalLog.begin(folder, applied, { durable: false, failed: () => t.fail() })
    t.intercept(log, 'append', {
      value: (expected: LogSequence, bytes: Uint8Array) => {
        appended += 1
        return LocalLog.prototype.append.call(log, expected, bytes)
      },
    })
    return log
  }
  const store = new MetadataStore(t.testdir(), storeSettings, t.fail, undefined, openLog)
  t.teardown(() => store.close())
  const held = subscription()
  await store.commit({ put: held })
  fill()
  appended = 0
  const large = () => store.commit({ notices: [notice({ body: 'x'.repeat(2 ** 19) })] })
  const outcomes = await Promise.allSettled([large(), large(), store.commit({ remove: held.id })])
  t.same(
    outcomes.map(({ status }) => status),
    ['rejected', 'rejected', 'fulfilled'],
  )
  t.same(store.subscriptions(), [])
  t.equal(appended, 2, 'what grows is not tried again')
})

test('of changes in a record that may stand nobody knows more than of the record, and none is tried again', async (t) => {
  const faults = [new LogGivenUp('it has not answered'), new DiskFault('the record stands and cannot be applied')]
  for (const fault of faults) {
    const { folder } = fullLogFolder()
    let appended = 0
    const openLog = (applied: LogSequence) => {
      const log = LocalLog.begin(folder, applied, { durable: false, failed: () => t.fail() })
      t.intercept(log, 'append', {
        value: async () => {
          appended += 1
          throw fault
        },
      })
      return log
    }
    const broken: string[] = []
    const store = new MetadataStore(
      t.testdir(),
      storeSettings,
      (reason) => void broken.push(reason),
      undefined,
      openLog,
    )
    // Another node has come to own the log by the time at which changes would be tried again.
    const isOwner = () => appended === 0
    store.share({ isOwner, logged: () => {}, fenced: () => {}, applied: async () => {} })
    const puts = [1, 2].map(() => store.commit({ put: subscription() }))
    const ends = (await Promise.allSettled(puts)).map((put) => put.status === 'rejected' && put.reason)
    t.same(ends, [fault, fault])
    t.equal(appended, 1)
    t.same(broken, fault instanceof DiskFault ? [fault.message] : [])
    await store.close()
  }
})

test('a notice is read as it was written, whatever is in it', async (t) => {
  const folder = t.testdir()
  const store = opened(folder)
  t.teardown(() => store.close())
  const outbox = outboxOf(t, folder)
  const text = fc.string({ unit: 'grapheme', maxLength: 12 })
  const anyNotice = fc
    .record({
      orderingKey: fc.oneof(
        text.map((key) => ({ kind: 'entity' as const, key: `/\n${key}\n` })),
        fc.constantFrom({ kind: 'initial' } as const, { kind: 'tick' } as const, { kind: 'availability' } as const),
      ),
      paths: fc.array(fc.constantFrom('/', '/a', '/a/b').map(path), { minLength: 1, maxLength: 3 }),
      correlator: text,
      token: text,
      service: fc.constantFrom('farm7', 'barn'),
      via: fc.constantFrom(undefined, '1.1 rigel-a', '1.0 x, 1.1 rigel-b'),
      message: fc.option(
        fc.record(
          {
            format: text,
            url: text,
            method: text,
            contentType: text,
            headers: fc.array(fc.tuple(text, text)),
            topic: text,
          },
          { requiredKeys: [], noNullPrototype: true },
        ),
        { nil: undefined },
      ),
      body: text,
      after: fc.option(fc.array(fc.nat()), { nil: undefined }),
    })
    .map((more): Notice => notice(more))
  await fc.assert(
    fc.asyncProperty(anyNotice, async (written) => {
      await store.commit({ notices: [written] })
      const read = storedAfter(outbox(), store.lastNotice - 1, 1)
      t.match(read, [{ number: store.lastNotice }])
      t.strictSame(read[0]?.notice, written)
    }),
    { numRuns: runs(30) },
  )
})
