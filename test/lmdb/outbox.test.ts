import assert from 'node:assert/strict'
import fc from 'fast-check'
import { type Test, test } from 'tap'
import { stateOf } from '../../src/model/subscription/change.js'
import type { BodyTerms, ShownChange } from '../../src/model/subscription/message.js'
import type { NewNotice, SharedChange, SharedNotice, StoredNotice } from '../../src/model/subscription/notice.js'
import type { SubscriptionId } from '../../src/model/subscription/subscription.js'
import { type Environment, openEnvironment } from '../../src/storage/environment/environment.js'
import { noticeWrite } from '../../src/storage/records/notice-write.js'
import { decodeNotice, encodeNotice } from '../../src/storage/records/outbox-record.js'
import { checkOutbox } from '../../src/storage/store/check/outbox-check.js'
import { groupOf, Outbox } from '../../src/storage/store/outbox.js'
import { noticeAt, noticesAfter, noticesBefore, OutboxReader } from '../../src/storage/store/outbox-reader.js'
import { attribute, entity } from '../context/given-entity.js'
import { storeSettings } from '../given.js'
import { notice, subscriptionId } from '../given-subscription.js'
import { runs } from '../runs.js'

/** An outbox on disk whose writer and readers are this test. */
class OnDisk {
  readonly environment: Environment
  readonly outbox: Outbox

  constructor(t: Test, folder = t.testdir()) {
    this.environment = openEnvironment(folder, { ...storeSettings, readOnly: false })
    this.outbox = new Outbox(this.environment, folder)
    t.teardown(() => this.environment.root.close())
  }

  enqueue(...notices: readonly NewNotice[]): void {
    this.environment.root.transactionSync(() => this.outbox.enqueue(notices.map(noticeWrite)))
  }

  ack(...gone: readonly number[]): void {
    const ack = { subscription: subscriptionId(), gone, stats: undefined }
    this.environment.root.transactionSync(() => this.outbox.ack([ack]))
  }

  /** For whom what is there is, by number; read in portions. */
  held(portion = 1000): readonly (readonly [number, SubscriptionId])[] {
    const all: (readonly [number, SubscriptionId])[] = []
    for (let after = 0; ; ) {
      const found = noticesAfter(this.environment, after, portion)
      for (const { number, notice } of found) all.push([number, notice.subscription])
      if (found.length < portion) return all
      after = found.at(-1)?.number ?? 0
    }
  }

  /** The numbers of what is there, read backwards in portions. */
  heldBackwards(portion: number): readonly number[] {
    const all: number[] = []
    for (let before = this.outbox.last + 1; ; ) {
      const found = noticesBefore(this.environment, before, portion)
      all.push(...found.map(({ number }) => number))
      if (found.length < portion) return all
      before = found.at(-1)?.number ?? 0
    }
  }

  get entries(): readonly number[] {
    const { notices, groups, shown } = this.environment
    return [notices, groups, shown].map((database) => database.getKeysCount({}))
  }
}

function shared(subscriptions: number, value = '1'): SharedNotice {
  const { subscription: _, body: __, after: ___, ...common } = notice()
  const ids = Array.from({ length: subscriptions }, () => subscriptionId())
  return { ...common, subscriptions: ids, entity: entity({ id: 'Tank1', attributes: [attribute('level', value)] }) }
}

test('what many are told of one change is stored once, and gone when the last of them has it', async (t) => {
  const disk = new OnDisk(t)
  const many = shared(600, 'x'.repeat(100_000))
  const written = disk.environment.root.transactionSync(() => disk.outbox.enqueue([noticeWrite(many)]))
  t.ok(written < 150_000, 'the value of 100,000 characters is written once')
  t.equal(disk.outbox.last, 600)
  t.same(disk.entries, [0, 3, 2])
  t.match(noticeAt(disk.environment, 300), { subscription: many.subscriptions[299], entity: { id: 'Tank1' } })
  const numbers = many.subscriptions.map((_, at) => at + 1)
  disk.ack(...numbers.filter((number) => number !== 300))
  t.same(disk.held(), [[300, many.subscriptions[299]]])
  t.equal(noticeAt(disk.environment, 299), undefined)
  t.match(noticeAt(disk.environment, 300), { entity: { id: 'Tank1' } })
  disk.ack(300)
  t.same(disk.entries, [0, 0, 0])
})

