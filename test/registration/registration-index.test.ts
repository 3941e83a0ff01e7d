import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import type { EntityType, ServicePath, Tenant } from '../../src/model/context/entity.js'
import { acceptedPattern } from '../../src/model/context/pattern.js'
import { inPaths, type PathRange, type Selector } from '../../src/model/context/query.js'
import { type Discovery, discoverInSlices, type Lookup } from '../../src/model/registration/discovery.js'
import { registeredEntities } from '../../src/model/registration/registered-entities.js'
import {
  forwardingModes,
  type RegisteredContext,
  type RegisteredEntity,
  type Registration,
  type RegistrationTerms,
  registrationStatuses,
} from '../../src/model/registration/registration.js'
import { RegistrationIndex } from '../../src/model/registration/registration-index.js'
import type { SourceLookup } from '../../src/model/registration/sources.js'
import { atOnce } from '../../src/slices.js'
import { at, everywhere, path, tenant } from '../given.js'
import { staysWithin } from '../pace.js'
import { runs } from '../runs.js'
import {
  any,
  attribute,
  context,
  discover,
  exact,
  indexOf,
  naming,
  pattern,
  providerOf,
  registered,
  registration,
} from './given.js'

const lookup: SourceLookup = { tenant, paths: everywhere, now: at(0), use: 'query', api: 'ngsi1' }

test('a registration that is renewed stays where it is in the list of all', async (t) => {
  const index = indexOf(registration(1, [context('S1')]), registration(2, [context('S2')]))
  const all = () => [...index.all()].map(({ order }) => order)
  index.put(registration(1, [context('S3')]))
  t.same(all(), [1, 2])
  t.equal(index.size, 2)
  index.remove(registration(1, []).id)
  t.same(all(), [2])
})

test('a registration that is renewed among many others of its entity takes no longer than one that is alone', async (t) => {
  const contexts = Array.from({ length: 5000 }, () => context('S4:Street', 'noise'))
  const index = indexOf(...Array.from({ length: 40 }, (_, order) => registration(order, contexts)))
  const isLinear = await staysWithin(1000, () => {
    for (let order = 0; order < 5; order += 1) index.put(registration(order, contexts))
    index.remove(registration(5, []).id)
  })
  t.ok(isLinear)
  const orders = index.of(tenant)?.named(registered('S4:Street'))?.having('noise')
  t.same(
    orders?.map(({ registration: { order }, at }) => order * 5000 + at),
    Array.from({ length: 200_000 }, (_, at) => at).filter((at) => Math.floor(at / 5000) !== 5),
  )
})

test('a tenant is empty until something is registered in it, and when the last registration is gone', async (t) => {
  const index = new RegistrationIndex()
  const one = registration(1, [context('S4')])
  t.equal(index.isEmpty(tenant), true)
  index.put(one)
  index.put(one)
  t.equal(index.isEmpty(tenant), false)
  t.equal(index.isEmpty('other' as Tenant), true)
  index.remove(one.id)
  t.equal(index.isEmpty(tenant), true)
  t.equal(index.size, 0)
})

test('the provider of an attribute is the first that names it, else the first for the whole entity', async (t) => {
  const index = indexOf(
    registration(3, [context('S4:Street', 'noise', 'third')]),
    registration(1, [context('S4:Street', '', 'first'), context('S4:Street', 'noise ozone', 'first again')]),
    registration(2, [context('S4:Street', 'noise', 'second')]),
  )
  const s4 = registered('S4:Street')
  t.equal(providerOf(index, lookup, s4, 'noise'), 'first again')
  t.equal(providerOf(index, lookup, s4, 'traffic'), 'first')
  t.equal(providerOf(index, lookup, registered('S4'), 'noise'), undefined)
  t.equal(providerOf(index, lookup, registered('S4:Alley'), 'noise'), undefined)
  t.equal(providerOf(index, { ...lookup, tenant: 'other' as Tenant }, s4, 'noise'), undefined)
})

test('an entity with many attributes, which are looked up, is found by each until its registration is gone', async (t) => {
  const names = Array.from({ length: 40 }, (_, at) => `a${at}`).join(' ')
  const s4 = registered('S4:Street')
  const [all, whole] = [registration(2, [context('S4:Street', names, 'all')]), registration(3, [context('S4:Street')])]
  const index = indexOf(registration(1, [context('S4:Street', 'a7', 'one')]), all, registration(4, []))
  t.equal(providerOf(index, lookup, s4, 'a7'), 'one')
  t.equal(providerOf(index, lookup, s4, 'a39'), 'all')
  t.equal(providerOf(index, lookup, s4, 'a40'), undefined)
  index.put(whole)
  t.equal(providerOf(index, lookup, s4, 'a40'), 'http://p.example')
  t.equal(discover(index, lookup, { selectors: [exact('S4')], attributes: ['a8', 'a7'] }).count, 2)
  index.remove(all.id)
  t.equal(providerOf(index, lookup, s4, 'a39'), 'http://p.example')
  index.remove(whole.id)
  t.equal(providerOf(index, lookup, s4, 'a39'), undefined)
  t.equal(providerOf(index, lookup, s4, 'a7'), 'one')
})

