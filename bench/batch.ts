import { DataFolder } from './broker-process.js'
import { updateDevices } from './device.js'
import { groupsOf } from './fleet.js'
import type { Bench, Harness } from './harness.js'
import { Helper } from './helper.js'
import { fewConnections } from './options.js'
import type { RawResult, RawTask } from './raw-lmdb.js'
import { fresh } from './request.js'
import { inTurns, medianRate, medians, rounded, times, versus, wholeRate } from './rounds.js'

const sizes: readonly number[] = [1, 10, 100, 1000]

/** More gateways at a time, each with a thousand elements, would be turned away: what a broker lets wait is limited. */
const mostGateways = 4

type Raw = Helper<RawTask, RawResult>

/** What gateways send: many devices in one request. */
export const batch: Bench = {
  name: 'batch',
  question:
    'elements per second by elements in a request, against raw lmdb with as many records in a commit, and an echo',
  run: async (harness) => {
    const { entities } = harness.options
    const gateways = new Set(fewConnections(harness.options).map((few) => Math.min(few, mostGateways)))
    const folder = new DataFolder()
    const raw: Raw = new Helper('./raw-lmdb.js')
    try {
      await harness.withVersions(async (url, against) => {
        for (const elements of sizes.filter((size) => size <= entities)) {
          for (const connections of gateways) {
            await measure(harness, { raw, folder, url, against, elements, connections })
          }
        }
      }, entities)
    } finally {
      await raw.end()
      folder.remove()
    }
  },
}

interface Case {
  readonly raw: Raw
  readonly folder: DataFolder
  readonly url: string
  readonly against: string | undefined
  readonly elements: number
  readonly connections: number
}

async function measure(
  harness: Harness,
  { raw, folder, url, against: other, elements, connections }: Case,
): Promise<void> {
  const { entities, duration_s, rounds } = harness.options
  const time = times(duration_s / rounds)
  const title = `batch, ${elements} elements, ${connections} connections`
  const requests = [...groupsOf(entities, elements)].map((numbers) => updateDevices(numbers, fresh))
  const echo = await harness.reference()
  const load = { ...time, connections, requests, checked: true }
  const { measured, reference, against } = await inTurns(
    rounds,
    harness.rounds(title, { ...load, url }),
    async (round) => {
      harness.report.progress(`${title}, round ${round}, raw lmdb`)
      return {
        stored: await raw.ask({ ...time, path: folder.path, records: entities, recordsPerCommit: elements }),
        echoed: await harness.load(`${title}, round ${round}, echo`, { ...load, url: echo, checked: false }),
      }
    },
    harness.roundsAgainst(title, load, other),
  )
  // The last request has fewer elements when they do not come out even.
  const perRequest = entities / requests.length
  const rate_per_s = medianRate(measured) * perRequest
  const stored_per_s = medianRate(reference.map(({ stored }) => stored))
  const echoed_per_s = medianRate(reference.map(({ echoed }) => echoed)) * perRequest
  harness.report.add({
    bench: 'batch',
    case: 'updateContext',
    elements,
    connections,
    rounds,
    ...medians(measured),
    elements_per_s: wholeRate(rate_per_s),
    raw_lmdb_per_s: wholeRate(stored_per_s),
    ratio: rounded(rate_per_s / stored_per_s),
    echo_per_s: wholeRate(echoed_per_s),
    echo_ratio: rounded(rate_per_s / echoed_per_s),
    ...versus(measured, against),
  })
}
