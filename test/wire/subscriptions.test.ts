import { setTimeout as delay } from 'node:timers/promises'
import { t as root, test } from 'tap'
import { FarEnd, responding } from '../far-end.js'
import { RunningBroker } from '../running.js'
import { until } from '../until.js'
import { attribute, type Client, tenantClient } from './client.js'

const broker = await RunningBroker.start(root, [
  ...['-multiservice', '-partitions', '3', '-httpThreads', '2', '-httpTimeout', '60000'],
  ...['-notifRetryMin', '50', '-notifRetryMax', '100', '-notifDeny', '127.0.0.7,*.evil.example'],
])

interface Wanted {
  readonly entities?: readonly unknown[]
  readonly attributes?: readonly string[]
  readonly reference: string
  readonly notifyConditions?: readonly unknown[]
  readonly throttling?: string
  readonly duration?: string
}

/** Subscribes, to all tanks unless something else is said; gives the id. */
async function subscribe(client: Client, wanted: Wanted, headers: Record<string, string> = {}): Promise<string> {
  const entities = [{ type: 'Tank', isPattern: 'true', id: '.*' }]
  const [, response] = await client.request('POST', '/v1/subscribeContext', { entities, ...wanted }, headers)
  return (response as { subscribeResponse: { subscriptionId: string } }).subscribeResponse.subscriptionId
}

function tank(id: string, level: string): unknown {
  return { type: 'Tank', id, attributes: [attribute('level', 'percent', level)] }
}

/** Waits until this many notifications have come, and a moment longer for those that should not come. */
async function heard(end: FarEnd, number: number): Promise<readonly Heard[]> {
  await until(
    () => end.received.length >= number,
    () => `${number} notifications: ${end.bodies.join('\n')}`,
  )
  await delay(60)
  return end.bodies.map((body) => {
    const { contextResponses } = JSON.parse(body)
    return contextResponses.map(({ contextElement }: { contextElement: Shown }) => {
      const level = contextElement.attributes.find(({ name }) => name === 'level')
      return [contextElement.id, level?.value]
    })
  })
}

type Heard = readonly (readonly [id: string, level: string])[]
interface Shown {
  readonly id: string
  readonly attributes: readonly { readonly name: string; readonly value: string }[]
}

async function state(id: string): Promise<Record<string, unknown>> {
  const { json } = await broker.send('GET', `/admin/subscriptions/${id}`)
  return json as Record<string, unknown>
}

async function comesTo(id: string, wanted: Record<string, unknown>): Promise<void> {
  let found: Record<string, unknown> = {}
  const fits = async () => {
    found = await state(id)
    return Object.entries(wanted).every(([name, value]) => found[name] === value)
  }
  await until(fits, () => `${JSON.stringify(wanted)} of ${JSON.stringify(found)}`)
}

test('a subscription is sent the state that it begins with, then every change, over all partitions', async (t) => {
  const client = tenantClient(broker)
  const end = await FarEnd.listen(t)
  await client.given(tank('Tank1', '1'), tank('Tank2', '1'), { type: 'Pump', id: 'Pump1' })
  await subscribe(client, { reference: end.url() })
  for (const level of ['2', '3']) await client.update('UPDATE', [tank('Tank1', level), tank('Tank2', level)])
  const [initial, ...changes] = await heard(end, 5)
  t.same(initial, [
    ['Tank1', '1'],
    ['Tank2', '1'],
  ])
  for (const id of ['Tank1', 'Tank2']) {
    const own = changes.flat().filter(([changed]) => changed === id)
    t.same(own, [
      [id, '2'],
      [id, '3'],
    ])
  }
})

/** Updates tanks again and again, with levels that count up, while something else is done. */
async function whileFed(
  client: Client,
  ids: readonly string[],
  first: number,
  work: () => Promise<void>,
): Promise<number> {
  let over = false
  let last = first
  const feeding = (async () => {
    for (; !over; last += 1) await Promise.all(ids.map((id) => client.update('APPEND', [tank(id, String(last))])))
  })()
  await work()
  over = true
  await feeding
  return last
}