test('types of one id are told apart, and each goes with its last registration', async (t) => {
  const [street, alley] = [registration(1, [context('S4:Street')]), registration(2, [context('S4:Alley S4')])]
  const index = indexOf(street, alley, registration(3, []))
  t.same(atOnce(registeredEntities(index, lookup, exact('S4'))), [
    registered('S4:Street'),
    registered('S4:Alley'),
    registered('S4'),
  ])
  t.same(atOnce(registeredEntities(index, lookup, exact('S4', 'Alley'))), [registered('S4:Alley')])
  index.remove(alley.id)
  t.same(atOnce(registeredEntities(index, lookup, exact('S4'))), [registered('S4:Street')])
  index.remove(street.id)
  t.same(atOnce(registeredEntities(index, lookup, exact('S4'))), [])
})

test('an entity without type is named only by registrations without type', async (t) => {
  const index = indexOf(registration(1, [context('S4', 'noise')]))
  t.equal(providerOf(index, lookup, registered('S4'), 'noise'), 'http://p.example')
  t.equal(providerOf(index, lookup, registered('S4:Street'), 'noise'), undefined)
})

test('a registration is in force before the moment of its expiry, and lies there afterwards', async (t) => {
  const index = indexOf(registration(1, [context('S4:Street', 'noise')], { expires: at(50) }))
  const s4 = registered('S4:Street')
  t.equal(providerOf(index, { ...lookup, now: at(49) }, s4, 'noise'), 'http://p.example')
  t.equal(providerOf(index, { ...lookup, now: at(50) }, s4, 'noise'), undefined)
  t.same(naming(index, { ...lookup, now: at(50) }, s4), [])
  t.same(atOnce(registeredEntities(index, { ...lookup, now: at(50) }, any())), [])
  t.equal(discover(index, { ...lookup, now: at(50) }, { selectors: [any()], attributes: [] }).count, 0)
  t.equal(index.size, 1)
})

test('registered entities come once each, in the order of creation, and none for whole types', async (t) => {
  const index = indexOf(
    registration(2, [context('S5:Street S4:Street', 'noise')]),
    registration(1, [context('S4:Street :Street', 'ozone'), context('S9')]),
  )
  t.same(atOnce(registeredEntities(index, lookup, any())), [
    registered('S4:Street'),
    registered('S9'),
    registered('S5:Street'),
  ])
  t.same(atOnce(registeredEntities(index, lookup, exact('S4'))), [registered('S4:Street')])
  t.same(atOnce(registeredEntities(index, lookup, pattern('^S[59]', 'Street'))), [registered('S5:Street')])
})

test('pages count registrations, each with all that was found of it', async (t) => {
  const index = indexOf(
    registration(1, [context('S4:Street', 'noise', 'a'), context('S5:Street', 'noise', 'b')]),
    registration(2, [context('S4:Street', 'noise', 'c')]),
    registration(3, [context('S4:Street', 'noise', 'd')]),
  )
  const page = (offset: number, limit: number) =>
    discover(index, lookup, { selectors: [any('Street')], attributes: [] }, { offset, limit })
  t.same(
    page(0, 1).contexts.map(({ provider }) => provider),
    ['a', 'b'],
  )
  t.same(
    page(1, 1).contexts.map(({ provider }) => provider),
    ['c'],
  )
  t.same(
    page(1, 9).contexts.map(({ provider }) => provider),
    ['c', 'd'],
  )
  t.same(page(3, 1), { contexts: [], count: 3 })
})

const names = fc.constantFrom('S4', 'S5', 'S45', '')
const types = fc.constantFrom('Street', 'Alley', '')
const attributes = fc.uniqueArray(fc.constantFrom('noise', 'ozone', 'traffic'), { maxLength: 3 })
const entities = fc.tuple(names, types).map(([name, kind]) => registered(`${name}:${kind}`))
const everyIds: fc.Arbitrary<RegisteredEntity> = types.map((kind) => registered(`*:${kind}`))
const contexts: fc.Arbitrary<RegisteredContext> = fc.record({
  entities: fc.array(fc.oneof({ weight: 4, arbitrary: entities }, everyIds), { maxLength: 3 }),
  attributes: attributes.map((each) => each.map(attribute)),
  provider: fc.constantFrom('http://a', 'http://b'),
})
const terms: fc.Arbitrary<RegistrationTerms> = fc.record({
  description: fc.constant(''),
  status: fc.constantFrom(...registrationStatuses),
  mode: fc.constantFrom(...forwardingModes),
  legacy: fc.boolean(),
})
const registrations: fc.Arbitrary<Registration> = fc
  .tuple(
    fc.integer({ min: 1, max: 8 }),
    fc.array(contexts, { maxLength: 3 }),
    fc.constantFrom('', 'acme'),
    fc.option(terms, { nil: undefined }),
  )
  .chain(([order, each, service, terms]) =>
    fc.tuple(fc.constantFrom('/', '/a', '/a/b'), fc.integer({ min: 0, max: 100 })).map(([where, expires]) =>
      // The tenant of an id does not change, so it is a part of it here.
      registration(service === '' ? order : order + 100, each, {
        tenant: service as Tenant,
        path: path(where),
        expires: at(expires),
        terms,
      }),
    ),
  )
