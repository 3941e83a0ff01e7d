import { type Test, test } from 'tap'
import { RunningBroker } from '../running.js'
import { attribute, errorCode, holds, orionError, type Row, statusCode, tenantClient } from './client.js'

const broker = await RunningBroker.shared()

const entity = '/v1/contextEntities/x'
const single = '/v1/contextEntities/x/attributes/y'
const update = (elements: unknown, more: object = {}) => ({
  contextElements: elements,
  updateAction: 'APPEND',
  ...more,
})
const withAttributes = (...attributes: readonly unknown[]) => update([{ id: 'x', attributes }])
const parse = 'JSON Parse Error'

/** What the parser finds is an errorCode of status 200 in the standard operations and an orionError of 400 elsewhere. */
function parser(rule: string, path: string, body: unknown, details: string): Row {
  const standard = path.endsWith('Context')
  const response = standard ? errorCode(400, details) : orionError(400, details)
  return [rule, 'POST', path, body, standard ? 200 : 400, response]
}

test('what is no payload is a parse error [context 10.3]', async (t) => {
  const rows = [
    '/v1/updateContext',
    '/v1/queryContext',
    entity,
    '/v1/contextEntities',
    single,
    `/v1/contextEntities/type/T/id/x/attributes/y/z`,
  ].flatMap((path) =>
    ['{', 'x', '""', '7', 'true', 'null', '{"a":1,}', '{} {}', "{'a':1}", '{"a":01}', '{"a":"\u0001"}', '\ufeff{'].map(
      (body) => parser(`${path} ${body}`, path, body, parse),
    ),
  )
  await holds(t, tenantClient(broker), rows)
  await holds(t, tenantClient(broker), [
    parser(
      'an object where an array belongs',
      '/v1/updateContext',
      { contextElements: { contextElement: { id: 'x' } }, updateAction: 'APPEND' },
      parse,
    ),
    parser('an object where selectors belong', '/v1/queryContext', { entities: { entity: { id: 'x' } } }, parse),
    parser('an object where attributes belong', entity, { attributes: { attribute: { name: 'x' } } }, parse),
  ])
})

test('unknown members are named by their path [context 10.3]', async (t) => {
  const field = (where: string) => `${parse}: unknown field: ${where}`
  const element = '/contextElements/contextElement'
  const of = (path: string, rows: readonly (readonly [unknown, string])[]) =>
    rows.map(([body, where]) => parser(`${path} ${JSON.stringify(body)}`, path, body, field(where)))
  await holds(t, tenantClient(broker), [
    ...of('/v1/updateContext', [
      [{ a: 1 }, '/a'],
      [update([{ id: 'x', colour: 'red' }]), `${element}/colour`],
      [withAttributes({ name: 'a', colour: 'red' }), `${element}/attributes/attribute/colour`],
      [withAttributes({ name: 'a', colour: { deep: 1 } }), `${element}/attributes/attribute/colour`],
      [
        withAttributes({ name: 'a', value: '1', metadatas: [{ name: 'm', value: '1', unit: 'cm' }] }),
        `${element}/attributes/attribute/metadatas/metadata/unit`,
      ],
      [update([{ id: { a: 1 } }]), `${element}/id/a`],
      [
        update([{ id: 'x', domainMetadatas: [{ name: 'm', value: '1', x: 1 }] }]),
        `${element}/domainMetadatas/metadata/x`,
      ],
    ]),
    ...of('/v1/queryContext', [
      [{ entities: [{ id: 'x', colour: 1 }] }, '/entities/entity/colour'],
      [{ entities: [{ id: 'x' }], restriction: { x: 1 } }, '/restriction/x'],
      [
        { entities: [{ id: 'x' }], restriction: { scopes: [{ type: 'x', value: '1', z: 1 }] } },
        '/restriction/scopes/scope/z',
      ],
    ]),
    ...of(entity, [
      [{ colour: 1 }, '/colour'],
      [{ attributes: [{ name: 'a', colour: 1 }] }, '/attributes/attribute/colour'],
      [{ updateAction: 'APPEND' }, '/updateAction'],
    ]),
    ...of(single, [
      [{ name: 'y' }, '/name'],
      [{ attributes: [] }, '/attributes'],
      [{ value: '1', metadatas: [{ name: 'm', value: '1', x: 1 }] }, '/metadatas/metadata/x'],
    ]),
    [
      'PUT of an entity takes attributes only',
      'PUT',
      entity,
      { id: 'x', attributes: [] },
      400,
      orionError(400, field('/id')),
    ],
    [
      'PUT of an entity takes a domain name',
      'PUT',
      entity,
      { attributeDomainName: 'x', attributes: [attribute('a', '', '1')] },
      200,
      errorCode(404, 'x'),
    ],
    parser('an array at the top', '/v1/updateContext', [{}], field('/')),
  ])
})

