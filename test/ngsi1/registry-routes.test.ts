import { test } from 'tap'
import { counterRows } from '../../src/measure/counters.js'
import { registryResources } from '../../src/ngsi1/registry-routes.js'
import { LongPayloads } from '../../src/slices.js'
import { plainOptions, scripted } from './given.js'

const resources = registryResources({ broker: scripted(), options: plainOptions, longPayloads: new LongPayloads() })
const named = (pattern: string) => pattern.replace('/v1/registry/', '')

test('each resource of the registry allows its verbs in the order of the Allow header, and has its counter', async (t) => {
  const rows = resources.map(({ pattern, counter, operations }) => [
    named(pattern),
    `${Object.keys(operations).join(', ')}: ${counter}`,
  ])
  t.same(Object.fromEntries(rows), {
    registerContext: 'POST: registrations',
    discoverContextAvailability: 'POST: discoveries',
    subscribeContextAvailability: 'POST: availabilitySubscriptions',
    updateContextAvailabilitySubscription: 'POST: availabilitySubscriptionUpdates',
    unsubscribeContextAvailability: 'POST: availabilityUnsubscriptions',
    notifyContextAvailability: 'POST: availabilityNotificationsReceived',
    'contextEntities/{id}': 'POST, GET: contextEntitiesByEntityId',
    'contextEntities/{id}/attributes': 'POST, GET: contextEntityAttributes',
    'contextEntities/{id}/attributes/{name}': 'POST, GET: entityByIdAttributeByName',
    'contextEntities/type/{type}/id/{id}': 'POST, GET: contextEntitiesByEntityIdAndType',
    'contextEntities/type/{type}/id/{id}/attributes/{name}': 'POST, GET: entityByIdAttributeByNameIdAndType',
    'contextEntityTypes/{type}': 'POST, GET: contextEntityTypes',
    'contextEntityTypes/{type}/attributes': 'POST, GET: contextEntityTypeAttributeContainer',
    'contextEntityTypes/{type}/attributes/{name}': 'POST, GET: contextEntityTypeAttribute',
    contextAvailabilitySubscriptions: 'POST: availabilitySubscriptions',
    'contextAvailabilitySubscriptions/{id}': 'PUT, DELETE: subscriptionsNgsi9ConvOp',
  })
  const known = new Set<string>(counterRows.map(({ name }) => name))
  t.ok(resources.every(({ counter = '', anyCase }) => known.has(counter) && anyCase))
})

test('all but the paths with a type and an id have the older name', async (t) => {
  for (const { pattern, aliases } of resources) {
    const older = pattern.includes('/type/') ? undefined : [`/ngsi9/${named(pattern)}`]
    t.same(aliases, older, pattern)
  }
})

test('errors of the HTTP layer sit where the standard operation reports its errors', async (t) => {
  const status = { code: '413', reasonPhrase: 'Request Entity Too Large' }
  const id = '000000000000000000000000'
  const wrapped = resources.map(({ pattern, operations: { POST } }) => [named(pattern), POST?.wrapStatus?.(status)])
  t.same(Object.fromEntries(wrapped.filter(([, body]) => body !== undefined)), {
    registerContext: { registrationId: id, errorCode: status },
    discoverContextAvailability: { errorCode: status },
    subscribeContextAvailability: { subscriptionId: id, errorCode: status },
    updateContextAvailabilitySubscription: { subscriptionId: id, errorCode: status },
    unsubscribeContextAvailability: { subscriptionId: id, statusCode: status },
    notifyContextAvailability: { responseCode: status },
  })
})

test('only discoveries read', async (t) => {
  for (const { pattern, operations } of resources) {
    for (const [verb, { use }] of Object.entries(operations)) {
      t.equal(use, verb === 'GET' || named(pattern) === 'discoverContextAvailability' ? 'read' : 'write', pattern)
    }
  }
})
