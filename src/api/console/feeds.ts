import type { MessagePort } from 'node:worker_threads'
import { type EventSink, encodedEvent } from '../../broker/front-end/event-stream.js'
import { forms } from '../../observe/log/form.js'
import type { Line } from '../../observe/log/log.js'
import type { MainLog } from '../../observe/log/main-log.js'
import { onMessages } from '../../threads/calls/messages.js'
import type { LiveFrame } from './live-frame.js'
import { FigureHistory, sampleInterval_ms } from './live-history.js'
import { frameInterval_ms, LiveSampler, type LiveSources } from './live-sampler.js'

/**
 * Whether a viewer sees the names of receivers, providers and clients with alarms and their errors, or only their numbers. With names, a client could
 * probe the network of the broker by subscriptions, and learn where other tenants send their notifications.
 */
type Seen = 'names' | 'counts'

export type Watched =
  | {
      readonly feed: 'live'
      readonly sees: Seen
      /** How much of what was before is sent first; 0 for nothing. */
      readonly history_s: number
    }
  | { readonly feed: 'log'; readonly filter: LineFilter }

/** Streams of events that the main thread makes for the viewers of all front ends. */
export interface Feeds {
  /** Sends events to the sink until the returned function is called. */
  watch(watched: Watched, sink: EventSink): () => void
}

/** The feeds of the main thread. They remember the last half an hour whether or not there are viewers. */
export function mainFeeds(sources: LiveSources, log: LineSource): Feeds {
  const history = new FigureHistory(sources)
  setInterval(() => history.take(), sampleInterval_ms).unref()
  const live = new LiveFeed(new LiveSampler(sources), history)
  return {
    watch: (watched, sink) =>
      watched.feed === 'live'
        ? live.watch(watched.sees, sink, watched.history_s)
        : watchLines(log, watched.filter, sink),
  }
}

/** Takes a frame every second while there are viewers. A frame is encoded once for all viewers that see the same of it. */
export class LiveFeed {
  readonly #sampler: Pick<LiveSampler, 'hello' | 'frame'>
  readonly #history: Pick<FigureHistory, 'last'>
  readonly #sinks = new Map<EventSink, Seen>()
  #timer: NodeJS.Timeout | undefined
  #latest: EncodedFrame | undefined

  constructor(sampler: Pick<LiveSampler, 'hello' | 'frame'>, history: Pick<FigureHistory, 'last'>) {
    this.#sampler = sampler
    this.#history = history
  }

  /** Sends the first frame at once, after what was before; a slow sink skips to the newest frame. */
  watch(sees: Seen, sink: EventSink, history_s = 0): () => void {
    this.#sinks.set(sink, sees)
    this.#timer ??= setInterval(() => this.#send(), frameInterval_ms)
    this.#latest ??= new EncodedFrame(this.#sampler.frame())
    sink.put(encodedEvent('hello', JSON.stringify(this.#sampler.hello(sees === 'names'))))
    // It has no names, so that everybody sees the same of it.
    if (history_s > 0) sink.put(encodedEvent('history', JSON.stringify(this.#history.last(history_s))))
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

/** A frame, encoded when first needed. */
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
  return sees === 'names' ? frame : { ...frame, alarmGroups: null, deliveries: { ...frame.deliveries, backlogs: null } }
}

/** From the thread of a front end to the main thread; the front end numbers its viewers. */
type FeedRequest =
  | { readonly kind: 'watch'; readonly viewer: number; readonly watched: Watched }
  | { readonly kind: 'leave'; readonly viewer: number }
  /** The front end has put an event into the queue of the viewer. */
  | { readonly kind: 'taken'; readonly viewer: number }

interface FeedEvent {
  readonly viewer: number
  readonly event: Uint8Array
  readonly isNewest: boolean
}

/** The feeds of the main thread, over a port that `serveFeeds` serves there. */
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

/** Serves the feeds to viewers of another thread. */
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

/** Limit of unconfirmed events of one viewer, so that they cannot pile up at the port of a blocked thread. */
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

  /** The other thread has confirmed one event. */
  taken(): void {
    this.#underWay -= 1
    const newest = this.#newest
    this.#newest = undefined
    if (newest !== undefined) this.putNewest(newest)
  }
}

/** Selects lines of the log that meet all of these conditions. */
export interface LineFilter {
  readonly levels?: readonly string[] | undefined
  /** Names of trace areas. */
  readonly areas?: readonly string[] | undefined
  /** Part of the message, or of the value of a fact. */
  readonly text?: string | undefined
  readonly correlator?: string | undefined
  readonly tenant?: string | undefined
}

/** The log of the process, with the lines of all threads. */
export type LineSource = Pick<MainLog, 'listen'>

/** Lines sent to one viewer per second; the rest is dropped and counted, so that it costs updates nothing. */
const most = 200
const second_ms = 1000
/** Lines are sent in batches. */
const gathered_ms = 100
/** Longer lines are cut. */
const longest_bytes = 8192

/** Sends lines that pass a filter as events `line`, and the number of dropped ones as events `skipped`, until the returned function is called. */
export function watchLines(log: LineSource, filter: LineFilter, sink: EventSink): () => void {
  const tail = new LineTail(sink)
  const passes = passing(filter)
  const stop = log.listen((line) => {
    if (passes(line)) tail.take(line)
  })
  return () => {
    stop()
    tail.end()
  }
}

class LineTail {
  readonly #sink: EventSink
  #lines: Uint8Array[] = []
  #timer: NodeJS.Timeout | undefined
  #since_ms = 0
  #taken = 0
  #skipped = 0

  constructor(sink: EventSink) {
    this.#sink = sink
  }

  take(line: Line): void {
    const now_ms = performance.now()
    if (now_ms - this.#since_ms >= second_ms) {
      this.#since_ms = now_ms
      this.#taken = 0
    }
    this.#taken += 1
    if (this.#taken > most) this.#skipped += 1
    else this.#lines.push(encodedEvent('line', forms.json(line, longest_bytes).trimEnd()))
    this.#timer ??= setTimeout(() => this.#send(), gathered_ms)
  }

  end(): void {
    clearTimeout(this.#timer)
  }

  #send(): void {
    this.#timer = undefined
    const lines = this.#lines
    this.#lines = []
    if (lines.length > 0 && !this.#sink.put(Buffer.concat(lines))) this.#skipped += lines.length
    if (this.#skipped === 0) return
    // Dropped lines are reported once, at the end of their second.
    const left_ms = this.#since_ms + second_ms - performance.now()
    if (left_ms > 0) this.#timer = setTimeout(() => this.#send(), Math.min(gathered_ms, left_ms))
    else if (this.#sink.put(encodedEvent('skipped', JSON.stringify({ lines: this.#skipped })))) this.#skipped = 0
  }
}

function passing({ levels, areas, text, correlator, tenant }: LineFilter): (line: Line) => boolean {
  const ofLevels = levels && new Set<string>(levels)
  const ofAreas = areas && new Set<string>(areas)
  return ({ level, area, message, facts, context }) => {
    if (ofLevels !== undefined && !ofLevels.has(level)) return false
    if (ofAreas !== undefined && (area === undefined || !ofAreas.has(area))) return false
    if (correlator !== undefined && context?.corr !== correlator) return false
    if (tenant !== undefined && context?.srv.toLowerCase() !== tenant) return false
    if (text === undefined || message.includes(text)) return true
    return facts !== undefined && Object.values(facts).some((fact) => String(fact).includes(text))
  }
}
