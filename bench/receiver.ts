import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Delays, type DelaysReply } from './delays.js'
import { helpWith } from './helper.js'

/** Asks for what has come since the last time that it was asked with `reset`. */
export interface ReceiverTask {
  readonly reset: boolean
}

export interface ReceiverReply extends DelaysReply {
  readonly url: string
}

/** A receiver of notifications, as a process of its own: answers each at once and counts how old it was. */
class Receiver {
  readonly #server: Server
  readonly #delays = new Delays()

  constructor() {
    this.#server = createServer((request, response) => {
      const pieces: Buffer[] = []
      request.on('data', (piece: Buffer) => pieces.push(piece))
      request.on('end', () => {
        this.#delays.note(Buffer.concat(pieces).toString())
        response.writeHead(200, { 'Content-Length': 0 }).end()
      })
    })
  }

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  report({ reset }: ReceiverTask): ReceiverReply {
    const { port } = this.#server.address() as AddressInfo
    const reply = { url: `http://127.0.0.1:${port}`, ...this.#delays.report() }
    if (reset) this.#delays.reset()
    return reply
  }
}

const receiver = new Receiver()
const listening = receiver.listen()
helpWith<ReceiverTask, ReceiverReply>(async (task) => {
  await listening
  return receiver.report(task)
})
