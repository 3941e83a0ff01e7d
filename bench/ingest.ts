import { updateDevice, updateReading } from './device.js'
import type { Bench } from './harness.js'
import { fresh } from './request.js'
import { rounded } from './rounds.js'
import type { Line } from './table.js'

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
        const common = { bench: 'ingest', url, against, connections, after: () => longestFlush(url) }
        await harness.compare({ ...common, case: 'updateContext', requests })
        await harness.compare({ ...common, case: 'updateContext of one attribute', requests: readings })
      }
    })
  },
}

/** The longest time within the last minute or two until an update was on disk. Nothing for a broker that does not say it. */
async function longestFlush(url: string): Promise<Line> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const lasted_s = Array.from(text.matchAll(/^rigel_log_append_longest_seconds\{[^}]*\} (\S+)$/gm), ([, value]) =>
    Number(value),
  )
  return lasted_s.length === 0 ? {} : { longest_flush_ms: rounded(1000 * Math.max(...lasted_s)) }
}
