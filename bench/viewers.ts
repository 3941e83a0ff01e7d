import { updatesOf } from './device.js'
import type { Bench, Harness, Load } from './harness.js'
import type { LoadResult } from './load.js'
import { besides, inTurns, medians, rounded, times } from './rounds.js'
import { type Watched, watch } from './watchers.js'

const connections = 64

/** As the console's page has it open: all lines that the broker can write, of which a viewer gets 200 in a second. */
const everyArea = '0-255'

/** What updates cost that somebody looks at. */
export const viewers: Bench = {
  name: 'viewers',
  question: 'updates while ten look at /admin/live, and while one reads all traces, in turns with nobody looking',
  run: async (harness) => {
    await harness.withDevices([], async (url) => {
      await measure(harness, url, { name: 'ten viewers', path: '/admin/live', viewers: 10 })
      await setTraces(url, 'PUT', everyArea)
      try {
        await measure(harness, url, { name: 'tail of all traces', path: '/admin/log/tail', viewers: 1 })
      } finally {
        await setTraces(url, 'DELETE', '')
      }
    })
  },
}

interface Look {
  readonly name: string
  readonly path: string
  readonly viewers: number
}

async function measure(harness: Harness, url: string, look: Look): Promise<void> {
  const { devices, duration_s, rounds } = harness.options
  const requests = updatesOf(devices)
  const load: Load = { url, connections, requests, checked: true, ...times(duration_s / rounds) }
  const title = `viewers, ${look.name}`
  const seen: Watched[] = []
  const beside = async (round: number): Promise<LoadResult> => {
    const end = await watch(`${url}${look.path}`, look.viewers)
    try {
      return await harness.rounds(title, load)(round)
    } finally {
      seen.push(await end())
    }
  }
  const alone = harness.rounds(`${title}, nobody`, load)
  await alone(0) // What comes first is slower, whoever looks.
  const { measured, reference } = await inTurns(rounds, beside, alone)
  const ratios = measured.map((each, round) => each.rate_per_s / (reference[round]?.rate_per_s ?? Number.NaN))
  harness.report.add({
    bench: 'viewers',
    case: look.name,
    connections,
    rounds,
    ...medians(measured),
    ...besides('alone_per_s', measured, reference),
    least_ratio: rounded(Math.min(...ratios)),
    events: seen.reduce((sum, { events }) => sum + events, 0),
    seen_MiB: rounded(seen.reduce((sum, { bytes }) => sum + bytes, 0) / 2 ** 20),
  })
}

/** Sets the trace levels, or none. */
async function setTraces(url: string, method: 'PUT' | 'DELETE', levels: string): Promise<void> {
  const path = levels === '' ? '/log/trace' : `/log/trace/${levels}`
  const { status } = await fetch(`${url}${path}`, { method })
  if (status !== 200) throw new Error(`${method} ${path}: HTTP ${status}`)
}
