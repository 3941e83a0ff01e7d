import { type EventSink, encodedEvent } from '../event-stream.js'
import { type LineFilter, type LineSource, watchLines } from './line-tail.js'
import { frameInterval_ms, LiveSampler, type LiveSources } from './live-sampler.js'

/** What somebody looks at. */
export type Watched = { readonly feed: 'live' } | { readonly feed: 'log'; readonly filter: LineFilter }

/** What there is to look at: made by the main thread, for the viewers of all front ends. */
export interface Feeds {
  /** Sends events until the function that it gives is called. */
  watch(watched: Watched, sink: EventSink): () => void
}

/** The feeds where they are made. */
export function mainFeeds(sources: LiveSources, log: LineSource): Feeds {
  const live = new LiveFeed(new LiveSampler(sources))
  return {
    watch: (watched, sink) => (watched.feed === 'live' ? live.watch(sink) : watchLines(log, watched.filter, sink)),
  }
}

/** Takes a frame every second and sends it to all who look; while nobody does there is no timer and no frame. */
export class LiveFeed {
  readonly #sampler: Pick<LiveSampler, 'hello' | 'frame'>
  readonly #sinks = new Set<EventSink>()
  #timer: NodeJS.Timeout | undefined
  #latest: Uint8Array | undefined

  constructor(sampler: Pick<LiveSampler, 'hello' | 'frame'>) {
    this.#sampler = sampler
  }

  /** The first frame comes at once; a sink that takes too slowly gets the newest one only. */
  watch(sink: EventSink): () => void {
    this.#sinks.add(sink)
    this.#timer ??= setInterval(() => this.#send(), frameInterval_ms)
    this.#latest ??= this.#taken()
    sink.put(encodedEvent('hello', JSON.stringify(this.#sampler.hello())))
    sink.putNewest(this.#latest)
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
    const frame = this.#taken()
    this.#latest = frame
    for (const sink of this.#sinks) sink.putNewest(frame)
  }

  #taken(): Uint8Array {
    return encodedEvent('frame', JSON.stringify(this.#sampler.frame()))
  }
}
