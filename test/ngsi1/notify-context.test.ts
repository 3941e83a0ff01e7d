import { test } from 'tap'
import type { Broker } from '../../src/broker/front-end/broker.js'
import type { EntityType, ServicePath } from '../../src/model/context/entity.js'
import { maxValues } from '../../src/model/context/entity-size.js'
import type { UpdateElement } from '../../src/model/context/update.js'
import { err, ok } from '../../src/result.js'
import { done, entity, recording, scripted, send } from './given.js'

const status = { code: '200', reasonPhrase: 'OK' }
const okStatus = { status: 200, headers: undefined, body: { responseCode: status } }
const speed = { name: 'speed', type: 'knot', value: '11' }

function element(id: string, more: object = {}) {
  return { contextElement: { type: 'Ferry', isPattern: 'false', id, attributes: [speed], ...more }, statusCode: status }
}

function notification(...contextResponses: readonly unknown[]) {
  return { subscriptionId: '5f0a1b2c3d4e5f6071829300', originator: 'localhost', contextResponses }
}

function paths(...texts: readonly string[]) {
  return texts.map((path) => ({ path: path as ServicePath, below: false }))
}

/** A broker that holds entities of one id, and keeps what it is asked to update. */
function holding(...held: readonly { readonly path: string; readonly id: string; readonly type: string }[]) {
  const updates: UpdateElement[] = []
  const entities = held.map(({ path, id, type }) => ({ ...entity(id, type), path: path as ServicePath }))
  const broker: Broker = scripted({
    pathsOf: async (_tenant, _paths, named) =>
      ok(
        named.map(({ id, type }) => {
          const meant = entities.filter((entity) => entity.id === id && (type === undefined || entity.type === type))
          return [...new Set(meant.map(({ path }) => path))]
        }),
      ),
    update: async (elements) => {
      updates.push(...elements)
      return ok(elements.map(done))
    },
  })
  return { broker, updates, places: () => updates.map(({ id, path }) => [id, path]) }
}

test('every element of a notification is appended, as it came with its request', async (t) => {
  const { broker, updates } = recording()
  const metadatas = [
    { name: 'ID', type: 'string', value: 'bow' },
    { name: 'accuracy', type: 'float', value: '0.5' },
  ]
  const response = await send(broker, 'POST', 'notifyContext', {
    headers: { 'fiware-service': 'Harbour_a', 'x-auth-token': 'secret' },
    options: { multiservice: true, ngsiv1Autocast: true, queryTimeout_ms: 30_000 },
    paths: paths('/port'),
    body: notification(
      element('Lima', { attributes: [{ name: 'draft', type: 'm', value: { fore: ['1', {}], aft: '2' }, metadatas }] }),
      element('Mike', { type: '', attributeDomainName: 'engine', metadatas: [{ name: 'flag', value: '' }] }),
    ),
  })
  t.same(response, okStatus)
  const flags = { tenant: 'harbour_a', path: '/port', action: 'APPEND', autocast: true }
  const origin = { correlator: 'c', token: 'secret', service: 'harbour_a' }
  const accuracy = { name: 'accuracy', type: 'float', value: '0.5' }
  t.same(updates, [
    {
      ...flags,
      id: 'Lima',
      type: 'Ferry',
      attributes: [
        { name: 'draft', instance: 'bow', type: 'm', metadata: [accuracy], value: { fore: ['1', {}], aft: '2' } },
      ],
      origin,
    },
    { ...flags, id: 'Mike', attributes: [{ ...speed, instance: '', metadata: [] }], origin },
  ])
})

