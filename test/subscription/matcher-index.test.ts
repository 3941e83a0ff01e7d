import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import type { Entity, EntityType, Tenant } from '../../src/model/context/entity.js'
import { acceptedPattern } from '../../src/model/context/pattern.js'
import { inPaths, type Selector } from '../../src/model/context/query.js'
import { Triggered } from '../../src/model/subscription/match-group.js'
import { MatcherIndex } from '../../src/model/subscription/matcher-index.js'
import type { Subscription, SubscriptionId } from '../../src/model/subscription/subscription.js'
import type { Sequence } from '../../src/threads/shared-memory/sequences.js'
import { at, id, path, tenant, type } from '../given.js'
import { meetings, runs } from '../runs.js'
import { any, exact, nth, nthId, pattern } from './given.js'

/** Nothing is held for the subscriptions of these tests. */
const nothing = (): void => {}

interface Change {
  readonly tenant: Tenant
  readonly entity: Entity
  readonly changed: readonly string[]
}

function entity(name: string, kind = '', where = '/'): Entity {
  const [created, modified] = [at(1), at(1)]
  return {
    path: path(where),
    id: id(name),
    type: type(kind),
    sequence: 1 as Sequence,
    created,
    modified,
    attributes: [],
  }
}

let changes = 0

function foundBy(index: MatcherIndex, change: Change): readonly SubscriptionId[] {
  changes += 1
  const triggered = new Triggered(changes, { ...change, kind: 'put', before: undefined, given: [], isForced: false })
  for (const group of index.groups(change.tenant, change.entity)) group.gatherTriggered(triggered)
  const found = triggered.subscriptions.map((match) => match.subscription)
  assert.deepEqual(
    found.map(({ order }) => order),
    found.map(({ order }) => order).sort((a, b) => a - b),
  )
  return found.map((subscription) => subscription.id).sort()
}

/** The rules as they are written, asked of one subscription after another. */
function isMeant({ tenant: own, path: range, selectors, onChange }: Subscription, change: Change): boolean {
  if (own !== change.tenant || !inPaths(change.entity.path, [range]) || onChange === undefined) return false
  if (onChange.length > 0 && !change.changed.some((name) => onChange.includes(name))) return false
  return selectors.some((selector) => isSelected(selector, change.entity))
}

function isSelected({ id: sought, type: wanted = '' as EntityType }: Selector, { id: name, type: kind }: Entity) {
  if (wanted !== '' && kind !== '' && wanted !== kind) return false
  if (sought.kind === 'any') return true
  return sought.kind === 'exact' ? sought.id === name : acceptedPattern(sought.pattern).test(name)
}

const names = ['Silo1', 'Silo2', 'Tank1', ' T', '1 TA']
const kind = fc.constantFrom('', 'T', 'Silo', 'TA')
/** Mostly what meets something else, so that a property that says what is found does not only say that nothing is. */
const anyTenant = fc.constantFrom('', '', '', 'acme').map((text) => text as Tenant)
const anyRange = fc.constantFrom(
  ...['/', '/', '/', '/a', '/a/b'].map((top) => ({ path: path(top), below: true })),
  ...['/', '/a', '/a/b'].map((top) => ({ path: path(top), below: false })),
)
const anyType = fc.option(kind.map(type), { nil: undefined })
const selector: fc.Arbitrary<Selector> = fc.oneof(
  anyType.map(any),
  fc.tuple(fc.constantFrom(...names).map(id), anyType).map(([name, wanted]) => exact(name, wanted)),
  fc
    .tuple(fc.constantFrom('', '.*', 'Silo', '^Silo1$', '[12]$', 'any'), anyType)
    .map(([text, wanted]) => pattern(text, wanted)),
)
const anySubscription = fc
  .record({
    order: fc.nat(7),
    tenant: anyTenant,
    path: anyRange,
    selectors: fc.array(selector, { minLength: 1, maxLength: 3 }),
    onChange: fc.option(fc.uniqueArray(fc.constantFrom('level', 'door', 'lamp'), { maxLength: 2 }), { nil: undefined }),
  })
  .map(({ order, ...more }) => nth(order, more).subscription)
const anyChange = fc.record({
  tenant: anyTenant,
  entity: fc
    .tuple(fc.constantFrom(...names), kind, fc.constantFrom('/', '/a', '/a/b', '/ab'))
    .map(([name, of, where]) => entity(name, of, where)),
  changed: fc.uniqueArray(fc.constantFrom('level', 'door', 'lamp', 'co2'), { minLength: 1, maxLength: 3 }),
})
const step = fc.oneof(
  anySubscription.map((put) => ({ put })),
  fc.nat(7).map((order) => ({ remove: nthId(order) })),
  fc.nat().map((match) => ({ match })),
)

