import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'

/** What a stream of the management has sent. */
export interface Watched {
  readonly bytes: number
  /** Events, and those that they say were left out. */
  readonly events: number
}

/** Opens a stream of the management as a number of viewers; what it gives ends them when something has come, and says what they got. */
export async function watch(url: string, viewers: number): Promise<() => Promise<Watched>> {
  const got = { bytes: 0, events: 0 }
  const open = async (): Promise<IncomingMessage> => {
    const response = await seated(url)
    let text = ''
    response.setEncoding('latin1')
    response.on('data', (piece: string) => {
      got.bytes += piece.length
      const events = (text + piece).split('\n\n')
      text = events.pop() ?? ''
      for (const event of events) got.events += Number(/^data: \{"lines":(\d+)\}/m.exec(event)?.[1] ?? 1)
    })
    // It is cut off when it has been looked at long enough.
    response.on('error', () => undefined)
    return response
  }
  const streams = await Promise.all(Array.from({ length: viewers }, open))
  return async () => {
    const until_ms = performance.now() + patience_ms
    while (got.events === 0 && performance.now() < until_ms) await pause()
    for (const stream of streams) stream.destroy()
    return got
  }
}

/** For so long viewers that have gone may take the place of those that come, and the first event may be on its way. */
const patience_ms = 20_000

/** A stream that has begun: the broker may have to notice first that the clients of the round before have gone, or be busy. */
export async function seated(url: string): Promise<IncomingMessage> {
  const began_ms = performance.now()
  for (;;) {
    const sent = request(url, { agent: false }).end()
    const [response]: readonly IncomingMessage[] = await once(sent, 'response')
    if (response?.statusCode === 200) return response
    response?.destroy()
    if (response?.statusCode !== 503 || performance.now() - began_ms > patience_ms) {
      throw new Error(`${url}: HTTP ${response?.statusCode}`)
    }
    await pause()
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 50))
}