test('metadata of a notification are stored as they are, also compound and empty ones', async (t) => {
  const { broker, updates } = recording()
  const compound = { spots: ['1', {}], by: 'Kim' }
  const metadata = [
    { name: 'empty', type: 'string', value: '' },
    { name: 'survey', type: '', value: compound },
    { name: 'ID', type: '', value: compound },
    { name: 'location', type: '', value: ['1'] },
    { name: 'location', type: '', value: '' },
  ]
  for (const more of [{}, { metadatas: [{ name: 'own', value: compound }] }]) {
    const body = notification(element('Lima', { attributes: [{ ...speed, metadatas: metadata }], ...more }))
    t.same(await send(broker, 'POST', 'notifyContext', { body }), okStatus)
  }
  const attributes = [{ ...speed, instance: '', metadata }]
  t.match(updates, [{ attributes }, { attributes }])
  t.equal(updates.length, 2)
  const wrong = [
    { name: 'twice', value: '{"a":"1","a":"2"}' },
    { name: 'long', value: JSON.stringify(Array(maxValues + 1).fill('')) },
  ]
  for (const { name, value } of wrong) {
    const body = JSON.stringify(
      notification(element('Lima', { attributes: [{ ...speed, metadatas: [{ name, value: 'x' }] }] })),
    ).replace('"x"', value)
    t.same(await send(broker, 'POST', 'notifyContext', { body }), okStatus)
  }
  t.equal(updates.length, 2, 'what is wrong as a value of an attribute is wrong here')
})

test('nothing has to be in a notification', async (t) => {
  const { broker, updates } = recording()
  for (const body of [{}, { subscriptionId: '' }, notification(), { contextResponses: 'x' }]) {
    t.same(await send(broker, 'POST', 'notifyContext', { body }), okStatus)
  }
  t.same(updates, [])
})

test('elements that updateContext would refuse are left out, the others are not', async (t) => {
  const { broker, updates } = recording()
  const bow = { ...speed, metadatas: [{ name: 'ID', type: 'string', value: 'bow' }] }
  const body = notification(
    element('pattern', { isPattern: 'true' }),
    element('neither', { isPattern: 'maybe' }),
    element('', {}),
    element('twice', { attributes: [bow, bow] }),
    element('mixed', { attributes: [bow, speed] }),
    element('empty', { attributes: [{ name: 'speed' }] }),
    element('unnamed', { attributes: [{ value: '1' }] }),
    element('long', { attributes: [{ ...speed, name: 'n'.repeat(257) }] }),
    element('k'.repeat(2000)),
    { statusCode: status },
    element('Lima'),
  )
  t.same(await send(broker, 'POST', 'notifyContext', { body }), okStatus)
  t.same(
    updates.map(({ id }) => id),
    ['Lima'],
  )
})

test('what the broker refuses of an element is left out, too', async (t) => {
  const broker = scripted({
    update: async (elements) =>
      ok(
        elements.map((element) => {
          const [item] = done(element).items
          return { items: item ? [{ ...item, refusal: { kind: 'instancesMixed', name: 'speed' } }] : [], missing: [] }
        }),
      ),
  })
  t.same(await send(broker, 'POST', 'notifyContext', { body: notification(element('Lima')) }), okStatus)
})

test('one path is that of all elements, as many paths as elements are each one of them', async (t) => {
  const cases: readonly (readonly [given: readonly string[], expected: readonly string[]])[] = [
    [['/a'], ['/a', '/a', '/a']],
    [
      ['/a', '/b', '/c'],
      ['/a', '/c'],
    ],
    [
      ['/b', '/a'],
      ['/b', '/b', '/b'],
    ],
    [
      ['/b', '/a', '/a', '/a'],
      ['/b', '/b', '/b'],
    ],
  ]
  for (const [given, expected] of cases) {
    const { broker, places } = holding({ path: '/elsewhere', id: 'Lima', type: 'Ferry' })
    const leftOut = given.length === 3 ? { isPattern: 'true' } : {}
    const body = notification(element('Lima'), element('Mike', leftOut), element('Lima'))
    t.same(await send(broker, 'POST', 'notifyContext', { paths: paths(...given), body }), okStatus)
    t.same(
      places().map(([, path]) => path),
      expected,
      given.join(', '),
    )
  }
})

test('without a path an element goes to its entities wherever they are, a new one to the root', async (t) => {
  const { broker, places } = holding(
    { path: '/a', id: 'Lima', type: 'Ferry' },
    { path: '/b', id: 'Lima', type: 'Ferry' },
    { path: '/c', id: 'Lima', type: 'Tug' },
    { path: '/c', id: 'Lima', type: '' },
  )
  await send(broker, 'POST', 'notifyContext', { body: notification(element('Lima'), element('Mike')) })
  t.same(places(), [
    ['Lima', '/a'],
    ['Lima', '/b'],
    ['Mike', '/'],
  ])
  await send(broker, 'POST', 'notifyContext', { body: notification(element('Lima', { type: '' })) })
  t.same(places().slice(3), [
    ['Lima', '/a'],
    ['Lima', '/b'],
    ['Lima', '/c'],
  ])
})

