import { test } from 'tap'
import { statisticsText } from '../../src/api/management/statistics.js'
import type { SubscriptionService } from '../../src/broker/front-end/broker.js'
import type { SubscriptionId } from '../../src/model/subscription/subscription.js'
import { StageSums } from '../../src/observe/measure/requests.js'
import { bodyOf, broker, management, parameters, subscriptionService, text } from './given.js'

const ages = { uptime_in_secs: 0, measuring_interval_in_secs: 0 }

test('only counters that were used appear, the request that asks among them', async (t) => {
  const { send, requests } = management()
  requests.counted(undefined, 'GET', 'json', false)
  t.same(bodyOf(await send('GET', '/statistics')), {
    ...{ jsonRequests: 1, invalidRequests: 1, statisticsRequests: 1 },
    ...ages,
  })
})

test('the reset is confirmed and leaves nothing but the request that asks afterwards', async (t) => {
  const { send, measures, lines } = management()
  measures.count('notificationsSent', 3)
  await send('GET', '/version')
  t.same(bodyOf(await send('DELETE', '/statistics')), { message: 'All statistics counter reset' })
  t.same(bodyOf(await send('GET', '/statistics')), { statisticsRequests: 1, ...ages })
  t.match(lines, [{ level: 'INFO', message: 'statistics reset' }])
})

test('the ages are whole seconds, rounded down, since the start and since the reset', async (t) => {
  const { measures } = management()
  const later = measures.startedAt + 7_200_900_000_000n
  const shown = () => JSON.parse(statisticsText(measures, false, later))
  t.same(shown(), { uptime_in_secs: 7200, measuring_interval_in_secs: 7200 })
  measures.reset(later - 1_999_999_999n)
  t.same(shown(), { uptime_in_secs: 7200, measuring_interval_in_secs: 1 })
})

test('while waits are measured all three are there as texts with nine digits, also when they are zero', async (t) => {
  const { send, measures } = management()
  await send('PUT', '/admin/stats', parameters(['semWait', 'true']))
  t.match(bodyOf(await send('GET', '/statistics')), {
    requestSemaphoreWaitingTime: '0.000000000',
    dbConnectionPoolWaitingTime: '0.000000000',
    transactionSemaphoreWaitingTime: '0.000000000',
  })
  measures.wait('dbConnectionPool', 0).waited(200n)
  measures.wait('dbConnectionPool', 1).waited(30n)
  measures.wait('transaction', 1).waited(1_500_000_000n)
  const shown = text(await send('GET', '/statistics'))
  t.match(shown, '"dbConnectionPoolWaitingTime":"0.000000230"')
  t.match(shown, '"semWait":{"request":0.000000000,"dbConnectionPool":0.000000230,"transaction":1.500000000,')
  t.match(shown, '"timeStat":0.000000000,"metrics":0.000000000,"mailbox":0.000000000}')
  await send('PUT', '/admin/stats', parameters(['semWait', 'FALSE']))
  const off = bodyOf(await send('GET', '/statistics'))
  t.same(Object.keys(Object(off)), ['statisticsRequests', 'uptime_in_secs', 'measuring_interval_in_secs'])
})

test('the nested counters have the later names, and start at zero when they are switched on', async (t) => {
  const { send } = management()
  await send('GET', '/log/trace')
  await send('PUT', '/admin/stats', parameters(['counters', 'true']))
  await send('GET', '/log/trace')
  t.same(bodyOf(await send('GET', '/statistics')), {
    logRequests: 2,
    statisticsRequests: 2,
    counters: {
      noPayloadRequests: 2,
      logTraceRequests: 1,
      statisticsRequests: 1,
      requests: { '/log/trace[/{level}]': { GET: 1 }, '/statistics': { GET: 1 } },
    },
    ...ages,
  })
})