test('no text of a payload has forbidden characters [context 4.1, 10.3]', async (t) => {
  const client = tenantClient(broker)
  const illegal = 'Illegal value for JSON field'
  for (const character of '<>"\'=;()') {
    const bad = `a${character}b`
    const rows = [
      ...[
        update([{ id: bad }]),
        update([{ id: 'x', type: bad }]),
        update([{ id: 'x', isPattern: bad }]),
        update([{ id: 'x' }], { updateAction: bad }),
        update([{ id: 'x', attributeDomainName: bad }]),
        withAttributes(attribute(bad, '', '1')),
        withAttributes(attribute('a', bad, '1')),
        withAttributes(attribute('a', '', bad)),
        withAttributes(attribute('a', '', { deep: [{ leaf: bad }] })),
        withAttributes(attribute('a', '', '1', { name: bad, value: '1' })),
        withAttributes(attribute('a', '', '1', { name: 'm', type: bad, value: '1' })),
        withAttributes(attribute('a', '', '1', { name: 'm', value: bad })),
      ].map((body) => parser(`${character} ${JSON.stringify(body)}`, '/v1/updateContext', body, illegal)),
      ...[
        { entities: [{ id: bad }] },
        { entities: [{ id: bad, isPattern: 'true' }] },
        { entities: [{ id: 'x', type: bad }] },
        { entities: [{ id: 'x' }], attributes: [bad] },
      ].map((body) => parser(`${character} ${JSON.stringify(body)}`, '/v1/queryContext', body, illegal)),
      parser(`${character} entity`, entity, { attributes: [attribute('a', '', bad)] }, illegal),
      parser(`${character} attribute`, single, { value: bad }, illegal),
    ]
    await holds(t, client, rows)
  }
  const escaped = '{"contextElements":[{"id":"a\\u003cb"}],"updateAction":"APPEND"}'
  await holds(t, client, [parser('a decoded character counts', '/v1/updateContext', escaped, illegal)])
  await client.given({ id: 'x', attributes: [attribute('a', '', { "<>'=;()": '1' })] })
  t.match(await client.held('x'), [{ attributes: [{ value: { "<>'=;()": '1' } }] }], 'keys of compounds may have them')
})

test('a scalar in place of an array or object is empty [context 10.3]', async (t) => {
  const client = tenantClient(broker)
  await client.given({ id: 'x', attributes: 'x' }, { id: 'y', attributes: [{ name: 'a', value: '1', metadatas: 7 }] })
  await holds(t, client, [
    ['no elements', 'POST', '/v1/updateContext', update('x'), 200, errorCode(400, 'No context elements')],
    ['no selectors', 'POST', '/v1/queryContext', { entities: 'x' }, 200, errorCode(400, 'No entities')],
    ['an element', 'POST', '/v1/updateContext', update(['x']), 200, errorCode(400, 'empty entityId:id')],
    [
      'a restriction',
      'POST',
      '/v1/queryContext',
      { entities: [{ id: 'q' }], restriction: 'x' },
      200,
      errorCode(400, 'empty restriction'),
    ],
  ])
})

