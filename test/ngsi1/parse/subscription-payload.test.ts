import { test } from 'tap'
import { detailsOfPayload } from '../../../src/api/ngsi1/parse/payload-errors.js'
import {
  isReference,
  parseChange,
  parseDuration,
  parseSubscription,
} from '../../../src/api/ngsi1/parse/subscription-payload.js'
import { atOnce } from '../../../src/slices.js'

const whole = {
  entities: [{ type: 'Greenhouse', isPattern: 'false', id: 'Greenhouse-7' }],
  reference: 'http://alerts.example:8080/inbox',
}

function parse(payload: unknown, strictIds = false) {
  return atOnce(parseSubscription(JSON.stringify(payload), strictIds))
}

function scoped(type: unknown, value: unknown): unknown {
  return { ...whole, restriction: { scopes: [{ type, value }] } }
}

function conditioned(...notifyConditions: readonly unknown[]): unknown {
  return { ...whole, notifyConditions }
}

function timed(...condValues: readonly string[]): unknown {
  return conditioned({ type: 'ONTIMEINTERVAL', condValues })
}

/** What each row of [subscriptions 2.1.1] refuses, in the order of the rows. */
const rows: readonly (readonly [wrong: object, details: string])[] = [
  [{ entities: [] }, 'No entities'],
  [{ entities: [{ type: 'Greenhouse' }] }, 'empty entityId:id'],
  [{ entities: [{ id: 'a', isPattern: 'maybe' }] }, 'invalid isPattern value for entity: /maybe/'],
  [{ entities: [{ id: '*', isPattern: 'true' }] }, 'invalid regex for entity id pattern'],
  [{ entities: [{ id: 'x{1000}{1000}', isPattern: 'true' }] }, 'invalid regex for entity id pattern'],
  [{ attributes: ['co2', ''] }, 'empty string'],
  [{ reference: '' }, 'Empty Reference'],
  [{ reference: 'warehouse:eighty' }, 'Invalid URL'],
  [{ reference: 'sse://alerts.example/' }, 'Invalid URL'],
  [{ duration: 'P3H' }, 'syntax error in duration string'],
  [{ restriction: {} }, 'empty restriction'],
  [{ restriction: { scopes: [{ value: 'x' }] } }, 'Empty type in restriction scope'],
  [{ restriction: { scopes: [{ type: 'ward' }] } }, 'Empty value in restriction scope'],
  [{ notifyConditions: [{ condValues: ['co2'] }] }, 'empty type for NotifyCondition'],
  [{ notifyConditions: [{ type: 'ONWHIM' }] }, 'invalid notify condition type: /ONWHIM/'],
  [{ notifyConditions: [{ type: 'ONCHANGE', condValues: [''] }] }, 'empty condValue name'],
  [{ throttling: 'every second' }, 'syntax error in throttling string'],
]

for (const [at, [wrong, details]] of rows.entries()) {
  test(`${JSON.stringify(wrong)} is refused before what is wrong in later rows: ${details}`, async (t) => {
    const refusalOf = (payload: object) => {
      const parsed = parse(payload)
      return parsed.ok ? undefined : detailsOfPayload(parsed.error)
    }
    t.equal(refusalOf({ ...whole, ...wrong }), details)
    for (const [later] of rows.slice(at)) t.equal(refusalOf({ ...whole, ...later, ...wrong }), details)
  })
}

const refusals: readonly (readonly [payload: unknown, details: string])[] = [
  [{ reference: whole.reference }, 'No entities'],
  [{ entities: whole.entities }, 'Empty Reference'],
  [{ ...whole, entities: [{ id: '' }] }, 'empty entityId:id'],
  [{ ...whole, restriction: 'x' }, 'empty restriction'],
  [{ ...whole, restriction: { attributeExpression: '', scopes: [] } }, 'empty restriction'],
  [scoped('', 'x'), 'Empty type in restriction scope'],
  [scoped('FIWARE::StringQuery', ''), 'Empty value in restriction scope'],
  [scoped('FIWARE::Location', { circle: { radius: 0 } }), 'Radius zero for a circle area'],
  [conditioned({ type: '' }), 'empty type for NotifyCondition'],
  [conditioned({ type: 'ONANYCHANGE' }), 'invalid notify condition type: /ONANYCHANGE/'],
  [timed(), 'invalid time interval in notify condition: //'],
  [timed(''), 'empty condValue name'],
  [timed('10s'), 'invalid time interval in notify condition: /10s/'],
  [timed('PT0S'), 'invalid time interval in notify condition: /PT0S/'],
  [timed('PT0.4S'), 'invalid time interval in notify condition: /PT0.4S/'],
  [{ ...whole, duration: 'P' }, 'syntax error in duration string'],
  [{ ...whole, colour: 'red' }, 'JSON Parse Error: unknown field: /colour'],
  [{ ...whole, entities: [{ id: 'a', colour: 'red' }] }, 'JSON Parse Error: unknown field: /entities/entity/colour'],
  [conditioned({ colour: 'red' }), 'JSON Parse Error: unknown field: /notifyConditions/notifyCondition/colour'],
  [
    conditioned({ condValues: [{ colour: 'red' }] }),
    'JSON Parse Error: unknown field: /notifyConditions/notifyCondition/condValues/condValue/colour',
  ],
  [{ ...whole, restriction: { colour: 1 } }, 'JSON Parse Error: unknown field: /restriction/colour'],
  [{ ...whole, reference: 'http://a/?b=c' }, 'Illegal value for JSON field'],
  [conditioned({ type: 'ONCHANGE', restriction: 'a;b' }), 'Illegal value for JSON field'],
  [[], 'JSON Parse Error: unknown field: /'],
]

