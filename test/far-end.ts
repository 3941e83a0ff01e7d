import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import type { Test } from 'tap'

export interface Received {
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly rawHeaders: readonly string[]
  readonly method: string
  readonly body: string
  readonly at: number
  readonly socket: Socket
}

export type Responder = (received: Received, response: ServerResponse) => void

/** Lets a server listen on 127.0.0.1 until the test ends, which ends its connections as well; gives its port. */
export async function listening(t: Pick<Test, 'teardown'>, server: Server): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** A far end that talks to its connections as it likes, once something has come. */
export async function rawEnd(
  t: Pick<Test, 'teardown'>,
  talk: (socket: Socket) => void,
): Promise<{ readonly port: number; readonly url: string; readonly sockets: readonly Socket[] }> {
  const sockets: Socket[] = []
  const server = createTcpServer((socket) => {
    sockets.push(socket)
    socket.once('data', () => talk(socket))
  })
  const port = await listening(t, server)
  return { port, url: `http://127.0.0.1:${port}/`, sockets }
}

/** Writes a head, and then the same piece again and again, as fast as it is taken. */
export function flood(head: string, piece: string): (socket: Socket) => void {
  return (socket) => {
    socket.write(head)
    const more = (): void => {
      while (!socket.destroyed && socket.write(piece));
      if (!socket.destroyed) socket.once('drain', more)
    }
    more()
  }
}

/** A real HTTP listener at the far end. */
export class FarEnd {
  readonly received: Received[] = []
  respond: Responder
  port = 0
  readonly #server = createServer((request, response) => this.#take(request, response))

  static async listen(t: Test, respond: Responder = responding(200)): Promise<FarEnd> {
    const end = new FarEnd(respond)
    end.#server.listen(0, '127.0.0.1')
    await once(end.#server, 'listening')
    end.port = (end.#server.address() as AddressInfo).port
    t.teardown(() => end.close())
    return end
  }

  private constructor(respond: Responder) {
    this.respond = respond
  }

  url(path = '/notify'): string {
    return `http://127.0.0.1:${this.port}${path}`
  }

  get bodies(): readonly string[] {
    return this.received.map(({ body }) => body)
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    if (request.method === 'GET' || request.method === 'HEAD') {
      // Nothing that a courier sends here: other programs of the machine may try any port.
      response.writeHead(405).end()
      return
    }
    const chunks: Buffer[] = []
    request.on('error', () => undefined)
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { url = '', headers, rawHeaders, method = '', socket } = request
      const body = Buffer.concat(chunks).toString()
      const received = { url, headers, rawHeaders, method, body, socket, at: performance.now() }
      this.received.push(received)
      this.respond(received, response)
    })
  }
}

export function responding(status: number, headers: Record<string, string> = {}): Responder {
  return (_, response) => response.writeHead(status, headers).end()
}

/** A response without the interim ones before it: a request that takes long gets `102 Processing` first. */
export function finalResponse(text: string): string {
  return text.replace(/^(?:HTTP\/1\.1 1\d\d [^\r]*\r\n(?:[^\r]+\r\n)*\r\n)+/, '')
}
