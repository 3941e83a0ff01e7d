import { updatesOf } from './device.js'
import { askOnce } from './fleet.js'
import type { Bench, Harness, Load } from './harness.js'
import type { LoadResult } from './load.js'
import { member } from './ngsi.js'
import { besides, inTurns, medians, rounded, times } from './rounds.js'
import type { Line } from './table.js'

const names = ['requestSemaphore', 'dbConnectionPool', 'transactionSemaphore'] as const

const flag = '-mutexTimeStat'

/** What requests wait for under rising load, and what it costs to know. */
export const waits: Bench = {
  name: 'waits',
  question: 'what updates wait for by number of connections, and their rate with -mutexTimeStat against without',
  run: async (harness) => {
    const without = harness.hasOwnBrokers(`the rate without ${flag}`)
    await harness.withDevices([flag], async (url) => {
      if (!(await measuresWaits(url))) {
        harness.report.note(`The broker does not measure waits: it was started without ${flag}.`)
      } else if (without) {
        await harness.withDevices([], (other) => measureAll(harness, url, other))
      } else await measureAll(harness, url)
    })
  },
}

async function measureAll(harness: Harness, url: string, without?: string): Promise<void> {
  for (const connections of harness.options.connections) await measure(harness, connections, url, without)
}

async function measure(harness: Harness, connections: number, url: string, without?: string): Promise<void> {
  const { devices, duration_s, rounds } = harness.options
  const requests = updatesOf(devices)
  const load: Omit<Load, 'url'> = { connections, requests, checked: true, ...times(duration_s / rounds) }
  const title = `waits, ${connections} connections`
  await askOnce(url, { verb: 'DELETE', path: '/statistics' })
  const { measured, reference } = await inTurns(
    rounds,
    harness.rounds(title, { ...load, url }),
    without === undefined ? undefined : harness.rounds(`${title}, without ${flag}`, { ...load, url: without }),
  )
  harness.report.add({
    bench: 'waits',
    case: `updateContext ${flag}`,
    connections,
    rounds,
    ...medians(measured),
    ...besides('without_per_s', measured, reference),
    ...(await waited(url, measured)),
    ...(await waitedByPartition(url)),
  })
}

/** The waits as GET /statistics shows them, over all requests of the rounds, warm-ups included [management 4.1, 5]. */
async function waited(url: string, measured: readonly LoadResult[]): Promise<Line> {
  const requests = measured.reduce((sum, { sent }) => sum + sent, 0)
  const statistics = await statisticsOf(url)
  const sums = names.map((name) => [`${name}WaitingTime_s`, member(statistics, `${name}WaitingTime`)] as const)
  const means = names.map((name) => {
    const sum_s = Number(member(statistics, `${name}WaitingTime`))
    return [`${name}_mean_us`, rounded((sum_s / requests) * 1e6)] as const
  })
  return { requests, ...Object.fromEntries([...sums, ...means]) }
}

/** What a partition's requests waited for, as GET /admin/waits shows it; nothing of a broker that has no such path [management 5.5]. */
async function waitedByPartition(url: string): Promise<Line> {
  const shown = await askOnce(url, { verb: 'GET', path: '/admin/waits' }).then(
    (text) => member(JSON.parse(text), 'waits'),
    () => undefined,
  )
  const rows = new Map<number, Record<string, number>>()
  for (const kind of ['mailbox', 'dbConnectionPool', 'transaction']) {
    const partitions = member(member(shown, kind), 'partitions')
    for (const reading of Array.isArray(partitions) ? partitions : []) {
      const partition = Number(member(reading, 'partition'))
      const row = rows.get(partition) ?? { partition }
      for (const part of ['p50', 'p99']) row[`${kind}_${part}_us`] = rounded(Number(member(reading, part)) * 1e6)
      rows.set(partition, row)
    }
  }
  return rows.size === 0 ? {} : { by_partition: [...rows.values()] }
}

async function measuresWaits(url: string): Promise<boolean> {
  return member(await statisticsOf(url), `${names[0]}WaitingTime`) !== undefined
}

async function statisticsOf(url: string): Promise<unknown> {
  return JSON.parse(await askOnce(url, { verb: 'GET', path: '/statistics' }))
}
