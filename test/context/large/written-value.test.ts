import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import { storedValue } from '../../../src/api/ngsi1/parse/shape.js'
import { parseUpdate } from '../../../src/api/ngsi1/parse/update-payload.js'
import { readValue } from '../../../src/api/ngsi2/parse/attributes.js'
import { parseBatch } from '../../../src/api/ngsi2/parse/entities.js'
import type { Value } from '../../../src/model/context/entity.js'
import { textWritten, writeInSteps } from '../../../src/model/context/large/written-value.js'
import { atOnce, type Steps } from '../../../src/slices.js'
import { unicodeText } from '../../unicode-text.js'

const compound = fc
  .letrec<{ value: Value }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom<Value>(null, true, '', '"\\', '\ud800', '\u2028', -0, 1e21, [], {}),
      unicodeText(),
      fc.array(tie('value'), { maxLength: 5 }),
      fc.dictionary(fc.constantFrom('b', 'a', '7', '10', '"', '__proto__', '\ud800'), tie('value'), { maxKeys: 5 }),
    ),
  }))
  .value.filter((value) => typeof value === 'object' && value !== null)

test('a value is written in steps as JSON.stringify writes it', async (t) => {
  fc.assert(
    fc.property(compound, (value) => {
      atOnce(writeInSteps(value))
      assert.equal(value !== null && typeof value === 'object' && textWritten(value), JSON.stringify(value))
    }),
  )
  t.pass()
})

test('no step writes more than some hundred members', async (t) => {
  const members = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`k${at}`, at]))
  for (const value of [members, { deep: [members] }, Object.values(members)]) {
    t.ok(stepsOf(writeInSteps(value)) >= 30)
  }
})

test('a large value that a request gives is written while the request is read', async (t) => {
  const members = Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`k${at}`, `${at}`]))
  const body = JSON.stringify({ actionType: 'append', entities: [{ id: 'E', type: 'T', a: { value: members } }] })
  const batch = atOnce(parseBatch(body, 'normalized'))
  const attribute = { name: 'a', type: 'T', value: members }
  const elements = [{ id: 'E', attributes: [attribute, { name: 'b', type: 'T', value: '1' }] }]
  const update = atOnce(parseUpdate(JSON.stringify({ contextElements: elements, updateAction: 'APPEND' }), false))
  for (const given of [batch.ok && batch.value.entities[0], update.ok && update.value.elements[0]]) {
    const value = given ? given.attributes[0]?.value : undefined
    t.equal(typeof value === 'object' && value !== null && textWritten(value), JSON.stringify(members))
  }
})

test('a small value is not written, however many parts those before it have', async (t) => {
  const members = Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`k${at}`, `${at}`]))
  const attributes = [members, { small: '1' }].map((value, at) => ({ name: `a${at}`, type: 'T', value }))
  const payload = { contextElements: [{ id: 'E', attributes }], updateAction: 'APPEND' }
  const update = atOnce(parseUpdate(JSON.stringify(payload), false))
  const given = update.ok ? update.value.elements[0]?.attributes.map(({ value }) => value) : []
  t.same(given?.map(isWritten), [true, false])
})

test('a large value of a provider or a scope is not written, since it goes to no partition', async (t) => {
  const items = Array.from({ length: 5000 }, (_, at) => `${at}`)
  t.notOk(isWritten(atOnce(storedValue(items))))
  const read = atOnce(readValue(items))
  t.notOk(read.ok && isWritten(read.value.value))
})

function isWritten(value: Value | undefined): boolean {
  return typeof value === 'object' && value !== null && textWritten(value) !== undefined
}

function stepsOf(steps: Steps<unknown>): number {
  let number = 0
  while (steps.next().done !== true) number += 1
  return number
}
