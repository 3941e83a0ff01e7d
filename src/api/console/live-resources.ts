import {
  type EventStreams,
  encodedEvent,
  eventStreamHeaders,
  eventStreamType,
} from '../../broker/front-end/event-stream.js'
import type { ApiRequest, ApiResponse, Prepared, Resource } from '../../broker/operations/api.js'
import { shortForm } from '../../broker/operations/response.js'
import { traceArea } from '../../observe/log/trace.js'
import { mostViewers, ViewerLimit } from '../../threads/shared-memory/limits.js'
import { logLevels } from '../../threads/shared-memory/switches.js'
import type { Feeds, Watched } from './feeds.js'
import { historyKept_s } from './live-history.js'
import { GivenParameters } from './views.js'

export interface LiveResourceParts {
  readonly feeds: Feeds
  readonly streams: EventStreams
  /** The memory of `ViewerLimit`. */
  readonly viewers: SharedArrayBuffer
}

/** Live figures and lines of the log as streams of events [console: data]. */
export function liveResources({ feeds, streams, viewers }: LiveResourceParts): readonly Resource[] {
  const limits = { live: new ViewerLimit(viewers, 'live'), log: new ViewerLimit(viewers, 'log') }

  function watch(watched: Watched): ApiResponse {
    const limit = limits[watched.feed]
    if (limit.isReached) return tooManyViewers
    const stream = streams.body(
      (queue) => {
        if (!limit.take()) {
          // Viewers of other threads have taken the last permits since.
          queue.put(encodedEvent('full', JSON.stringify({ description: tooMany })))
          queue.end()
          return () => {}
        }
        const leave = feeds.watch(watched, queue)
        return () => {
          leave()
          limit.release()
        }
      },
      watched.feed === 'live' && watched.history_s > 0 ? history_bytes : undefined,
    )
    return { status: 200, contentType: eventStreamType, headers: eventStreamHeaders, stream }
  }

  const row = { anyCase: false, polled: true, givesEvents: true } as const
  return [
    {
      ...row,
      pattern: '/admin/live',
      operations: {
        GET: { use: 'read', prepare: (request) => preparedLive(request, watch) },
      },
    },
    {
      ...row,
      pattern: '/admin/log/tail',
      operations: { GET: { use: 'read', prepare: (request) => preparedTail(request, watch) } },
    },
  ]
}

/** The most bytes of a history; frames and lines are much smaller. */
const history_bytes = 2 ** 20

function preparedLive(request: ApiRequest, watch: (watched: Watched) => ApiResponse): Prepared {
  const given = new GivenParameters(request, ['history'])
  const isAll = request.parameters.get('history') === 'all'
  const history_s = isAll ? historyKept_s : given.whole('history', 0, 0, historyKept_s)
  const sees = request.client.isTrusted ? 'names' : 'counts'
  return given.prepared(async () => watch({ feed: 'live', sees, history_s }))
}

const tooMany = `${mostViewers} viewers look at this already: close one of them, or come back later`
const tooManyViewers: ApiResponse = { ...shortForm(503, tooMany), headers: { 'Retry-After': '10' } }

const levels: readonly string[] = [...logLevels.filter((level) => level !== 'NONE'), 'SUMMARY']
const areas: readonly string[] = Object.keys(traceArea)
const areasByNumber = new Map(Object.entries(traceArea).map(([name, number]) => [String(number), name]))

function preparedTail(request: ApiRequest, watch: (watched: Watched) => ApiResponse): Prepared {
  const given = new GivenParameters(request, ['levels', 'areas', 'text', 'correlator', 'tenant'])
  const listed = (name: string, known: readonly string[], meant: (item: string) => string) => {
    const items = given
      .text(name)
      ?.split(',')
      .map((item) => meant(item.trim()))
    const unknown = items?.find((item) => !known.includes(item))
    if (unknown !== undefined) given.refuse(`the URI parameter ${name} names ${unknown}: known are ${known.join(', ')}`)
    return items
  }
  const filter = {
    levels: listed('levels', levels, (item) => item.toUpperCase()),
    areas: listed('areas', areas, (item) => areasByNumber.get(item) ?? item),
    text: given.text('text'),
    correlator: given.text('correlator'),
    tenant: given.folded('tenant'),
  }
  return given.prepared(async () => watch({ feed: 'log', filter }))
}
