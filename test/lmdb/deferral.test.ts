import assert from 'node:assert/strict'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { type Test, test } from 'tap'
import { PartitionReaders } from '../../src/broker/front-end/partition-readers.js'
import { RecentEntities } from '../../src/broker/front-end/recent-entities.js'
import { StorageFull } from '../../src/faults.js'
import type { NewNotice, NoticeNumber } from '../../src/model/subscription/notice.js'
import type { SubscriptionId } from '../../src/model/subscription/subscription.js'
import { decideTurn } from '../../src/partition/turn/decide.js'
import { commitTurn, type TurnParts } from '../../src/partition/turn/turn.js'
import { decodeEntity } from '../../src/storage/records/record.js'
import type { TurnChanges } from '../../src/storage/records/store.js'
import { Memtable } from '../../src/storage/store/memtable.js'
import { PartitionReader } from '../../src/storage/store/partition-reader.js'
import { PartitionStore } from '../../src/storage/store/partition-store.js'
import { ReadPool } from '../../src/storage/store/read-pool.js'
import { Versions } from '../../src/threads/shared-memory/versions.js'
import { entity } from '../context/given-entity.js'
import {
  command,
  given,
  id,
  matcher,
  noWords,
  path,
  query,
  root,
  storeSettings,
  takeTurn,
  tenant,
  type,
} from '../given.js'
import { notice, subscriptionId } from '../given-subscription.js'
import { runs } from '../runs.js'
import { anyCommand, countsIn, Model } from './model.js'

/** A store whose LMDB follows its log, with a reader such as other threads have. */
class Deferring {
  readonly memtable: Memtable
  readonly store: PartitionStore
  readonly reader: PartitionReader
  readonly versions: Versions
  /** Whether LMDB cannot be written since the disk is full. */
  isFull = false
  readonly #parts: TurnParts

  constructor(folder: string, memory_bytes: number, cache_bytes = 2 ** 20) {
    const [memory, versionMemory] = [Memtable.memory(memory_bytes), Versions.memory()]
    const versions = new Versions(versionMemory)
    this.versions = new Versions(versionMemory)
    this.memtable = new Memtable(memory)
    this.store = new PartitionStore(folder, storeSettings, {
      cache_bytes,
      deferral: { memtable: this.memtable, versions },
      writing: {
        begun: () => {
          if (this.isFull) throw new StorageFull('no space for LMDB')
        },
        goesOn: () => {},
        recovers: () => {},
        ended: () => {},
      },
    })
    this.reader = new PartitionReader(folder, storeSettings, new Versions(versionMemory), new Memtable(memory))
    this.#parts = { store: this.store, interpret: noWords, matcher: matcher(), versions }
  }

