import { t as root, type Test, test } from 'tap'
import { RunningBroker } from '../running.js'
import {
  attribute,
  Client,
  errorCode,
  holds,
  ID,
  metadata,
  ok,
  orionError,
  type Row,
  shown,
  status,
  tenantClient,
} from './client.js'

/** A broker with two options that do not meet. */
const both = await RunningBroker.start(root, ['-multiservice', '-ngsiv1Autocast', '-strictNgsiv1Ids'])

const everything = { entities: [{ id: '.*', isPattern: 'true' }] }

test('without -multiservice the tenant is checked but every request works on the default one [context 5.1]', async (t) => {
  const broker = await RunningBroker.start(t)
  await new Client(broker, 'acme').given({ id: 'x' })
  for (const tenant of ['', 'acme', 'other'])
    t.strictSame(await new Client(broker, tenant).ids(everything), ['x'], tenant)
  t.strictSame(
    await new Client(broker, 'a-b').query(everything),
    orionError(400, 'bad character in tenant name - only underscore and alphanumeric characters are allowed'),
  )
  t.strictSame(
    await new Client(broker, 'a'.repeat(51)).query(everything),
    orionError(400, 'bad length - a tenant name can be max 50 characters long'),
  )
})

/** What holds of values without the option, too. */
async function keepsTexts(t: Test, broker: RunningBroker): Promise<void> {
  const client = tenantClient(broker)
  await client.given({
    id: 'x',
    attributes: [attribute('a', 'Text', '5'), attribute('b', 'Number', 'x'), attribute('c', 'Boolean', 'TRUE')],
  })
  t.strictSame(await client.held('x'), [
    shown('x', '', attribute('a', 'Text', '5'), attribute('b', 'Number', 'x'), attribute('c', 'Boolean', 'TRUE')),
  ])
}

test('-ngsiv1Autocast stores texts by the type of their attribute [context 3.4]', async (t) => {
  await keepsTexts(t, both)
  for (const [type, written, read] of [
    ['Number', '5', 5],
    ['Number', '-1.50', -1.5],
    ['Number', 1e3, 1000],
    ['Quantity', '0.5', 0.5],
    ['Number', '', ''],
    ['Number', '5 apples', '5 apples'],
    ['Boolean', 'true', true],
    ['Boolean', false, false],
    ['Boolean', '1', '1'],
    ['DateTime', '2020-01-02T03:04:05Z', '2020-01-02T03:04:05.000Z'],
    ['ISO8601', '2020-01-02T03:04:05.678Z', '2020-01-02T03:04:05.678Z'],
    ['DateTime', 'tomorrow', 'tomorrow'],
    ['number', '5', '5'],
    ['Number', ['5'], ['5']],
  ] as const) {
    const client = tenantClient(both)
    await client.given({ id: 'x', attributes: [attribute('a', type, written)] })
    t.strictSame(await client.held('x'), [shown('x', '', attribute('a', type, read))], `${type} ${written}`)
    await client.given(
      { id: 'x', attributes: [attribute('a', '', 'z')] },
      { id: 'x', attributes: [attribute('a', '', written)] },
    )
    t.strictSame(
      await client.held('x'),
      [shown('x', '', attribute('a', type, read))],
      `${type} ${written} by the stored type`,
    )
  }
  const client = tenantClient(both)
  await client.given(
    { id: 'x', attributes: [attribute('a', 'Number', '21')] },
    { id: 'y', attributes: [attribute('a', 'Text', '21')] },
  )
  const by = (value: string) =>
    client.ids({ ...everything, restriction: { scopes: [{ type: 'FIWARE::StringQuery', value }] } })
  t.strictSame(await by('a>20'), ['x'], 'a number compares with numbers')
  t.strictSame(await by("a=='21'"), ['y'])
})

test('-strictNgsiv1Ids forbids more in ids, names and types [context 4.1]', async (t) => {
  const illegal = errorCode(400, 'Illegal value for JSON field')
  const update = (element: object) => ({ contextElements: [element], updateAction: 'APPEND' })
  for (const character of [' ', '\t', '\u007f', 'é', '&', '?', '/', '#']) {
    const bad = `a${character}b`
    const row = (rule: string, element: object, response: unknown): Row => [
      `${JSON.stringify(character)} ${rule}`,
      'POST',
      '/v1/updateContext',
      update(element),
      200,
      response,
    ]
    await holds(t, tenantClient(both), [
      row('id', { id: bad }, illegal),
      row('type', { id: 'x', type: bad }, illegal),
      row('attribute name', { id: 'x', attributes: [attribute(bad, '', '1')] }, illegal),
      row('attribute type', { id: 'x', attributes: [attribute('a', bad, '1')] }, illegal),
      row('metadata name', { id: 'x', attributes: [attribute('a', '', '1', metadata(bad, '', '1'))] }, illegal),
      row('metadata type', { id: 'x', attributes: [attribute('a', '', '1', metadata('m', bad, '1'))] }, illegal),
      ['selector type', 'POST', '/v1/queryContext', { entities: [{ id: 'x', type: bad }] }, 200, illegal],
      ['selector id', 'POST', '/v1/queryContext', { entities: [{ id: bad }] }, 200, illegal],
      [
        'a pattern is none',
        'POST',
        '/v1/queryContext',
        { entities: [{ id: `a[${character}]b`, isPattern: 'true' }] },
        200,
        errorCode(404),
      ],
      [
        'type as parameter',
        'GET',
        `/v1/contextEntities/x?entity::type=${encodeURIComponent(bad)}`,
        undefined,
        400,
        orionError(400, 'invalid character in URI parameter'),
      ],
    ])
    const client = tenantClient(both)
    const free = { id: 'x', attributes: [attribute('a', '', bad, metadata('m', '', bad))] }
    await client.given(free)
    t.strictSame(
      await client.held('x'),
      [shown('x', '', ...free.attributes)],
      `values are free of it: ${JSON.stringify(character)}`,
    )
  }
})

test('without -strictNgsiv1Ids ids, names and types may have any other character [context 4.1]', async (t) => {
  const broker = await RunningBroker.shared()
  await keepsTexts(t, broker)
  const client = tenantClient(broker)
  const odd = 'a b&?/#é\t'
  await client.given({ id: odd, type: odd, attributes: [attribute(odd, odd, '1', ID(odd), metadata(odd, odd, odd))] })
  const entity = shown(odd, odd, attribute(odd, odd, '1', ID(odd), metadata(odd, odd, odd)))
  t.strictSame(await client.held(odd), [entity])
  const encoded = encodeURIComponent(odd)
  t.strictSame(await client.request('GET', `/v1/contextEntities/type/${encoded}/id/${encoded}`), [
    200,
    { contextElement: entity, statusCode: ok },
  ])
  t.strictSame(await client.request('DELETE', `/v1/contextEntities/${encoded}/attributes/${encoded}/${encoded}`), [
    200,
    status(200),
  ])
  t.strictSame(await client.held(odd), [shown(odd, odd)])
})
