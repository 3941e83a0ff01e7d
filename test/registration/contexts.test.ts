import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import type { Tenant } from '../../src/model/context/entity.js'
import {
  compareContexts,
  type IndexedContext,
  OrderedContexts,
  resourceIdOf,
  withoutContexts,
} from '../../src/model/registration/contexts.js'
import type { Registration, RegistrationId } from '../../src/model/registration/registration.js'
import type { RegistrationIndex } from '../../src/model/registration/registration-index.js'
import { path, tenant } from '../given.js'
import { staysWithin } from '../pace.js'
import { runs } from '../runs.js'
import { context, indexOf, registration } from './given.js'

const pool = Array.from({ length: 6 }, (_, order) =>
  registration(
    order,
    Array.from({ length: 1 + (order % 3) }, () => context('S4')),
  ),
)

function contextsOf(each: Registration): readonly IndexedContext[] {
  return each.contexts.map((context, at) => ({ registration: each, at, context }))
}

test('whatever came and went, in whatever order, and whenever somebody looked, all that are there are there in order', async () => {
  const steps = fc.array(fc.tuple(fc.nat(pool.length - 1), fc.boolean()), { maxLength: 60 })
  fc.assert(
    fc.property(steps, (history) => {
      const contexts = new OrderedContexts()
      const held = new Map<Registration, readonly IndexedContext[]>()
      for (const [which, looks] of history) {
        const each = pool[which] ?? registration(9, [])
        if (held.delete(each)) contexts.leave(each)
        else {
          held.set(each, contextsOf(each))
          for (const one of contextsOf(each)) contexts.enter(one)
        }
        const expected = [...held.values()].flat().sort(compareContexts)
        assert.equal(contexts.size, expected.length)
        if (looks) assert.deepEqual(contexts.all, expected)
      }
    }),
    { numRuns: runs(500) },
  )
})

test('a hundred thousand registrations go one by one in the time that it takes to name them', async (t) => {
  const all = Array.from({ length: 100_000 }, (_, order) => registration(order, [context('S4')]))
  const isLinear = await staysWithin(2000, () => {
    const contexts = new OrderedContexts()
    for (const each of all.toReversed()) for (const one of contextsOf(each)) contexts.enter(one)
    for (const each of all.slice(0, -1)) contexts.leave(each)
    t.equal(contexts.all.length, 1)
  })
  t.ok(isLinear)
})

const three = registration(1, [context('S1'), context('S2'), context('S3')])
const whole = { tenant, paths: undefined, offset: 0, limit: 100 }

/** The ids of the resources of an index by the only entity of each. */
function idsIn(index: RegistrationIndex): Readonly<Record<string, RegistrationId>> {
  const { resources } = index.page(whole)
  return Object.fromEntries(resources.map((each) => [each.context.entities[0]?.id, resourceIdOf(each)]))
}

test('each context is a resource: the first has the id of its registration, and all have one of that form', async (t) => {
  const ids = idsIn(indexOf(three))
  t.equal(ids['S1'], three.id)
  t.equal(new Set(Object.values(ids)).size, 3)
  for (const id of Object.values(ids)) t.match(id, /^00000000[0-9a-f]{16}$/)
  t.same(idsIn(indexOf(three)), ids, 'the same at every start')
})

test('what loses a context keeps the ids of the others, and ends with the last', async (t) => {
  const index = indexOf(three)
  const before = idsIn(index)
  index.apply([withoutContexts(three, (_, at) => at === 0)])
  const { S1: first, ...others } = before
  t.same(idsIn(index), others)
  t.equal(index.resource(tenant, first ?? three.id), undefined)
  const left = index.get(three.id) ?? three
  index.apply([withoutContexts(left, ({ ordinal }) => ordinal === 1)])
  t.same(idsIn(index), { S3: before['S3'] })
  t.same(
    withoutContexts(left, () => true),
    { kind: 'remove', id: three.id },
  )
})

test('a resource is found by its id in its tenant, until its registration is replaced or removed', async (t) => {
  const index = indexOf(three)
  const { S2 = three.id } = idsIn(index)
  t.equal(index.resource(tenant, S2)?.at, 1)
  t.equal(index.resource('acme' as Tenant, S2), undefined)
  t.equal(index.resource('acme' as Tenant, three.id), undefined)
  index.put(registration(1, [context('S9')]))
  t.equal(index.resource(tenant, S2), undefined)
  t.equal(index.resource(tenant, three.id)?.context.entities[0]?.id, 'S9')
  index.remove(three.id)
  t.equal(index.resource(tenant, three.id), undefined)
  t.equal(index.resource(tenant, 'nothing' as RegistrationId), undefined)
})

test('a page has the resources in the order of creation, with the number of all', async (t) => {
  const acme = registration(4, [context('S7')], { tenant: 'acme' as Tenant })
  const index = indexOf(registration(3, [context('S5')]), three, registration(2, [context('S4')]), acme)
  const page = (offset: number, limit: number) => {
    const { count, resources } = index.page({ ...whole, offset, limit })
    return [count, ...resources.map((each) => each.context.entities[0]?.id)]
  }
  t.same(page(0, 20), [5, 'S1', 'S2', 'S3', 'S4', 'S5'])
  t.same(page(2, 2), [5, 'S3', 'S4'])
  t.same(page(9, 2), [5])
  t.same(page(0, 0), [5])
  index.remove(three.id)
  t.same(page(0, 20), [2, 'S4', 'S5'])
})

test('a path finds the registrations whose path is written exactly so', async (t) => {
  const index = indexOf(
    registration(1, [context('S1')], { path: path('/a') }),
    registration(2, [context('S2')], { path: path('/a/b') }),
  )
  const found = (text: string, below: boolean) =>
    index.page({ ...whole, paths: [{ path: path(text), below }] }).resources.map(({ at }) => at).length
  t.equal(found('/a', false), 1)
  t.equal(found('/a', true), 0, 'none is written with a wildcard')
  t.equal(found('/', false), 0)
})
