import { updateDevice, updateReading } from './device.js'
import { askOnce } from './fleet.js'
import type { Bench, Harness } from './harness.js'
import { member } from './ngsi.js'
import { fresh, type Request } from './request.js'

const waits = ['requestSemaphoreWaitingTime', 'dbConnectionPoolWaitingTime', 'transactionSemaphoreWaitingTime']

/** Every reading is a new one, so every update is a write that has to reach the disk before its answer leaves. */
export const ingest: Bench = {
  name: 'ingest',
  question: 'durable UPDATEs of one entity each, by number of connections; at last what requests waited for',
  run: async (harness) => {
    const numbers = Array.from({ length: harness.options.devices }, (_, number) => number)
    const requests = numbers.map((number) => updateDevice(number, fresh))
    const readings = numbers.map((number) => updateReading(number, fresh))
    await harness.withDevices([], async (url) => {
      for (const connections of harness.options.connections) {
        const common = { bench: 'ingest', url, connections }
        await harness.compare({ ...common, case: 'updateContext', requests })
        await harness.compare({ ...common, case: 'updateContext of one attribute', requests: readings })
      }
    })
    await harness.withDevices(['-mutexTimeStat'], (url) => measureWaits(harness, url, requests))
  },
}

/** The most connections once more, with the three waits as GET /statistics shows them [management 4.1, 5]. */
async function measureWaits(harness: Harness, url: string, requests: readonly Request[]): Promise<void> {
  const connections = Math.max(...harness.options.connections)
  await askOnce(url, { verb: 'DELETE', path: '/statistics' })
  const { line, sent } = await harness.compare({
    bench: 'ingest',
    case: 'updateContext -mutexTimeStat',
    url,
    connections,
    requests,
  })
  const statistics = JSON.parse(await askOnce(url, { verb: 'GET', path: '/statistics' }))
  if (member(statistics, 'requestSemaphoreWaitingTime') === undefined) {
    harness.report.note('The broker does not measure waits: it was started without -mutexTimeStat.')
    return
  }
  harness.report.add({
    bench: 'waits',
    case: line['case'],
    connections,
    // Sums over all of these requests, so that a mean can be had from them.
    requests: sent,
    ...Object.fromEntries(waits.map((wait) => [`${wait}_s`, member(statistics, wait)])),
  })
}
