import { appendPlacedDevices, deviceId, deviceType, numbered, updateAnyDevice } from './device.js'
import type { Bench, Harness } from './harness.js'
import { Helper } from './helper.js'
import type { LoadResult, LoadTask } from './load.js'
import { pageSize } from './queries.js'
import { firstFresh, type Request } from './request.js'
import { besides, inTurns, medians, times } from './rounds.js'

const updaters = 64
const nobody = 'humidity==nobody'

/** Each kind of query, as a client of NGSIv2 asks it: the parameters of `GET /v2/entities`. */
function kinds(entities: number): Readonly<Record<string, Readonly<Record<string, string>>>> {
  const id = deviceId(Math.floor(entities / 2))
  const type = deviceType
  const near = { georel: 'near;maxDistance:500', geometry: 'point', coords: '40.5,10.5' }
  const wide = { georel: 'near;maxDistance:200000', geometry: 'point', coords: '40.5,10.5' }
  return {
    'one id': { id },
    '20 ids': { id: Array.from({ length: Math.min(20, entities) }, (_, number) => deviceId(number)).join(',') },
    'a type': { type },
    'a type and one attribute shown': { type, attrs: 'humidity' },
    'a type, counted': { type, options: 'count' },
    'ids by how they begin, ten of them': { idPattern: `^${id.slice(0, -1)}` },
    'a pattern with a type, one in 1,000': { idPattern: '[0-9]007$', type },
    'a pattern without a type, one in 1,000': { idPattern: '[0-9]007$' },
    'a place, one in 10,000': near,
    'a place, all': wide,
    'a place, all, nearest first': { ...wide, orderBy: 'geo:distance' },
    'q with a type, all pass': { type, q: 'humidity' },
    'q with a type, one in 1,000': { type, q: "humidity=='7'" },
    'q with a type, nobody': { type, q: nobody },
    'q with a type, one in 1,000, counted': { type, q: "humidity=='7'", options: 'count' },
    'a type, ordered by an attribute': { type, orderBy: 'temperature' },
  }
}

/** First pages for one client, who waits for nobody; and what the dearest of them does to updates. */
export const costs: Bench = {
  name: 'costs',
  question: 'what each kind of query costs one client, and what one that reads every entity does to updates',
  run: async (harness) => {
    const { entities } = harness.options
    const work = async (url: string): Promise<void> => {
      for (const [name, parameters] of Object.entries(kinds(entities)))
        await measure(harness, url, name, page(parameters))
      await measure(harness, url, 'types with their attributes', { verb: 'GET', path: '/v2/types' })
      await measureUpdates(harness, url)
    }
    await harness.withDevices([], work, entities, (numbers) => appendPlacedDevices(numbers, numbered))
  },
}

function page(parameters: Readonly<Record<string, string>>): Request {
  const query = Object.entries(parameters).map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
  return { verb: 'GET', path: `/v2/entities?${[`limit=${pageSize}`, ...query].join('&')}` }
}

async function measure(harness: Harness, url: string, name: string, request: Request): Promise<void> {
  const { duration_s, rounds, entities } = harness.options
  const task = { url, connections: 1, requests: [request], checked: false, ...times(duration_s / rounds) }
  const { measured } = await inTurns(rounds, harness.rounds(`costs, ${name}`, task))
  harness.report.add({ bench: 'costs', case: name, connections: 1, entities, rounds, ...medians(measured) })
}

async function measureUpdates(harness: Harness, url: string): Promise<void> {
  const { duration_s, rounds, entities } = harness.options
  const time = times(duration_s / rounds)
  const updates = { ...time, url, connections: updaters, requests: [updateAnyDevice(entities)], checked: true }
  const scan = page({ type: deviceType, q: nobody })
  const scans = {
    ...time,
    url,
    connections: 1,
    requests: [scan],
    checked: false,
    firstFresh,
  } as const
  const scanning = new Helper<LoadTask, LoadResult>('./load-generator.js')
  const title = 'costs, updates'
  try {
    const { measured, reference } = await inTurns(
      rounds,
      async (round) => {
        const load = harness.load(`${title} beside q, round ${round}`, updates)
        const [updated, scanned] = await Promise.all([load, scanning.ask(scans)])
        harness.complain(`${title}, round ${round}, q`, scanned)
        return updated
      },
      harness.rounds(`${title} alone`, updates),
    )
    harness.report.add({
      bench: 'costs',
      case: 'updateContext beside q that nobody passes',
      connections: updaters,
      entities,
      rounds,
      ...medians(measured),
      ...besides('without_per_s', measured, reference),
    })
  } finally {
    await scanning.end()
  }
}
