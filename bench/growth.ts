import type { BrokerProcess } from './broker-process.js'
import { updateAnyDevice } from './device.js'
import type { Bench, Harness, Load } from './harness.js'
import { byType, page } from './queries.js'
import { inTurns, median, medianRate, medians, rounded, times } from './rounds.js'
import { measureScans } from './scans.js'

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

/** What a broker is compared with. */
interface Other {
  readonly size: number
  readonly broker: BrokerProcess
}

async function measure(harness: Harness, size: number, { url }: BrokerProcess, other?: Other): Promise<void> {
  const time = times(harness.options.duration_s / harness.options.rounds)
  const updates = (devices: number) => ({
    ...time,
    connections: growthConnections,
    requests: [updateAnyDevice(devices)],
    checked: true,
  })
  const pages = { ...time, connections: 1, requests: [page(byType, 0)], checked: true }
  const common = { bench: 'growth', entities: size }
  if (other === undefined) {
    await single(harness, { ...common, case: 'updateContext' }, { ...updates(size), url })
    await single(harness, { ...common, case: 'first page by type' }, { ...pages, url })
    return
  }
  const compared = { ...common, reference_entities: other.size }
  const { broker } = other
  await beside(harness, { ...compared, case: 'updateContext' }, [
    { ...updates(size), url },
    { ...updates(other.size), url: broker.url },
  ])
  await beside(harness, { ...compared, case: 'first page by type' }, [
    { ...pages, url },
    { ...pages, url: broker.url },
  ])
}

interface Case {
  readonly bench: string
  readonly case: string
  readonly entities: number
}

/** The smallest size has nothing to be compared with. */
async function single(harness: Harness, { bench, case: name, ...varied }: Case, load: Load): Promise<void> {
  const { rounds } = harness.options
  const measured = []
  for (let round = 1; round <= rounds; round++) {
    measured.push(await harness.load(`${bench}, ${name}, ${varied.entities} entities, round ${round}`, load))
  }
  const { connections } = load
  harness.report.add({ bench, case: name, connections, ...varied, rounds, ...medians(measured) })
}

async function beside(
  harness: Harness,
  { bench, case: name, ...varied }: Case,
  [load, smaller]: readonly [Load, Load],
): Promise<void> {
  const { rounds } = harness.options
  const title = `${bench}, ${name}, ${varied.entities} entities`
  const { measured, reference } = await inTurns(
    rounds,
    (round) => harness.load(`${title}, round ${round}`, load),
    (round) => harness.load(`${title}, round ${round}, smallest`, smaller),
  )
  const reference_p50_ms = median(reference.map(({ p50_ms }) => p50_ms))
  harness.report.add({
    bench,
    case: name,
    connections: load.connections,
    ...varied,
    rounds,
    ...medians(measured),
    reference_per_s: Math.round(medianRate(reference)),
    ratio: rounded(medianRate(measured) / medianRate(reference)),
    reference_p50_ms: rounded(reference_p50_ms),
    time_ratio: rounded(median(measured.map(({ p50_ms }) => p50_ms)) / reference_p50_ms),
  })
}
