import { test } from 'tap'
import { RunningBroker } from '../running.js'

function shape(type: string, value: unknown, metadata = {}) {
  return { type, value, metadata }
}

async function counted(broker: RunningBroker): Promise<unknown> {
  const { json } = await broker.send('GET', '/statistics')
  return (json as { counters?: { deprecatedFeatures?: unknown } }).counters?.deprecatedFeatures
}

test('locations of the old types are counted, and logged when operators ask for it', async (t) => {
  const broker = await RunningBroker.start(t, ['-statCounters'])
  const attributes = [{ name: 'here', type: 'geo:point', value: '1,2' }]
  await broker.update('APPEND', { id: 'Site0', type: 'Site', attributes })
  t.equal(await counted(broker), undefined, 'what NGSIv1 calls a location is not deprecated')
  const create = (id: string, attributes: object) =>
    broker.send('POST', '/v2/entities', { id, type: 'Site', ...attributes })
  await create('Site1', { here: shape('geo:json', { type: 'Point', coordinates: [1, 2] }), name: { value: 'x' } })
  t.equal(await counted(broker), undefined)
  await create('Site2', {
    here: shape('geo:point', '1,2'),
    there: shape('geo:box', [], { ignoreType: { value: true } }),
  })
  await create('Site3', { here: shape('geo:line', null) })
  t.same(await counted(broker), { geoFormat: 1 })
  t.notMatch(broker.output, /Deprecated/)

  await broker.send('PUT', '/admin/log?deprecate=true')
  const update = (attributes: object) => broker.send('PATCH', '/v2/entities/Site2/attrs', attributes)
  t.equal((await update({ here: shape('geo:box', ['1,2', '3,4']) })).status, 204)
  t.equal((await update({ there: { value: 1 } })).status, 204)
  t.equal((await update({ here: shape('geo:polygon', 'x') })).status, 400)
  t.same(await counted(broker), { geoFormat: 2 })
  const line = 'Deprecated usage of geo:box detected in attribute here at entity update, please use geo:json instead'
  await broker.writes(line)
  t.equal(broker.output.split('Deprecated').length, 2)

  const { json } = await broker.send('GET', '/statistics?options=fullCounters')
  t.match(json, { counters: { deprecatedFeatures: { geoFormat: 2, ngsiv1Forwarding: 0 } } })
  t.notOk(Object.hasOwn(json as object, 'geoFormat'))
})

test('registrations whose provider is asked in the form of NGSIv1 are counted and logged', async (t) => {
  const broker = await RunningBroker.start(t, ['-statCounters', '-logDeprecate'])
  const register = (legacyForwarding: boolean) =>
    broker.send('POST', '/v2/registrations', {
      dataProvided: { entities: [{ id: legacyForwarding ? 'Site1' : 'Site0', type: 'Site' }] },
      provider: { http: { url: 'http://127.0.0.1:9/v1' }, legacyForwarding },
    })
  t.equal((await register(false)).status, 201)
  t.equal(await counted(broker), undefined)
  const made = await register(true)
  t.equal(made.status, 201)
  t.same(await counted(broker), { ngsiv1Forwarding: 1 })
  const id = made.headers.get('location')?.split('/').at(-1)
  const line = `Deprecated usage of legacyForwarding mode in registration creation (regId: ${id})`
  await broker.writes(line)

  const street = { entities: [{ type: 'Site', isPattern: 'false', id: 'Site2' }], attributes: [] }
  const contextRegistrations = [{ ...street, providingApplication: 'http://127.0.0.1:9/v1' }]
  await broker.send('POST', '/v1/registry/registerContext', { contextRegistrations, duration: 'P1D' })
  await broker.send('GET', '/v2/entities/Site2?type=Site')
  t.same(await counted(broker), { ngsiv1Forwarding: 1 }, 'NGSIv1 has no other form')
  await broker.send('GET', '/v2/entities/Site1?type=Site')
  t.same(await counted(broker), { ngsiv1Forwarding: 2 })
  await broker.send('PUT', '/v2/entities/Site1/attrs/noise?type=Site', { value: 1 })
  t.same(await counted(broker), { ngsiv1Forwarding: 3 })
  await broker.writes(`Deprecated usage of legacyForwarding mode detected in existing registration (regId: ${id})`)
})
