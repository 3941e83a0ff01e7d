import fc from 'fast-check'
import { compareBytes } from '../../src/model/context/entity.js'

function maybe<Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> {
  return fc.option(value, { nil: undefined })
}

const name = fc.stringMatching(/^[a-zA-Zä_][\w.-]{0,6}$/)
const text = fc.string({ unit: 'grapheme', maxLength: 8 })
const dateMade = { min: new Date(0), max: new Date('2090-01-01'), noInvalidDate: true }
const date = fc.oneof(
  fc.date(dateMade).map((made) => made.toISOString()),
  fc.integer({ min: 253_402_300_800_000, max: 8_000_000_000_000_000 }), // Years of five digits.
  fc.integer({ min: -8_000_000_000_000_000, max: Date.UTC(1899, 11, 31) }),
)
const value = fc.jsonValue({ maxDepth: 3 }).filter((made) => !JSON.stringify(made).includes('-0'))
const id = fc.stringMatching(/^[0-9a-f]{24}$/)
const path = fc.constantFrom('/', '/a', '/a/b_2')
const range = fc.constantFrom('/', '/#', '/a', '/a/b_2/#')
const tenant = maybe(fc.constantFrom('trees', 'a_1'))
const ascending = <Part extends { name: string; instance?: string | undefined }>(parts: readonly Part[]) =>
  parts.toSorted((a, b) => compareBytes(a.name, b.name) || compareBytes(a.instance ?? '', b.instance ?? ''))
const filled = <Part>(list: readonly Part[]) => (list.length === 0 ? undefined : list)

const metadata = fc
  .uniqueArray(fc.record({ name, type: name, value }), { selector: (made) => made.name, maxLength: 3 })
  .map(ascending)
const attribute = fc.record({
  name,
  instance: maybe(text.filter((made) => made !== '')),
  type: fc.oneof(name, fc.constant('')),
  value,
  location: fc.constant(undefined),
  metadata: metadata.map(filled),
  created: maybe(date),
  modified: maybe(date),
})
const place = fc.record({
  name: fc.constant('~place'),
  type: fc.constant('geo:point'),
  value: fc.constant('40.4, -3.7'),
  location: fc.constant(true),
})
const attributes = fc
  .tuple(
    fc.uniqueArray(attribute, { selector: (made) => `${made.name} ${made.instance ?? ''}`, maxLength: 4 }),
    fc.uniqueArray(place, { selector: (made) => made.name, maxLength: 1 }),
  )
  .map(([others, places]) => ascending([...others, ...places]))

const entity = fc.record({
  kind: fc.constant('entity'),
  tenant,
  servicePath: path,
  id: name,
  type: fc.oneof(name, fc.constant('')),
  created: date,
  modified: date,
  correlator: maybe(text),
  attributes,
})

const selector = fc
  .tuple(maybe(name), maybe(fc.constantFrom('^R', '.*', '[0-9]$')), maybe(name), maybe(fc.constantFrom('T.*', '^B')))
  .map(([id, idPattern, type, typePattern]) => ({
    id,
    idPattern: id === undefined ? idPattern : undefined,
    type,
    typePattern,
  }))
