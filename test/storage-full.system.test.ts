import { test } from 'tap'
import { RunningBroker } from './running.js'
import { until } from './until.js'

const page = { name: 'page', value: 'x'.repeat(900_000) }

async function shown(broker: RunningBroker, text: string): Promise<void> {
  await until(() => broker.output.includes(text), text)
}

test('a full partition refuses to grow with 503 and an alarm, still reads and removes, and takes again', async (t) => {
  const broker = await RunningBroker.start(t, ['-partitions', '1', '-dbSizeMax', '16', '-logSummary', '1'])
  let refusal: Awaited<ReturnType<RunningBroker['update']>> | undefined
  for (let n = 0; n < 60 && !refusal; n += 1) {
    const reply = await broker.update('APPEND', { id: `Book${n}`, attributes: [page] })
    if (reply.status !== 200) refusal = reply
  }
  t.equal(refusal?.status, 503)
  t.equal(refusal?.headers.get('retry-after'), '60')
  const details = { orionError: { code: '503', reasonPhrase: 'Service Unavailable', details: 'storage full' } }
  t.same(refusal?.json, details)
  await shown(broker, 'Raising alarm DatabaseError: storage full in partition 0')
  await broker.reportsFull()
  t.equal((await broker.send('GET', '/v1/contextEntities/Book0')).status, 200)
  for (let n = 0; n < 10; n += 1) t.equal((await broker.send('DELETE', `/v1/contextEntities/Book${n}`)).status, 200)
  t.equal((await broker.update('APPEND', { id: 'Leaf', attributes: [{ name: 'a', value: '1' }] })).status, 200)
  await shown(broker, 'Releasing alarm DatabaseError')
  await shown(broker, 'DB status: ok, raised: (total: 1')
})

test('notifications that wait leave room for updates: the oldest are dropped, no update is refused', async (t) => {
  const broker = await RunningBroker.start(t, ['-partitions', '1', '-dbSizeMax', '64'])
  const { json } = await broker.send('POST', '/v1/subscribeContext', {
    entities: [{ type: '', isPattern: 'true', id: '.*' }],
    reference: 'http://127.0.0.1:1/nobody',
  })
  const { subscriptionId } = (json as { subscribeResponse: { subscriptionId: string } }).subscribeResponse
  for (let n = 0; n < 120; n += 1) {
    const value = `${n}${'x'.repeat(500_000)}`
    const reply = await broker.update('APPEND', { id: 'Book', attributes: [{ name: 'page', value }] })
    t.equal(reply.status, 200, `update ${n}`)
  }
  const state = (await broker.send('GET', `/admin/subscriptions/${subscriptionId}`)).json
  const { discarded, queueDepth, queueBytes } = state as Record<'discarded' | 'queueDepth' | 'queueBytes', number>
  t.equal(discarded + queueDepth, 120)
  t.ok(discarded > 0 && queueBytes <= 32 * 2 ** 20)
  await shown(broker, 'the space for notifications is nearly full')
})
