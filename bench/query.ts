import { appendPlacedDevices } from './device.js'
import { responseOf } from './fleet.js'
import type { Bench } from './harness.js'
import { fewConnections } from './options.js'
import {
  byArea,
  byNarrowArea,
  byPattern,
  byPrefix,
  byRarePattern,
  bySmallArea,
  byType,
  page,
  pageSize,
  type Selection,
} from './queries.js'

/** What every device is in, so that there are deep pages. */
const broad: Readonly<Record<string, Selection>> = { 'by type': byType, 'by pattern': byPattern, 'by area': byArea }

/** What few devices are in, so that most are looked at for nothing. */
const narrow: Readonly<Record<string, Selection>> = {
  'by pattern, one in 1,000': byRarePattern,
  'by area, one in 100': byNarrowArea,
  'by area, one in 2,000': bySmallArea,
  'by the beginning of ids, ten of them': byPrefix,
}

const depths: readonly number[] = [0, 1_000, 10_000]

/** The reference parses the query and answers the same bytes without looking for anything. */
export const query: Bench = {
  name: 'query',
  question: 'pages of queries by type, pattern, area and depth, against a constant answer of the same bytes',
  run: async (harness) => {
    const { entities } = harness.options
    const last = Math.max(0, entities - pageSize)
    const offsets = new Set(depths.map((depth) => Math.min(depth, last))) // A page past the end would be empty.
    const cases = [
      ...Object.entries(broad).flatMap(([name, selection]) =>
        [...offsets].map((offset) => ({ name, selection, offset })),
      ),
      ...Object.entries(narrow).map(([name, selection]) => ({ name, selection, offset: 0 })),
    ]
    await harness.withDevices(
      [],
      async (url) => {
        for (const { name, selection, offset } of cases) {
          const request = page(selection, offset)
          const constant = await responseOf(url, request, `entities ${name}`)
          for (const connections of fewConnections(harness.options)) {
            const varied = { entities, offset }
            const common = { bench: 'query', case: name, connections, varied }
            await harness.compare({ ...common, url, requests: [request], constant })
          }
        }
      },
      entities,
      appendPlacedDevices,
    )
  },
}
