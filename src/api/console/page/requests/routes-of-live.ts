import type { LiveFrame, LiveHello, LiveRequests } from '../../live-frame.js'
import type { WholeFrame } from '../moment.js'
import { addCounts, bucketCounts, consoleRoute, quantileOf } from '../moment.js'

/** The requests on a route with a method. */
export interface RouteRow {
  readonly route: string
  readonly method: string
  /** Per second. */
  readonly rate: number
  /** Since the start. */
  readonly count: number
  readonly p50_s: number
  readonly p99_s: number
  /** The number of requests between the two frames. */
  readonly lately: number
  /** Error codes within responses, with their counts; since the start. */
  readonly errors: string
  readonly in_bytes: number
  readonly out_bytes: number
}

/** The requests of clients between two frames, with their counts since the start. */
export function routesOf(hello: LiveHello, before: WholeFrame | undefined, { frame }: WholeFrame): readonly RouteRow[] {
  const over_s = before === undefined ? 0 : (frame.time_ms - before.frame.time_ms) / 1000
  const own = hello.routes.findIndex(({ name }) => name === consoleRoute)
  return frame.requests
    .filter(({ route }) => route !== own)
    .map((now) => {
      const earlier = before?.frame.requests.find(({ route, method }) => route === now.route && method === now.method)
      const bounds = hello.durationBounds_s
      const counts = bucketCounts(now.durations, bounds.length)
      if (earlier !== undefined) addCounts(counts, earlier.durations, -1)
      const count = countOf(now)
      const lately = before === undefined ? 0 : count - (earlier === undefined ? 0 : countOf(earlier))
      const [, in_bytes, out_bytes] = frame.sizes.find(([route]) => route === now.route) ?? [0, 0, 0]
      return {
        route: hello.routes[now.route]?.name ?? '',
        method: hello.methods[now.method] ?? '',
        rate: over_s > 0 ? lately / over_s : 0,
        count,
        lately,
        p50_s: quantileOf(bounds, counts, 0.5),
        p99_s: quantileOf(bounds, counts, 0.99),
        errors: errorsOf(hello, frame, now),
        in_bytes,
        out_bytes,
      }
    })
}

function countOf({ codes }: LiveRequests): number {
  return codes.reduce((sum, value, at) => (at % 2 === 1 ? sum + value : sum), 0)
}

function errorsOf({ errorCodes }: LiveHello, { errors }: LiveFrame, { route, method }: LiveRequests): string {
  const own = errors.filter(([ofRoute, ofMethod]) => ofRoute === route && ofMethod === method)
  return own.map(([, , code, count]) => `${errorCodes[code]}: ${count}`).join(', ')
}

/** The reasons of rejections, with their counts. */
export function rejectedOf({ rejections }: LiveHello, { rejected }: LiveFrame): readonly (readonly [string, number])[] {
  return rejections.flatMap((reason, at) => {
    const count = rejected[at] ?? 0
    return count === 0 ? [] : [[reason, count] as const]
  })
}