test('fullCounters shows unused counters in the nested part only', async (t) => {
  const { send } = management()
  await send('PUT', '/admin/stats', parameters(['counters', 'true']))
  const shown = bodyOf(await send('GET', '/statistics', parameters(['options', 'fullCounters'])))
  t.match(shown, { counters: { updates: 0, missedVerb: 0, requests: { '/statistics': { GET: 1, DELETE: 0 } } } })
  t.notOk('/metrics' in Object(shown).counters.requests, 'polled by machines')
  t.notOk('updates' in Object(shown))
  t.notOk('simulatedNotifications' in Object(shown).counters, 'that one stands at the top level')
  t.same(bodyOf(await send('GET', '/statistics', parameters(['options', 'nothing']))), {
    error: 'BadRequest',
    description: 'Invalid value for URI param /options/',
  })
})

test('timings show where the time went, with nine digits', async (t) => {
  const { send, requests } = management()
  t.notOk(requests.timingOn)
  await send('PUT', '/admin/stats', parameters(['timing', 'true']))
  t.ok(requests.timingOn)
  t.match(bodyOf(await send('GET', '/statistics')), { timing: { accumulated: {}, last: {} } })
  for (const total of [1_000n, 2_000_000_000n]) {
    const request = new StageSums()
    requests.stage('total', total, request)
    requests.stagesDone(request)
  }
  t.match(
    text(await send('GET', '/statistics')),
    '"timing":{"accumulated":{"total":2.000001000},"last":{"total":2.000000000}}',
  )
})

test('the queue of notifications is shown with all members and its average', async (t) => {
  const { send, measures } = management()
  await send('PUT', '/admin/stats', parameters(['notifQueue', 'true']))
  const meter = measures.delivery.meter()
  meter.stored(4)
  for (const inQueue of [100n, 200n, 300n]) {
    meter.attempted('accepted', 5n)
    meter.left('accepted', inQueue)
  }
  meter.attempted('trouble', 5n)
  meter.queue(0, 1, 100)
  t.match(
    text(await send('GET', '/statistics')),
    '"notifQueue":{"in":4,"out":3,"reject":0,"sentOk":3,"sentError":1,"timeInQueue":0.000000600,"avgTimeInQueue":0.000000200,"size":1}',
  )
})

test('the parts are switched all or none, and bad values are named', async (t) => {
  const { send } = management()
  const put = async (...pairs: readonly (readonly [string, string])[]) =>
    bodyOf(await send('PUT', '/admin/stats', parameters(...pairs)))
  const bad = (description: string) => ({ error: 'BadRequest', description })
  t.same(await put(), bad('statistics part missing'))
  t.same(await put(['semWait', '']), bad('Empty right-hand-side for URI param /semWait/'))
  t.same(
    await put(['counters', 'true'], ['semWait', 'on']),
    bad('invalid value for semWait, accepted values: true, false'),
  )
  t.same(bodyOf(await send('GET', '/admin/stats')), {
    counters: false,
    semWait: false,
    timing: false,
    notifQueue: false,
  })
})

test('the index of subscriptions has its own counters and its own reset', async (t) => {
  const ids = ['5f9a01c2d4e6b8a0f1c3d5e7', '5f9a01c2d4e6b8a0f1c3d5e8'] as SubscriptionId[]
  let inserts = 2
  const index: SubscriptionService['index'] = async (reset) => {
    const changes = { refresh: 1, inserts, removes: 0, updates: 0 }
    if (reset) inserts = 0
    return { count: ids.length, firstIds: ids.slice(0, 41), changes }
  }
  const { send } = management({ broker: broker({ subscriptions: subscriptionService({ index }) }) })
  const shown = { ids: ids.join(', '), refresh: 1, removes: 0, updates: 0, items: 2 }
  t.same(bodyOf(await send('GET', '/cache/statistics')), { ...shown, inserts: 2 })
  await send('DELETE', '/statistics')
  t.match(bodyOf(await send('GET', '/cache/statistics')), { inserts: 2 })
  t.same(bodyOf(await send('DELETE', '/cache/statistics')), { message: 'All statistics counter reset' })
  t.match(bodyOf(await send('GET', '/cache/statistics')), { inserts: 0, items: 2 })
  ids.push(...Array.from({ length: 40 }, () => '5f9a01c2d4e6b8a0f1c3d5e9' as SubscriptionId))
  t.match(bodyOf(await send('GET', '/cache/statistics')), { ids: 'too many subscriptions', items: 42 })
})
