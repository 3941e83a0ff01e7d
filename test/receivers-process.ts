import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

/** How a receiver behaves; all but the live ones and those that restart never accept anything. */
export type Behaviour = 'live' | 'restarts' | 'refuses' | 'hangs' | 'fails'

export interface OpenReceivers {
  readonly kind: 'open'
  readonly behaviours: readonly Behaviour[]
}

export interface ReportRequest {
  readonly kind: 'report'
}

export interface ReceiverReport {
  /** By subscription and entity: the number up to which every value from 1 on has come. */
  readonly reached: Readonly<Record<string, number>>
  /**
   * When something had come that came again, although its connection was not closed behind it. On a machine that stands still for
   * longer than the broker waits, that closes the connection before it has read the response.
   */
  readonly repeated: readonly number[]
  /** Values that came before one that is less, as texts. */
  readonly disordered: readonly string[]
}

/** A receiver that goes away goes for so long, and comes back for so long. */
const away_ms = 400
const back_ms = 1600

/** Ports of old services, which the system gives to nobody that asks for any port: else one might listen where this one refuses. */
let unused = 1

/** When a value came, the last time. */
interface Arrival {
  readonly at_ms: number
  /** Whether it was the last on its connection, which was closed behind it. */
  isCut: boolean
}

/** A real HTTP server that counts up what it accepts: of each line the values 1, 2, 3, … have to come. */
class Receiver {
  readonly #behaviour: Behaviour
  /** By line how its values came, in their order. */
  readonly #came = new Map<string, Arrival[]>()
  readonly #repeated: Arrival[] = []
  /** What came last on each connection. */
  readonly #last = new Map<Socket, Arrival>()
  readonly #disordered: string[] = []
  #server: Server
  #port = 0

  constructor(behaviour: Behaviour) {
    this.#behaviour = behaviour
    this.#server = this.#made()
  }

  async open(): Promise<number> {
    if (this.#behaviour === 'refuses') return unused++
    this.#server.listen(this.#port, '127.0.0.1')
    await once(this.#server, 'listening')
    this.#port = (this.#server.address() as AddressInfo).port
    if (this.#behaviour === 'restarts') setTimeout(() => this.#restart(), back_ms)
    return this.#port
  }

  get report(): ReceiverReport {
    const reached = Object.fromEntries(Array.from(this.#came, ([line, came]) => [line, came.length]))
    const repeated = this.#repeated.flatMap(({ at_ms, isCut }) => (isCut ? [] : [at_ms]))
    return { reached, repeated, disordered: this.#disordered }
  }

  #made(): Server {
    const server = createServer((request, response) => void this.#take(request, response))
    return server.on('connection', (socket) => socket.once('close', () => this.#isClosed(socket)))
  }

  #isClosed(socket: Socket): void {
    const last = this.#last.get(socket)
    if (last !== undefined) last.isCut = true
    this.#last.delete(socket)
  }

  #close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  #restart(): void {
    this.#close()
    setTimeout(() => {
      this.#server = this.#made()
      void this.open()
    }, away_ms)
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = []
    try {
      for await (const piece of request) pieces.push(piece as Buffer)
    } catch {
      return // Cut off by our own restart: it does not count as received.
    }
    if (this.#behaviour === 'hangs') return
    if (this.#behaviour === 'fails') {
      response.writeHead(500).end()
      return
    }
    const { socket } = request
    const arrival: Arrival = { at_ms: Date.now(), isCut: socket.destroyed }
    this.#note(Buffer.concat(pieces).toString(), arrival)
    if (!socket.destroyed) this.#last.set(socket, arrival)
    response.writeHead(200).end()
  }

  #note(body: string, arrival: Arrival): void {
    const { subscriptionId, contextResponses } = JSON.parse(body)
    const { id, attributes } = contextResponses[0].contextElement
    const line = `${subscriptionId} ${id}`
    const value = Number(attributes[0].value)
    const came = this.#came.get(line) ?? []
    this.#came.set(line, came)
    const before = came[value - 1]
    if (before !== undefined) this.#repeated.push(before)
    if (value <= came.length + 1) came[value - 1] = arrival
    else this.#disordered.push(`${line}: ${value} after ${came.length}`)
  }
}

let receivers: readonly Receiver[] = []
process.on('message', async (question: OpenReceivers | ReportRequest) => {
  if (question.kind === 'report') {
    process.send?.(receivers.map(({ report }) => report))
    return
  }
  receivers = question.behaviours.map((behaviour) => new Receiver(behaviour))
  process.send?.(await Promise.all(receivers.map((receiver) => receiver.open())))
})
process.on('disconnect', () => process.exit())
