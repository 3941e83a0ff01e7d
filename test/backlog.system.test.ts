import { test } from 'tap'
import { RunningBroker } from './running.js'
import { until } from './until.js'

const subscriptions = 20
const entities = 1000
const notices = subscriptions * entities

/** The number of waiting notifications. */
async function waiting(broker: RunningBroker): Promise<number> {
  const { text } = await broker.send('GET', '/metrics')
  const depths = [...text.matchAll(/^rigel_notification_queue_depth\{.*\} (\d+)$/gm)]
  return depths.reduce((sum, [, depth]) => sum + Number(depth), 0)
}

test('a broker with many notifications that wait starts at once, says what it does, keeps them all, and obeys a signal', async (t) => {
  const broker = await RunningBroker.start(t, ['-partitions', '1', '-logLevel', 'INFO'])
  for (let at = 0; at < subscriptions; at += 1) {
    const created = await broker.send('POST', '/v2/subscriptions', {
      subject: { entities: [{ idPattern: '.*' }] },
      notification: { http: { url: `http://127.0.0.1:9/${at}` } },
    })
    t.equal(created.status, 201)
  }
  for (let from = 0; from < entities; from += 250) {
    const written = await broker.send('POST', '/v2/op/update', {
      actionType: 'append',
      entities: Array.from({ length: 250 }, (_, at) => ({ id: `E${from + at}`, level: { value: at } })),
    })
    t.equal(written.status, 204)
  }
  await until(async () => (await waiting(broker)) === notices)
  await broker.endsInOrder(t)

  // A signal in the middle of the start.
  await broker.run()
  await broker.endsInOrder(t)

  broker.output = ''
  await broker.run()
  await broker.writes('notifications wait in them')
  await broker.writes(/the outboxes were read in [\d.]+ s/)
  t.match(broker.output, new RegExp(`at most ${notices} notifications wait in them`))
  t.equal(await waiting(broker), notices)
  t.same((await broker.send('GET', '/health/ready')).json, { status: 'ok', partitions: { total: 1, ready: 1 } })
  await broker.endsInOrder(t)
})