test('the index finds those that asking one subscription after another finds, while they come and go', async (t) => {
  let found = 0
  fc.assert(
    fc.property(
      fc.array(step, { minLength: 40, maxLength: 80 }),
      fc.array(anyChange, { minLength: 1, maxLength: 5 }),
      (steps, pool) => {
        const index = new MatcherIndex(1000)
        const all = new Map<SubscriptionId, Subscription>()
        for (const next of steps) {
          if ('put' in next) {
            index.put({ ...nth(0), subscription: next.put }, nothing)
            all.set(next.put.id, next.put)
          } else if ('remove' in next) {
            index.remove(next.remove)
            all.delete(next.remove)
          } else {
            const change = pool[next.match % pool.length] ?? assert.fail()
            const expected = [...all.values()].filter((each) => isMeant(each, change))
            found += expected.length
            assert.deepEqual(foundBy(index, change), expected.map((each) => each.id).sort())
          }
        }
        for (const key of all.keys()) index.remove(key)
        assert.ok(index.isEmpty)
      },
    ),
    { numRuns: runs(300) },
  )
  t.ok(found > meetings(1000), `${found} were to be found`)
})

test('more groups of one entity than are remembered are found all the same', async (t) => {
  const index = new MatcherIndex(10_000)
  for (let n = 1; n <= 100; n += 1) index.put(nth(n, { selectors: [pattern(`Silo1|x${n}`)] }), nothing)
  const change = { tenant, entity: entity('Silo1', 'Silo'), changed: ['level'] }
  t.equal(foundBy(index, change).length, 100)
  t.equal(foundBy(index, change).length, 100)
})

test('many who listen to one id are told apart by type, path and attribute, and all of them go again', async (t) => {
  const index = new MatcherIndex(10_000)
  const conditions = [
    { selectors: [exact(id('Silo1'), type('Silo'))], onChange: ['level'] },
    { selectors: [exact(id('Silo1'))], onChange: ['door'] },
    { selectors: [exact(id('Silo1'), type('Tank'))] },
    { selectors: [exact(id('Silo1'))], path: { path: path('/a'), below: true } },
  ]
  const change = { tenant, entity: entity('Silo1', 'Silo'), changed: ['level'] }
  for (let n = 0; n < 40; n += 1) index.put(nth(n, conditions[n % conditions.length]), nothing)
  t.same(
    foundBy(index, change),
    Array.from({ length: 10 }, (_, at) => nthId(4 * at)),
  )
  t.equal(foundBy(index, { ...change, changed: ['level', 'door'] }).length, 20)
  for (let n = 1; n < 40; n += 1) index.remove(nthId(n))
  t.same(foundBy(index, change), [nthId(0)])
  index.remove(nthId(0))
  t.ok(index.isEmpty)
  t.equal(index.groups(tenant, change.entity).length, 0)
})

test('what was found for an entity holds for its path and type only, whatever characters they have', async (t) => {
  const index = new MatcherIndex(10_000)
  index.put(nth(1, { selectors: [pattern('.', type('T'))], path: { path: path('/a'), below: false } }), nothing)
  const found = (name: string, of: string, where: string) =>
    foundBy(index, { tenant, entity: entity(name, of, where), changed: ['level'] }).length
  t.equal(found('Silo1', 'T', '/a'), 1)
  t.equal(found('Silo1', 'T', '/b'), 0)
  t.equal(found('Silo1', 'U', '/a'), 0)
  t.equal(found('Silo1', '', '/a'), 1)
  t.equal(found('1', 'TSilo', '/a'), 0)
  t.equal(found('TSilo1', '', '/a'), 1)
})

test('entities that nobody has subscribed to have no group, and share one response', async (t) => {
  const index = new MatcherIndex(10_000)
  const [silo, tank] = [entity('Silo1', 'Silo'), entity('Tank1', 'Tank')]
  t.equal(index.groups(tenant, silo).length, 0)
  index.put(nth(1, { selectors: [exact(id('Silo2')), pattern('2$', type('Silo'))] }), nothing)
  t.equal(index.groups(tenant, silo).length, 0)
  t.equal(index.groups(tenant, silo), index.groups(tenant, tank))
})
