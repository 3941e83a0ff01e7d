import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Test } from 'tap'

/**
 * What a proxy does with what passes: all of it; it comes late; nothing comes until the proxy is open again, and connections
 * stay; responses are lost and connections cut; nobody is let through.
 */
export type ProxyState = 'open' | 'slow' | 'silent' | 'deaf' | 'closed'

/** How late what passes comes while it is slow, each way. */
const slow_ms = 100

/** A TCP proxy before a server, which ends with the test. Each way nothing overtakes anything. */
export class BrokenProxy {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #state: ProxyState = 'open'
  /** Who waits until it is not silent any more. */
  #waiting: (() => void)[] = []
  /** Responses that were lost. */
  lost = 0

  private constructor(server: Server) {
    this.#server = server
  }

  /** The server need not listen yet. */
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
    return `http://127.0.0.1:${this.port}`
  }

  get port(): number {
    const { port } = this.#server.address() as AddressInfo
    return port
  }

  become(state: ProxyState): void {
    this.#state = state
    if (state === 'closed') for (const socket of this.#sockets) socket.destroy()
    if (state === 'silent') return
    for (const go of this.#waiting.splice(0)) go()
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
    this.#pass(client, server, () => true)
    this.#pass(server, client, () => {
      if (this.#state !== 'deaf') return true
      this.lost += 1
      client.destroy()
      return false
    })
  }

  #pass(from: Socket, to: Socket, mayPass: () => boolean): void {
    let passed = Promise.resolve()
    from.on('data', (bytes) => {
      const late = this.#state === 'slow' ? delay(slow_ms) : undefined
      passed = passed.then(async () => {
        await late
        while (this.#state === 'silent') await new Promise<void>((resolve) => this.#waiting.push(resolve))
        if (mayPass()) to.write(bytes)
      })
    })
  }
}
