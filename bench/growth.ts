import type { BrokerProcess } from './broker-process.js'
import { updateAnyDevice } from './device.js'
import type { Bench, Harness, Load } from './harness.js'
import type { LoadResult } from './load.js'
import { byType, page } from './queries.js'
import { besides, inTurns, median, medians, rounded, times, versus } from './rounds.js'
import { measureScans } from './scans.js'
import type { Line } from './table.js'

/** For updates; pages are asked for by one at a time. */
export const growthConnections = 64

/** Does a broker become slower when it holds more? */
export const growth: Bench = {
  name: 'growth',
  question: 'updates and first pages by number of entities, against the smallest; updates beside pattern scans',
  run: async (harness) => {
    if (!harness.hasOwnBrokers('growth')) return
    const [smallest = 0, ...larger] = harness.options.sizes
    await harness.withPrepared(smallest, async (small) => {
      await measure(harness, smallest, small)
      for (const size of larger) {
        await harness.withPrepared(size, (large) => measure(harness, size, large, { size: smallest, broker: small }))
      }
    })
    await measureScans(harness)
  },
}

/** The broker with the smallest number of entities. */
interface Smallest {
  readonly size: number
  readonly broker: BrokerProcess
}

async function measure(harness: Harness, size: number, broker: BrokerProcess, smallest?: Smallest): Promise<void> {
  const time = times(harness.options.duration_s / harness.options.rounds)
  const updates = (devices: number) => ({
    ...time,
    connections: growthConnections,
    requests: [updateAnyDevice(devices)],
    checked: true,
  })
  const pages = { ...time, connections: 1, requests: [page(byType, 0)], checked: true }
  await harness.withPreparedAgainst(size, async (other) => {
    const brokers = { broker, smallest, other }
    await inTurnsAt(harness, size, brokers, 'updateContext', updates)
    await inTurnsAt(harness, size, brokers, 'first page by type', () => pages)
  })
}

/** What takes turns: the smallest number has no smaller one to be compared with. */
interface Brokers {
  readonly broker: BrokerProcess
  readonly smallest: Smallest | undefined
  /** One of another version, with as many entities. */
  readonly other: BrokerProcess | undefined
}

async function inTurnsAt(
  harness: Harness,
  entities: number,
  { broker, smallest, other }: Brokers,
  name: string,
  loadOf: (entities: number) => Omit<Load, 'url'>,
): Promise<void> {
  const { rounds } = harness.options
  const title = `growth, ${name}, ${entities} entities`
  const load = loadOf(entities)
  const { measured, reference, against } = await inTurns(
    rounds,
    harness.rounds(title, { ...load, url: broker.url }),
    smallest && harness.rounds(`${title}, smallest`, { ...loadOf(smallest.size), url: smallest.broker.url }),
    harness.roundsAgainst(title, load, other?.url),
  )
  harness.report.add({
    bench: 'growth',
    case: name,
    connections: load.connections,
    entities,
    ...(smallest === undefined ? {} : { reference_entities: smallest.size }),
    rounds,
    ...medians(measured),
    ...(smallest === undefined ? {} : grown(measured, reference)),
    ...versus(measured, against),
  })
}

function grown(measured: readonly LoadResult[], reference: readonly LoadResult[]): Line {
  const reference_p50_ms = median(reference.map(({ p50_ms }) => p50_ms))
  return {
    ...besides('reference_per_s', measured, reference),
    reference_p50_ms: rounded(reference_p50_ms),
    time_ratio: rounded(median(measured.map(({ p50_ms }) => p50_ms)) / reference_p50_ms),
  }
}
