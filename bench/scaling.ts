import { readDevice, updateDevice } from './device.js'
import { deviceResponse } from './fleet.js'
import type { Bench, Harness } from './harness.js'
import { fresh } from './request.js'

const connections = 64
const httpThreads: readonly number[] = [1, 2, 4]
const partitions: readonly number[] = [1, 2]

/** What more threads give on this machine: as much as there are processors that nobody else uses. */
export const scaling: Bench = {
  name: 'scaling',
  question: 'updates and GETs by number of HTTP threads and partitions, against a bare Hono server on one thread',
  run: async (harness) => {
    if (!harness.hasOwnBrokers('scaling')) return
    for (const threads of httpThreads) for (const owners of partitions) await measure(harness, threads, owners)
  },
}

async function measure(harness: Harness, threads: number, owners: number): Promise<void> {
  const devices = Array.from({ length: harness.options.devices }, (_, number) => number)
  const flags = ['-httpThreads', String(threads), '-partitions', String(owners)]
  await harness.withDevices(flags, async (url) => {
    const common = { bench: 'scaling', url, connections, varied: { http_threads: threads, partitions: owners } }
    const updates = devices.map((number) => updateDevice(number, fresh))
    await harness.compare({ ...common, case: 'updateContext', requests: updates })
    const reads = devices.map(readDevice)
    const constant = await deviceResponse(url, 0)
    await harness.compare({ ...common, case: 'GET /v1/contextEntities/{id}', requests: reads, constant })
  })
}
