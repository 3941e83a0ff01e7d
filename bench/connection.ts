import { connect, type Socket } from 'node:net'
import { type ReceivedResponse, ResponseReader } from './response-reader.js'

/** Where a server is to be found. */
export interface Address {
  readonly host: string
  readonly port: number
}

/** The address in a URL like `http://localhost:1026`. A wrong one is thrown: it came from the command line. */
export function addressOf(url: string): Address {
  const { protocol, hostname, port } = new URL(url)
  if (protocol !== 'http:') throw new Error(`only http: can be measured, not ${url}`)
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || '80') }
}

/** What happened to a connection when a request got no response. */
export class Disconnected extends Error {
  readonly timedOut: boolean

  constructor(message: string, timedOut: boolean) {
    super(message)
    this.timedOut = timedOut
  }
}

interface Waiting {
  readonly resolve: (response: ReceivedResponse) => void
  readonly reject: (fault: unknown) => void
}

/**
 * One kept-alive connection that carries one request at a time. It costs a third of what general HTTP clients do, so that on
 * a machine of few cores the broker is measured and not its load. It connects when it is asked, and again after the
 * server has closed it between two requests.
 */
export class Connection {
  readonly #address: Address
  readonly #timeout_ms: number
  readonly #buffer = Buffer.allocUnsafe(16_384)
  #reader = new ResponseReader()
  #socket: Socket | undefined
  #waiting: Waiting | undefined

  constructor(address: Address, timeout_ms = 60_000) {
    this.#address = address
    this.#timeout_ms = timeout_ms
  }

  /** Sends a complete HTTP request and gives its response; rejects with `Disconnected` when there will be none. */
  ask(request: string): Promise<ReceivedResponse> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
      this.#socket ??= this.#connected()
      this.#socket.write(request)
    })
  }

  close(): void {
    this.#socket?.destroy()
  }

  #connected(): Socket {
    // One buffer for the connection's whole life: by default every read allocates 64 KiB.
    const callback = (bytes: number): boolean => {
      this.#arrived(this.#buffer.toString('latin1', 0, bytes))
      return true
    }
    const socket = connect({ ...this.#address, noDelay: true, onread: { buffer: this.#buffer, callback } })
    socket.setTimeout(this.#timeout_ms, () => this.#lost(socket, `no response within ${this.#timeout_ms} ms`, true))
    socket.on('error', (error) => this.#lost(socket, error.message, false))
    socket.on('close', () => this.#lost(socket, 'the server closed the connection', false))
    return socket
  }

  #arrived(piece: string): void {
    const waiting = this.#waiting
    try {
      const response = this.#reader.take(piece)
      if (response === undefined) return
      if (waiting === undefined) throw new Error('the server sent a response without a request')
      if (response.closes) this.#forget()
      this.#waiting = undefined
      waiting.resolve(response)
    } catch (fault) {
      this.#forget()
      this.#waiting = undefined
      waiting?.reject(fault)
    }
  }

  #lost(socket: Socket, why: string, timedOut: boolean): void {
    if (socket !== this.#socket) return
    this.#forget()
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.reject(new Disconnected(why, timedOut))
  }

  #forget(): void {
    this.#socket?.destroy()
    this.#socket = undefined
    this.#reader = new ResponseReader()
  }
}