/** Payloads that the checks refuse: of context elements, and where an attribute is meant, of all that have one. */
async function refusesAttribute(t: Test, wrong: object, details: string): Promise<void> {
  const response = errorCode(400, details)
  const rows: Row[] = [
    [
      `updateContext: ${details}`,
      'POST',
      '/v1/updateContext',
      update([
        { id: 'y', attributes: [attribute('b', '', '1')] },
        { id: 'x', attributes: [wrong] },
      ]),
      200,
      response,
    ],
    [`POST of an entity: ${details}`, 'POST', entity, { attributes: [wrong] }, 200, response],
    [`PUT of an entity: ${details}`, 'PUT', '/v1/contextEntities/type/T/id/x', { attributes: [wrong] }, 200, response],
  ]
  const { name, ...payload } = wrong as { name?: string }
  if (name === 'a') {
    for (const verb of ['POST', 'PUT'])
      rows.push([`${verb} of an attribute: ${details}`, verb, single, payload, 200, statusCode(400, details)])
    rows.push([`PUT of an instance: ${details}`, 'PUT', `${single}/z`, payload, 200, statusCode(400, details)])
  }
  const client = tenantClient(broker)
  await holds(t, client, rows)
  t.strictSame(await client.held('y'), errorCode(404), 'nothing is applied')
}

test('the checks of a payload refuse all of it [context 10.3]', async (t) => {
  const long = 'é'.repeat(128)
  const longer = `${long}x`
  const m = (more: object) => ({ name: 'a', value: '1', metadatas: [{ name: 'm', value: '1', ...more }] })
  await refusesAttribute(t, { value: '1' }, 'missing attribute name')
  await refusesAttribute(t, { name: '', value: '1' }, 'missing attribute name')
  await refusesAttribute(t, { name: longer, value: '1' }, 'attribute name length: 257, max length supported: 256')
  await refusesAttribute(t, { name: 'a', type: longer }, 'attribute type length: 257, max length supported: 256')
  await refusesAttribute(t, m({ name: undefined }), 'missing metadata name')
  await refusesAttribute(t, m({ name: '' }), 'missing metadata name')
  await refusesAttribute(t, m({ name: longer }), 'metadata name length: 257, max length supported: 256')
  await refusesAttribute(t, m({ type: longer }), 'metadata type length: 257, max length supported: 256')
  await refusesAttribute(t, m({ value: '' }), 'missing metadata value')
  await refusesAttribute(t, m({ value: undefined }), 'missing metadata value')
  await tenantClient(broker).given({
    id: 'x',
    attributes: [attribute(long, long, '1', { name: long, type: long, value: longer })],
  })
})

test('two equal keys in a compound are refused with the path of the object [context 10.3]', async (t) => {
  for (const [value, details] of [
    ['{"k":1,"k":2}', '/k/ in path: /'],
    ['{"a":{"b":{"k":1,"k":2}}}', '/k/ in path: /a/b'],
    ['{"a":{"":1,"":2}}', '// in path: /a'],
  ] as const) {
    const text = `compound value error: duplicated tag-name: ${details}`
    const body = `{"attributes":[{"name":"a","value":${value}}]}`
    await holds(t, tenantClient(broker), [
      [
        'updateContext',
        'POST',
        '/v1/updateContext',
        `{"contextElements":[{"id":"x","attributes":[{"name":"a","value":${value}}]}],"updateAction":"APPEND"}`,
        200,
        errorCode(400, text),
      ],
      ['entity', 'POST', entity, body, 200, errorCode(400, text)],
      ['attribute', 'PUT', single, `{"value":${value}}`, 200, statusCode(400, text)],
    ])
  }
})

