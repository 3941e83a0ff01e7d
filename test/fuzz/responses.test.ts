import { test } from 'tap'
import type { FuzzRequest } from './requests.js'
import { faultOf } from './responses.js'

const request: FuzzRequest = { verb: 'GET', path: '/v1/contextEntities', headers: [], body: undefined }
const ok = { code: '200', reasonPhrase: 'OK' }

test('responses that a client can read have no fault', async (t) => {
  const attributes = [{ name: 'a', type: '', value: { x: [null] }, metadatas: [{ name: 'm' }] }]
  const contextElement = { type: 'T', isPattern: 'false', id: 'E', attributes }
  const good = [
    { contextResponses: [{ contextElement, statusCode: ok }] },
    { errorCode: { ...ok, code: '404', details: 'none' } },
    { subscribeError: { errorCode: ok } },
    { types: [{ name: 'T', attributes: ['a'] }], statusCode: ok },
  ]
  for (const response of good) t.equal(faultOf(request, 200, JSON.stringify(response)), undefined)
  t.equal(faultOf(request, 503, '{}'), undefined)
  t.equal(faultOf({ ...request, path: '/metrics' }, 200, 'requests 1'), undefined)
})

test('every kind of wrong response is found', async (t) => {
  t.match(faultOf(request, 500, '{}'), /status is 500/)
  t.match(faultOf(request, 99, '{}'), /status is 99/)
  t.match(faultOf(request, 200, 'oops'), /no JSON/)
  const bad = [
    { errorCode: { code: 200, reasonPhrase: 'OK' } },
    { orionError: { code: '400' } },
    { contextResponses: {} },
    { contextResponses: [{ contextElement: { isPattern: 'false' } }] },
    { contextResponses: [{ contextElement: { id: 'E' } }] },
    { contextResponses: [{ attributes: [{ value: '1' }], statusCode: ok }] },
    {
      contextResponses: [
        { contextElement: { id: 'E', isPattern: 'false', attributes: [{ name: 'a', metadatas: [{}] }] } },
      ],
    },
    [],
  ]
  for (const response of bad)
    t.type(faultOf(request, 200, JSON.stringify(response)), 'string', JSON.stringify(response))
})
