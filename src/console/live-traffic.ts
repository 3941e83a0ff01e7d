import type { Resource, Verb } from '../api/api.js'
import type { BucketReading } from '../measure/buckets.js'
import { verbs } from '../measure/counted-routes.js'
import { forwardResults } from '../measure/figures.js'
import type { Measures } from '../measure/measures.js'
import { rejections } from '../measure/requests.js'
import { errorCodes, statusCodes } from '../measure/route-table.js'
import type { LiveBuckets, LiveFrame, LiveRequests, LiveRoute } from './live-frame.js'

/** The routes by number, and what their methods do with entities. */
export function routesShown({ routes }: Measures, resources: readonly Resource[]): readonly LiveRoute[] {
  return routes.all.map(({ name }) => {
    const own = resources.filter((resource) => (resource.countedAs ?? resource.pattern) === name && isOfEntities(name))
    const using = (use: 'read' | 'write') =>
      own.flatMap(({ operations }) =>
        (Object.keys(operations) as Verb[]).filter((verb) => operations[verb]?.use === use),
      )
    return { name, updates: using('write'), reads: using('read') }
  })
}

/** Entities, not subscriptions or registrations. */
function isOfEntities(pattern: string): boolean {
  return /^\/v1\/(?!registry\/|admin\/)|^\/v2\/(?:entities|types|op)\b/.test(pattern) && !/subscri/i.test(pattern)
}

type Traffic = Pick<LiveFrame, 'requests' | 'sizes' | 'errors' | 'rejected' | 'forwards' | 'now'>

/** The requests of clients and what they caused. */
export function trafficShown({ traffic, frontEnds, routes }: Measures): Traffic {
  const requests = routes.all.flatMap(({ index }) => verbs.flatMap((_, verb) => requestsShown(traffic, index, verb)))
  const requested = [...new Set(requests.map(({ route }) => route))]
  return {
    requests,
    sizes: requested.map((route) => [route, traffic.requestSizes(route).sum, traffic.responseSizes(route).sum]),
    errors: requested.flatMap((route) =>
      errorCodes.flatMap((_, code) => {
        const count = verbs.reduce((sum, _verb, verb) => sum + traffic.errors(route, verb, code), 0)
        return count === 0 ? [] : [[route, code, count] as const]
      }),
    ),
    rejected: rejections.map((reason) => frontEnds.value(`rejected.${reason}`)),
    forwards: forwardResults.map((result) => frontEnds.value(`forwards.${result}`)),
    now: {
      connections: frontEnds.value('connections'),
      inFlight: frontEnds.value('inFlight'),
      permitsFree: frontEnds.value('permits.free'),
      permitsTaken: frontEnds.value('permits.taken'),
      permitsQueued: frontEnds.value('permitsQueued'),
      queriesWaiting: frontEnds.value('queriesWaiting'),
      queriesRunning: frontEnds.value('queriesRunning'),
    },
  }
}

function requestsShown(traffic: Measures['traffic'], route: number, method: number): readonly LiveRequests[] {
  const codes = statusCodes.flatMap((_, code) => {
    const count = traffic.responses(route, method, code)
    return count === 0 ? [] : [code, count]
  })
  if (codes.length === 0) return []
  const durations = traffic.durations(route, method)
  return [{ route, method, codes, durations: bucketsShown(durations), total_s: toMicroseconds(durations.sum) }]
}

/** How many values are in each bucket, from the first to the last that has any. */
export function bucketsShown({ counts }: BucketReading): LiveBuckets {
  let first = 0
  while (first < counts.length && counts[first] === 0) first += 1
  const all = counts.at(-1) ?? 0
  if (all === 0) return []
  const shown = [first]
  let below = 0
  for (let bucket = first; below < all && bucket < counts.length; bucket += 1) {
    const sofar = counts[bucket] ?? 0
    shown.push(sofar - below)
    below = sofar
  }
  return shown
}

/** Seconds without digits that mean nothing. */
export function toMicroseconds(seconds: number): number {
  return Math.round(seconds * 1e6) / 1e6
}
