import type { Test } from 'tap'
import type { RunningBroker } from './running.js'
import { until } from './until.js'

export interface Device {
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
export async function feed(broker: RunningBroker, device: Device): Promise<void> {
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

export function acknowledgedBy(devices: readonly Device[]): number {
  return devices.reduce((sum, { acknowledged }) => sum + acknowledged, 0)
}

interface Held {
  readonly value: string
  readonly metadatas: readonly unknown[]
}

export async function check(t: Test, broker: RunningBroker, device: Device): Promise<void> {
  if (device.acknowledged === 0) return
  const { json } = await broker.send('GET', `/v1/contextEntities/${device.id}`)
  const { contextElement } = json as { contextElement: { attributes: readonly Held[] } }
  const values = contextElement.attributes.map(({ value }) => Number(value))
  t.equal(values.length, 2)
  t.equal(values[0], values[1], 'an element is applied whole or not at all')
  t.ok((values[0] ?? 0) >= device.acknowledged && (values[0] ?? 0) <= device.sent, 'nothing acknowledged is lost')
  t.ok(contextElement.attributes.every(({ metadatas }) => metadatas.length === 1))
}

/** Devices that have sent nothing yet. */
export function newDevices(count: number): Device[] {
  return Array.from({ length: count }, (_, n) => ({ id: `Tank${n}`, acknowledged: 0, sent: 0 }))
}

/** Kills the broker under load and starts it again: what was acknowledged is there. */
export async function killUnderLoad(t: Test, broker: RunningBroker, devices: readonly Device[]): Promise<void> {
  const before = acknowledgedBy(devices)
  const feeding = Promise.all(devices.map((device) => feed(broker, device)))
  await until(() => acknowledgedBy(devices) >= before + devices.length)
  await broker.end('SIGKILL')
  await feeding
  await broker.run()
  for (const device of devices) await check(t, broker, device)
}
