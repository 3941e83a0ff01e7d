import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'tap'
import { Mosquitto, skipped as skip } from './delivery/mosquitto.js'
import { RunningBroker } from './running.js'
import { until } from './until.js'

/** Each entity is updated so often. */
const updates = 120

const entities = ['Vat-1', 'Vat-2', 'Tub-1', 'Tub-2']

/** Counts an entity up. What fails is sent again: an update that has been stored already changes nothing then. */
async function countUp(broker: RunningBroker, id: string, isOver: () => boolean): Promise<void> {
  for (let n = 1; n <= updates && !isOver(); ) {
    const body = { n: { type: 'Number', value: n } }
    const status = await broker.send('POST', `/v2/entities/${id}/attrs?type=Tank`, body).then(
      (reply) => reply.status,
      () => 0,
    )
    if (status === 204) n += 1
    else await delay(20)
  }
}

/** What the receiver got of an entity: each number where it came first. */
function firsts(bus: Mosquitto, id: string): readonly number[] {
  const numbers = bus.topics
    .filter((topic) => topic.startsWith(`plant/${id}/`))
    .map((topic) => Number(topic.split('/')[2]))
  return [...new Set(numbers)]
}

test('notifications over MQTT arrive in order and none is lost, whoever is killed', { skip }, async (t) => {
  const bus = await Mosquitto.start(t)
  const broker = await RunningBroker.startOn(t, join(t.testdirName, 'broker'), [
    '-notifRetryMin',
    '50',
    '-notifRetryMax',
    '200',
  ])
  for (const [idPattern, qos] of [
    ['^Vat-', 1],
    ['^Tub-', 2],
  ] as const) {
    const mqttCustom = { url: bus.url, topic: 'plant/${id}/${n}', qos }
    const subject = { entities: [{ idPattern }], condition: { attrs: ['n'] } }
    t.equal((await broker.send('POST', '/v2/subscriptions', { subject, notification: { mqttCustom } })).status, 201)
  }
  for (const id of entities) {
    const body = { id, type: 'Tank', other: { value: 0 } }
    t.equal((await broker.send('POST', '/v2/entities', body)).status, 201)
  }
  let isOver = false
  t.teardown(() => {
    isOver = true
  })
  const counted = Promise.all(entities.map((id) => countUp(broker, id, () => isOver)))
  const reached = (n: number) => until(() => entities.every((id) => firsts(bus, id).length >= n))
  const waits = (n: number) =>
    until(async () => {
      const { json } = await broker.send('GET', '/admin/subscriptions')
      return Array.isArray(json) && json.every(({ queueDepth }) => queueDepth >= n)
    })

  await reached(10)
  await bus.kill()
  await waits(20) // They are made while nobody is there to take them.
  await broker.end('SIGKILL')
  await bus.run()
  await broker.run()
  await reached(60)
  await broker.end('SIGKILL')
  await broker.run()
  await reached(80)
  await bus.kill()
  await bus.run()

  await counted
  await reached(updates)
  const all = Array.from({ length: updates }, (_, at) => at + 1)
  for (const id of entities) t.same(firsts(bus, id), all, id)
})
