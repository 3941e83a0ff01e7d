import assert from 'node:assert'
import { type Test, test } from 'tap'
import { nextOfChange } from '../../src/broker/coordinator/change-protocol.js'
import { Subscriptions } from '../../src/broker/coordinator/subscriptions.js'
import { neverDelivered, type Recipient } from '../../src/delivery/queue/courier-protocol.js'
import { isUndecided } from '../../src/model/subscription/decisions.js'
import type { NoticeNumber } from '../../src/model/subscription/notice.js'
import type { Subscription, SubscriptionId } from '../../src/model/subscription/subscription.js'
import { ok } from '../../src/result.js'
import { ClusterLog } from '../../src/storage/etcd/cluster-log.js'
import type { LogLinkEnd } from '../../src/storage/etcd/log-link.js'
import { MetadataStore } from '../../src/storage/store/metadata-store.js'
import type { LogSequence } from '../../src/storage/wal/record-log.js'
import { Bell } from '../../src/threads/shared-memory/signals.js'
import { at, origin, rendering, root, silentLog, storeSettings, tenant } from '../given.js'
import { ImmediateLog } from '../replica/immediate-log.js'
import { during, until } from '../until.js'

/** The subscriptions of a single node, whose partition and courier fail as often as a test says. */
function givenSubscriptions(t: Test, link?: LogLinkEnd, grace_ms = 0) {
  let wal: ClusterLog | undefined
  const openLog =
    link &&
    ((applied: LogSequence): ClusterLog => {
      wal = new ClusterLog(link, applied)
      return wal
    })
  const store = new MetadataStore(t.testdir(), storeSettings, assert.fail, silentLog, openLog)
  t.teardown(() => store.close())
  const inPartition = new Map<SubscriptionId, Subscription>()
  const recipients = new Map<SubscriptionId, Recipient>()
  const faults = { left: 0 }
  const lines: string[] = []
  const carriedOut = (work: () => void): void => {
    faults.left -= 1
    if (faults.left >= 0) throw new Error('partition 0 has no thread')
    work()
  }
  const subscriptions = new Subscriptions({
    ...{ store, bell: new Bell(), grace_ms, limit: 100, legacyBody: ({ id }) => id, message: rendering.message },
    limits: { subscriptionsMax: 1000, patternSteps: 1000, perEntity: 1000, turnLimit_ms: 30_000 },
    state: async () => ok({ entities: [], more: false, count: undefined, lastNotices: [] }),
    partitions: {
      subscribe: async ({ subscription }) => {
        carriedOut(() => inPartition.set(subscription.id, subscription))
        return [0 as NoticeNumber]
      },
      unsubscribe: async (id) => carriedOut(() => inPartition.delete(id)),
    },
    courier: {
      put: (recipient) => void recipients.set(recipient.id, recipient),
      hold: async () => {},
      remove: async (id) => void recipients.delete(id),
      expire: async () => true,
      report: async (ids) => new Map(ids.map((id) => [id, neverDelivered])),
      inspected: async () => ({ state: 'idle', underWay: 0, attempts: [] }),
      receivers: async () => ({ count: 0, receivers: [] }),
    },
    again_ms: 1,
    log: { ...silentLog, error: (_op, line) => void lines.push(line) },
  })
  for (const loading = subscriptions.loading(); loading.next().done !== true; );
  // The pauses between attempts keep no process.
  const kept = setInterval(() => {}, 1000)
  t.teardown(() => clearInterval(kept))
  const request = {
    ...{ tenant, path: { path: root, below: true }, reference: 'http://127.0.0.1:1/', throttling_ms: 0, scopes: [] },
    ...{ selectors: [{ id: { kind: 'any' }, type: undefined } as const], attributes: [], onChange: [] },
    ...{ interval_ms: undefined, expires: at(8_000_000_000_000) },
  }
  return { subscriptions, store, wal, inPartition, recipients, faults, lines, requests: request }
}

const noPatch = {
  ...{ path: undefined, description: undefined, subject: undefined, notification: undefined },
  ...{ expires: undefined, status: undefined, throttling_ms: undefined },
}

/** What is asked for; fails unless it was done. */
async function done<Value>(result: Promise<{ readonly ok: boolean; readonly value?: Value }>): Promise<Value> {
  const { ok: isDone, value } = await result
  assert.ok(isDone)
  return value as Value
}

test('a change that is on disk is brought into force when a partition has failed over it', async (t) => {
  const { subscriptions, store, inPartition, recipients, faults, lines, requests: request } = givenSubscriptions(t)
  faults.left = 1
  const id = await done(subscriptions.add(request))
  t.ok(inPartition.has(id), 'what was created')
  faults.left = 2
  await done(subscriptions.patch({ ...noPatch, tenant, id, throttling_ms: 7000 }))
  t.equal(inPartition.get(id)?.throttling_ms, 7000, 'what was changed')
  faults.left = 1
  await done(subscriptions.unsubscribe(tenant, id))
  t.notOk(inPartition.has(id), 'what was removed')
  t.notOk(recipients.has(id))
  t.same(store.subscriptions(), [])
  t.equal(lines.length, 4, 'each failure has a line')
})