const changes = fc.array(fc.tuple(registrations, fc.boolean()), { maxLength: 25 })
const selectors: fc.Arbitrary<Selector> = fc.oneof(
  fc.tuple(names, fc.option(types, { nil: undefined })).map(([name, kind]) => exact(name, kind)),
  fc
    .tuple(fc.constantFrom('^S4', '5$', '.*', 'S'), fc.option(types, { nil: undefined }))
    .map(([p, kind]) => pattern(p, kind)),
  fc.option(types, { nil: undefined }).map((kind) => any(kind)),
)
const ranges: fc.Arbitrary<PathRange> = fc.record({
  path: fc.constantFrom('/', '/a', '/a/b', '/ab').map((text) => text as ServicePath),
  below: fc.boolean(),
})
const lookups: fc.Arbitrary<SourceLookup> = fc.record({
  tenant: fc.constantFrom('', 'acme').map((text) => text as Tenant),
  paths: fc.array(ranges, { minLength: 1, maxLength: 2 }),
  now: fc.integer({ min: 0, max: 100 }).map(at),
  use: fc.constantFrom('query', 'update'),
  api: fc.constantFrom('ngsi1', 'ngsi2'),
})

/** What the rules say, by a walk over everything. */
class Naive {
  readonly #held = new Map<string, Registration>()

  put(each: Registration): void {
    this.#held.set(each.id, each)
  }

  remove(each: Registration): void {
    this.#held.delete(each.id)
  }

