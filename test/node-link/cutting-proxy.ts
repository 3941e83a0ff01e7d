import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import type { Test } from 'tap'
import type { NodeAddress } from '../../src/cluster/membership/route-table.js'

/** After how many bytes a connection is cut, and what becomes of those of them that are under way. */
export interface Cut {
  readonly after_bytes: number
  /** Which of both directions is counted. */
  readonly of: 'requests' | 'responses'
  /** Requests that were not forwarded by then arrive all the same, so much later; what is answered to them is lost. */
  readonly late_ms?: number
}

/** A TCP proxy before a node, which ends with the test. It reorders nothing, and cuts or holds connections anywhere. */
export class CuttingProxy {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #clients = new Set<() => void>()
  /** Of the next connections, in their order; those behind them are not cut. */
  readonly #cuts: Cut[]
  #damagedAt = Number.POSITIVE_INFINITY
  #isClosed = false
  #held: (() => void)[] | undefined
  /** Connections that were accepted. */
  accepted = 0

  private constructor(server: Server, cuts: readonly Cut[]) {
    this.#server = server
    this.#cuts = [...cuts]
  }

  static async before(t: Test, { port }: { readonly port: number }, cuts: readonly Cut[] = []): Promise<CuttingProxy> {
    const proxy: CuttingProxy = new CuttingProxy(
      createServer((client) => proxy.#take(client, port)),
      cuts,
    )
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    t.teardown(() => {
      proxy.#server.close()
      proxy.cut()
    })
    return proxy
  }

  address(node: string): NodeAddress {
    const { port } = this.#server.address() as AddressInfo
    return { node, host: '127.0.0.1', port }
  }

  /** Changes one byte of what the next connections answer. */
  damageResponsesAt(at: number): void {
    this.#damagedAt = at
  }

  /** Lets nothing of requests through until `release`. */
  hold(): void {
    this.#held ??= []
  }

  /** How many pieces of requests are held. */
  get held(): number {
    return this.#held?.length ?? 0
  }

  release(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const go of held) go()
  }

  /** Cuts all connections that there are. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  /** Cuts all connections from clients. What these have sent, and is held, still arrives when it is released. */
  cutClients(): void {
    for (const cutClient of this.#clients) cutClient()
  }

  /** Closes every new connection at once, or does so no more. */
  refuse(isClosed: boolean): void {
    this.#isClosed = isClosed
  }

  #take(client: Socket, port: number): void {
    this.accepted += 1
    client.on('error', () => {})
    if (this.#isClosed) {
      client.destroy()
      return
    }
    const server = connect(port, '127.0.0.1')
    server.on('error', () => {})
    const cut = this.#cuts.shift()
    for (const socket of [client, server]) {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
    }
    let left = cut?.after_bytes ?? Number.POSITIVE_INFINITY
    let isCut = false
    const both = (): void => {
      client.destroy()
      server.destroy()
    }
    const cutClient = (): void => {
      isCut = true
      client.destroy()
    }
    this.#clients.add(cutClient)
    client.on('close', () => {
      this.#clients.delete(cutClient)
      if (!isCut) server.destroy()
    })
    server.on('close', () => client.destroy())
    const counted = (of: Cut['of'], piece: Buffer): Buffer => {
      if (cut?.of !== of) return piece
      const passing = piece.subarray(0, left)
      left -= passing.length
      return passing
    }
    client.on('data', (piece: Buffer) => {
      if (isCut) return
      const passing = counted('requests', piece)
      const forward = (): void => void server.write(passing)
      if (this.#held === undefined) forward()
      else this.#held.push(forward)
      if (passing.length === piece.length) return
      isCut = true
      if (cut?.late_ms === undefined) {
        both()
        return
      }
      client.destroy()
      setTimeout(() => server.write(piece.subarray(passing.length)), cut.late_ms)
    })
    let passed = 0
    server.on('data', (piece: Buffer) => {
      if (isCut) return
      const at = this.#damagedAt - passed
      if (at >= 0 && at < piece.length) piece.writeUInt8((piece[at] ?? 0) ^ 1, at)
      passed += piece.length
      const passing = counted('responses', piece)
      client.write(passing)
      if (passing.length === piece.length) return
      isCut = true
      both()
    })
  }
}
