import { deepEqual } from 'node:assert/strict'
import fc from 'fast-check'
import { RE2JS } from 're2js'
import { test } from 'tap'
import type { Selector } from '../../src/model/context/query.js'
import { AvailabilityIndex } from '../../src/model/registration/availability.js'
import { discovering } from '../../src/model/registration/discovery.js'
import { MeantEntities, MeantOnce } from '../../src/model/registration/meant-entities.js'
import type { RegisteredEntity } from '../../src/model/registration/registration.js'
import { RegistrationIndex } from '../../src/model/registration/registration-index.js'
import type { SubscriptionId } from '../../src/model/subscription/subscription.js'
import { atOnce } from '../../src/slices.js'
import { at, root, tenant } from '../given.js'
import { runs } from '../runs.js'
import { any, context, exact, pattern, registered, registration } from './given.js'

const patterns = ['^S', 'S.*4$', '(?i)s\\d', '\\pL{2}', '[^\\pN]', 'Silo'] as const
const kinds = fc.constantFrom(undefined, '', 'Street', 'Alley')
const selectors: fc.Arbitrary<Selector> = fc.oneof(
  fc.tuple(fc.constantFrom('S4', 's5', 'Silo'), kinds).map(([name, kind]) => exact(name, kind)),
  fc.tuple(fc.constantFrom(...patterns), kinds).map(([text, kind]) => pattern(text, kind)),
  kinds.map((kind) => any(kind)),
)
const entities = fc
  .constantFrom('S4', 's5:Street', 'Silo:Alley', '7:Street', '*:Street', '*:Alley', '44')
  .map(registered)

function isMeant(given: readonly Selector[], { id, type, everyId }: RegisteredEntity): boolean {
  return given.some((selector) => {
    if (selector.type !== undefined && selector.type !== type) return false
    if (everyId || selector.id.kind === 'any') return true
    return selector.id.kind === 'exact' ? selector.id.id === id : RE2JS.compile(selector.id.pattern).test(id)
  })
}

test('registered entities are meant as the plain engine says, however often they are asked about', async () => {
  fc.assert(
    fc.property(fc.array(selectors, { maxLength: 5 }), fc.array(entities, { maxLength: 8 }), (given, registered) => {
      const [meant, once] = [new MeantEntities(given), new MeantOnce(given)]
      const expected = registered.filter((entity) => isMeant(given, entity))
      deepEqual(
        registered.filter((entity) => atOnce(meant.has(entity))),
        expected,
      )
      deepEqual(atOnce(once.of(registered)), expected)
    }),
    { numRuns: runs(1000) },
  )
})

const many = Array.from({ length: 40 }, (_, at) => pattern(`Lamp(${at}|a|b)+c`))
const ids = Array.from({ length: 60 }, (_, at) => `Lamp${at}:Lamp`)

function pausesOf(steps: Iterator<unknown, unknown, void>): number {
  let pauses = 0
  while (steps.next().done !== true) pauses += 1
  return pauses
}

test('a discovery may pause after each pattern that it tries on an id', async (t) => {
  const index = new RegistrationIndex()
  index.put(registration(1, [context(ids.join(' '))]))
  const lookup = { tenant, paths: [{ path: root, below: true }], now: at(1) }
  const found = pausesOf(discovering(index, lookup, { selectors: many, attributes: [] }))
  t.ok(found >= many.length * ids.length, `${found} pauses`)
  const shown = pausesOf(discovering(index, lookup, { selectors: [...many, exact('Lamp1')], attributes: [] }))
  t.ok(shown >= 2 * many.length * (ids.length - 1), `${shown} pauses`)
  const changes = [{ kind: 'put', registration: registration(2, [context(ids.join(' '))]) } as const]
  const pauses = pausesOf(
    discovering(new RegistrationIndex(), lookup, { selectors: many, attributes: [] }, undefined, changes),
  )
  t.ok(pauses >= many.length * ids.length, `${pauses} pauses`)
})

test('whoever looks for subscriptions to a registration may pause after each pattern on each id', async (t) => {
  const index = new AvailabilityIndex()
  const reference = 'http://maps.example/sources'
  const id = '1' as SubscriptionId
  index.put({ id, order: 1, tenant, selectors: many, attributes: [], reference, expires: at(1000) })
  const pauses = pausesOf(index.matchesOf(registration(1, [context(ids.join(' '))]), at(1)))
  t.ok(pauses >= many.length * ids.length, `${pauses} pauses`)
})