for (const [payload, details] of refusals) {
  test(`${JSON.stringify(payload).slice(-90)} is refused: ${details}`, async (t) => {
    const parsed = parse(payload)
    t.equal(parsed.ok ? undefined : detailsOfPayload(parsed.error), details)
  })
}

test('without conditions every change fires; conditions of one type are joined', async (t) => {
  const onChange = (...condValues: readonly string[]) => ({ type: 'OnChange', condValues })
  const every = (condValue: string) => ({ type: 'ONTIMEINTERVAL', condValues: [condValue] })
  const cases: readonly (readonly [payload: unknown, onChange: unknown, interval_ms: unknown])[] = [
    [whole, [], undefined],
    [conditioned(), [], undefined],
    [conditioned({ type: 'ONCHANGE' }), [], undefined],
    [conditioned({ type: 'ONCHANGE', condValues: [] }), [], undefined],
    [conditioned(onChange('a', 'b'), onChange('b', 'c')), ['a', 'b', 'c'], undefined],
    [conditioned(onChange('a'), onChange()), [], undefined],
    [timed('PT10S'), undefined, 10_000],
    [conditioned(every('PT10S'), onChange('a'), every('PT1S'), every('PT1M')), ['a'], 1000],
  ]
  for (const [payload, onChange, interval_ms] of cases) {
    const parsed = parse(payload)
    t.same(parsed.ok && [parsed.value.onChange, parsed.value.interval_ms], [onChange, interval_ms])
  }
})

test('areas and the existence of types restrict, every other scope is accepted without effect', async (t) => {
  const circle = { centerLatitude: '48.2', centerLongitude: 16.37, radius: '2500' }
  const scopes = [
    { type: 'FIWARE::Location', value: { circle } },
    { type: 'FIWARE_Location', value: { circle } },
    { type: 'FIWARE::Location::NGSIv2', value: 'nothing that a subscription knows' },
    { type: 'FIWARE::Filter::Existence', value: 'entity::type' },
    { type: 'FIWARE::Filter::!::Existence', value: 'entity::type' },
    { type: 'FIWARE::Filter::Not::Existence', value: 'entity::type' },
    { type: 'FIWARE::StringQuery', value: "level>'64';(" },
    { type: 'FIWARE::StringQuery', value: { no: 'filter' } },
    { type: 'Acme::Colour', value: { deep: ['<blue>'] } },
    ...['Existence', '!::Existence', 'Not::Existence'].map((type) => ({
      type: `FIWARE::Filter::${type}`,
      value: 'id',
    })),
    ...['x', {}, ['x'], { point: circle }].map((value) => ({ type: 'FIWARE::Location', value })),
  ]
  const parsed = parse({ ...whole, restriction: { attributeExpression: '', scopes } })
  t.same(parsed.ok && parsed.value.scopes.map(({ kind }) => kind), ['area', 'area', 'typed', 'untyped', 'untyped'])
  t.match(parse({ ...whole, restriction: { attributeExpression: 'x' } }), { ok: true, value: { scopes: [] } })
})

test('attributes are shown once, all of them without names or with the name *', async (t) => {
  const shown = (attributes: readonly string[]) => {
    const parsed = parse({ ...whole, attributes })
    return parsed.ok && parsed.value.attributes
  }
  t.same(shown(['b', 'a', 'b']), ['b', 'a'])
  t.same(shown([]), [])
  t.same(shown(['a', '*']), [])
})

