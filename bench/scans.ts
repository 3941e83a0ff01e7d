import { updateAnyDevice } from './device.js'
import type { Harness } from './harness.js'
import { Helper } from './helper.js'
import type { LoadResult, LoadTask } from './load.js'
import { page, scanFor } from './queries.js'
import { firstFresh } from './request.js'
import { besides, inTurns, median, medianRate, medians, rounded, times } from './rounds.js'

const connections = 64
const scanners = 4

/** The number of entities that the scans go over, if there is such a size; otherwise over those of the largest below it. */
const wanted = 100_000

/** Updates while four clients have every entity looked at, one scan after the other, in turns with updates alone. */
export async function measureScans(harness: Harness): Promise<void> {
  const { sizes, rounds, duration_s } = harness.options
  const entities = sizes.findLast((size) => size <= wanted) ?? Math.min(...sizes)
  const scanning = new Helper<LoadTask, LoadResult>('./load-generator.js')
  try {
    await harness.withPrepared(entities, async ({ url }) => {
      const time = times(duration_s / rounds)
      const updates = { ...time, url, connections, requests: [updateAnyDevice(entities)], checked: true }
      const scan = page(scanFor(entities - 1), 0)
      const scans = { ...time, url, connections: scanners, requests: [scan], checked: true, firstFresh }
      const title = `scans, ${entities} entities`
      const { measured, reference } = await inTurns(
        rounds,
        async (round) => {
          const [updated, scanned] = await Promise.all([
            harness.load(`${title}, round ${round}`, updates),
            scanning.ask(scans),
          ])
          harness.complain(`${title}, round ${round}, scans`, scanned)
          return { updated, scanned }
        },
        (round) => harness.load(`${title}, round ${round}, without`, updates),
      )
      const updated = measured.map((round) => round.updated)
      const scanned = measured.map((round) => round.scanned)
      harness.report.add({
        bench: 'scans',
        case: `updateContext beside ${scanners} scans`,
        connections,
        entities,
        rounds,
        ...medians(updated),
        ...besides('without_per_s', updated, reference),
        scans_per_s: rounded(medianRate(scanned)),
        scan_p50_ms: rounded(median(scanned.map(({ p50_ms }) => p50_ms))),
      })
    })
  } finally {
    await scanning.end()
  }
}
