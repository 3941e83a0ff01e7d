import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import { LogSilent } from '../../faults.js'
import type { Result } from '../../result.js'
import { onMessages } from '../../threads/calls/messages.js'
import type { Appended, LogRecord, LogSequence } from '../wal/record-log.js'
import type { Extent, LogName, ReadRefusal } from './engine.js'
import { OpenQuestions } from './open-questions.js'

/** A question of a log's writer to the thread with the connection to the engine. Several may be under way. */
export type LogQuestion =
  | { readonly kind: 'append'; readonly expected: LogSequence; readonly bytes: Uint8Array }
  | { readonly kind: 'extent' }
  /** The records behind a sequence, as soon as there are any. */
  | { readonly kind: 'next'; readonly after: LogSequence }
  /** Records behind a sequence, of which there is at least one. */
  | { readonly kind: 'read'; readonly after: LogSequence }
  /** Campaigns for the log. */
  | { readonly kind: 'campaign'; readonly expected: LogSequence; readonly metadataVersion: LogSequence }

/**
 * What it tells, without a response: what stands up to there is not needed by the writer's environment any more, or need not be applied
 * to it again.
 */
export interface LogNotice {
  readonly kind: 'truncate' | 'covered'
  readonly upTo: LogSequence
}

/** A question with its number, which the response repeats. */
interface LogRequest {
  readonly number: number
  readonly question: LogQuestion
}

interface LogResponse {
  readonly number: number
  readonly response: LogResponses[LogQuestion['kind']]
}

/** The response to a question of each kind; `givenUp` when the process ends before there is one. */
export interface LogResponses {
  readonly append: Appended | 'givenUp'
  readonly extent: Extent | 'givenUp'
  readonly next: Result<readonly LogRecord[], ReadRefusal> | 'givenUp'
  readonly read: LogResponses['next']
  readonly campaign: Appended | 'givenUp'
}

/** Counts the responses; the writer sleeps on it. */
const responsesCell = 0
/** Counts up each second while the thread that has the connection runs, however long the engine takes to answer. */
const beatsCell = 1
const cells = 2
const beat_ms = 1000

/** How long a sleeping writer waits before it looks whether that thread runs, and after how many looks in vain it does not. */
export interface LogPatience {
  readonly look_ms: number
  readonly looksMost: number
}

/** Looks are counted, and not the time: a process that was stopped for as long as that looks once. */
const usualPatience: LogPatience = { look_ms: 1000, looksMost: 30 }

/** The last beat that a sleeping writer has seen, and the number of looks without a new one. */
export interface LogLooks {
  readonly beats: number
  readonly vain: number
}

/** The state after one more look. */
export function lookedAgain({ beats: before, vain }: LogLooks, beats: number): LogLooks {
  return { beats, vain: beats === before ? vain + 1 : 0 }
}

/** The writer's end of a link, to be passed to its thread. */
export interface LogLinkEnd {
  readonly log: LogName
  readonly port: MessagePort
  /** The shared counters of answers and beats. */
  readonly responses: SharedArrayBuffer
  /** The name of this node in its records. */
  readonly node: string
}

/** The other end, for the thread that has the connection. */
export type LogServerEnd = Omit<LogLinkEnd, 'node'>

/** A new link; the port of each end is to be transferred to its thread. */
export function newLogLink(log: LogName, node: string): { readonly writer: LogLinkEnd; readonly server: LogServerEnd } {
  const { port1, port2 } = new MessageChannel()
  const responses = new SharedArrayBuffer(cells * Int32Array.BYTES_PER_ELEMENT)
  return { writer: { log, port: port1, responses, node }, server: { log, port: port2, responses } }
}

/** The writer's side: asks, and either blocks or awaits the response. */
export class LogLink {
  readonly #end: LogLinkEnd
  readonly #patience: LogPatience
  readonly #sleeps: () => void
  readonly #counters: Int32Array
  readonly #questions = new OpenQuestions<LogResponses[LogQuestion['kind']]>()

  /** `sleeps` is called again and again while the thread sleeps. */
  constructor(end: LogLinkEnd, patience = usualPatience, sleeps = (): void => {}) {
    this.#end = end
    this.#patience = patience
    this.#sleeps = sleeps
    this.#counters = new Int32Array(end.responses)
    onMessages(end.port, ({ number, response }: LogResponse) => this.#questions.answered(number, response))
    end.port.unref()
  }

  /**
   * Asks, and lets the thread sleep until there is a response, as it sleeps while a file is flushed: for as long as the engine takes.
   * Throws `LogSilent` when the thread that would answer does not run.
   */
  askSync<Kind extends LogQuestion['kind']>(question: Extract<LogQuestion, { kind: Kind }>): LogResponses[Kind] {
    let own: { readonly response: LogResponses[Kind] } | undefined
    this.#ask(question, (response) => {
      own = { response }
    })
    let looks: LogLooks = { beats: this.#beats, vain: 0 }
    for (;;) {
      const counted = Atomics.load(this.#counters, responsesCell)
      // A response is sent before it is counted.
      for (let next = this.#received(); next !== undefined; next = this.#received()) {
        this.#questions.answered(next.number, next.response)
        if (own !== undefined) return own.response
      }
      if (Atomics.wait(this.#counters, responsesCell, counted, this.#patience.look_ms) !== 'timed-out') continue
      this.#sleeps()
      looks = lookedAgain(looks, this.#beats)
      if (looks.vain >= this.#patience.looksMost) throw this.#silent()
    }
  }

  /** Asks without blocking the thread. */
  ask<Kind extends LogQuestion['kind']>(question: Extract<LogQuestion, { kind: Kind }>): Promise<LogResponses[Kind]> {
    return new Promise((resolve) => this.#ask(question, resolve))
  }

  tell(notice: LogNotice): void {
    this.#end.port.postMessage(notice)
  }

  close(): void {
    this.#end.port.close()
  }

  get #beats(): number {
    return Atomics.load(this.#counters, beatsCell)
  }

  #silent(): LogSilent {
    const { look_ms, looksMost } = this.#patience
    const silent_s = (look_ms * looksMost) / 1000
    return new LogSilent(
      `the thread that has the connection to log ${this.#end.log} of the cluster stands still for ${silent_s} s`,
    )
  }

  /** Asks; the far end answers with the type that belongs to the kind of the question. */
  #ask<Kind extends LogQuestion['kind']>(
    question: Extract<LogQuestion, { kind: Kind }>,
    take: (response: LogResponses[Kind]) => void,
  ): void {
    const number = this.#questions.ask((response) => take(response as LogResponses[Kind]))
    this.#end.port.postMessage({ number, question } satisfies LogRequest)
  }

  #received(): LogResponse | undefined {
    return receiveMessageOnPort(this.#end.port)?.message
  }
}

/** The side of the thread with the connection: answers each question. */
export function serveLogLink(
  { port, responses }: LogServerEnd,
  respond: (question: LogQuestion) => Promise<LogResponses[LogQuestion['kind']]>,
  hear: (notice: LogNotice) => void,
): void {
  const count = new Int32Array(responses)
  const beating = setInterval(() => Atomics.add(count, beatsCell, 1), beat_ms)
  beating.unref()
  port.on('close', () => clearInterval(beating))
  onMessages(port, async (message: LogRequest | LogNotice) => {
    if ('kind' in message) return hear(message)
    const { number, question } = message
    port.postMessage({ number, response: await respond(question) } satisfies LogResponse)
    Atomics.add(count, responsesCell, 1)
    Atomics.notify(count, responsesCell)
  })
}
