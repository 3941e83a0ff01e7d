import { test } from 'tap'
import { RunningBroker } from '../running.js'

interface Sent {
  readonly verb: string
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

const secondLocation = {
  status: 413,
  location: null,
  text: JSON.stringify({
    error: 'NoResourcesAvailable',
    description:
      'You cannot use more than one geo location attribute when creating an entity. Use ignoreType metadata if you want to add additional informative locations.',
  }),
}

test('entities and attributes are written by every operation, and each refusal has its response [NGSIv2 context 8, 9, 11]', async (t) => {
  const broker = await RunningBroker.shared()
  const send = async ({ verb, path, body, headers = {} }: Sent) => {
    const type = body === undefined ? {} : { 'Content-Type': 'application/json' }
    const response = await fetch(`${broker.url}/v2${path}`, {
      method: verb,
      headers: { 'Fiware-Service': 'writes', ...type, ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, location: response.headers.get('location'), text }
  }
  const done = { status: 204, location: null, text: '' }
  const error = (status: number, name: string, description: string) => ({
    status,
    location: null,
    text: JSON.stringify({ error: name, description }),
  })
  const notFound = error(404, 'NotFound', 'The requested entity has not been found. Check type and id')
  const exists = error(422, 'Unprocessable', 'Already Exists')
  const noGeoJson = error(400, 'BadRequest', 'geo:json needs an object or null as value')
  const vat = { id: 'Vat1', type: 'Vat', heat: { value: 61.5 }, lid: { value: 'open', type: 'State' } }
  const rows: readonly (readonly [sent: Sent, response: object])[] = [
    [
      { verb: 'POST', path: '/entities', body: vat },
      { status: 201, location: '/v2/entities/Vat1?type=Vat', text: '' },
    ],
    [{ verb: 'POST', path: '/entities', body: vat }, exists],
    [
      { verb: 'POST', path: '/entities?options=upsert', body: { id: 'Vat2' } },
      { status: 204, location: '/v2/entities/Vat2?type=Thing', text: '' },
    ],
    [
      {
        verb: 'POST',
        path: '/entities',
        body: { id: 'x'.repeat(256), type: 'y'.repeat(256) },
        headers: { 'Fiware-ServicePath': `/${Array(10).fill('p'.repeat(50)).join('/')}` },
      },
      error(400, 'BadRequest', 'Too long entity id/type/servicePath combination'),
    ],
    [{ verb: 'POST', path: '/entities/Vat1/attrs', body: { fill: { value: 3 } } }, done],
    [
      {
        verb: 'POST',
        path: '/entities/Vat1/attrs?options=append',
        body: { fill: { value: 3 }, smell: { value: 'none' } },
      },
      error(422, 'PartialUpdate', 'one or more of the attributes in the request already exist: Vat1 - [ fill ]'),
    ],
    [
      {
        verb: 'PATCH',
        path: '/entities/Vat1/attrs?type=Vat',
        body: { '9': { value: 1 }, heat: { value: 70 }, '10': { value: 1 } },
      },
      error(422, 'PartialUpdate', 'do not exist: Vat1/Vat - [ 9, 10 ]'),
    ],
    [
      { verb: 'PATCH', path: '/entities/Vat1/attrs', body: { none: { value: 70 } } },
      error(422, 'Unprocessable', 'do not exist: Vat1 - [ none ]'),
    ],
    [{ verb: 'PATCH', path: '/entities/Vat7/attrs', body: { heat: { value: 70 } } }, notFound],
    [{ verb: 'PUT', path: '/entities/Vat1/attrs/heat', body: { value: { $inc: 1 }, type: 'Number' } }, done],
    [
      { verb: 'PUT', path: '/entities/Vat1/attrs/none', body: { value: 1 } },
      error(404, 'NotFound', 'The entity does not have such an attribute'),
    ],
    [
      {
        verb: 'PUT',
        path: '/entities/Vat1/attrs/heat/value',
        body: '"hot"',
        headers: { 'Content-Type': 'text/plain; charset=utf-8' },
      },
      done,
    ],
    [
      { verb: 'PUT', path: '/entities/Vat1/attrs/heat/value', body: '"<"', headers: { 'Content-Type': 'text/plain' } },
      error(400, 'BadRequest', 'Invalid characters in attribute value'),
    ],
    [
      { verb: 'PUT', path: '/entities/Vat1/attrs/heat', body: { value: { $mul: 2 } } },
      error(500, 'InternalServerError', 'update operator $mul cannot be applied to attribute heat'),
    ],
    [{ verb: 'DELETE', path: '/entities/Vat1/attrs/smell' }, done],
    [
      { verb: 'DELETE', path: '/entities/Vat1/attrs/smell' },
      error(404, 'NotFound', 'The entity does not have such an attribute'),
    ],
    [
      {
        verb: 'PATCH',
        path: '/entities/Vat1/attrs',
        body: { heat: { value: 1 } },
        headers: { 'Fiware-ServicePath': '/a,/b' },
      },
      error(400, 'BadRequest', 'more than one servicepath in patch update request is not allowed'),
    ],
    [
      { verb: 'DELETE', path: '/entities/Vat1', headers: { 'Fiware-ServicePath': '/a/#' } },
      error(400, 'BadRequest', 'servicepath with wildcard # is not allowed in DELETE operation'),
    ],
    [
      {
        verb: 'POST',
        path: '/op/update',
        body: { actionType: 'append', entities: [{ id: 'V1' }] },
        headers: { 'Fiware-ServicePath': '/#' },
      },
      error(400, 'BadRequest', 'Bad Character in Service-Path'),
    ],
    [
      {
        verb: 'POST',
        path: '/op/update',
        body: {
          actionType: 'update',
          entities: [
            { id: 'Gone1', type: 'Vat', heat: { value: 1 } },
            { id: 'Vat1', heat: { value: 2 }, none: { value: 3 } },
            { id: 'Gone2', heat: { value: 1 } },
          ],
        },
      },
      error(422, 'PartialUpdate', 'do not exist: Gone1/Vat - [entity itself], Vat1 - [ none ], Gone2 [entity itself]'),
    ],
    [
      { verb: 'POST', path: '/op/update', body: { actionType: 'delete', entities: [{ id: 'Gone1' }] } },
      error(404, 'NotFound', 'do not exist: Gone1 - [entity itself]'),
    ],
    [
      {
        verb: 'POST',
        path: '/op/notify',
        body: { subscriptionId: 'x', data: [{ id: 'Vat3', type: 'Vat', heat: { value: 1 } }] },
      },
      { status: 200, location: null, text: '' },
    ],
    [
      {
        verb: 'POST',
        path: '/op/notify',
        body: { subscriptionId: 'x', data: [] },
        headers: { 'Ngsiv2-AttrsFormat': 'keyValues' },
      },
      error(400, 'BadRequest', 'attribute render format /keyValues/ not supported for notifications'),
    ],
    [
      {
        verb: 'POST',
        path: '/op/notify',
        body: { subscriptionId: 'x', data: [] },
        headers: { 'Ngsiv2-AttrsFormat': 'other' },
      },
      error(400, 'BadRequest', 'invalid render format for notifications'),
    ],
    [
      {
        verb: 'POST',
        path: '/op/notify',
        body: { subscriptionId: 'x', data: [] },
        headers: { 'Ngsiv2-AttrsFormat': '' },
      },
      { status: 200, location: null, text: '' },
    ],
    [
      {
        verb: 'POST',
        path: '/entities/Vat1/attrs',
        body: Object.fromEntries(Array.from({ length: 5001 }, (_, n) => [`a${n}`, {}])),
      },
      error(422, 'Unprocessable', 'attributes of the entity would exceed the max supported: 5000'),
    ],
    [{ verb: 'PUT', path: '/entities/Vat1/attrs', body: { here: { value: '1, 2', type: 'geo:point' } } }, done],
    [
      { verb: 'POST', path: '/entities/Vat1/attrs', body: { there: { value: ['1, 2', 'x'], type: 'geo:line' } } },
      secondLocation,
    ],
    [
      { verb: 'POST', path: '/entities/Vat1/attrs', body: { there: { value: '3, 4', type: 'geo:point' } } },
      secondLocation,
    ],
    [
      {
        verb: 'POST',
        path: '/entities/Vat1/attrs',
        body: { there: { value: '3, 4', type: 'geo:point' }, area: { value: 5, type: 'geo:json' } },
      },
      noGeoJson,
    ],
    [{ verb: 'POST', path: '/entities', body: { id: 'Vat1', type: 'Vat', area: { type: 'geo:json' } } }, exists],
    [
      { verb: 'POST', path: '/entities', body: { id: 'Vat1', type: 'Vat', area: { value: 5, type: 'geo:json' } } },
      noGeoJson,
    ],
    [
      {
        verb: 'POST',
        path: '/op/update',
        body: {
          actionType: 'append',
          entities: [
            { id: 'Vat8', area: { value: 5, type: 'geo:json' } },
            { id: 'Vat9', heat: { value: 1 } },
          ],
        },
      },
      noGeoJson,
    ],
    [{ verb: 'GET', path: '/entities/Vat9' }, notFound],
    [{ verb: 'POST', path: '/entities/Vat1/attrs', body: { dateExpires: { type: 'DateTime', value: null } } }, done],
    [
      {
        verb: 'POST',
        path: '/op/update?options=keyValues',
        body: { actionType: 'delete', entities: [{ id: 'Vat1', dateExpires: '' }] },
      },
      done,
    ],
    [
      { verb: 'DELETE', path: '/entities/Vat1/attrs/dateExpires' },
      error(404, 'NotFound', 'The entity does not have such an attribute'),
    ],
    [{ verb: 'DELETE', path: '/entities/Vat1?type=Vat' }, done],
    [{ verb: 'DELETE', path: '/entities/Vat1' }, notFound],
  ]
  for (const [sent, response] of rows) t.same(await send(sent), response, `${sent.verb} ${sent.path.slice(0, 60)}`)
  await Promise.all(
    Array.from({ length: 200 }, () =>
      send({ verb: 'PUT', path: '/entities/Vat3/attrs/heat/value', body: { $inc: 1 } }),
    ),
  )
  t.equal(
    (await send({ verb: 'GET', path: '/entities/Vat3/attrs/heat/value' })).text,
    '201',
    'every increment is counted',
  )
  const many = Array.from({ length: 3000 }, (_, n) => ({ id: `Many${n}`, type: 'M', x: { value: 'y'.repeat(30) } }))
  t.same(await send({ verb: 'POST', path: '/op/update', body: { actionType: 'append', entities: many } }), done)
  t.match((await send({ verb: 'GET', path: '/entities/Many2999?options=keyValues' })).text, 'Many2999')
})
