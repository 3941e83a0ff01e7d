import type { MessagePort } from 'node:worker_threads'
import type {
  OpenStream,
  StreamInstruction,
  StreamingCourier,
  StreamPiece,
  StreamRefusal,
  StreamReport,
  StreamRequest,
} from '../../delivery/streams/stream-message.js'
import type { StreamPosition } from '../../delivery/streams/stream-position.js'
import type { SubscriptionId } from '../../model/subscription/subscription.js'
import { err, ok, type Result } from '../../result.js'
import { OpenCalls } from '../../threads/calls/calls.js'
import { onMessages } from '../../threads/calls/messages.js'

/** How long the courier may take to answer. */
const limit_ms = 30_000

type Response = Extract<StreamReport, { kind: 'opened' | 'refused' | 'confirmed' }>

/** The streams of the courier of this node, as a front end has them by a port. */
export class CourierPort implements StreamingCourier {
  #port: MessagePort | undefined
  /** Requests to the courier by the number of the stream or of the question. */
  readonly #calls = new OpenCalls<Response>()
  /** The consumer of each stream. */
  readonly #takers = new Map<number, (piece: StreamPiece) => void>()

  constructor() {
    this.#calls.gone()
  }

  /** From now on the courier is at this port. */
  connect(port: MessagePort): void {
    if (this.#port !== undefined) this.#interrupt()
    this.#port = port
    this.#calls.replaced()
    onMessages(
      port,
      (report: StreamReport) => this.#take(report),
      () => this.#unreadable(),
    )
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
    let stream = 0
    const opened = await this.#calls.ask((number) => {
      stream = number
      this.#takers.set(stream, take)
      this.#tell({ kind: 'open', stream, ...request })
    }, limit_ms)
    if (!opened.ok || opened.value.kind !== 'opened') {
      this.#takers.delete(stream)
      if (opened.ok) return err(opened.value.kind === 'refused' ? opened.value.why : 'away')
      // It may be open there all the same.
      this.#tell({ kind: 'closed', stream })
      return err('away')
    }
    return ok({
      took: (notices) => this.#tell({ kind: 'took', stream, notices }),
      close: () => {
        if (this.#takers.delete(stream)) this.#tell({ kind: 'closed', stream })
      },
    })
  }

  async confirm(subscription: SubscriptionId, upTo: StreamPosition): Promise<Result<boolean, 'away'>> {
    const confirmed = await this.#calls.ask(
      (number) => this.#tell({ kind: 'confirm', number, subscription, upTo }),
      limit_ms,
    )
    return confirmed.ok && confirmed.value.kind === 'confirmed' ? ok(confirmed.value.isKnown) : err('away')
  }

  close(): void {
    this.#port?.close()
  }

  #take(report: StreamReport): void {
    switch (report.kind) {
      case 'opened':
      case 'refused':
        this.#calls.answered(report.stream, report)
        return
      case 'confirmed':
        this.#calls.answered(report.number, report)
        return
      case 'events':
      case 'ended':
        this.#takers.get(report.stream)?.(report)
    }
  }

  /** The courier has gone, and with it what it knew of the streams. */
  #interrupt(): void {
    this.#endAll()
    this.#calls.gone()
  }

  /**
   * A report has come that cannot be read. It may be any: what the clients have is not known any more, so all streams end here and at
   * the courier, and the clients ask again, by the same port.
   */
  #unreadable(): void {
    for (const stream of this.#takers.keys()) this.#tell({ kind: 'closed', stream })
    this.#endAll()
    this.#calls.responseUnreadable()
  }

  #endAll(): void {
    const takers = [...this.#takers.values()]
    this.#takers.clear()
    for (const take of takers) take({ kind: 'ended', why: 'interrupted' })
  }

  #tell(instruction: StreamInstruction): void {
    this.#port?.postMessage(instruction)
  }
}