  take(commands: Parameters<typeof takeTurn>[1]): void {
    takeTurn(this.#parts, commands)
  }

  /** A turn that fails when its record is in the log: its key is longer than LMDB takes, which is to have its notices at once. */
  fail(commands: Parameters<typeof takeTurn>[1]): void {
    const acks = [{ subscription: 'x'.repeat(5000) as SubscriptionId, gone: [], stats: undefined }]
    const { changes } = decideTurn(this.#parts, commands)
    assert.throws(() => commitTurn(this.#parts, { ...changes, notices: [sharedNotice()], acks }))
  }

  /** A turn that also makes a notice. */
  notify(commands: Parameters<typeof takeTurn>[1], made: NewNotice = notice()): void {
    this.#commit({ ...decideTurn(this.#parts, commands).changes, notices: [made] })
  }

  /** A turn in which notices have left. */
  ack(...gone: readonly NoticeNumber[]): void {
    this.#commit({ ...decideTurn(this.#parts, []).changes, acks: [{ subscription: receiver, gone, stats: undefined }] })
  }

  #commit(changes: TurnChanges): void {
    commitTurn(this.#parts, changes)
    this.#parts.versions.end()
  }

  async close(): Promise<void> {
    await this.reader.close()
    await this.store.close()
  }
}

function silo(name: string, value: string): ReturnType<typeof command> {
  return command('APPEND', name, [given('level', value)], { type: type('Silo') })
}

const receiver = subscriptionId()

/** Notices of many subscriptions that show the same. */
function sharedNotice(): NewNotice {
  const { subscription: _, body: __, after: ___, ...common } = notice()
  return { ...common, subscriptions: [receiver, subscriptionId()], entity: entity({ id: 'Tank1' }) }
}

function opened(t: Test): Deferring {
  const deferring = new Deferring(t.testdir(), 2 ** 20)
  t.teardown(() => deferring.close())
  return deferring
}

test('a reader sees a turn at once by its id, and in snapshots when LMDB has followed', (t) => {
  const deferring = opened(t)
  deferring.take([silo('S1', '1'), silo('S2', '2')])
  t.match(deferring.reader.entities(tenant, root, id('S2'), 10_000), [{ attributes: [{ value: '2' }] }])
  t.equal(deferring.memtable.isApplied, false)
  const before = deferring.reader.snapshot()
  t.equal([...before.all(tenant)].length, 0)
  before.close()
  deferring.store.applyPublished()
  t.equal(deferring.memtable.isApplied, true)
  const after = deferring.reader.snapshot()
  t.equal([...after.all(tenant)].length, 2)
  after.close()
  t.end()
})

test('what was published stays while LMDB cannot be written, and nothing is taken that LMDB must have at once', (t) => {
  const deferring = opened(t)
  deferring.take([silo('S1', '1')])
  deferring.isFull = true
  deferring.store.applyPublished()
  t.equal(deferring.memtable.isApplied, false)
  t.match(deferring.store.entities(tenant, root, id('S1')), [{ attributes: [{ value: '1' }] }])
  t.match(deferring.reader.entities(tenant, undefined, id('S1'), 10_000), [{ attributes: [{ value: '1' }] }])
  t.throws(() => deferring.notify([silo('S1', '2')], sharedNotice()), { name: 'StorageFull' })
  t.equal(deferring.store.isFull, true)
  deferring.isFull = false
  deferring.store.applyPublished()
  t.equal(deferring.memtable.isApplied, true)
  const after = deferring.reader.snapshot()
  t.match(decodeEntity([...after.all(tenant)][0]?.read() ?? ''), { attributes: [{ value: '1' }] })
  after.close()
  t.end()
})

test('a backup is refused while LMDB cannot have what was acknowledged, and a node that has the log is sent what there is', (t) => {
  const deferring = opened(t)
  const { store } = deferring
  const before = store.pin('transfer').applied
  deferring.take([silo('S1', '1')])
  deferring.isFull = true
  t.throws(() => store.pin('backup'), { name: 'StorageFull' })
  t.notOk(store.unpin('backup'))
  t.equal(store.pin('transfer').applied, before)
  deferring.isFull = false
  t.equal(store.pin('backup').applied, store.wal.last)
  t.equal(store.pin('transfer').applied, store.wal.last)
  t.end()
})

test('a query is refused while the last updates cannot be written to LMDB, and a single id is read nevertheless', async (t) => {
  const deferring = opened(t)
  const { reader, store, memtable, versions } = deferring
  const ended = new AbortController()
  void memtable.whenWanted(() => store.applyForReader(), ended.signal)
  // Waits for shared memory keep no process alive.
  const alive = setInterval(() => {}, 1000)
  t.teardown(() => {
    ended.abort()
    clearInterval(alive)
  })
  const pool = new ReadPool(ReadPool.memory(2), 0, { on: false, free: () => {}, waited: () => {} })
  const patient = (patience_ms: number) =>
    new PartitionReaders([{ reader, pool, versions }], new RecentEntities(2 ** 20), patience_ms)
  const all = query()
  const limits = { page_bytes: 2 ** 20 }
  deferring.isFull = true
  deferring.take([silo('S1', '1')])
  t.same(await patient(20).query(all, limits), { ok: false, error: { kind: 'notApplied' } })
  const single = await patient(20).entities(tenant, all.paths, id('S1'))
  t.match(single, [{ attributes: [{ value: '1' }] }])
  t.equal(pool.free, 2, 'who is refused holds nothing')
  deferring.isFull = false
  t.match(await patient(60_000).query(all, limits), { ok: true, value: { records: { length: 1 } } })
})

test('LMDB takes the longest names that are accepted, so that nothing in the log can keep it from following', (t) => {
  const deferring = opened(t)
  // The longest key is that of a count: it has the tenant, the path and three names.
  const longest = '\u0001'.repeat(256)
  const where = path(`/${Array.from({ length: 10 }, () => 'p'.repeat(50)).join('/')}`)
  const attribute = given(longest, '1', { type: longest })
  deferring.take([command('APPEND', longest, [attribute], { type: type(longest), path: where })])
  t.equal(deferring.memtable.isApplied, false)
  deferring.store.applyPublished()
  t.equal(deferring.memtable.isApplied, true)
  t.end()
})

test('behind a read that had to wait, turns are applied at once for a while', (t) => {
  const deferring = opened(t)
  deferring.take([silo('S1', '1')])
  deferring.store.applyForReader()
  deferring.take([silo('S1', '2')])
  t.equal(deferring.memtable.isApplied, true)
  t.end()
})

test('turns and readers agree with a list in memory, whenever LMDB follows', async (t) => {
  const turn = fc.record({
    commands: fc.array(anyCommand, { minLength: 1, maxLength: 5 }),
    how: fc.constantFrom('take', 'take', 'take', 'fail', 'notify'),
    next: fc.constantFrom('goes on', 'goes on', 'goes on', 'applies', 'closes', 'dies'),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.array(turn, { maxLength: 12 }),
      fc.constantFrom(300, 1000, 2 ** 20),
      fc.integer({ min: 0, max: 4000 }),
      async (turns, memory_bytes, cache_bytes) => {
        const folders = t.testdir()
        let number = 0
        const folder = (): string => join(folders, String(number))
        let deferring = new Deferring(folder(), memory_bytes, cache_bytes)
        const model = new Model()
        for (const { commands, how, next } of turns) {
          deferring[how as 'take' | 'fail' | 'notify'](commands)
          if (how !== 'fail') for (const each of commands) model.apply(each)
          for (const [name, where] of named) {
            const expected = model.entities.filter((entity) => entity.id === name && entity.path === where)
            assert.deepEqual(deferring.store.entities(tenant, where, name), expected)
            const everywhere = deferring.reader.entities(tenant, undefined, name, 2 ** 20) ?? []
            assert.deepEqual(
              [...everywhere].sort((a, b) => a.sequence - b.sequence),
              model.entities.filter((entity) => entity.id === name),
            )
            const read = deferring.reader.entities(tenant, where, name, 2 ** 20) ?? []
            assert.deepEqual(
              [...read].sort((a, b) => a.sequence - b.sequence),
              expected,
            )
          }
          if (next === 'goes on') continue
          if (next === 'applies') deferring.store.applyPublished()
          else {
            // Whoever dies leaves the files as they are.
            const left = folder()
            if (next === 'dies') cpSync(left, join(folders, String(number + 1)), { recursive: true })
            await deferring.close()
            if (next === 'dies') number += 1
            deferring = new Deferring(folder(), memory_bytes, cache_bytes)
          }
          const snapshot = deferring.reader.snapshot()
          const all = [...snapshot.all(tenant)].map((candidate) => decodeEntity(candidate.read()))
          assert.deepEqual(all, model.entities)
          for (const kind of ['', 'T', 'U'].map(type)) {
            const ofType = [...snapshot.ofType(tenant, kind)].map((candidate) => decodeEntity(candidate.read()))
            assert.deepEqual(
              ofType,
              model.entities.filter((entity) => entity.type === kind),
            )
          }
          assert.deepEqual(countsIn(snapshot), model.counts())
          snapshot.close()
        }
        await deferring.close()
      },
    ),
    { numRuns: runs(40) },
  )
})

const named = ['E', 'F'].flatMap((name) => ['/', '/a'].map((where) => [id(name), path(where)] as const))
