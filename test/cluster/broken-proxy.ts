import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import type { Test } from 'tap'

/** What a proxy does with what passes: all of it, answers are lost and connections cut, nobody is let through. */
export type ProxyState = 'open' | 'deaf' | 'closed'

/** A TCP proxy before a server, which ends with the test. */
export class BrokenProxy {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #state: ProxyState = 'open'
  /** Answers that were lost. */
  lost = 0

  private constructor(server: Server) {
    this.#server = server
  }

  static async before(t: Test, url: string): Promise<BrokenProxy> {
    const { hostname, port } = new URL(url)
    const proxy = new BrokenProxy(createServer((client) => proxy.#take(client, hostname, Number(port))))
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    t.teardown(() => {
      proxy.become('closed')
      proxy.#server.close()
    })
    return proxy
  }

  get url(): string {
    const { port } = this.#server.address() as AddressInfo
    return `http://127.0.0.1:${port}`
  }

  become(state: ProxyState): void {
    this.#state = state
    if (state === 'closed') for (const socket of this.#sockets) socket.destroy()
  }

  #take(client: Socket, host: string, port: number): void {
    const server = connect(port, host)
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        this.#sockets.delete(socket)
        other.destroy()
      })
    }
    if (this.#state === 'closed') client.destroy()
    client.on('data', (bytes) => server.write(bytes))
    server.on('data', (bytes) => {
      if (this.#state === 'open') {
        client.write(bytes)
        return
      }
      this.lost += 1
      client.destroy()
    })
  }
}
