import type { ApiResponse, Resource } from '../api.js'
import { type EventStreams, encodedEvent, eventStreamHeaders, eventStreamType } from '../event-stream.js'
import { operation } from '../management/response-forms.js'
import { mostViewers, type ViewerLimit } from '../shared-memory/viewer-limit.js'
import { shortForm } from '../short-form.js'
import type { Feeds, Watched } from './feeds.js'

/** What the live resources of one front end work on. */
export interface LiveResourceParts {
  readonly feeds: Feeds
  readonly streams: EventStreams
  /** Those of `/admin/live`. */
  readonly liveViewers: ViewerLimit
}

/** What the broker does, as it does it, as streams of events [console: data]. */
export function liveResources({ feeds, streams, liveViewers }: LiveResourceParts): readonly Resource[] {
  const watch = (watched: Watched, viewers: ViewerLimit): ApiResponse => {
    if (viewers.isReached) return tooManyViewers
    const stream = streams.body((queue) => {
      if (!viewers.take()) {
        // Several have come at the same moment.
        queue.put(encodedEvent('full', JSON.stringify({ description: tooMany })))
        queue.end()
        return () => {}
      }
      const leave = feeds.watch(watched, queue)
      return () => {
        leave()
        viewers.release()
      }
    })
    return { status: 200, contentType: eventStreamType, headers: eventStreamHeaders, stream }
  }
  return [
    {
      pattern: '/admin/live',
      anyCase: false,
      polled: true,
      givesEvents: true,
      operations: { GET: operation('read', () => watch({ feed: 'live' }, liveViewers)) },
    },
  ]
}

const tooMany = `${mostViewers} viewers look at this already: close one of them, or come back later`
const tooManyViewers: ApiResponse = {
  ...shortForm(503, tooMany),
  headers: { 'Retry-After': '10' },
}
