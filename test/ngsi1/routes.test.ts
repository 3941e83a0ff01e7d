import { test } from 'tap'
import { ngsi1Resources } from '../../src/api/ngsi1/routes.js'
import { counterRows } from '../../src/observe/measure/counters.js'
import { plainOptions, scripted } from './given.js'

const all = ngsi1Resources({ broker: scripted(), options: plainOptions })
/** Those of the registry have tests of their own. */
const resources = all.filter(({ pattern }) => !pattern.startsWith('/v1/registry/'))

test('each resource allows its verbs in the order of the Allow header', async (t) => {
  const allow = resources.map(({ pattern, operations }) => [pattern, Object.keys(operations).join(', ')])
  t.same(Object.fromEntries(allow), {
    '/v1/updateContext': 'POST',
    '/v1/queryContext': 'POST',
    '/v1/subscribeContext': 'POST',
    '/v1/updateContextSubscription': 'POST',
    '/v1/unsubscribeContext': 'POST',
    '/v1/contextSubscriptions': 'POST',
    '/v1/contextSubscriptions/{id}': 'PUT, DELETE',
    '/v1/notifyContext': 'POST',
    '/v1/contextEntities': 'POST, GET',
    '/v1/contextEntities/type/{type}/id/{id}': 'POST, GET, PUT, DELETE',
    '/v1/contextEntities/type/{type}/id/{id}/attributes/{name}': 'POST, GET, PUT, DELETE',
    '/v1/contextEntities/type/{type}/id/{id}/attributes/{name}/{metaID}': 'POST, GET, PUT, DELETE',
    '/v1/contextEntities/{id}': 'POST, GET, PUT, DELETE',
    '/v1/contextEntities/{id}/attributes': 'POST, GET, PUT, DELETE',
    '/v1/contextEntities/{id}/attributes/{name}': 'POST, GET, PUT, DELETE',
    '/v1/contextEntities/{id}/attributes/{name}/{metaID}': 'GET, PUT, DELETE',
    '/v1/contextEntityTypes/{type}': 'GET',
    '/v1/contextEntityTypes/{type}/attributes': 'GET',
    '/v1/contextEntityTypes/{type}/attributes/{name}': 'GET',
    '/v1/contextTypes': 'GET',
    '/v1/contextTypes/{type}': 'GET',
    '/v1/subscriptions/{id}/events': 'GET, POST',
  })
})

test('the older names are those of fifteen resources', async (t) => {
  const aliases = resources.flatMap(({ pattern, aliases = [] }) => aliases.map((alias) => [alias, pattern]))
  t.equal(aliases.length, 15)
  for (const [alias, pattern] of aliases) t.equal(alias?.replace('/ngsi10/', '/v1/'), pattern)
  const without = ['/v1/contextEntities', '/v1/contextTypes', '/v1/contextTypes/{type}']
  const typed = '/v1/contextEntities/type/{type}/id/{id}'
  const plain = resources.filter((resource) => resource.aliases === undefined).map(({ pattern }) => pattern)
  const attribute = `${typed}/attributes/{name}`
  const expected = [...without, typed, attribute, `${attribute}/{metaID}`, '/v1/subscriptions/{id}/events']
  t.same(plain.toSorted(), expected.toSorted())
})

test('each resource is counted under a name of its own, but for the two that make subscriptions', async (t) => {
  const counted = resources.filter(({ pattern }) => pattern !== '/v1/contextSubscriptions')
  t.equal(new Set(counted.map(({ counter }) => counter)).size, resources.length - 1)
  const counters = Object.fromEntries(resources.map(({ pattern, counter }) => [pattern, counter]))
  t.match(counters, {
    '/v1/subscribeContext': 'subscriptions',
    '/v1/contextSubscriptions': 'subscriptions',
    '/v1/updateContextSubscription': 'subscriptionUpdates',
    '/v1/unsubscribeContext': 'unsubscriptions',
    '/v1/contextSubscriptions/{id}': 'subscriptionsNgsi10ConvOp',
    '/v1/notifyContext': 'notificationsReceived',
  })
})

test('only GET reads but for queries, and what a listening client confirms', async (t) => {
  const alsoRead = ['/v1/queryContext', '/v1/subscriptions/{id}/events']
  for (const { pattern, operations } of resources) {
    for (const [verb, { use }] of Object.entries(operations)) {
      t.equal(use, verb === 'GET' || alsoRead.includes(pattern) ? 'read' : 'write', `${verb} ${pattern}`)
    }
  }
})

test('standard operations report errors of the HTTP layer as their own, the others as it likes', async (t) => {
  const status = { code: '413', reasonPhrase: 'Request Entity Too Large' }
  const subscriptionId = '000000000000000000000000'
  const wrapped: { readonly [pattern: string]: unknown } = {
    '/v1/updateContext': { errorCode: status },
    '/v1/queryContext': { errorCode: status },
    '/v1/subscribeContext': { subscribeError: { errorCode: status } },
    '/v1/updateContextSubscription': { subscribeError: { subscriptionId, errorCode: status } },
    '/v1/unsubscribeContext': { subscriptionId, statusCode: status },
    '/v1/notifyContext': { responseCode: status },
  }
  for (const { pattern, operations } of resources) {
    t.same(operations.POST?.wrapStatus?.(status), wrapped[pattern], pattern)
  }
})

const ofRegistry = all.filter(({ pattern }) => pattern.startsWith('/v1/registry/'))
const named = (pattern: string) => pattern.replace('/v1/registry/', '')

test('each resource of the registry allows its verbs in the order of the Allow header, and has its counter', async (t) => {
  const rows = ofRegistry.map(({ pattern, counter, operations }) => [
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
  t.ok(ofRegistry.every(({ counter = '', anyCase }) => known.has(counter) && anyCase))
})

test('all but the paths with a type and an id have the older name', async (t) => {
  for (const { pattern, aliases } of ofRegistry) {
    const older = pattern.includes('/type/') ? undefined : [`/ngsi9/${named(pattern)}`]
    t.same(aliases, older, pattern)
  }
})

test('errors of the HTTP layer sit where the standard operation reports its errors', async (t) => {
  const status = { code: '413', reasonPhrase: 'Request Entity Too Large' }
  const id = '000000000000000000000000'
  const wrapped = ofRegistry.map(({ pattern, operations: { POST } }) => [named(pattern), POST?.wrapStatus?.(status)])
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
  for (const { pattern, operations } of ofRegistry) {
    for (const [verb, { use }] of Object.entries(operations)) {
      t.equal(use, verb === 'GET' || named(pattern) === 'discoverContextAvailability' ? 'read' : 'write', pattern)
    }
  }
})
