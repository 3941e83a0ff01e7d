import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import type { Tenant } from '../../src/model/context/entity.js'
import type { Selector } from '../../src/model/context/query.js'
import type { AvailabilitySubscription } from '../../src/model/registration/availability.js'
import {
  everyIdPattern,
  forwardingModes,
  type Registration,
  type RegistrationId,
  registrationStatuses,
} from '../../src/model/registration/registration.js'
import type { Notice } from '../../src/model/subscription/notice.js'
import type { SubscriptionId } from '../../src/model/subscription/subscription.js'
import { MetadataStore } from '../../src/storage/store/metadata-store.js'
import { at, id, path, root, storeSettings, tenant, type } from '../given.js'
import { context, exact, registration } from '../registration/given.js'
import { runs } from '../runs.js'
import { storedAfter } from './stored-notices.js'

function opened(folder: string): MetadataStore {
  return new MetadataStore(folder, storeSettings, assert.fail)
}

const text = fc.string({ unit: 'grapheme', maxLength: 8 })
const hexadecimal = fc.stringMatching(/^[0-9a-f]{24}$/)
const entities = fc.oneof(
  fc.record({ id: text.map(id), type: text.map(type) }),
  text.map((kind) => ({ id: everyIdPattern, type: type(kind), everyId: true }) as const),
)
const registrations: fc.Arbitrary<Registration> = fc.record({
  id: hexadecimal.map((digits) => digits as RegistrationId),
  order: fc.nat(),
  tenant: text.map((name) => name as Tenant),
  path: text.map((name) => path(`/${name}`)),
  expires: fc.nat().map(at),
  contexts: fc.array(
    fc.record({
      entities: fc.array(entities, { maxLength: 3 }),
      attributes: fc.array(fc.record({ name: text, type: text, isDomain: fc.boolean() }), { maxLength: 3 }),
      provider: text,
    }),
    { maxLength: 3 },
  ),
  copiedFrom: fc.option(text, { nil: undefined }),
  terms: fc.option(
    fc.record({
      description: text,
      status: fc.constantFrom(...registrationStatuses),
      mode: fc.constantFrom(...forwardingModes),
      legacy: fc.boolean(),
    }),
    { nil: undefined },
  ),
})
const selectors: fc.Arbitrary<Selector> = fc.record({
  id: fc.oneof(
    text.map((name) => ({ kind: 'exact', id: id(name) }) as const),
    text.map((pattern) => ({ kind: 'pattern', pattern }) as const),
    fc.constant({ kind: 'any' } as const),
  ),
  type: fc.option(text.map(type), { nil: undefined }),
})
const subscriptions: fc.Arbitrary<AvailabilitySubscription> = fc.record({
  id: hexadecimal.map((digits) => digits as SubscriptionId),
  order: fc.nat(),
  tenant: text.map((name) => name as Tenant),
  selectors: fc.array(selectors, { maxLength: 3 }),
  attributes: fc.array(text, { maxLength: 3 }),
  reference: text,
  expires: fc.nat().map(at),
})

test('what is stored comes back as it was', async (t) => {
  const store = opened(t.testdir())
  t.teardown(() => store.close())
  await fc.assert(
    fc.asyncProperty(registrations, subscriptions, async (each, put) => {
      await store.commitRegistry({ registrations: [{ kind: 'put', registration: each }], put })
      assert.deepEqual([...store.registrations()], [structuredClone(each)])
      assert.deepEqual([...store.availability()], [structuredClone(put)])
      await store.commitRegistry({ registrations: [{ kind: 'remove', id: each.id }], remove: [put.id] })
      assert.deepEqual([[...store.registrations()], [...store.availability()]], [[], []])
    }),
    { numRuns: runs(50) },
  )
})

test('a change with its notices is there whole when the store is opened again', async (t) => {
  const folder = t.testdir()
  const first = opened(folder)
  const stored = registration(1, [context('S4', 'noise')])
  const notice: Notice = {
    subscription: '65535a000000000000000001' as SubscriptionId,
    orderingKey: { kind: 'availability' },
    made: at(5),
    tenant,
    paths: [root],
    correlator: 'c',
    token: '',
    body: '{}',
    after: undefined,
  }
  const put = { id: notice.subscription, order: 1, tenant, selectors: [exact('S4')], attributes: [], expires: at(9) }
  const subscription = { ...put, reference: 'http://maps.example' }
  await first.commitRegistry({
    registrations: [{ kind: 'put', registration: stored }],
    put: subscription,
    notices: [notice],
  })
  await first.close()
  const store = opened(folder)
  t.teardown(() => store.close())
  t.same([...store.registrations()], [{ ...stored, copiedFrom: undefined, terms: undefined }])
  t.same([...store.availability()], [subscription])
  t.same(
    storedAfter(store.outbox.databases, 0, 9).map((each) => each.notice),
    [notice],
  )
})

test('a registration as it was stored before there were terms is one of NGSIv1', async (t) => {
  const store = opened(t.testdir())
  t.teardown(() => store.close())
  const contexts = '[[[["S4","Street"]],[["noise","dB",1]],"http://p.example"],[[["S5",""]],[],"http://q.example"]]'
  const write = (id: string, text: string) => ({ database: 'registrations', id, text }) as const
  const writes = [
    write('65535a000000000000000001', `[7,"acme","/west",99,${contexts}]`),
    write('65535a000000000000000002', `[8,"","/",99,${contexts},"a"]`),
  ]
  await store.transact({ writes }, true)
  const [first, second] = [...store.registrations()]
  t.same(first, {
    ...{ id: '65535a000000000000000001', order: 7, tenant: 'acme', path: '/west', expires: 99 },
    contexts: [
      {
        entities: [{ id: 'S4', type: 'Street' }],
        attributes: [{ name: 'noise', type: 'dB', isDomain: true }],
        provider: 'http://p.example',
      },
      { entities: [{ id: 'S5', type: '' }], attributes: [], provider: 'http://q.example' },
    ],
    copiedFrom: undefined,
    terms: undefined,
  })
  t.equal(second?.copiedFrom, 'a')
})

test('what is left of the contexts of a registration keeps its positions', async (t) => {
  const store = opened(t.testdir())
  t.teardown(() => store.close())
  const [first, second] = [context('S4'), { ...context('S6'), ordinal: 2 }]
  const left = registration(1, [first, second])
  await store.commitRegistry({ registrations: [{ kind: 'put', registration: left }] })
  t.same([...store.registrations()][0]?.contexts, [first, second])
})