  inForce({ tenant, paths, now }: Lookup): readonly Registration[] {
    return [...this.#held.values()]
      .filter((each) => each.tenant === tenant && inPaths(each.path, paths) && now < each.expires)
      .sort((a, b) => a.order - b.order)
  }

  discover(where: Lookup, { selectors, attributes }: Discovery, offset: number, limit: number) {
    const found = this.inForce(where)
      .map(({ contexts }) => contexts.flatMap((each) => narrowed(each, selectors, attributes)))
      .filter((each) => each.length > 0)
    return { contexts: found.slice(offset, offset + limit).flat(), count: found.length }
  }

  used(where: SourceLookup): readonly Registration[] {
    const isUsed = ({ terms }: Registration) =>
      terms === undefined || (terms.status === 'active' && (terms.mode === 'all' || terms.mode === where.use))
    return this.inForce(where).filter(isUsed)
  }

  naming(where: SourceLookup, wanted: RegisteredEntity): readonly RegisteredContext[] {
    return this.used(where).flatMap(({ contexts, terms }) => {
      const names = (entity: RegisteredEntity): boolean =>
        (entity.everyId || (entity.id === wanted.id && !wanted.everyId)) && isOfType(entity, wanted.type, where, terms)
      return contexts.filter((each) => each.entities.some(names))
    })
  }

  entities(where: SourceLookup, selector: Selector): readonly RegisteredEntity[] {
    const meant = this.used(where).flatMap(({ contexts, terms }) =>
      contexts.flatMap(({ entities }) =>
        entities
          .filter((entity) => entity.id !== '' && matches({ ...selector, type: undefined }, entity))
          .filter((entity) => selector.type === undefined || isOfType(entity, selector.type, where, terms))
          .map((entity) => {
            const type = selector.type ?? entity.type
            return selector.id.kind === 'exact' ? { id: selector.id.id, type } : { ...entity, type }
          }),
      ),
    )
    return meant.filter((entity, place) => meant.findIndex((other) => keyOf(other) === keyOf(entity)) === place)
  }
}

function isOfType(
  { type }: RegisteredEntity,
  wanted: EntityType,
  { api }: SourceLookup,
  terms: RegistrationTerms | undefined,
): boolean {
  return type === wanted || (type === '' && (api === 'ngsi2' || terms !== undefined))
}

function keyOf({ id, type, everyId }: RegisteredEntity): string {
  return JSON.stringify([id, type, everyId === true])
}

function matches({ id, type }: Selector, entity: RegisteredEntity): boolean {
  if (type !== undefined && entity.type !== type) return false
  if (id.kind === 'any' || entity.everyId) return true
  return id.kind === 'exact' ? entity.id === id.id : acceptedPattern(id.pattern).test(entity.id)
}

function narrowed(
  each: RegisteredContext,
  wanted: readonly Selector[],
  names: readonly string[],
): readonly RegisteredContext[] {
  const entities = each.entities.filter((entity) => wanted.some((selector) => matches(selector, entity)))
  const attributes = names.length === 0 ? each.attributes : each.attributes.filter(({ name }) => names.includes(name))
  return entities.length === 0 || (names.length > 0 && attributes.length === 0)
    ? []
    : [{ ...each, entities, attributes }]
}

function built(history: readonly (readonly [Registration, boolean])[]) {
  const [index, naive] = [new RegistrationIndex(), new Naive()]
  for (const [each, isPut] of history) {
    if (isPut) naive.put(each)
    else naive.remove(each)
    index.apply([isPut ? { kind: 'put', registration: each } : { kind: 'remove', id: each.id }])
  }
  return { index, naive }
}

test('the index finds what a walk over all registrations finds, whatever was put and removed before', async () => {
  const discoveries = fc.record({ selectors: fc.array(selectors, { maxLength: 3 }), attributes })
  const pages = fc.record({ offset: fc.nat(3), limit: fc.integer({ min: 1, max: 3 }) })
  fc.assert(
    fc.property(changes, lookups, discoveries, pages, (history, where, discovery, page) => {
      const { index, naive } = built(history)
      const expected = naive.discover(where, discovery, page.offset, page.limit)
      assert.deepEqual(discover(index, where, discovery, page), expected)
    }),
    { numRuns: runs(500) },
  )
})

test('a discovery in slices finds the same, lets others work meanwhile, and is given up when it is late', async (t) => {
  const ids = Array.from({ length: 20_000 }, (_, number) => `Lamp${number}${'x'.repeat(40)}:Lamp`)
  const index = indexOf(...ids.map((id, number) => registration(number + 1, [context(id)])))
  const costly = { selectors: [pattern('(a|b|c|L)+(e|f|a)*x7(x|y)+$'), pattern('^Lamp1234x')], attributes: [] }
  const page = { offset: 0, limit: 3 }
  let turns = 0
  const count = (): void => {
    turns += 1
    others = setImmediate(count)
  }
  let others = setImmediate(count)
  const found = await discoverInSlices(index, lookup, costly, page, () => false)
  const meanwhile = turns
  clearImmediate(others)
  t.same(found, discover(index, lookup, costly, page))
  t.equal(found?.count, 1)
  t.ok(meanwhile > 1, `others had ${meanwhile} turns`)
  t.equal(await discoverInSlices(index, lookup, costly, page, () => true), undefined)
})

test('what is changed while a discovery runs is shown once, and nothing else is missed', async (t) => {
  const ids = Array.from({ length: 20_000 }, (_, number) => `Lamp${number}${'x'.repeat(40)}:Lamp`)
  const index = indexOf(...ids.map((id, number) => registration(number + 1, [context(id), context('Last:Lamp')])))
  const all = { selectors: [pattern('(a|b|c|L)+amp'), any('Lamp')], attributes: [] }
  const changing = discoverInSlices(index, lookup, all, { offset: 0, limit: 30_000 }, () => false)
  index.put(registration(1, [context('Last:Lamp', 'light')]))
  index.remove(registration(2, []).id)
  const found = await changing
  t.ok(found && found.count >= 19_999 && found.count <= 20_000, `${found?.count} of them`)
})

test('lookups for forwarding find what a walk over all registrations finds', async () => {
  fc.assert(
    fc.property(
      changes,
      lookups,
      fc.oneof(entities, everyIds),
      fc.constantFrom('noise', 'ozone'),
      selectors,
      (history, where, entity, name, selector) => {
        const { index, naive } = built(history)
        const expected = naive.naming(where, entity)
        const byName = expected.find((each) => each.attributes.some((one) => one.name === name))
        const whole = expected.find((each) => each.attributes.length === 0)
        assert.deepEqual(naming(index, where, entity), expected)
        assert.equal(providerOf(index, where, entity, name), (byName ?? whole)?.provider)
        const found = atOnce(registeredEntities(index, where, selector))
        assert.deepEqual(found.map(keyOf).sort(), naive.entities(where, selector).map(keyOf).sort())
        assert.equal(
          index.isEmpty(where.tenant),
          naive.inForce({ ...where, paths: everywhere, now: at(-1) }).flatMap(({ contexts }) => contexts).length === 0,
        )
      },
    ),
    { numRuns: runs(500) },
  )
})