test('the checks of elements, selectors and actions [context 10.3]', async (t) => {
  const q = (body: object, details: string): Row => [
    JSON.stringify(body),
    'POST',
    '/v1/queryContext',
    body,
    200,
    errorCode(400, details),
  ]
  const u = (body: object, details: string): Row => [
    JSON.stringify(body),
    'POST',
    '/v1/updateContext',
    body,
    200,
    errorCode(400, details),
  ]
  const x = [{ id: 'x' }]
  const client = tenantClient(broker)
  await holds(t, client, [
    u({}, 'No context elements'),
    u(update([]), 'No context elements'),
    u(update([{}]), 'empty entityId:id'),
    u(update([{ id: '' }]), 'empty entityId:id'),
    u(update([{ id: 'x', isPattern: 'yes' }]), 'invalid isPattern value for entity: /yes/'),
    u(update([{ id: 'x' }, { id: 'y', isPattern: 'TRUE' }]), 'invalid isPattern value for entity: /TRUE/'),
    u({ contextElements: x }, 'empty update action type'),
    u(update(x, { updateAction: '' }), 'empty update action type'),
    u(update(x, { updateAction: 'DESTROY' }), 'invalid update action type: /DESTROY/'),
    q({}, 'No entities'),
    q({ entities: [] }, 'No entities'),
    q({ entities: [{ type: 'T' }] }, 'empty entityId:id'),
    q({ entities: [{ id: 'x', isPattern: 'no' }] }, 'invalid isPattern value for entity: /no/'),
    q({ entities: [{ id: '[', isPattern: 'true' }] }, 'invalid regex for entity id pattern'),
    q({ entities: [{ id: '*', isPattern: '1' }] }, 'invalid regex for entity id pattern'),
    q({ entities: [{ id: 'a\u0000', isPattern: 'true' }] }, 'invalid regex for entity id pattern'),
    q({ entities: x, attributes: ['a', ''] }, 'Empty attribute name'),
    q({ entities: x, restriction: {} }, 'empty restriction'),
    q({ entities: x, restriction: { scopes: [] } }, 'empty restriction'),
    q({ entities: x, restriction: { attributeExpression: '' } }, 'empty restriction'),
    q(
      { entities: x, restriction: { attributeExpression: '', scopes: [{ type: 'X', value: 'x' }] } },
      'Empty attribute expression',
    ),
    q({ entities: x, restriction: { scopes: [{ value: 'x' }] } }, 'Empty type in restriction scope'),
    q({ entities: x, restriction: { scopes: [{ type: '', value: 'x' }] } }, 'Empty type in restriction scope'),
    q({ entities: x, restriction: { scopes: [{ type: 'X' }] } }, 'Empty value in restriction scope'),
    q({ entities: x, restriction: { scopes: [{ type: 'X', value: '' }] } }, 'Empty value in restriction scope'),
    q({ entities: x, restriction: { scopes: [{ type: 'X', value: 'a(b' }] } }, 'illegal chars in scope'),
    q(
      { entities: x, restriction: { scopes: [{ type: 'FIWARE::Filter::Existence', value: 'a;b' }] } },
      'illegal chars in scope',
    ),
  ])
  t.strictSame(await client.held('x'), errorCode(404), 'an unknown action never creates anything')
})

test('a client that mixes good and bad requests raises one alarm, whatever front ends take them', async (t) => {
  const own = await RunningBroker.start(t, ['-httpThreads', '2'])
  for (let round = 0; round < 20; round += 1) {
    await own.send('POST', '/v1/updateContext', '{', { Connection: 'close' })
    await own.update('APPEND', { id: 'Tank1' })
  }
  t.match((await own.send('GET', '/metrics')).text, '\nrigel_alarms_active{alarm="BadInput"} 1\n')
  t.equal(own.output.split('alarm BadInput').length - 1, 1, own.output)
  await own.writes('Raising alarm BadInput 127.0.0.1: JSON Parse Error')
})
