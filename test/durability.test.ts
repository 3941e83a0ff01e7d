import { setTimeout as delay } from 'node:timers/promises'
import { type Test, test } from 'tap'
import { RunningBroker } from './running.js'

interface Device {
  readonly id: string
  /** The last update that was acknowledged, and the last one that was sent. */
  acknowledged: number
  sent: number
}

function body(device: Device, n: number): unknown {
  const metadatas = [{ name: 'unit', type: 'text', value: 'cm' }]
  return {
    type: 'Tank',
    id: device.id,
    attributes: ['level', 'flow'].map((name) => ({ name, type: 'number', value: String(n), metadatas })),
  }
}

/** Updates a device again and again until the broker is gone. */
async function feed(broker: RunningBroker, device: Device): Promise<void> {
  for (let n = device.sent + 1; ; n += 1) {
    device.sent = n
    const done = await broker.update('APPEND', body(device, n)).then(
      ({ status, text }) => status === 200 && text.includes('"code":"200"'),
      () => false,
    )
    if (!done) return
    device.acknowledged = n
  }
}

function acknowledgedBy(devices: readonly Device[]): number {
  return devices.reduce((sum, { acknowledged }) => sum + acknowledged, 0)
}

interface Held {
  readonly value: string
  readonly metadatas: readonly unknown[]
}

async function check(t: Test, broker: RunningBroker, device: Device): Promise<void> {
  if (device.acknowledged === 0) return
  const { json } = await broker.send('GET', `/v1/contextEntities/${device.id}`)
  const { contextElement } = json as { contextElement: { attributes: readonly Held[] } }
  const values = contextElement.attributes.map(({ value }) => Number(value))
  t.equal(values.length, 2)
  t.equal(values[0], values[1], 'an element is applied whole or not at all')
  t.ok((values[0] ?? 0) >= device.acknowledged && (values[0] ?? 0) <= device.sent, 'nothing acknowledged is lost')
  t.ok(contextElement.attributes.every(({ metadatas }) => metadatas.length === 1))
}

for (const flags of [
  ['-partitions', '1', '-httpThreads', '1'],
  ['-partitions', '3', '-httpThreads', '2'],
]) {
  test(`every acknowledged update survives SIGKILL under load, three times in a row (${flags.join(' ')})`, async (t) => {
    const broker = await RunningBroker.start(t, flags)
    const devices: Device[] = Array.from({ length: 24 }, (_, n) => ({ id: `Tank${n}`, acknowledged: 0, sent: 0 }))
    for (let round = 0; round < 3; round += 1) {
      const before = acknowledgedBy(devices)
      const feeding = Promise.all(devices.map((device) => feed(broker, device)))
      while (acknowledgedBy(devices) < before + devices.length) await delay(50)
      await broker.end('SIGKILL')
      await feeding
      await broker.run()
      for (const device of devices) await check(t, broker, device)
    }
  })
}

test('SIGTERM under load drains: what was begun is answered, and the exit code is 0', async (t) => {
  const broker = await RunningBroker.start(t, ['-partitions', '2', '-httpThreads', '2'])
  const devices: Device[] = Array.from({ length: 16 }, (_, n) => ({ id: `Tank${n}`, acknowledged: 0, sent: 0 }))
  const feeding = Promise.all(devices.map((device) => feed(broker, device)))
  while (acknowledgedBy(devices) < devices.length) await delay(50)
  t.equal(await broker.end('SIGTERM'), 0)
  await feeding
  await broker.run()
  for (const device of devices) await check(t, broker, device)
})

test('SIGINT ends the broker in an orderly way too', async (t) => {
  const broker = await RunningBroker.start(t)
  await broker.update('APPEND', { id: 'Silo1' })
  t.equal(await broker.end('SIGINT'), 0)
})

test('the order of creation goes on after a restart', async (t) => {
  const broker = await RunningBroker.start(t, ['-partitions', '3'])
  const names = ['Silo5', 'Silo2', 'Silo9', 'Silo1']
  for (const id of names.slice(0, 2)) await broker.update('APPEND', { id })
  await broker.end('SIGKILL')
  await broker.run()
  for (const id of names.slice(2)) await broker.update('APPEND', { id })
  const { json } = await broker.send('POST', '/v1/queryContext', { entities: [{ id: '.*', isPattern: 'true' }] })
  const { contextResponses } = json as { contextResponses: readonly { contextElement: { id: string } }[] }
  t.same(
    contextResponses.map(({ contextElement }) => contextElement.id),
    names,
  )
})
