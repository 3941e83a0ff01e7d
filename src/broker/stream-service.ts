import type { MessagePort } from 'node:worker_threads'
import type { BodyStream, Client } from '../api.js'
import type {
  StreamEnd,
  StreamInstruction,
  StreamRefusal,
  StreamReport,
  StreamRequest,
} from '../delivery/stream-message.js'
import type { StreamPosition } from '../delivery/stream-position.js'
import { type EventQueue, type EventStreams, encodedEvent } from '../event-stream.js'
import { err, ok, type Result } from '../result.js'
import type { SubscriptionId } from '../subscription/subscription.js'

/** The notifications of subscriptions as event streams; one for each front end. */
export interface StreamService {
  /** The body of a response that is the stream of a subscription, which begins where the client was. */
  open(request: StreamRequest, client: Client): Promise<Result<BodyStream, StreamRefusal | 'away'>>
  /** A client has everything up to a position; false when it is no position of that subscription. */
  confirm(subscription: SubscriptionId, upTo: StreamPosition): Promise<Result<boolean, 'away'>>
}

/** What the last event of a stream says. */
const endTexts: Readonly<Record<StreamEnd | 'stopped', string>> = {
  replaced: 'another client listens to this subscription: the newest one gets its notifications',
  removed: 'the subscription was deleted',
  expired: 'the subscription has expired',
  changed: 'the subscription has another receiver now',
  interrupted: 'the sending of notifications was interrupted: listen again',
  stopped: 'the broker ends: listen again when it runs',
}

/** How long a response may take to be begun; a client that has gone meanwhile never begins to read. */
const beginning_ms = 10_000

/** The stream of one client. */
interface Listening {
  readonly number: number
  /** What has come before the client was served. */
  early: Extract<StreamReport, { readonly kind: 'events' | 'ended' }>[]
  queue: EventQueue | undefined
  readonly late: NodeJS.Timeout
}

const encoder = new TextEncoder()

/** The streams of the clients of this front end, whose notices the courier sends by a port. */
export class CourierStreams implements StreamService {
  readonly #bodies: EventStreams
  #port: MessagePort | undefined
  #numbers = 0
  readonly #opening = new Map<number, (result: Result<Listening, StreamRefusal | 'away'>) => void>()
  readonly #confirming = new Map<number, (result: Result<boolean, 'away'>) => void>()
  readonly #listening = new Map<number, Listening>()

  /** `bodies` are the streams of the front end, of whatever kind. */
  constructor(bodies: EventStreams) {
    this.#bodies = bodies
  }

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

  async open(request: StreamRequest, client: Client): Promise<Result<BodyStream, StreamRefusal | 'away'>> {
    this.#numbers += 1
    const stream = this.#numbers
    if (!this.#tell({ kind: 'open', stream, ...request })) return err('away')
    const opened = await new Promise<Result<Listening, StreamRefusal | 'away'>>((resolve) =>
      this.#opening.set(stream, resolve),
    )
    if (!opened.ok) return opened
    if (client.gone) this.#leave(opened.value)
    return ok(this.#bodies.body((queue) => this.#begin(opened.value, queue), Number.POSITIVE_INFINITY))
  }

  async confirm(subscription: SubscriptionId, upTo: StreamPosition): Promise<Result<boolean, 'away'>> {
    this.#numbers += 1
    const ticket = this.#numbers
    if (!this.#tell({ kind: 'confirm', ticket, subscription, upTo })) return err('away')
    return new Promise((resolve) => this.#confirming.set(ticket, resolve))
  }

  /** Ends all streams, with an event that says that the broker does. */
  end(): void {
    for (const listening of this.#listening.values()) this.#end(listening, 'stopped')
  }

  close(): void {
    this.#port?.close()
  }

  #take(report: StreamReport): void {
    switch (report.kind) {
      case 'opened':
        this.#opened(report.stream)
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
      case 'ended': {
        const listening = this.#listening.get(report.stream)
        if (listening?.queue === undefined) listening?.early.push(report)
        else this.#pass(listening, listening.queue, report)
      }
    }
  }

  #opened(number: number): void {
    const late = setTimeout(() => this.#leave(listening), beginning_ms).unref()
    const listening: Listening = { number, early: [], queue: undefined, late }
    this.#listening.set(number, listening)
    this.#opening.get(number)?.(ok(listening))
    this.#opening.delete(number)
  }

  #begin(listening: Listening, queue: EventQueue): () => void {
    clearTimeout(listening.late)
    listening.queue = queue
    const { early } = listening
    listening.early = []
    for (const report of early) this.#pass(listening, queue, report)
    // One that was given up for being late has no port any more that would tell it anything.
    if (!this.#listening.has(listening.number)) queue.end()
    return () => this.#leave(listening)
  }

  #pass(listening: Listening, queue: EventQueue, report: Listening['early'][number]): void {
    if (report.kind === 'ended') {
      this.#end(listening, report.why)
      return
    }
    const { stream, notices } = report
    queue.put(encoder.encode(report.text), () => this.#tell({ kind: 'took', stream, notices }))
  }

  #end(listening: Listening, why: StreamEnd | 'stopped'): void {
    const { queue } = listening
    if (queue === undefined) {
      this.#leave(listening)
      return
    }
    queue.put(encodedEvent('end', JSON.stringify({ reason: why, description: endTexts[why] })))
    queue.end()
  }

  #leave({ number, late }: Listening): void {
    clearTimeout(late)
    if (this.#listening.delete(number)) this.#tell({ kind: 'closed', stream: number })
  }

  /** The courier has gone, and with it what it knew of the streams. */
  #interrupt(): void {
    for (const resolve of this.#opening.values()) resolve(err('away'))
    this.#opening.clear()
    for (const resolve of this.#confirming.values()) resolve(err('away'))
    this.#confirming.clear()
    for (const listening of this.#listening.values()) this.#end(listening, 'interrupted')
  }

  /** Whether there is a courier. */
  #tell(instruction: StreamInstruction): boolean {
    this.#port?.postMessage(instruction)
    return this.#port !== undefined
  }
}
