import { createParser } from 'eventsource-parser'
import { isForbidden, RefusedRequest, send, signIn } from './session.js'

/** The reader of a stream. */
interface EventReader {
  /** Whether the stream ends for good when the broker says that it is reserved for others. */
  readonly endsForbidden?: true
  /** An event, by its name (`message` without one) and its text. */
  event(name: string, text: string): void
  opened(): void
  /** The stream has ended or could not be opened; it is tried again after this time. */
  lost(fault: unknown, wait_ms: number): void
}

const shortest_ms = 1_000
const longest_ms = 15_000

/**
 * The wait before the next try, by how long the stream has been lost: a restart is noticed at once, and a longer outage causes
 * few requests.
 */
function waitAfter(lost_ms: number): number {
  return Math.min(longest_ms, Math.max(shortest_ms, lost_ms / 8))
}

/**
 * Reads Server-Sent Events until the function that it gives is called. By `fetch`, since a token needs a header. A lost stream is
 * opened again after 1 to 15 seconds, growing with the time of the outage; at once when a token is given or the tab becomes
 * visible.
 */
export function readStream(path: string, reader: EventReader): () => void {
  const over = new AbortController()
  void keepReading(path, reader, over.signal)
  return () => over.abort()
}

async function keepReading(path: string, reader: EventReader, over: AbortSignal): Promise<void> {
  let lostAt_ms: number | undefined
  while (!over.aborted) {
    let fault: unknown
    try {
      const response = await send(path, { headers: { Accept: 'text/event-stream' }, signal: over })
      reader.opened()
      lostAt_ms = undefined
      await readEvents(response, reader)
    } catch (thrown) {
      fault = thrown
    }
    if (over.aborted) return
    const needsToken = fault instanceof RefusedRequest && fault.status === 401
    const isOver = reader.endsForbidden === true && isForbidden(fault)
    lostAt_ms ??= performance.now()
    const wait_ms = waitAfter(performance.now() - lostAt_ms)
    reader.lost(fault, wait_ms)
    await pause(needsToken || isOver ? undefined : wait_ms, over)
  }
}

async function readEvents({ body }: Response, reader: EventReader): Promise<void> {
  if (body === null) return
  const parser = createParser({ onEvent: ({ event = 'message', data }) => reader.event(event, data) })
  const pieces = body.pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const { done, value } = await pieces.read()
    if (done) return
    parser.feed(value)
  }
}

/** Resolves after the wait, or at a reason to try at once; without a wait only when a token was given. */
function pause(wait_ms: number | undefined, over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const ends: (() => void)[] = []
    const go = () => {
      for (const end of ends.splice(0)) end()
      resolve()
    }
    const on = (target: EventTarget, name: string, act: () => void) => {
      target.addEventListener(name, act)
      ends.push(() => target.removeEventListener(name, act))
    }
    if (wait_ms !== undefined) {
      const timer = setTimeout(go, wait_ms)
      ends.push(() => clearTimeout(timer))
      on(document, 'visibilitychange', () => {
        if (document.visibilityState === 'visible') go()
      })
      on(window, 'online', go)
    }
    ends.push(signIn.observe(() => signIn.value === 'done' && go()))
    on(over, 'abort', go)
  })
}
