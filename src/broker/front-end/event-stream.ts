import type { BodyStream } from '../operations/api.js'

/** Streams of events for browsers and programs (`text/event-stream`): how an event is written, and what a slow reader costs. */

/** What the response of a stream says of it: nobody on the way is to keep it or to gather it. */
export const eventStreamHeaders = { 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' } as const
export const eventStreamType = 'text/event-stream'

/** After so long without an event a comment goes out, so that nobody on the way takes the connection for a dead one. */
const silence_ms = 15_000
/** The interval of comments to a client that has closed its sending half: if it has gone, writing to it shows that. */
const probed_ms = 1000
/** When a client whose stream has ended is to come back. */
const retry_ms = 2000
/** What may wait for a client before its events are refused, unless something else is said. */
const waiting_bytes = 256 * 1024

const encoder = new TextEncoder()
const comment = encoder.encode(':\n\n')
const opening = encoder.encode(`retry: ${retry_ms}\n\n`)

/** An event as it goes out. The name and the id have no line ends; the data may have. */
export function encodedEvent(name: string, data: string, id?: string): Uint8Array {
  const lines = data.split(/\r\n|\r|\n/).map((line) => `data: ${line}\n`)
  return encoder.encode(`event: ${name}\n${id === undefined ? '' : `id: ${id}\n`}${lines.join('')}\n`)
}

interface WaitingEvent {
  readonly event: Uint8Array
  readonly taken: (() => void) | undefined
}

/** The events of one client that have not gone out. Whoever has events puts them in and never waits. */
export class EventQueue {
  readonly #limit_bytes: number
  #silence_ms: number
  #waiting: WaitingEvent[] = []
  #waiting_bytes = 0
  #newest: Uint8Array | undefined
  #isEnded = false
  #wake: ((isWoken: boolean) => void) | undefined

  constructor(limit_bytes = waiting_bytes, longestSilence_ms = silence_ms) {
    this.#limit_bytes = limit_bytes
    this.#silence_ms = longestSilence_ms
  }

  /** Has an event go out; false when so much waits that it is lost. `taken` is called when the client has taken it. */
  put(event: Uint8Array, taken?: () => void): boolean {
    if (this.#isEnded || this.#waiting_bytes + event.length > this.#limit_bytes) return false
    this.#waiting.push({ event, taken })
    this.#waiting_bytes += event.length
    this.#rouse()
    return true
  }

  /** Has an event go out after those that wait, in place of the one that came here before, if that waits too: it is lost. */
  putNewest(event: Uint8Array): void {
    if (this.#isEnded) return
    this.#newest = event
    this.#rouse()
  }

  /** The client may have gone, which is found out by sending something. */
  probe(): void {
    this.#silence_ms = Math.min(this.#silence_ms, probed_ms)
    this.#rouse()
  }

  /** Nothing more comes; what waits still goes out. */
  end(): void {
    this.#isEnded = true
    this.#rouse()
  }

  /** What goes out, as the client takes it: events, and comments when there are none for long. */
  async *pieces(): AsyncGenerator<Uint8Array, void> {
    yield opening
    for (;;) {
      const next = this.#next()
      if (next !== undefined) {
        yield next.event
        next.taken?.()
      } else if (this.#isEnded) return
      else if (!(await this.#isWoken())) yield comment
    }
  }

  #next(): WaitingEvent | undefined {
    const next = this.#waiting.shift()
    if (next !== undefined) {
      this.#waiting_bytes -= next.event.length
      return next
    }
    const newest = this.#newest
    this.#newest = undefined
    return newest && { event: newest, taken: undefined }
  }

  #rouse(): void {
    this.#wake?.(true)
  }

  async #isWoken(): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined
    const isWoken = await new Promise<boolean>((resolve) => {
      this.#wake = resolve
      timer = setTimeout(resolve, this.#silence_ms, false)
    })
    clearTimeout(timer)
    this.#wake = undefined
    return isWoken
  }
}

/** Takes events without ever waiting. */
export type EventSink = Pick<EventQueue, 'put' | 'putNewest'>

/** Begins to fill the queue of a client that is being served; gives what ends that when the client has gone. `cut` closes its connection. */
type BeginEvents = (queue: EventQueue, cut: () => void) => () => void

/** The streams of one front end. They end first when the broker does: else it would wait for clients that wait for it. */
export class EventStreams {
  readonly #open = new Set<EventQueue>()
  #isOver = false

  /**
   * The body of a response that is a stream of events. `begin` is called when the client begins to be served, which does not
   * happen when it has gone before.
   */
  body(begin: BeginEvents, limit_bytes?: number): BodyStream {
    return (gone, halfClosed, cut) =>
      this.#served((queue) => begin(queue, cut), new EventQueue(limit_bytes), gone, halfClosed)
  }

  /** Ends all of them, and those that are begun later at once. */
  end(): void {
    this.#isOver = true
    for (const queue of this.#open) queue.end()
  }

  async *#served(
    begin: (queue: EventQueue) => () => void,
    queue: EventQueue,
    gone: AbortSignal,
    halfClosed: AbortSignal,
  ): AsyncGenerator<Uint8Array, void> {
    if (this.#isOver || gone.aborted) return
    const end = () => queue.end()
    gone.addEventListener('abort', end, { once: true })
    if (halfClosed.aborted) queue.probe()
    else halfClosed.addEventListener('abort', () => queue.probe(), { once: true })
    this.#open.add(queue)
    const stop = begin(queue)
    try {
      yield* queue.pieces()
    } finally {
      stop()
      this.#open.delete(queue)
      gone.removeEventListener('abort', end)
    }
  }
}