test('the elements that have no path are looked for together', async (t) => {
  const requests: number[] = []
  const broker = scripted({
    pathsOf: async (_tenant, _paths, named) => {
      requests.push(named.length)
      return ok(named.map(() => []))
    },
  })
  const ids = Array.from({ length: 1000 }, (_, number) => `Ferry${number}`)
  const body = notification(...ids.map((id) => element(id)))
  t.same(await send(broker, 'POST', 'notifyContext', { body }), okStatus)
  t.same(await send(broker, 'POST', 'notifyContext', { body, paths: paths('/port') }), okStatus)
  t.same(requests, [1000], 'once, and not where the request says the path')
})

test('what is wrong with a notification is said in the responseCode', async (t) => {
  const refusals: readonly (readonly [body: unknown, details: string])[] = [
    ['{ "subscriptionId": ', 'JSON Parse Error'],
    [{ colour: 'red' }, 'JSON Parse Error: unknown field: /colour'],
    [
      notification(element('a', { colour: 'red' })),
      'JSON Parse Error: unknown field: /contextResponses/contextResponse/contextElement/colour',
    ],
    [
      notification({ ...element('a'), statusCode: { colour: 'red' } }),
      'JSON Parse Error: unknown field: /contextResponses/contextResponse/statusCode/colour',
    ],
    [notification(element('a=b')), 'Illegal value for JSON field'],
    [{ ...notification(element('a')), subscriptionId: '12ab' }, 'bad length - 24 chars expected'],
    [{ subscriptionId: 'greenhouse-seven-is-here' }, 'invalid char in ID string'],
  ]
  const { broker, updates } = recording()
  for (const [body, details] of refusals) {
    const responseCode = { code: '400', reasonPhrase: 'Bad Request', details }
    t.same(await send(broker, 'POST', 'notifyContext', { body }), { ...okStatus, body: { responseCode } }, details)
  }
  const responseCode = { code: '400', reasonPhrase: 'Bad Request', details: 'Bad Character in Service-Path' }
  const below = { paths: [{ path: '/a' as ServicePath, below: true }], body: notification(element('a')) }
  t.same(await send(broker, 'POST', 'notifyContext', below), { ...okStatus, body: { responseCode } })
  t.same(updates, [])
})

test('what could not be stored or looked up is answered 503, so that it is sent again', async (t) => {
  const full = async () => err({ kind: 'storageFull' } as const)
  const sent = { body: notification(element('Lima')) }
  for (const broker of [scripted({ update: full }), scripted({ pathsOf: full })]) {
    t.same(await send(broker, 'POST', 'notifyContext', sent), {
      status: 503,
      headers: { 'Retry-After': '60' },
      body: { orionError: { code: '503', reasonPhrase: 'Service Unavailable', details: 'storage full' } },
    })
  }
})

test('a notification of which a part could not be stored is answered 503, and says that a part was', async (t) => {
  const responses = [
    ['storageFull', '60', 'storage full: a part of the update was carried out'],
    ['partitionLost', '1', 'partition not available: the update may have been carried out'],
    ['outcomeUnknown', '1', 'partition not available: the update may have been carried out'],
  ] as const
  for (const [why, retryAfter, details] of responses) {
    const update = async (elements: readonly UpdateElement[]) =>
      ok(
        elements.map(({ id, type = '' as EntityType }, at) =>
          at === 0
            ? { items: [{ id, type }], missing: [] }
            : { items: [{ id, type, refusal: { kind: 'unavailable', why } as const }], missing: [] },
        ),
      )
    const sent = { body: notification(element('Lima'), element('Ica')) }
    t.same(await send(scripted({ update }), 'POST', 'notifyContext', sent), {
      status: 503,
      headers: { 'Retry-After': retryAfter },
      body: { orionError: { code: '503', reasonPhrase: 'Service Unavailable', details } },
    })
  }
})