/** Messages about a change, each with a template of its own. */
function sharedChange(subscriptions: number, held = 'x', template = ''): SharedChange {
  const { subscription: _, body: __, correlator: ___, message: ____, after: _____, ...common } = notice()
  const ids = Array.from({ length: subscriptions }, () => subscriptionId())
  const messages = ids.map((id, at) => ({
    correlator: `c; cbnotif=${at + 1}`,
    message: { format: 'custom', url: `http://127.0.0.1/${at}` },
    terms: bodyTerms(id, `ä${at} \${level} ${template}`),
  }))
  const change = stateOf(common.tenant, entity({ id: 'Tank1', attributes: [attribute('level', held)] }))
  return { ...common, subscriptions: ids, messages, shown: { change, time: common.made, steps: 1000 } }
}

function bodyTerms(id: SubscriptionId, payload: string): BodyTerms {
  const target = { kind: 'http', timeout_ms: 0, custom: { payload } } as const
  const shown = { format: 'normalized', excepts: false, metadata: [], onlyChanged: false, covered: false } as const
  return { id, attributes: [], onMetadata: true, notification: { target, ...shown } }
}

test('a change that many messages show is stored once, and each is given back as a notice of its own', async (t) => {
  const disk = new OnDisk(t)
  const held = 'xä'.repeat(50_000)
  const many = sharedChange(600, held)
  const written = disk.environment.root.transactionSync(() => disk.outbox.enqueue([noticeWrite(many)]))
  t.ok(written < 400_000, `${written} characters`)
  t.same(disk.entries, [0, 3, 2])
  const own = { correlator: 'c; cbnotif=300', message: { format: 'custom', url: 'http://127.0.0.1/299' } }
  const whole = { subscription: many.subscriptions[299], ...own, body: undefined, shown: many.shown }
  t.match(noticeAt(disk.environment, 300), { ...whole, terms: many.messages[299]?.terms })
  const [numbered] = noticesAfter(disk.environment, 299, 1)
  t.match(numbered, { number: 300, body_bytes: undefined, notice: own })
  const findings: unknown[] = []
  const found = {
    add: (...of: unknown[]) => findings.push(of),
    attempt: <Read>(_: string, __: unknown, ___: string, read: () => Read) => read(),
  }
  t.equal(checkOutbox(disk.environment, 'folder', found as never), 4)
  t.same(findings, [])
  const numbers = many.subscriptions.map((_, at) => at + 1)
  disk.ack(...numbers.filter((number) => number !== 300))
  t.match(noticeAt(disk.environment, 300), whole)
  disk.ack(300)
  t.same(disk.entries, [0, 0, 0])
})

test('the terms of a message are those of its subscription, whatever has been encoded with parts of them', async (t) => {
  const terms = bodyTerms(subscriptionId(), 'y'.repeat(1000))
  const versions = [terms, { ...terms, attributes: ['level'] }, { ...terms, onMetadata: false }, terms]
  for (const version of [...versions, ...versions]) {
    const messages = [{ correlator: 'c; "', terms: version }]
    const told: SharedChange = { ...sharedChange(1), subscriptions: [version.id], messages }
    const disk = new OnDisk(t)
    disk.enqueue(told)
    const notice = noticeAt(disk.environment, 1)
    t.match(notice, { correlator: 'c; "' })
    t.same(notice !== undefined && 'terms' in notice && notice.terms, version)
  }
})

test('what many are told is read once for all of them, however large it is', async (t) => {
  const folder = t.testdir()
  const disk = new OnDisk(t, folder)
  disk.enqueue(sharedChange(200, 'x'.repeat(900_000)), sharedChange(200, 'y'.repeat(900_000)))
  const reader = new OutboxReader(folder, storeSettings, assert.fail)
  t.teardown(() => reader.close())
  for (const first of [1, 201]) {
    const [one, other] = [shownBy(reader.at(first)), shownBy(reader.at(first + 1))]
    t.equal(one, other)
    disk.ack(first)
    reader.refresh()
    t.equal(reader.at(first), undefined)
    t.equal(shownBy(reader.at(first + 2)), one, 'also in a later snapshot')
  }
})

