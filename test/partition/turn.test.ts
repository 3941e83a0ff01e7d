import { type Test, test } from 'tap'
import { StorageFull } from '../../src/faults.js'
import { Matcher } from '../../src/model/subscription/matcher.js'
import type { DeliveryStats, NoticeRenderer } from '../../src/model/subscription/notice.js'
import type { SubscriptionClock, SubscriptionId } from '../../src/model/subscription/subscription.js'
import type { Command, Reply } from '../../src/partition/turn/commands.js'
import { decideTurn } from '../../src/partition/turn/decide.js'
import { commitTurn, type TurnParts } from '../../src/partition/turn/turn.js'
import { openEnvironment } from '../../src/storage/environment/environment.js'
import { statsOf } from '../../src/storage/store/outbox.js'
import { PartitionStore } from '../../src/storage/store/partition-store.js'
import { Versions } from '../../src/threads/shared-memory/versions.js'
import {
  at,
  command,
  given,
  id,
  noWords,
  rendering,
  root,
  silentLog,
  storeSettings,
  takeTurn,
  tenant,
  versions,
} from '../given.js'
import { storedAfter } from '../lmdb/stored-notices.js'
import { clock, lastOf, nth, nthId, shortBody } from '../subscription/given.js'

interface Around {
  readonly store: PartitionStore
  readonly matcher: Matcher
  readonly parts: TurnParts
  turn(...batch: readonly Command[]): readonly Reply[]
  /** What is on disk. */
  outbox(): Promise<Outgoing>
}

interface Outgoing {
  readonly notices: ReturnType<typeof storedAfter>
  readonly stats: ReadonlyMap<SubscriptionId, DeliveryStats>
}

function around(t: Test, folder = t.testdir(), legacyBody: NoticeRenderer = shortBody, Store = PartitionStore): Around {
  const store = new Store(folder, storeSettings)
  t.teardown(() => store.close())
  const matcher = new Matcher({ legacyBody, ...rendering, log: silentLog, memory_bytes: 10_000 })
  const parts = { store, interpret: noWords, matcher, versions: versions() }
  return {
    store,
    matcher,
    parts,
    turn: (...batch) => takeTurn(parts, batch),
    outbox: async () => {
      const environment = openEnvironment(folder, { ...storeSettings, readOnly: true })
      const notices = storedAfter(environment, 0, 1000)
      const stats = new Map(statsOf(environment))
      await environment.root.close()
      return { notices, stats }
    },
  }
}

function append(value: string, time = 1000): Command {
  return command('APPEND', 'Silo1', [given('level', value)], { time: at(time) })
}

/** Fails while it is decided, as a fault of ours would. */
const poison: Command = new Proxy(append('poison'), {
  get: (target, name) => {
    if (name === 'attributes') throw new Error('poison')
    return Reflect.get(target, name)
  },
})

test('the notices of a turn are on disk with its updates, in their order, behind all earlier ones', async (t) => {
  const { turn, matcher, outbox, store } = around(t)
  turn(append('0'))
  matcher.put(nth(1))
  matcher.put(nth(2, { onChange: ['door'] }))
  turn(append('1'), append('1'), append('2'))
  turn(append('3'), command('DELETE', 'Silo1'))
  const { notices } = await outbox()
  t.same(
    notices.map(({ number, notice }) => [number, notice.subscription, 'body' in notice && notice.body]),
    [
      [1, nthId(1), 'Silo1: level=1'],
      [2, nthId(1), 'Silo1: level=2'],
      [3, nthId(1), 'Silo1: level=3'],
    ],
  )
  t.equal(store.lastNotice, 3)
  t.equal(store.entityCount, 0)
})

test('a turn that fails leaves neither entities nor notices nor moments, and the next one goes on from there', async (t) => {
  const { turn, matcher, outbox, store } = around(t)
  const memory = clock()
  matcher.put(nth(1, { throttling_ms: 5000 }, memory))
  turn(append('1', 10_000))
  t.throws(() => turn(append('2', 16_000), poison), { message: 'poison' })
  t.equal(lastOf(memory), 10_000)
  t.match(store.entities(tenant, root, id('Silo1')), [{ attributes: [{ value: '1' }] }])
  t.match((await outbox()).notices, [{ number: 1, notice: { body: 'Silo1: level=1' } }])
  turn(append('3', 16_001))
  t.match((await outbox()).notices, [{ number: 1 }, { number: 2, notice: { body: 'Silo1: level=3', made: 16_001 } }])
})

