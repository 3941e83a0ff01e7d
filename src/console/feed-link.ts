import type { MessagePort } from 'node:worker_threads'
import type { EventSink } from '../event-stream.js'
import { onMessages } from '../thread/messages.js'
import type { Feeds, Watched } from './feeds.js'

/** What a front end in a thread of its own tells the main thread: by the number that it has given a viewer. */
type FeedRequest =
  | { readonly kind: 'watch'; readonly viewer: number; readonly watched: Watched }
  | { readonly kind: 'leave'; readonly viewer: number }
  /** An event has been put in the queue of the viewer. */
  | { readonly kind: 'taken'; readonly viewer: number }

interface FeedEvent {
  readonly viewer: number
  readonly event: Uint8Array
  readonly isNewest: boolean
}

/** The feeds of the main thread, for a front end at the other end of a port that `serveFeeds` serves. */
export function remoteFeeds(port: MessagePort): Feeds {
  const sinks = new Map<number, EventSink>()
  const tell = (request: FeedRequest) => port.postMessage(request)
  let viewers = 0
  onMessages(port, ({ viewer, event, isNewest }: FeedEvent) => {
    const sink = sinks.get(viewer)
    if (isNewest) sink?.putNewest(event)
    else sink?.put(event)
    tell({ kind: 'taken', viewer })
  })
  return {
    watch: (watched, sink) => {
      viewers += 1
      const viewer = viewers
      sinks.set(viewer, sink)
      tell({ kind: 'watch', viewer, watched })
      return () => {
        sinks.delete(viewer)
        tell({ kind: 'leave', viewer })
      }
    },
  }
}

/** Sends the viewers of another thread what they look at. */
export function serveFeeds(port: MessagePort, feeds: Feeds): void {
  const viewers = new Map<number, { readonly sink: RemoteSink; readonly leave: () => void }>()
  onMessages(port, (request: FeedRequest) => {
    const { viewer } = request
    if (request.kind === 'watch') {
      const sink = new RemoteSink((event, isNewest) => {
        const sent: FeedEvent = { viewer, event, isNewest }
        port.postMessage(sent)
      })
      viewers.set(viewer, { sink, leave: feeds.watch(request.watched, sink) })
    } else if (request.kind === 'taken') {
      viewers.get(viewer)?.sink.taken()
    } else {
      viewers.get(viewer)?.leave()
      viewers.delete(viewer)
    }
  })
}

/** Events that may be on the way to a thread; one that takes none would else have them gather at its port. */
const mostUnderWay = 8

/** A sink in another thread. */
class RemoteSink implements EventSink {
  readonly #send: (event: Uint8Array, isNewest: boolean) => void
  #underWay = 0
  #newest: Uint8Array | undefined

  constructor(send: (event: Uint8Array, isNewest: boolean) => void) {
    this.#send = send
  }

  put(event: Uint8Array): boolean {
    if (this.#underWay >= mostUnderWay) return false
    this.#underWay += 1
    this.#send(event, false)
    return true
  }

  putNewest(event: Uint8Array): void {
    if (this.#underWay >= mostUnderWay) {
      this.#newest = event
      return
    }
    this.#underWay += 1
    this.#send(event, true)
  }

  /** The other thread has put one in its queue. */
  taken(): void {
    this.#underWay -= 1
    const newest = this.#newest
    this.#newest = undefined
    if (newest !== undefined) this.putNewest(newest)
  }
}
