import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createHistogram, performance } from 'node:perf_hooks'
import { helpWith } from './helper.js'
import { sinceStamp_ms } from './stamp.js'

/** Asks for what has come since the last time that it was asked with `reset`. */
export interface ReceiverTask {
  readonly reset: boolean
}

export interface ReceiverReply {
  readonly url: string
  readonly received: number
  /** From the first one to the last. */
  readonly lasted_ms: number
  readonly p50_ms: number
  readonly p90_ms: number
  readonly p99_ms: number
  readonly max_ms: number
}

/** The reading that an update carried as the moment when it was sent. */
const reading = /"value":"(\d{9})"/

/** A receiver of notifications, as a process of its own: answers each at once and counts how old it was. */
class Receiver {
  readonly #server: Server
  #delays = createHistogram({ figures: 3, lowest: 1, highest: 1e12 })
  #received = 0
  #first_ms = 0
  #last_ms = 0

  constructor() {
    this.#server = createServer((request, response) => {
      const pieces: Buffer[] = []
      request.on('data', (piece: Buffer) => pieces.push(piece))
      request.on('end', () => {
        this.#note(Buffer.concat(pieces).toString())
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
    const percentile = (percent: number): number => (this.#received === 0 ? 0 : this.#delays.percentile(percent) / 1e6)
    const reply = {
      url: `http://127.0.0.1:${port}`,
      received: this.#received,
      lasted_ms: this.#last_ms - this.#first_ms,
      p50_ms: percentile(50),
      p90_ms: percentile(90),
      p99_ms: percentile(99),
      max_ms: this.#received === 0 ? 0 : this.#delays.max / 1e6,
    }
    if (reset) {
      this.#received = 0
      this.#delays = createHistogram({ figures: 3, lowest: 1, highest: 1e12 })
    }
    return reply
  }

  #note(body: string): void {
    const stamped = reading.exec(body)?.[1]
    if (stamped !== undefined) this.#delays.record(Math.max(1, Math.round(sinceStamp_ms(Number(stamped)) * 1e6)))
    this.#last_ms = performance.now()
    if (this.#received === 0) this.#first_ms = this.#last_ms
    this.#received += 1
  }
}

const receiver = new Receiver()
const listening = receiver.listen()
helpWith<ReceiverTask, ReceiverReply>(async (task) => {
  await listening
  return receiver.report(task)
})
