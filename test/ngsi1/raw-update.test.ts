import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import type { Broker } from '../../src/broker/broker.js'
import { applyUpdate } from '../../src/context/apply.js'
import type { Entity, ServicePath, Tenant } from '../../src/context/entity.js'
import type { UpdateElement, UpdateReply } from '../../src/context/update.js'
import { interpretUpdate, onlyId } from '../../src/ngsi1/raw-update.js'
import { ok } from '../../src/result.js'
import type { Sequence } from '../../src/shared-memory/sequences.js'
import type { Milliseconds } from '../../src/time.js'
import { scripted, send } from './given.js'

/** A broker on a list in memory, which takes updates in words or has them read by the front end. */
function broker(words: boolean): Broker {
  let held: readonly Entity[] = []
  let sequence = 0
  const apply = (element: UpdateElement): UpdateReply => {
    sequence += 1
    const { id, path } = element
    const time = sequence as Milliseconds
    const own = held.filter((entity) => entity.id === id && entity.path === path)
    const decision = applyUpdate(own, { ...element, kind: 'update', sequence: sequence as Sequence, time })
    for (const effect of decision.effects) {
      const rest = held.filter((entity) => entity.sequence !== effect.entity.sequence)
      held = effect.kind === 'put' ? [...rest, effect.entity] : rest
    }
    return decision.reply
  }
  return scripted({
    update: async (elements) => ok(elements.map(apply)),
    rawUpdate: ({ tenant, path, body, flags, origin }) => {
      if (!words) return undefined
      const at = { sequence: 0 as Sequence, time: 0 as Milliseconds }
      const meant = interpretUpdate({ kind: 'rawUpdate', ...at, tenant, path, body, flags, origin })
      const reply =
        meant.kind === 'answered'
          ? { kind: 'rawUpdate' as const, accepted: meant.accepted, text: meant.text }
          : { kind: 'rawUpdate' as const, accepted: true, text: meant.answer(apply(meant.element)) }
      return Promise.resolve(ok(reply))
    },
  })
}

const name = fc.constantFrom('a', 'b', 'id', '', 'x;')
const attribute = fc.record(
  {
    name,
    type: fc.constantFrom('', 't', 'geo:point'),
    value: fc.constantFrom<unknown>('1', '', '48, 16', 7, { id: '1' }, ['x']),
    metadatas: fc.array(
      fc.record(
        { name: fc.constantFrom('ID', 'm', 'id', 'location'), value: fc.constantFrom('i', 'WGS84', '') },
        { noNullPrototype: true },
      ),
      { maxLength: 2 },
    ),
    colour: fc.constant('red'),
  },
  { requiredKeys: ['name'], noNullPrototype: true },
)
const element = fc.record(
  {
    id: fc.constantFrom<unknown>('E', '', 7),
    type: fc.constantFrom('', 'T', 'U'),
    isPattern: fc.constantFrom<unknown>('false', 'true', 'maybe', false),
    attributes: fc.array(attribute, { maxLength: 3 }),
  },
  { requiredKeys: [], noNullPrototype: true },
)
const payload = fc.record(
  {
    contextElements: fc.array(element, { maxLength: 2 }),
    updateAction: fc.constantFrom('APPEND', 'UPDATE', 'append_strict', 'REPLACE', 'DELETE', 'JUMP'),
  },
  { noNullPrototype: true },
)
const body = fc.oneof(
  { weight: 6, arbitrary: payload.map((value) => JSON.stringify(value)) },
  { weight: 1, arbitrary: payload.map((value) => JSON.stringify(value).slice(0, -1)) },
)
const target = fc.constantFrom(
  'updateContext',
  'updateContext?!exist=entity::type',
  'updateContext?attributesFormat=object',
)

test('an update in words is answered, and does, what the general way answers and does', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(target, body), { minLength: 1, maxLength: 6 }), async (requests) => {
      const [quick, general] = [broker(true), broker(false)]
      for (const [where, text] of requests) {
        assert.deepEqual(
          await send(quick, 'POST', where, { body: text }),
          await send(general, 'POST', where, { body: text }),
        )
      }
    }),
    { numRuns: 500 },
  )
})

test('the id is taken from a body that says it once and has nothing unusual', async (t) => {
  t.equal(onlyId('{"contextElements":[{"id" : "Silo1","attributes":[]}]}'), 'Silo1')
  t.equal(onlyId('{"contextElements":[{"id":"A"},{"id":"B"}]}'), undefined)
  t.equal(onlyId('{"contextElements":[{"id":"A","attributes":[{"name":"id"}]}]}'), undefined)
  t.equal(onlyId('{"contextElements":[{"id":7}]}'), undefined)
  t.equal(onlyId('{"contextElements":[{"\\u0069d":"A"}]}'), undefined)
  t.equal(onlyId('{"contextElements":[{"id":"A;"}]}'), undefined)
  t.equal(onlyId('{}'), undefined)
})

test('what is wrong with a payload in words is not accepted, what is wrong with an element is', async (t) => {
  const words = {
    kind: 'rawUpdate',
    sequence: 1 as Sequence,
    time: 1 as Milliseconds,
    tenant: '' as Tenant,
    path: '/' as ServicePath,
    flags: 0,
    origin: { correlator: 'corr-1', token: '' },
  } as const
  t.match(interpretUpdate({ ...words, body: '{"contextElements":[{"id":"A"}]' }), { kind: 'answered', accepted: false })
  const pattern = '{"contextElements":[{"id":"A","isPattern":"true"}],"updateAction":"UPDATE"}'
  t.match(interpretUpdate({ ...words, body: pattern }), { kind: 'answered', accepted: true, text: /501/ })
})