test('no change after the response to a subscription is missed, and the initial state has its place among them', async (t) => {
  const client = tenantClient(broker)
  const ids = Array.from({ length: 12 }, (_, at) => `Tank${at}`)
  await client.given(...ids.map((id) => tank(id, '0')))
  let next = 1
  for (let round = 0; round < 4; round += 1) {
    const end = await FarEnd.listen(t)
    let id = ''
    next = await whileFed(client, ids, next, async () => {
      await delay(50)
      id = await subscribe(client, { reference: end.url() })
      await delay(50)
      const notifyConditions = [{ type: 'ONCHANGE', condValues: ['level'] }]
      await client.request('POST', '/v1/updateContextSubscription', { subscriptionId: id, notifyConditions })
      await delay(50)
    })
    // The last changes may not have reached the queue yet.
    const isLast = (text: string, tankId: string) =>
      text.includes(`"${tankId}"`) && text.includes(`"value":"${next - 1}"`)
    await until(
      () => ids.every((tankId) => end.bodies.some((text) => isLast(text, tankId))),
      'the last change of all comes',
    )
    await comesTo(id, { queueDepth: 0 })
    const messages = await heard(end, 0)
    // Changes from between its coming into force and the look at the state come before the initial notification.
    const states = messages.filter(({ length }) => length === ids.length)
    t.equal(states.length, 2, 'the state comes once at the beginning, once when conditions are replaced')
    const levels = new Map<string, number>()
    const gaps: string[] = []
    for (const [tankId, text] of messages.flat()) {
      const [level, before] = [Number(text), levels.get(tankId)]
      if (before !== undefined && level !== before && level !== before + 1)
        gaps.push(`${tankId}: ${level} after ${before}`)
      levels.set(tankId, level)
    }
    t.same(gaps, [])
    t.same(
      [...levels.values()],
      ids.map(() => next - 1),
      'the last change of all has come',
    )
    await client.request('POST', '/v1/unsubscribeContext', { subscriptionId: id })
  }
})

test('throttling holds over all partitions', async (t) => {
  const client = tenantClient(broker)
  const end = await FarEnd.listen(t)
  await subscribe(client, { reference: end.url(), throttling: 'PT1H' })
  for (let at = 0; at < 9; at += 1) await client.update('APPEND', [tank(`Tank${at}`, '1')])
  t.equal((await heard(end, 1)).length, 1)
})

test('a subscription to intervals is sent the state at once and at every tick, changed or not', async (t) => {
  const client = tenantClient(broker)
  const end = await FarEnd.listen(t)
  await client.given(tank('Tank1', '1'))
  const conditions = [{ type: 'ONTIMEINTERVAL', condValues: ['PT1S'] }]
  const begun_ms = performance.now()
  const id = await subscribe(client, { reference: end.url(), notifyConditions: conditions })
  await heard(end, 1)
  await client.update('UPDATE', [tank('Tank1', '2')])
  // A tick may come before the update, if that takes its time, and further ones while it is looked.
  const values = () => end.bodies.map((body) => /"value":"(\d)"/.exec(body)?.[1])
  await until(() => values().filter((value) => value === '2').length >= 2, 'the state comes at two ticks')
  t.match(values().join(''), /^1+2+$/)
  const passed_ms = performance.now() - begun_ms
  t.ok(
    passed_ms > (end.received.length - 1) * 1000 - 100,
    `${end.received.length} in ${passed_ms} ms: ticks are a second apart`,
  )
  await client.request('DELETE', `/v1/contextSubscriptions/${id}`)
  const before = end.received.length
  await delay(2200)
  t.ok(end.received.length <= before + 1, 'one may have been on its way')
})

test('the first tick after the conditions were replaced is sent whatever the throttling', async (t) => {
  const client = tenantClient(broker)
  const end = await FarEnd.listen(t)
  await client.given(tank('Tank1', '1'))
  const id = await subscribe(client, { reference: end.url(), throttling: 'PT1H' })
  await heard(end, 1)
  await client.update('UPDATE', [tank('Tank1', '2')])
  const notifyConditions = [{ type: 'ONTIMEINTERVAL', condValues: ['PT1S'] }]
  await client.request('POST', '/v1/updateContextSubscription', { subscriptionId: id, notifyConditions })
  const first = await heard(end, 2)
  await delay(1200)
  t.same([first, await heard(end, 2)], Array(2).fill([[['Tank1', '1']], [['Tank1', '2']]]), 'and no other one is')
})

test('the restriction of a change is for the first tick that it causes, and for no later one', async (t) => {
  const client = tenantClient(broker)
  const end = await FarEnd.listen(t)
  await client.given({ id: 'Tank1', attributes: [attribute('level', 'percent', '1')] }, tank('Tank2', '2'))
  const id = await subscribe(client, { reference: end.url() })
  await heard(end, 1)
  const scopes = [{ type: 'FIWARE::Filter::!::Existence', value: 'entity::type' }]
  const notifyConditions = [{ type: 'ONTIMEINTERVAL', condValues: ['PT1S'] }]
  const change = { subscriptionId: id, restriction: { scopes }, notifyConditions }
  await client.request('POST', '/v1/updateContextSubscription', change)
  const [one, two] = [
    ['Tank1', '1'],
    ['Tank2', '2'],
  ]
  t.same((await heard(end, 3)).slice(0, 3), [[one, two], [one], [one, two]])
})

