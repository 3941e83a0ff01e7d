import { deepEqual } from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import type { Tenant } from '../../src/model/context/entity.js'
import type { Selector } from '../../src/model/context/query.js'
import { AvailabilityIndex, type AvailabilitySubscription } from '../../src/model/registration/availability.js'
import { Copies, eachOnce, type ToldContexts, withoutRepeated } from '../../src/model/registration/contexts.js'
import { discovering } from '../../src/model/registration/discovery.js'
import { MeantEntities } from '../../src/model/registration/meant-entities.js'
import type { RegisteredContext, RegisteredEntity } from '../../src/model/registration/registration.js'
import type { RegistrationIndex } from '../../src/model/registration/registration-index.js'
import type { SubscriptionId } from '../../src/model/subscription/subscription.js'
import { atOnce } from '../../src/slices.js'
import { at, everywhere, path, tenant } from '../given.js'
import { runs } from '../runs.js'
import { any, context, discover, exact, pattern, registration, indexOf as registrationsOf } from './given.js'

const lookup = { tenant, paths: everywhere, now: at(0) }
const kinds = fc.constantFrom(undefined, 'Street', 'Alley')

function subscription(
  name: string,
  selectors: readonly Selector[],
  attributes: readonly string[] = [],
  more: Partial<AvailabilitySubscription> = {},
): AvailabilitySubscription {
  const reference = 'http://maps.example/sources'
  const order = Number(name)
  return { id: name as SubscriptionId, order, tenant, selectors, attributes, reference, expires: at(1000), ...more }
}

function indexOf(...subscriptions: readonly AvailabilitySubscription[]): AvailabilityIndex {
  const index = new AvailabilityIndex()
  for (const each of subscriptions) index.put(each)
  return index
}

function told(contexts: readonly RegisteredContext[]): ToldContexts {
  return atOnce(eachOnce(contexts))
}

function concerned(index: AvailabilityIndex, changed: ReturnType<typeof registration>, time: number) {
  return [...index.matchesOf(changed, at(time))].filter((one) => one !== undefined)
}

function awakened(index: AvailabilityIndex, ...contexts: ReturnType<typeof context>[]): readonly string[] {
  return concerned(index, registration(1, contexts), 0).map(({ subscription: { id } }) => id)
}

test('a subscription is awakened by its id and type, by its pattern and type, and without type by every type', async (t) => {
  const index = indexOf(
    subscription('4', [any()]),
    subscription('1', [exact('S4', 'Street')]),
    subscription('2', [pattern('^S', 'Street')]),
    subscription('3', [exact('S4')]),
  )
  t.same(awakened(index, context('S4:Street', 'noise')), ['1', '2', '3', '4'])
  t.same(awakened(index, context('S5:Street')), ['2', '4'])
  t.same(awakened(index, context('S4:Alley')), ['3', '4'])
  t.same(awakened(index, context('S4')), ['3', '4'], 'an entity without type is none of a type')
  t.same(awakened(index, context('')), [])
})

test('a subscription with attributes wants one of them in the same context as its entity', async (t) => {
  const index = indexOf(subscription('1', [exact('S4', 'Street')], ['noise', 'ozone']))
  t.same(awakened(index, context('S4:Street', 'traffic ozone')), ['1'])
  t.same(awakened(index, context('S4:Street', 'traffic')), [])
  t.same(awakened(index, context('S4:Street')), [])
  t.same(awakened(index, context('S4:Street', 'traffic'), context('S5:Street', 'noise')), [])
})

test('what it is sent is about those entities of the registration that it means, and no others', async (t) => {
  const index = indexOf(subscription('1', [pattern('^S[45]')], ['noise']))
  const changed = registration(1, [context('S4:Street S9:Street', 'noise'), context('S5', 'ozone')])
  const [first] = concerned(index, changed, 0)
  t.match(first?.discovery, {
    selectors: [exact('S4', 'Street'), exact('S5', '')],
    ofTypes: undefined,
    attributes: ['noise'],
  })
})

test('expired subscriptions, those of other tenants and removed ones are silent', async (t) => {
  const one = subscription('1', [exact('S4')], [], { expires: at(50) })
  const index = indexOf(one, subscription('2', [any()], [], { tenant: 'acme' as Tenant }))
  const changed = registration(1, [context('S4')])
  t.equal(concerned(index, changed, 49).length, 1)
  t.equal(concerned(index, changed, 50).length, 0)
  index.remove(one.id)
  t.equal(concerned(index, changed, 0).length, 0)
  t.same(
    [...index.all()].map(({ id }) => id),
    ['2'],
  )
})

test('a subscription that is put again listens to its new entities only', async (t) => {
  const index = indexOf(subscription('1', [exact('S4'), pattern('^A')]), subscription('1', [exact('S5')]))
  t.same(awakened(index, context('S4 Alley')), [])
  t.same(awakened(index, context('S5')), ['1'])
})

test('what is told again is found by its entities, attribute names and provider, in whatever order', async (t) => {
  const copies = new Copies()
  const source = { copiedFrom: 'a' }
  const copy = registration(1, [context('S4 S5', 'noise ozone'), context('S6')], source)
  atOnce(copies.keep(copy))
  const again = [context('S5 S4', 'ozone noise')]
  t.same([...copies.holders(copy, told(again))], [copy.id])
  t.same([...copies.holders(copy, told([context('S4 S5', 'noise')]))], [])
  t.same([...copies.holders(copy, told([context('S4 S5', 'noise ozone', 'http://q.example')]))], [])
  t.same([...copies.holders({ ...copy, copiedFrom: 'b' }, told(again))], [])
  t.same([...copies.holders({ ...copy, path: path('/a') }, told(again))], [])
  t.same([...copies.holders({ ...copy, tenant: 'acme' as Tenant }, told(again))], [])
  atOnce(copies.forget(copy))
  t.same([...copies.holders(copy, told(again))], [])
})