test('numbers and booleans are texts', async (t) => {
  const parsed = parse({
    ...whole,
    entities: [{ id: 7, isPattern: true }],
    attributes: [8.5],
    notifyConditions: [{ type: 'ONCHANGE', condValues: [true] }],
  })
  t.match(parsed, {
    value: { selectors: [{ id: { kind: 'pattern', pattern: '7' } }], attributes: ['8.5'], onChange: ['true'] },
  })
})

test('strict ids look at types and names of a subscription', async (t) => {
  t.ok(parse({ ...whole, entities: [{ id: 'a?b', isPattern: 'true' }] }, true).ok)
  t.notOk(parse({ ...whole, entities: [{ id: 'a', type: 'b c' }] }, true).ok)
  t.notOk(parse({ ...whole, attributes: ['b c'] }, true).ok)
  t.notOk(parse(conditioned({ type: 'ONCHANGE', condValues: ['b c'] }), true).ok)
})

test('an id is understood in either case and kept as it was given', async (t) => {
  const givenId = '5F0a1b2c3d4e5f6071829304'
  const parsed = atOnce(parseChange(JSON.stringify({ subscriptionId: givenId }), false))
  t.match(parsed, { ok: true, value: { id: givenId.toLowerCase(), givenId } })
})

test('durations are sums of their units, in whole seconds', async (t) => {
  const seconds = {
    PT5S: 5,
    PT1M: 60,
    PT1H: 3600,
    P1D: 86_400,
    P1W: 604_800,
    P1M: 2_592_000,
    P1Y: 31_536_000,
    P1Y1M1W1DT1H1M1S: 31_536_000 + 2_592_000 + 604_800 + 86_400 + 3600 + 60 + 1,
    'PT1.5S': 2,
    'PT0.4S': 0,
    P99Y: 99 * 31_536_000,
    PT: 0,
    P1DT: 86_400,
    P1D1Y: 31_536_000 + 86_400,
    P1W1M: 2_592_000 + 604_800,
    PT1S1M2H: 7200 + 60 + 1,
    P1DT1M: 86_400 + 60,
    P1MT1M: 2_592_000 + 60,
  }
  for (const [text, length_s] of Object.entries(seconds)) {
    t.same(parseDuration(text), { ok: true, value: length_s * 1000 }, text)
  }
})

test('no duration is one that was not given', async (t) => {
  t.same(parseDuration(''), { ok: true, value: undefined })
})

test('everything else is malformed', async (t) => {
  for (const text of ['P1D1D', 'P1M1D1M', 'PT1M1M', 'PT1HT1M', 'PT1S1', 'P1S', 'P1DD', 'P1DT1.5M', 'xP1D', 'P1D1']) {
    t.match(parseDuration(text), { ok: false }, text)
  }
  for (const text of ['P', '1D', 'P1', 'P1H', 'PT1D', 'PT1', 'P1.5D', 'PT1.S', 'P-1D', 'P1D ', 'p1d', 'D']) {
    t.match(parseDuration(text), { ok: false }, text)
  }
})

test('the longest duration still gives a date', async (t) => {
  const duration = parseDuration('P99999999999999999999Y')
  t.ok(duration.ok && !Number.isNaN(new Date(Date.now() + (duration.value ?? 0)).getTime()))
})

const legal = [
  'http://alerts.example:8080/inbox',
  'https://alerts.example',
  'HTTP://Alerts.Example/',
  'http://localhost:1',
  'http://a:65535/x/y?z#f',
  'http://127.0.0.1:9/notify',
  'http://[::1]:1026/v1/notifyContext',
  'http://my_container:80/',
  'http://xn--bcher-kva.example.',
  'http://a?b',
]

for (const reference of legal) {
  test(`${reference} can be posted to`, async (t) => t.ok(isReference(reference)))
}

const illegal = [
  '',
  'alerts.example/inbox',
  '//alerts.example/inbox',
  'warehouse:eighty',
  'ftp://alerts.example/',
  'http:alerts.example',
  'http:/alerts.example',
  'http://',
  'http:///inbox',
  'http://:80/',
  'http://a:0/',
  'http://a:65536/',
  'http://a:/',
  'http://a:x/',
  'http://a:080000/',
  'http://user@a/',
  'http://a b/',
  'http://a..b/',
  'http://.a/',
  'http://-a/',
  'http://a-/',
  'http://a*b/',
  'http://10.0.0.256/',
  'http://[::g]/',
  'http://[::1/',
  `http://${'a'.repeat(64)}/`,
  `http://${'a.'.repeat(127)}/`,
  'http://a/b c',
  'http://a/b\nc',
  ' http://a/',
]

for (const reference of illegal) {
  test(`${JSON.stringify(reference).slice(0, 60)} can not be posted to`, async (t) => t.notOk(isReference(reference)))
}
