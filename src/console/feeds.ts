import { type EventSink, encodedEvent } from '../event-stream.js'
import { type LineFilter, type LineSource, watchLines } from './line-tail.js'
import type { LiveFrame } from './live-frame.js'
import { frameInterval_ms, LiveSampler, type LiveSources } from './live-sampler.js'

/**
 * What a viewer of the frames sees of receivers that fail: their names and why they fail, or how many there are. A client could else find out by
 * subscriptions what answers in the network of the broker, and see where other tenants send their notifications.
 */
type Seen = 'names' | 'counts'

/** What somebody looks at. */
export type Watched =
  | { readonly feed: 'live'; readonly sees: Seen }
  | { readonly feed: 'log'; readonly filter: LineFilter }

/** What there is to look at: made by the main thread, for the viewers of all front ends. */
export interface Feeds {
  /** Sends events until the function that it gives is called. */
  watch(watched: Watched, sink: EventSink): () => void
}

/** The feeds where they are made. */
export function mainFeeds(sources: LiveSources, log: LineSource): Feeds {
  const live = new LiveFeed(new LiveSampler(sources))
  return {
    watch: (watched, sink) =>
      watched.feed === 'live' ? live.watch(watched.sees, sink) : watchLines(log, watched.filter, sink),
  }
}

/**
 * Takes a frame every second and sends it to all who look; while nobody does there is no timer and no frame. It is encoded once for all viewers
 * who see the same of it.
 */
export class LiveFeed {
  readonly #sampler: Pick<LiveSampler, 'hello' | 'frame'>
  readonly #sinks = new Map<EventSink, Seen>()
  #timer: NodeJS.Timeout | undefined
  #latest: EncodedFrame | undefined

  constructor(sampler: Pick<LiveSampler, 'hello' | 'frame'>) {
    this.#sampler = sampler
  }

  /** The first frame comes at once; a sink that takes too slowly gets the newest one only. */
  watch(sees: Seen, sink: EventSink): () => void {
    this.#sinks.set(sink, sees)
    this.#timer ??= setInterval(() => this.#send(), frameInterval_ms)
    this.#latest ??= new EncodedFrame(this.#sampler.frame())
    sink.put(encodedEvent('hello', JSON.stringify(this.#sampler.hello(sees === 'names'))))
    sink.putNewest(this.#latest.seen(sees))
    return () => this.#leave(sink)
  }

  #leave(sink: EventSink): void {
    this.#sinks.delete(sink)
    if (this.#sinks.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#latest = undefined
  }

  #send(): void {
    const frame = new EncodedFrame(this.#sampler.frame())
    this.#latest = frame
    for (const [sink, sees] of this.#sinks) sink.putNewest(frame.seen(sees))
  }
}

/** A frame as it is sent, encoded when the first viewer asks who sees so much of it. */
class EncodedFrame {
  readonly #frame: LiveFrame
  readonly #encoded = new Map<Seen, Uint8Array>()

  constructor(frame: LiveFrame) {
    this.#frame = frame
  }

  seen(sees: Seen): Uint8Array {
    const encoded = this.#encoded.get(sees) ?? encodedEvent('frame', JSON.stringify(seenBy(sees, this.#frame)))
    this.#encoded.set(sees, encoded)
    return encoded
  }
}

function seenBy(sees: Seen, frame: LiveFrame): LiveFrame {
  return sees === 'names' ? frame : { ...frame, deliveries: { ...frame.deliveries, failing: null } }
}