test('a copy loses what is told again, and ends when nothing else is in it', async (t) => {
  const copy = registration(1, [context('S4', 'noise'), context('S6')], { copiedFrom: 'a' })
  t.same(atOnce(withoutRepeated(copy, told([context('S4', 'noise'), context('S7')]))), {
    kind: 'put',
    registration: { ...copy, contexts: [{ ...context('S6'), ordinal: 1 }] },
  })
  t.same(atOnce(withoutRepeated(copy, told([context('S6'), context('S4', 'noise')]))), { kind: 'remove', id: copy.id })
})

test('what is told again is read once, however many copies it is compared with', async (t) => {
  let reads = 0
  const read = {
    ...context('S4'),
    get provider() {
      reads += 1
      return 'http://p.example'
    },
  }
  const again = told([read])
  for (const copy of [1, 2, 3].map((order) => registration(order, [context('S4')], { copiedFrom: 'a' }))) {
    t.same(atOnce(withoutRepeated(copy, again)), { kind: 'remove', id: copy.id })
  }
  t.equal(reads, 1)
})

test('what is registered for every id awakens each subscription of its type, and tells what that names', async (t) => {
  const index = indexOf(
    subscription('1', [exact('S4', 'Street')]),
    subscription('2', [exact('S4', 'Alley')]),
    subscription('3', [pattern('^S'), exact('S9', 'Street')]),
  )
  t.same(awakened(index, context('*:Street')), ['1', '3'])
  t.same(awakened(index, context('*')), ['3'], 'without type only who names none')
  const matches = concerned(index, registration(1, [context('*:Street S7:Street')]), 0)
  t.same(
    matches.map(({ discovery: { selectors, ofTypes } }) => [
      selectors,
      [...(ofTypes?.types ?? [])],
      ofTypes?.selectors,
    ]),
    [
      [[], ['Street'], [exact('S4', 'Street')]],
      [[exact('S7', 'Street')], ['Street'], [pattern('^S'), exact('S9', 'Street')]],
    ],
  )
})

/** The contexts that a subscription is told of when some were registered, by a selector for each of its own and each type. */
function toldByEach(index: RegistrationIndex, subscribed: readonly Selector[], named: readonly RegisteredEntity[]) {
  const meant = new MeantEntities(subscribed)
  const selectors = named
    .filter((entity) => atOnce(meant.has(entity)))
    .flatMap(({ id, type, everyId }): readonly Selector[] => {
      if (!everyId) return [{ id: { kind: 'exact', id }, type }]
      return subscribed.filter((one) => one.type === undefined || one.type === type).map((one) => ({ ...one, type }))
    })
  return discover(index, lookup, { selectors, attributes: [] })
}

const subscribedTo = fc.oneof(
  fc.tuple(fc.constantFrom('S4', 'S5'), kinds).map(([name, kind]) => exact(name, kind)),
  fc.tuple(fc.constantFrom('^S', '4$'), kinds).map(([text, kind]) => pattern(text, kind)),
  kinds.map((kind) => any(kind)),
)
const namedOnce = fc
  .array(fc.constantFrom('S4', 'S4:Street', 'S5:Street', 'S5:Alley', 'T4:Alley', '*', '*:Street', '*:Alley'), {
    minLength: 1,
    maxLength: 4,
  })
  .map((names) => context(names.join(' ')))

test('a subscription is told what is known by each of its selectors with each type that was registered for every id', async () => {
  fc.assert(
    fc.property(
      fc.array(subscribedTo, { minLength: 1, maxLength: 4 }),
      fc.array(namedOnce, { maxLength: 5 }),
      namedOnce,
      (selectors, held, made) => {
        const known = registrationsOf(...held.map((each, at) => registration(at + 1, [each])), registration(9, [made]))
        const [match] = concerned(indexOf(subscription('1', selectors)), registration(9, [made]), 0)
        deepEqual(
          match ? discover(known, lookup, match.discovery) : { contexts: [], count: 0 },
          toldByEach(known, selectors, made.entities),
        )
      },
    ),
    { numRuns: runs(1000) },
  )
})

test('what is told of many types that were registered for every id takes no step for each id that is subscribed to', async (t) => {
  const ids = Array.from({ length: 100 }, (_, at) => exact(`S${at}`))
  const types = Array.from({ length: 100 }, (_, at) => `*:T${at}`)
  const made = registration(9, [context(types.join(' '))])
  const known = registrationsOf(registration(1, made.contexts), made)
  const index = indexOf(subscription('1', ids))
  const steps = [...index.matchesOf(made, at(0))]
  t.ok(steps.length < 400, `${steps.length} to match`)
  const match = steps.find((each) => each !== undefined)
  let taken = 0
  const discovery = discovering(known, lookup, match?.discovery ?? { selectors: [], attributes: [] })
  for (; ; taken += 1) {
    const step = discovery.next()
    if (step.done !== true) continue
    t.equal(step.value.count, 2)
    break
  }
  t.ok(taken < 2000, `${taken} to discover`)
})