test('an entity without type is in initial notifications and ticks, whatever the type of the subscription', async (t) => {
  const client = tenantClient(broker)
  const [onChange, onTime] = [await FarEnd.listen(t), await FarEnd.listen(t)]
  const attributes = [attribute('level', 'percent', '1')]
  await client.given({ id: 'Tank1', attributes }, { id: 'Tank1', type: 'Pump', attributes }, tank('Tank2', '2'))
  const entities = [
    { id: 'Tank1', type: 'Tank' },
    { id: '2$', isPattern: 'true', type: 'Tank' },
  ]
  await subscribe(client, { entities, reference: onChange.url() })
  const notifyConditions = [{ type: 'ONTIMEINTERVAL', condValues: ['PT1H'] }]
  await subscribe(client, { entities, reference: onTime.url(), notifyConditions })
  const both = [
    ['Tank1', '1'],
    ['Tank2', '2'],
  ]
  t.same([await heard(onChange, 1), await heard(onTime, 1)], [[both], [both]])
})

test('the name * is one like any other among triggering attributes, at the beginning as later', async (t) => {
  const client = tenantClient(broker)
  const [early, late, other] = [await FarEnd.listen(t), await FarEnd.listen(t), await FarEnd.listen(t)]
  const on = (...condValues: readonly string[]) => [{ type: 'ONCHANGE', condValues }]
  await client.given(tank('Tank1', '1'))
  await subscribe(client, { reference: early.url(), notifyConditions: on('*') })
  await subscribe(client, { reference: other.url(), notifyConditions: on('*', 'level') })
  await client.update('UPDATE', [tank('Tank1', '2')])
  const star = { type: 'Tank', id: 'Tank1', attributes: [attribute('*', 'percent', '1')] }
  await client.update('APPEND', [star])
  await subscribe(client, { reference: late.url(), notifyConditions: on('*') })
  const second = [['Tank1', '2']]
  t.same([await heard(early, 1), await heard(late, 1)], [[second], [second]])
  t.same(await heard(other, 3), [[['Tank1', '1']], second, second])
})

test('what fails is visible, is tried again, and an update of the subscription tries at once', async (t) => {
  const client = tenantClient(broker)
  const end = await FarEnd.listen(t, responding(503, { 'Retry-After': '3600' }))
  const id = await subscribe(client, { reference: end.url() })
  await client.given(tank('Tank1', '1'))
  await comesTo(id, { status: 'failed', lastFailureReason: 'trouble: 503', queueDepth: 1, timesSent: 1 })
  end.respond = responding(200)
  await client.request('POST', '/v1/updateContextSubscription', { subscriptionId: id, duration: 'P1D' })
  await comesTo(id, { status: 'active', failsCounter: 0, queueDepth: 0, timesSent: 1, lastSuccessCode: 200 })
})

test('a destination that is denied is refused, by address as by name', async () => {
  const client = tenantClient(broker)
  const denied = ['http://127.0.0.7:9/', 'http://[::ffff:127.0.0.7]:9/', 'http://very.evil.example/']
  for (const reference of denied) {
    const id = await subscribe(client, { reference })
    await client.update('APPEND', [tank(`Tank${denied.indexOf(reference)}`, '1')])
    await comesTo(id, { lastFailureReason: 'refused: destination not allowed' })
  }
})

test('subscriptions of one tenant and path hear of nothing else', async (t) => {
  const [client, other] = [tenantClient(broker), tenantClient(broker)]
  const end = await FarEnd.listen(t)
  await subscribe(client, { reference: end.url() }, { 'Fiware-ServicePath': '/farm/#' })
  await other.givenIn('/farm', tank('Tank1', '1'))
  await client.givenIn('/mill', tank('Tank2', '1'))
  await client.givenIn('/farmland', tank('Tank3', '1'))
  await client.givenIn('/farm/north', tank('Tank4', '1'))
  t.same(await heard(end, 1), [[['Tank4', '1']]])
  t.match(end.received[0]?.headers, { 'fiware-servicepath': '/farm/north' })
})

test('a subscription that has expired is silent, and a new duration revives it without what was missed', async (t) => {
  const client = tenantClient(broker)
  const end = await FarEnd.listen(t)
  const id = await subscribe(client, { reference: end.url(), duration: 'PT0S' })
  await client.given(tank('Tank1', '1'))
  await comesTo(id, { status: 'expired', queueDepth: 0 })
  await client.request('POST', '/v1/updateContextSubscription', { subscriptionId: id, duration: 'PT1H' })
  await client.update('UPDATE', [tank('Tank1', '2')])
  t.same(await heard(end, 1), [[['Tank1', '2']]])
})
