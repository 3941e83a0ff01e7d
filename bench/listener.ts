import type { IncomingMessage } from 'node:http'
import { Delays, type DelaysReply } from './delays.js'
import { helpWith } from './helper.js'
import { seated } from './watchers.js'

const openedAtATime = 16

/** Asks for what has come since the last time that it was asked with `reset`. */
export interface ListenerTask {
  readonly reset: boolean
  /** The streams to listen to from now on, in place of those before. */
  readonly urls?: readonly string[]
}

/** Clients that listen to subscriptions, as a process of their own: they read all that comes, and count how old it was. */
class Listener {
  readonly #delays = new Delays()
  #streams: IncomingMessage[] = []

  async report({ reset, urls }: ListenerTask): Promise<DelaysReply> {
    if (urls !== undefined) await this.#listen(urls)
    const reply = this.#delays.report()
    if (reset) this.#delays.reset()
    return reply
  }

  async #listen(urls: readonly string[]): Promise<void> {
    for (const stream of this.#streams) stream.destroy()
    this.#streams = []
    const left = urls.values()
    const some = Array.from({ length: openedAtATime }, async () => {
      for (const url of left) this.#streams.push(await this.#open(url))
    })
    await Promise.all(some)
  }

  async #open(url: string): Promise<IncomingMessage> {
    const response = await seated(url)
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