test('what is proposed and cannot be brought into force is withdrawn, and the next change is taken', async (t) => {
  const { subscriptions, store, inPartition, faults, requests: request } = givenSubscriptions(t)
  const id = await done(subscriptions.add(request))
  const change = (throttling_ms: number) =>
    subscriptions.change({
      ...{ tenant, id, path: undefined, duration_ms: undefined, scopes: undefined, origin, throttling_ms },
      conditions: { onChange: [], interval_ms: undefined },
    })
  faults.left = 1
  await t.rejects(change(5000), /no thread/)
  const [stored] = store.subscriptions()
  t.equal(stored && isUndecided(stored), false, 'it is decided on disk')
  t.equal(stored?.throttling_ms, 0)
  t.equal(inPartition.get(id)?.throttling_ms, 0)
  await done(change(6000))
  t.equal(store.subscriptions()[0]?.throttling_ms, 6000)
  t.equal(inPartition.get(id)?.throttling_ms, 6000)
})

test('a subscription that was not created is nowhere, whatever fails when it is taken back', async (t) => {
  const { subscriptions, store, inPartition, faults, requests } = givenSubscriptions(t)
  const { expires: _, ...request } = requests
  faults.left = 2
  await t.rejects(subscriptions.subscribe({ ...request, duration_ms: 1000, origin }), /no thread/)
  t.same(store.subscriptions(), [])
  t.equal(inPartition.size, 0)
  t.match(await subscriptions.page({ tenant, paths: undefined, offset: 0, limit: 10 }), { value: { count: 0 } })
})

test('a change whose log is given up since the process ends has an unknown outcome, and is not tried again', async (t) => {
  const log = new ImmediateLog()
  const { subscriptions, wal, lines, inPartition, requests: request } = givenSubscriptions(t, log.linkOf('a'))
  t.match(await wal?.campaign(0 as LogSequence, 0 as LogSequence), { ok: true })
  const id = await done(subscriptions.add(request))
  log.isGivenUp = true
  const unknown = { ok: false, error: { kind: 'outcomeUnknown' } }
  t.match(await subscriptions.add(request), unknown)
  t.match(await subscriptions.patch({ ...noPatch, tenant, id, throttling_ms: 7000 }), unknown)
  t.match(await subscriptions.unsubscribe(tenant, id), unknown)
  t.ok(inPartition.has(id))
  t.same(lines, [], 'nothing has failed')
})

test('in every state of a change, the end of the process ends it with what is known', async (t) => {
  const response = { fault: 'a fault' }
  const unknown = { ok: false, error: { kind: 'outcomeUnknown' } }
  for (const kind of ['proposing', 'asking', 'composing', 'committing'] as const) {
    t.match(nextOfChange({ kind }, { kind: 'givenUp' }), { kind: 'ended', response: unknown })
  }
  t.same(nextOfChange({ kind: 'withdrawing', response }, { kind: 'givenUp' }), { kind: 'ended', response })
  t.same(nextOfChange({ kind: 'enforcing', decision: 'committed', response }, { kind: 'givenUp' }), {
    kind: 'ended',
    response,
  })
})

test('subscriptions that expired long ago are removed a few at a time, and one that is prolonged meanwhile stays', async (t) => {
  const { subscriptions, inPartition, store, lines, requests } = givenSubscriptions(t, undefined, 1000)
  const expired = { ...requests, expires: at(1000) }
  const made = await Promise.all(Array.from({ length: 300 }, () => done(subscriptions.add(expired))))
  t.equal(inPartition.size, 300)
  const id = made.at(-1)
  if (id === undefined) return
  subscriptions.start()
  t.teardown(() => subscriptions.stop())
  const prolonged = subscriptions.patch({ ...noPatch, tenant, id, expires: at(8_000_000_000_000) })
  let mostInTurn = 0
  let before = 300
  await during(
    until(() => inPartition.size <= 1, 'all but one are removed'),
    () => {
      mostInTurn = Math.max(mostInTurn, before - inPartition.size)
      before = inPartition.size
    },
  )
  t.match(await prolonged, { ok: true })
  t.ok(mostInTurn <= 64, `${mostInTurn} in one turn`)
  t.same([...inPartition.keys()], [id])
  t.equal(store.subscriptions().length, 1)
  t.same(lines, [])
})

test('the index tells how many subscriptions there are, and no more of their ids than anybody shows', async (t) => {
  const { subscriptions, requests: request } = givenSubscriptions(t)
  const first = await done(subscriptions.add(request))
  t.match(await subscriptions.index(false), { count: 1, firstIds: [first] })
  await Promise.all(Array.from({ length: 69 }, () => done(subscriptions.add(request))))
  const { count, firstIds } = await subscriptions.index(false)
  t.equal(count, 70)
  t.equal(firstIds.length, 64)
  t.equal(firstIds[0], first)
})
