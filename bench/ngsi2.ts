import { appendDevices, numbered, readDevice, updatesOf } from './device.js'
import type { Bench, Harness } from './harness.js'
import { listFiltered, patchAttributes, queryFiltered, showEntity, updateInBatch } from './ngsi2-requests.js'
import { fewConnections } from './options.js'
import { fresh, type Request } from './request.js'
import { besides, inTurns, median, medians, rounded, times } from './rounds.js'
import type { Line } from './table.js'

/** What is asked through one interface and, meaning the same, through the other. */
interface Pair {
  readonly case: string
  readonly ngsi2: readonly Request[]
  readonly ngsi1: readonly Request[]
}

/** Filters that let all devices through, and one in a thousand. */
const broad = 'humidity;temperature'
const narrow = "humidity=='7'"

/** Both interfaces are asked on the same broker: they differ in nothing but what they read and write. */
export const ngsi2: Bench = {
  name: 'ngsi2',
  question:
    'updates, reads and filters through NGSIv2, by number of connections, in turns with the same through NGSIv1',
  run: async (harness) => {
    const { devices, entities, connections } = harness.options
    const singles = pairsOfSingles(devices)
    await harness.withDevices([], (url) => measureAll(harness, url, singles, connections))
    const filters = pairsOfFilters()
    const few = fewConnections(harness.options)
    const work = (url: string) => measureAll(harness, url, filters, few, { entities })
    await harness.withDevices([], work, entities, (numbers) => appendDevices(numbers, numbered))
  },
}

function pairsOfSingles(devices: number): readonly Pair[] {
  const each = (write: (number: number) => Request) => Array.from({ length: devices }, (_, number) => write(number))
  const updates = updatesOf(devices)
  return [
    { case: 'POST /v2/op/update', ngsi2: each((number) => updateInBatch(number, fresh)), ngsi1: updates },
    { case: 'PATCH /v2/entities/{id}/attrs', ngsi2: each((number) => patchAttributes(number, fresh)), ngsi1: updates },
    { case: 'GET /v2/entities/{id}', ngsi2: each(showEntity), ngsi1: each(readDevice) },
  ]
}

function pairsOfFilters(): readonly Pair[] {
  const pair = (name: string, filter: string): Pair => {
    return { case: name, ngsi2: [listFiltered(filter)], ngsi1: [queryFiltered(filter)] }
  }
  return [pair('q that all pass', broad), pair('q that one in 1,000 passes', narrow)]
}

async function measureAll(
  harness: Harness,
  url: string,
  pairs: readonly Pair[],
  connections: readonly number[],
  varied: Line = {},
): Promise<void> {
  for (const number of connections) for (const pair of pairs) await measure(harness, url, pair, number, varied)
}

async function measure(harness: Harness, url: string, pair: Pair, connections: number, varied: Line): Promise<void> {
  const { duration_s, rounds } = harness.options
  const load = { url, connections, ...times(duration_s / rounds) }
  const title = `ngsi2, ${pair.case}, ${connections} connections`
  const { measured, reference } = await inTurns(
    rounds,
    harness.rounds(title, { ...load, requests: pair.ngsi2, checked: false }),
    harness.rounds(`${title}, through NGSIv1`, { ...load, requests: pair.ngsi1, checked: true }),
  )
  harness.report.add({
    bench: 'ngsi2',
    case: pair.case,
    connections,
    ...varied,
    rounds,
    ...medians(measured),
    ...besides('ngsi1_per_s', measured, reference),
    ngsi1_p50_ms: rounded(median(reference.map(({ p50_ms }) => p50_ms))),
    ngsi1_p99_ms: rounded(median(reference.map(({ p99_ms }) => p99_ms))),
  })
}