test('deciding writes nothing: a turn that is never committed leaves the store as it was', async (t) => {
  const { turn, parts, outbox, store } = around(t)
  const memory = clock(7)
  parts.matcher.put(nth(1, {}, memory))
  turn(append('1'))
  const state = async () => [store.entities(tenant, root, id('Silo1')), store.entityCount, await outbox()]
  const before = await state()
  const ack: Command = { kind: 'ack', acks: [{ subscription: nthId(1), gone: [1], stats: undefined }] }
  const batch = [append('2', 2000), command('APPEND', 'Silo2'), command('DELETE', 'Silo1'), ack]
  const { replies, changes } = decideTurn(parts, batch)
  t.match(replies, [{ kind: 'updated' }, { kind: 'updated' }, { kind: 'updated' }, { kind: 'acked' }])
  t.match(changes, {
    entities: [
      { kind: 'put', entity: { id: 'Silo1' } },
      { kind: 'put', entity: { id: 'Silo2' }, before: undefined },
      { kind: 'remove', entity: { id: 'Silo1' } },
    ],
    notices: [{ subscription: nthId(1), body: 'Silo1: level=2' }],
    acks: [{ gone: [1] }],
  })
  t.same(await state(), before)
  t.equal(parts.versions.commits, 1)
  parts.matcher.undo()
  t.equal(lastOf(memory), 1000)
})

test('a turn that is long leaves the rest of its batch to the next one', (t) => {
  const { parts } = around(t)
  let decided = 0
  const isLong = (): boolean => {
    decided += 1
    return decided === 2
  }
  const { replies, changes } = decideTurn(parts, [append('1'), append('2'), append('3')], isLong)
  t.equal(replies.length, 2)
  t.match(changes.entities, [{ entity: { attributes: [{ value: '2' }] } }])
  t.end()
})

test('a turn that can not be applied leaves neither entities nor notices nor moments nor versions changed', async (t) => {
  class Failing extends PartitionStore {
    protected override write(): never {
      t.equal(lastOf(memory), 1000)
      t.equal(versions.commits, undefined, 'the caches of readers are invalid while the commit is under way')
      t.equal(versions.endedChangesOf(group), undefined)
      throw new StorageFull('no room for the commit')
    }
  }
  const { parts, outbox, store } = around(t, t.testdir(), undefined, Failing)
  const { matcher, versions } = parts
  const memory = clock(7)
  matcher.put(nth(1, {}, memory))
  const group = Versions.groupOf(tenant, id('Silo1'))
  const { changes } = decideTurn(parts, [append('1')])
  const { last } = store.wal
  t.throws(() => commitTurn(parts, changes), StorageFull)
  t.equal(store.wal.last, last, 'its record has left the log again')
  t.same(store.entities(tenant, root, id('Silo1')), [])
  t.same([store.entityCount, store.lastNotice, (await outbox()).notices], [0, 0, []])
  t.equal(lastOf(memory), 7)
  t.same(matcher.notices, [])
  t.not(versions.commits, undefined, 'no commit is under way')
  t.not(versions.endedChangesOf(group), undefined)
})

test('an update whose notice cannot be rendered is not done', async (t) => {
  const { turn, matcher, outbox, store } = around(t, t.testdir(), () => {
    throw new Error('no words')
  })
  const memory = clock()
  matcher.put(nth(1, {}, memory))
  t.throws(() => turn(append('1')), { message: 'no words' })
  t.same(store.entities(tenant, root, id('Silo1')), [])
  t.same((await outbox()).notices, [])
  t.equal(lastOf(memory), 0)
})

test('throttling holds over all partitions that share the clock', async (t) => {
  const folders = t.testdir({ one: {}, two: {} })
  const [one, two] = [around(t, `${folders}/one`), around(t, `${folders}/two`)]
  const memory: SubscriptionClock = clock()
  for (const { matcher } of [one, two]) matcher.put(nth(1, { throttling_ms: 5000 }, memory))
  one.turn(append('1', 10_000))
  two.turn(append('2', 14_000))
  two.turn(append('3', 15_000))
  one.turn(append('4', 19_999), append('5', 20_000))
  t.match((await one.outbox()).notices, [{ notice: { made: 10_000 } }, { notice: { made: 20_000 } }])
  t.match((await two.outbox()).notices, [{ notice: { made: 15_000 } }])
})

test('what became of notices is stored, also when there is no room for updates, and doing so twice changes nothing', async (t) => {
  const { turn, matcher, outbox, store } = around(t)
  matcher.put(nth(1))
  turn(append('1'), append('2'))
  const stored: DeliveryStats = {
    sent: 1,
    discarded: 0,
    tried: [],
    fails: 0,
    lastSuccess: at(2000),
    lastSuccessCode: 200,
  }
  const acked = (stats: DeliveryStats | undefined): Command => ({
    kind: 'ack',
    acks: [{ subscription: nthId(1), gone: [1], stats }],
  })
  Object.defineProperty(store, 'hasRoom', { value: () => false })
  for (let times = 0; times < 2; times += 1) {
    t.match(turn(append('3'), acked(stored)), [{ kind: 'failed', why: 'storageFull' }, { kind: 'acked' }])
    const { notices, stats } = await outbox()
    t.match(notices, [{ number: 2, notice: { body: 'Silo1: level=2' } }])
    t.same([...stats], [[nthId(1), stored]])
  }
  turn(acked(undefined))
  t.equal((await outbox()).stats.size, 0)
})
