import { updateDevice, updateReading } from './device.js'
import type { Bench } from './harness.js'
import { fresh } from './request.js'

/** Every reading is a new one, so every update is a write that has to reach the disk before its answer leaves. */
export const ingest: Bench = {
  name: 'ingest',
  question: 'durable UPDATEs of one entity each, by number of connections, against a bare Hono echo',
  run: async (harness) => {
    const numbers = Array.from({ length: harness.options.devices }, (_, number) => number)
    const requests = numbers.map((number) => updateDevice(number, fresh))
    const readings = numbers.map((number) => updateReading(number, fresh))
    await harness.withVersions(async (url, against) => {
      for (const connections of harness.options.connections) {
        const common = { bench: 'ingest', url, against, connections }
        await harness.compare({ ...common, case: 'updateContext', requests })
        await harness.compare({ ...common, case: 'updateContext of one attribute', requests: readings })
      }
    })
  },
}
