import type { MessagePort } from 'node:worker_threads'
import type {
  OpenStream,
  StreamInstruction,
  StreamPiece,
  StreamRefusal,
  StreamReport,
  StreamRequest,
  StreamSource,
} from '../delivery/stream-message.js'
import type { StreamPosition } from '../delivery/stream-position.js'
import { err, ok, type Result } from '../result.js'
import type { SubscriptionId } from '../subscription/subscription.js'

/** The streams of the courier of this node, as a front end has them by a port. */
export class CourierPort implements StreamSource {
  #port: MessagePort | undefined
  #numbers = 0
  readonly #opening = new Map<number, (result: Result<undefined, StreamRefusal | 'away'>) => void>()
  readonly #confirming = new Map<number, (result: Result<boolean, 'away'>) => void>()
  /** Who takes what comes on each stream. */
  readonly #takers = new Map<number, (piece: StreamPiece) => void>()

  /** From now on the courier is at this port. */
  connect(port: MessagePort): void {
    this.#port = port
    port.on('message', (report: StreamReport) => this.#take(report))
    port.on('close', () => {
      if (this.#port !== port) return
      this.#port = undefined
      this.#interrupt()
    })
  }

  async open(
    request: StreamRequest,
    take: (piece: StreamPiece) => void,
  ): Promise<Result<OpenStream, StreamRefusal | 'away'>> {
    this.#numbers += 1
    const stream = this.#numbers
    if (!this.#tell({ kind: 'open', stream, ...request })) return err('away')
    this.#takers.set(stream, take)
    const opened = await new Promise<Result<undefined, StreamRefusal | 'away'>>((resolve) =>
      this.#opening.set(stream, resolve),
    )
    if (!opened.ok) {
      this.#takers.delete(stream)
      return opened
    }
    return ok({
      took: (notices) => void this.#tell({ kind: 'took', stream, notices }),
      close: () => {
        if (this.#takers.delete(stream)) this.#tell({ kind: 'closed', stream })
      },
    })
  }

  async confirm(subscription: SubscriptionId, upTo: StreamPosition): Promise<Result<boolean, 'away'>> {
    this.#numbers += 1
    const ticket = this.#numbers
    if (!this.#tell({ kind: 'confirm', ticket, subscription, upTo })) return err('away')
    return new Promise((resolve) => this.#confirming.set(ticket, resolve))
  }

  close(): void {
    this.#port?.close()
  }

  #take(report: StreamReport): void {
    switch (report.kind) {
      case 'opened':
        this.#opening.get(report.stream)?.(ok(undefined))
        this.#opening.delete(report.stream)
        return
      case 'refused':
        this.#opening.get(report.stream)?.(err(report.why))
        this.#opening.delete(report.stream)
        return
      case 'confirmed':
        this.#confirming.get(report.ticket)?.(ok(report.isKnown))
        this.#confirming.delete(report.ticket)
        return
      case 'events':
      case 'ended':
        this.#takers.get(report.stream)?.(report)
    }
  }

  /** The courier has gone, and with it what it knew of the streams. */
  #interrupt(): void {
    const takers = [...this.#takers.values()]
    this.#takers.clear()
    for (const take of takers) take({ kind: 'ended', why: 'interrupted' })
    for (const resolve of this.#opening.values()) resolve(err('away'))
    this.#opening.clear()
    for (const resolve of this.#confirming.values()) resolve(err('away'))
    this.#confirming.clear()
  }

  /** Whether there is a courier. */
  #tell(instruction: StreamInstruction): boolean {
    this.#port?.postMessage(instruction)
    return this.#port !== undefined
  }
}
