import { test } from 'tap'
import { ngsi1Format } from '../../src/api/ngsi1/forward/ngsi1-format.js'
import { ngsi2Format } from '../../src/api/ngsi2/forward/ngsi2-format.js'
import type { ProviderResponse } from '../../src/broker/providers/provider-request.js'
import { type JsonLeaves, type JsonScalar, readTree, scalarsByKind } from '../../src/json-reader.js'
import { maxValues } from '../../src/model/context/entity-size.js'
import { atOnce, type Steps } from '../../src/slices.js'

/** What one response has many of. */
const many = 8192
/** No more of them are read between two pauses. */
const most = 256

const items = Array.from({ length: many }, (_, at) => `${at}`)
const members = Object.fromEntries(items.map((item) => [`m${item}`, item]))
const nested = { deep: [{ deeper: items }] }
const values = { items, members, nested, 'lists of one item': items.map((item) => [item]) }

/** Many of everything that there may be many of in an NGSIv1 response. */
const ngsi1Bodies: Readonly<Record<string, unknown>> = {
  elements: elements(...items.map((id) => ({ id }))),
  attributes: elements({ id: 'Street-4', attributes: items.map((name) => ({ name, value: name })) }),
  metadata: ofAttribute({ metadatas: items.map((name) => ({ name, value: name })) }),
  ...byValue((value) => ofAttribute({ value })),
  ...byValue((value) => ofAttribute({ metadatas: [{ name: 'window', value }] }), ' in metadata'),
}

const ngsi2Bodies: Readonly<Record<string, unknown>> = {
  entities: items.map((id) => ({ id })),
  'items that are no entities': items.map(() => ({})),
  attributes: [{ id: 'Street-4', ...Object.fromEntries(items.map((name) => [`a${name}`, { value: name }])) }],
  metadata: [{ id: 'Street-4', noise: { metadata: Object.fromEntries(items.map((name) => [name, { value: name }])) } }],
  ...byValue((value) => [{ id: 'Street-4', noise: { value } }]),
  ...byValue((value) => [{ id: 'Street-4', noise: { metadata: { window: { value } } } }], ' in metadata'),
}

const lists = Array.from({ length: maxValues / 2 }, () => [0])
const tooLarge: Readonly<Record<string, unknown>> = {
  items: [...lists.flat(), ...lists.flat(), 0],
  'items of lists': [...lists, 0],
  members: Object.fromEntries([...Array(maxValues + 1).keys()].map((at) => [`m${at}`, 0])),
}
const asLarge = [...lists.flat(), ...lists.flat()]

test('an entity whose values have more members and items than one may have is marked, and they are not made', async (t) => {
  for (const [what, value] of Object.entries(tooLarge)) {
    const metadatas = [{ name: 'window', value }]
    for (const attribute of [{ value }, { metadatas }]) {
      const body = ofAttribute(attribute)
      t.equal(markedOf(ngsi1Format.readQuery(responseOf(body))), 'marked', `${what} of NGSIv1`)
    }
    for (const noise of [{ value }, { metadata: { window: { value } } }]) {
      const body = [{ id: 'Street-4', noise }]
      t.equal(markedOf(ngsi2Format.readQuery(responseOf(body))), 'marked', `${what} of NGSIv2`)
    }
  }
  const noise = { value: asLarge, metadata: { window: { value: asLarge } } }
  const markOf = (more: object) => markedOf(ngsi2Format.readQuery(responseOf([{ id: 'Street-4', noise, ...more }])))
  t.equal(markOf({}), 'shown', 'metadata has room of its own')
  t.equal(markOf({ window: { value: [0] } }), 'marked with values', 'all attributes together')
})

/** Whether the only entity of a response is marked, and whether large values were made nevertheless. */
function markedOf(reading: ReturnType<typeof ngsi2Format.readQuery>): string {
  const read = atOnce(reading)
  const [entity] = read.ok ? read.value.elements : []
  if (entity?.hasTooManyValues !== true) return 'shown'
  return JSON.stringify(entity).length < 1000 ? 'marked' : 'marked with values'
}

for (const [what, given] of Object.entries(ngsi1Bodies)) {
  test(`an NGSIv1 response with many ${what} is read in steps`, async (t) => {
    const response = responseOf(given)
    const parsed = parseSteps(response, scalarsByKind)
    t.ok(stepsOf(ngsi1Format.readQuery(response)) - parsed >= many / most)
    t.ok(stepsOf(ngsi1Format.readUpdate(response)) - parsed >= many / most, 'to an update')
  })
}

for (const [what, given] of Object.entries(ngsi2Bodies)) {
  test(`an NGSIv2 response with many ${what} is read in steps`, async (t) => {
    const response = responseOf(given)
    const parsed = parseSteps(response, scalarsByKind)
    t.ok(stepsOf(ngsi2Format.readQuery(response)) - parsed >= many / most)
  })
}

function elements(...given: readonly unknown[]) {
  return { contextResponses: given.map((contextElement) => ({ contextElement })) }
}

function ofAttribute(attribute: object) {
  return elements({ id: 'Street-4', attributes: [{ name: 'noise', value: '', ...attribute }] })
}

function byValue(body: (value: unknown) => unknown, where = '') {
  return Object.fromEntries(Object.entries(values).map(([kind, value]) => [`${kind} of a value${where}`, body(value)]))
}

function responseOf(body: unknown): ProviderResponse {
  return { status: 200, totalCount: undefined, body: JSON.stringify(body) }
}

/** The pauses that the parser of JSON alone makes. */
function parseSteps({ body }: ProviderResponse, leaves: JsonLeaves<JsonScalar>): number {
  return stepsOf(readTree(body, leaves))
}

/** How often work in steps may be interrupted. */
function stepsOf(steps: Steps<unknown>): number {
  for (let count = 0; ; count += 1) if (steps.next().done === true) return count
}