test('a group of notices is decoded once, however many slices of it are read', async (t) => {
  const folder = t.testdir()
  const disk = new OnDisk(t, folder)
  disk.enqueue(sharedChange(200, 'x'))
  const reader = new OutboxReader(folder, storeSettings, assert.fail)
  t.teardown(() => reader.close())
  const { parse } = JSON
  let decoded = 0
  t.teardown(() => {
    JSON.parse = parse
  })
  JSON.parse = (text, ...rest) => {
    decoded += 1
    return parse(text, ...rest)
  }
  const numbers = [0, 50, 100, 150].flatMap((after) => reader.after(after, 50).map(({ number }) => number))
  t.equal(numbers.length, 200)
  t.equal(decoded, 1)
})

function shownBy(notice: StoredNotice | 'damaged' | undefined): ShownChange {
  if (notice === undefined || notice === 'damaged' || !('shown' in notice)) throw new Error('it shows no change')
  return notice.shown
}

test('a group of messages with long templates is short, since it is written again with each that leaves', async (t) => {
  const disk = new OnDisk(t)
  disk.enqueue(sharedChange(20, 'x', 'y'.repeat(100_000)))
  t.same(disk.entries, [0, 20, 2])
  disk.ack(...Array.from({ length: 20 }, (_, at) => at + 1))
  t.same(disk.entries, [0, 0, 0])
})

test('whatever is put in and leaves, in whatever order and twice, what is left is what did not leave', async (t) => {
  const disk = new OnDisk(t)
  const step = fc.oneof(
    fc.record({ put: fc.array(fc.constantFrom(0, 0, 1, 2, 255, 257, 513), { minLength: 1, maxLength: 3 }) }),
    fc.record({ leave: fc.array(fc.nat(4000), { maxLength: 300 }), again: fc.boolean() }),
  )
  await fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), fc.constantFrom(3, 128, 1000), (steps, portion) => {
      const begun = disk.outbox.last
      const expected = new Map<number, SubscriptionId>()
      for (const each of steps) {
        if ('put' in each) {
          const notices = each.put.map((size) =>
            size === 0
              ? notice({ subscription: subscriptionId() })
              : size % 2 === 0
                ? sharedChange(size)
                : shared(size),
          )
          let number = disk.outbox.last
          for (const one of notices) {
            const ids = 'subscriptions' in one ? one.subscriptions : [one.subscription]
            for (const id of ids) expected.set(++number, id)
          }
          disk.enqueue(...notices)
        } else {
          const numbers = each.leave.map((number) => begun + number)
          for (const number of numbers) expected.delete(number)
          disk.ack(...numbers)
          if (each.again) disk.ack(...numbers)
        }
      }
      t.strictSame(disk.held(portion), [...expected])
      t.strictSame(disk.heldBackwards(portion), [...expected.keys()].reverse())
      disk.ack(...expected.keys())
      t.same(disk.entries, [0, 0, 0])
    }),
    { numRuns: runs(25) },
  )
})

test('of large notices few are read at once, in the order of all', async (t) => {
  const disk = new OnDisk(t)
  const large = () => notice({ subscription: subscriptionId(), body: 'x'.repeat(700_000) })
  disk.enqueue(large(), shared(3), large(), shared(3), large(), shared(3))
  const numbers: number[][] = []
  for (let after = 0; after < disk.outbox.last; after = numbers.at(-1)?.at(-1) ?? 0) {
    numbers.push(noticesAfter(disk.environment, after, 128).map(({ number }) => number))
  }
  t.same(numbers, [
    [1, 2, 3, 4, 5],
    [6, 7, 8, 9, 10, 11, 12],
  ])
})

test('a group that was undone with its transaction has left nothing', async (t) => {
  const disk = new OnDisk(t)
  disk.enqueue(shared(3))
  t.throws(() =>
    disk.environment.root.transactionSync(() => {
      disk.outbox.enqueue([noticeWrite(shared(300))])
      throw new Error('undone')
    }),
  )
  disk.outbox.rewind(3)
  t.equal(groupOf(disk.environment, 4), undefined)
  t.same(disk.entries, [0, 1, 2])
})

test('a notice as it was stored before there were groups is read as ever', async (t) => {
  const stored = `["5718a2f1c0de00112233aabb",["entity","/ 4 TankTank1"],5,"acme",["/"],"corr","tok",[1,2]]\n{"a":"b"}`
  const read = decodeNotice(stored)
  t.match(read, {
    orderingKey: { kind: 'entity', key: '/ 4 TankTank1' },
    made: 5,
    tenant: 'acme',
    token: 'tok',
    body: '{"a":"b"}',
  })
  t.same(read.after, [1, 2])
  t.equal(encodeNotice(read), stored)
})
