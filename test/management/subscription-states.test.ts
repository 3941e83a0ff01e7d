import { test } from 'tap'
import { stateShown } from '../../src/api/management/subscription-states.js'
import type { SubscriptionService, SubscriptionState } from '../../src/broker/front-end/broker.js'
import type { ServicePath, Tenant } from '../../src/model/context/entity.js'
import type { SubscriptionId } from '../../src/model/subscription/subscription.js'
import type { Milliseconds } from '../../src/time.js'
import { bodyOf, broker, management, parameters, row, subscriptionService, text } from './given.js'

const id = '5718a2f1c0de00112233aabb' as SubscriptionId
const none = { timesSent: 0, failsCounter: 0, queueDepth: 0, queueBytes: 0, discarded: 0 }

function date(iso: string): Milliseconds {
  return Date.parse(iso) as Milliseconds
}

const quiet: SubscriptionState = {
  id,
  tenant: '' as Tenant,
  path: { path: '/' as ServicePath, below: true },
  reference: 'http://alerts.example:8080/inbox',
  expires: date('9999-12-31T00:00:00.000Z'),
  throttling_ms: 0,
  delivery: none,
}

const troubled: SubscriptionState = {
  ...quiet,
  tenant: 'acme' as Tenant,
  path: { path: '/north' as ServicePath, below: true },
  throttling_ms: 5000,
  delivery: {
    timesSent: 18,
    lastNotification: date('2016-04-21T09:14:03.512Z'),
    lastSuccess: date('2016-04-21T09:10:11.020Z'),
    lastSuccessCode: 200,
    lastFailure: date('2016-04-21T09:14:05.101Z'),
    lastFailureReason: 'trouble: connection refused',
    failsCounter: 2,
    queueDepth: 3,
    queueBytes: 1410,
    oldestQueued: date('2016-04-21T09:13:40.007Z'),
    nextAttempt: date('2016-04-21T09:14:06.090Z'),
    discarded: 0,
  },
}

/** A management interface whose subscription service has these subscriptions, and what the service is asked for. */
function withStates(...states: readonly SubscriptionState[]) {
  const requests: unknown[] = []
  const find: SubscriptionService['states'] = async (which) => {
    requests.push(which)
    return which.id === undefined ? states : states.filter((state) => state.id === which.id)
  }
  return {
    ...management({ broker: broker({ subscriptions: subscriptionService({ states: find }) }) }),
    wanted: requests,
  }
}

test('a subscription is shown with everything that has happened to it', async (t) => {
  const { send } = withStates(quiet, troubled)
  const expires = '9999-12-31T00:00:00.000Z'
  const reference = 'http://alerts.example:8080/inbox'
  const response = await send('GET', '/admin/subscriptions')
  t.equal(response.status, 200)
  t.same(bodyOf(response), [
    { id, servicePath: '/#', reference, expires, status: 'active', ...none },
    {
      ...{ id, service: 'acme', servicePath: '/north/#', reference, expires, throttling: 5, status: 'failed' },
      timesSent: 18,
      lastNotification: '2016-04-21T09:14:03.512Z',
      lastSuccess: '2016-04-21T09:10:11.020Z',
      lastSuccessCode: 200,
      lastFailure: '2016-04-21T09:14:05.101Z',
      lastFailureReason: 'trouble: connection refused',
      failsCounter: 2,
      queueDepth: 3,
      queueBytes: 1410,
      oldestQueued: '2016-04-21T09:13:40.007Z',
      nextAttempt: '2016-04-21T09:14:06.090Z',
      discarded: 0,
    },
  ])
})

test('without subscriptions the list is empty', async (t) => {
  t.equal(text(await withStates().send('GET', '/admin/subscriptions')), '[]')
})

test('a subscription has expired at its expiry, whatever its failures', async (t) => {
  const statusAt = (at: number) => stateShown({ ...troubled, expires: 1000 as Milliseconds }, at as Milliseconds).status
  t.same([statusAt(999), statusAt(1000)], ['failed', 'expired'])
  t.equal(
    stateShown({ ...quiet, path: { path: '/' as ServicePath, below: false } }, 0 as Milliseconds).servicePath,
    '/',
  )
  t.equal(
    stateShown({ ...quiet, path: { path: '/a' as ServicePath, below: false } }, 0 as Milliseconds).servicePath,
    '/a',
  )
})

test('the service asked for is a tenant, of an empty value the one without name', async (t) => {
  const { send, wanted } = withStates()
  await send('GET', '/admin/subscriptions', { headers: { 'fiware-service': 'other' } })
  await send('GET', '/admin/subscriptions', parameters(['service', 'Acme']))
  await send('GET', '/admin/subscriptions', parameters(['service', '']))
  t.same(wanted, [{}, { tenant: 'acme' }, { tenant: '' }])
})

test('one subscription is found by its id in either case, an unknown or malformed one is not found', async (t) => {
  const { send } = withStates(quiet)
  const one = (given: string) => send('GET', '/admin/subscriptions/{id}', { segments: { id: given } })
  t.match(bodyOf(await one(id.toUpperCase())), { id, status: 'active' })
  for (const given of ['5718a2f1c0de00112233aabc', '12ab']) {
    const response = await one(given)
    t.equal(response.status, 404)
    t.same(bodyOf(response), {
      error: 'NotFound',
      description: 'The requested subscription has not been found. Check id',
    })
  }
})

test('reads of subscriptions are not counted', async (t) => {
  const { resources, send } = withStates(quiet)
  for (const pattern of ['/admin/subscriptions', '/admin/subscriptions/{id}']) {
    t.equal(row(resources, pattern).polled, true)
  }
  await send('GET', '/admin/subscriptions')
  await send('GET', '/admin/subscriptions/{id}', { segments: { id } })
  await send('PUT', '/admin/stats', parameters(['counters', 'true']))
  const counted = bodyOf(await send('GET', '/statistics', parameters(['options', 'fullCounters'])))
  t.match(counted, { statisticsRequests: 2 })
  t.notOk('/admin/subscriptions' in Object(counted).counters.requests)
})
