import { t as root, test } from 'tap'
import { acknowledgedBy, check, feed, killUnderLoad, newDevices } from './fed-devices.js'
import { RunningBroker } from './running.js'
import { until } from './until.js'

/** Each test but the last one starts it again. */
const broker = await RunningBroker.start(root, ['-partitions', '3', '-httpThreads', '2'])

test('every acknowledged update survives SIGKILL under load', async (t) => {
  await killUnderLoad(t, broker, newDevices(24))
})

test('SIGTERM under load drains: what was begun is answered, and the exit code is 0', async (t) => {
  const devices = newDevices(16)
  const feeding = Promise.all(devices.map((device) => feed(broker, device)))
  await until(() => acknowledgedBy(devices) >= devices.length)
  await broker.endsInOrder(t)
  await feeding
  await broker.run()
  for (const device of devices) await check(t, broker, device)
})

test('the order of creation goes on after a restart', async (t) => {
  const names = ['Silo5', 'Silo2', 'Silo9', 'Silo1']
  for (const id of names.slice(0, 2)) await broker.update('APPEND', { id })
  await broker.end('SIGKILL')
  await broker.run()
  for (const id of names.slice(2)) await broker.update('APPEND', { id })
  const { json } = await broker.send('POST', '/v1/queryContext', { entities: [{ id: 'Silo.*', isPattern: 'true' }] })
  const { contextResponses } = json as { contextResponses: readonly { contextElement: { id: string } }[] }
  t.same(
    contextResponses.map(({ contextElement }) => contextElement.id),
    names,
  )
})

test('SIGINT ends the broker in an orderly way too', async (t) => {
  await broker.update('APPEND', { id: 'Silo3' })
  t.equal(await broker.end('SIGINT'), 0)
})