const inverted = fc.boolean()
const latitude = fc.integer({ min: -90, max: 90 })
const longitude = fc.integer({ min: -180, max: 180 })
const area = fc.oneof(
  fc.record({
    circle: fc.record({
      centerLatitude: latitude,
      centerLongitude: longitude,
      radius: fc.integer({ min: 1, max: 10_000 }),
      inverted,
    }),
  }),
  fc.record({
    polygon: fc.record({
      vertices: fc.constant([
        { latitude: 0, longitude: 0 },
        { latitude: 0, longitude: 9 },
        { latitude: 8.5, longitude: 9 },
      ]),
      inverted,
    }),
  }),
)
const scope = fc.oneof(
  fc.constant({ kind: 'typed' }),
  fc.constant({ kind: 'untyped' }),
  fc.record({ kind: fc.constant('area'), area }),
)
const template = fc.constantFrom({}, { payload: null }, { payload: 'it is ${id}' }, { json: { it: ['${id}'] } })
const httpTemplate = fc.constantFrom(
  {},
  { json: [1], method: 'PUT', qs: { a: '${type}' }, headers: { 'x-a': 'b' } },
  { ngsi: { level: { value: 3 } } },
)
const target = fc.oneof(
  fc.record({ kind: fc.constant('http'), timeout_ms: fc.integer({ min: 0, max: 9000 }), custom: maybe(httpTemplate) }),
  fc
    .record({
      kind: fc.constant('mqtt'),
      topic: fc.constantFrom('a', 'a/b'),
      qos: fc.constantFrom(0, 1, 2),
      retain: fc.boolean(),
      hasUser: fc.boolean(),
      custom: maybe(template),
    })
    .map(({ hasUser, custom, ...made }) => ({ ...made, ...(hasUser && { user: 'me', passwd: 'pass' }), custom })),
)
const condition = fc.record({
  alterations: fc.uniqueArray(fc.constantFrom('entityCreate', 'entityChange', 'entityUpdate', 'entityDelete')),
  onMetadata: fc.boolean(),
  expression: fc.constantFrom(
    {},
    { q: 'temperature>20' },
    { mq: 'temperature.accuracy<1', georel: 'near;maxDistance:100', geometry: 'point', coords: '40.4,-3.7' },
  ),
  jexl: maybe(fc.constant('temperature>20')),
})
const terms = fc
  .record({
    description: maybe(text.filter((made) => made !== '')),
    status: fc.constantFrom('active', 'inactive', 'oneshot'),
    armed: date,
    condition: maybe(condition),
    notification: fc.record({
      target,
      format: fc.constantFrom('normalized', 'keyValues', 'legacy'),
      excepts: fc.boolean(),
      metadata: fc.array(name, { maxLength: 2 }),
      onlyChanged: fc.boolean(),
      covered: fc.boolean(),
    }),
    maxFails: maybe(fc.integer({ min: 1, max: 9 })),
  })
  .map((made) => ({ ...made, armed: made.status === 'oneshot' ? made.armed : undefined }))
const count = fc.nat(1000)
const delivery = fc.record({
  sent: count,
  discarded: count,
  fails: count,
  lastNotification: maybe(date),
  lastSuccess: maybe(date),
  lastSuccessCode: maybe(count),
  lastFailure: maybe(date),
  lastFailureReason: maybe(text),
  attempted: maybe(date),
})
const subscription = fc
  .record({
    kind: fc.constant('subscription'),
    tenant,
    servicePath: range,
    id,
    entities: fc.array(selector, { maxLength: 3 }),
    attributes: fc.array(text, { maxLength: 3 }),
    url: fc.constantFrom('sse:', 'http://127.0.0.1:9/a?b', 'https://[::1]/'),
    expires: maybe(date),
    throttling_ms: count,
    onChange: maybe(fc.array(text, { maxLength: 2 })),
    interval_ms: maybe(fc.integer({ min: 1, max: 99 })),
    scopes: fc.array(scope, { maxLength: 2 }).map(filled),
    terms: maybe(terms),
    delivery: maybe(delivery),
    ticked: maybe(date),
  })
  .map((made) => ({ ...made, url: made.terms?.notification.target.kind === 'mqtt' ? 'mqtt://127.0.0.1:9' : made.url }))

const availability = fc.record({
  kind: fc.constant('availability'),
  tenant,
  id,
  entities: fc.array(selector, { maxLength: 3 }),
  attributes: fc.array(text, { maxLength: 3 }),
  url: fc.constantFrom('http://127.0.0.1:9/a'),
  expires: maybe(date),
})

const isTrue = maybe(fc.constant(true))
const registration = fc.record({
  kind: fc.constant('registration'),
  tenant,
  servicePath: path,
  id,
  expires: maybe(date),
  contexts: fc.array(
    fc.record({
      entities: fc.array(fc.record({ id: text, type: maybe(name), everyId: isTrue }), { maxLength: 2 }),
      attributes: fc.array(fc.record({ name: text, type: maybe(name), isDomain: isTrue }), { maxLength: 2 }),
      provider: text,
      ordinal: maybe(count),
    }),
    { minLength: 1, maxLength: 2 },
  ),
  copiedFrom: maybe(text),
  terms: maybe(
    fc.record({
      description: text,
      status: fc.constantFrom('active', 'inactive'),
      mode: fc.constantFrom('all', 'none', 'query', 'update'),
      legacy: fc.boolean(),
    }),
  ),
})

/** A line of an export as it is written: its members in their order, without those that are left out. */
export const exportedLine: fc.Arbitrary<object> = fc.oneof(entity, subscription, registration, availability)
