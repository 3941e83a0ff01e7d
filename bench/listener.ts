import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { Delays, type DelaysReply } from './delays.js'
import { helpWith } from './helper.js'

/** Asks for what has come since the last time that it was asked with `reset`. */
export interface ListenerTask {
  readonly reset: boolean
  /** The streams to listen to from now on, in place of those before. */
  readonly urls?: readonly string[]
}

/** Clients that listen to subscriptions, as a process of their own: they read all that comes, and count how old it was. */
class Listener {
  readonly #delays = new Delays()
  #streams: readonly IncomingMessage[] = []

  async report({ reset, urls }: ListenerTask): Promise<DelaysReply> {
    if (urls !== undefined) await this.#listen(urls)
    const reply = this.#delays.report()
    if (reset) this.#delays.reset()
    return reply
  }

  async #listen(urls: readonly string[]): Promise<void> {
    for (const stream of this.#streams) stream.destroy()
    const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY })
    this.#streams = await Promise.all(urls.map((url) => this.#open(url, agent)))
  }

  async #open(url: string, agent: Agent): Promise<IncomingMessage> {
    const asked = request(url, { agent, headers: { Accept: 'text/event-stream' } }).end()
    const [response]: readonly IncomingMessage[] = await once(asked, 'response')
    if (response?.statusCode !== 200) throw new Error(`${url}: HTTP ${response?.statusCode}`)
    let text = ''
    response.setEncoding('utf8')
    response.on('data', (piece: string) => {
      const events = (text + piece).split('\n\n')
      text = events.pop() ?? ''
      for (const event of events) if (event.includes('\ndata: ')) this.#delays.note(event)
    })
    // A stream ends with its broker.
    response.on('error', () => undefined)
    return response
  }
}

const listener = new Listener()
helpWith<ListenerTask, DelaysReply>((task) => listener.report(task))
