import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads'
import type { LogName } from '../../src/storage/etcd/engine.js'
import { type LogLinkEnd, newLogLink } from '../../src/storage/etcd/log-link.js'
import type { LogSequence } from '../../src/storage/wal/record-log.js'
import {
  type AwaitedInstruction,
  doneCell,
  doneLength,
  foundCell,
  hasFailed,
  type LogInstruction,
  type LogsReport,
  outcomes,
  type PlayedInstruction,
  type PlayedLogMemory,
  type ReportOfLog,
  type SentToLog,
  sentCell,
} from './played-instructions.js'
import { PlayedClock } from './played-time.js'

/** A record that was sent by a thread which was not told the outcome. */
export interface SentRecord {
  readonly log: LogName
  readonly expected: LogSequence
  readonly bytes: Uint8Array
}

/** A thread that does nothing for so long waits for what never comes. */
const patience_ms = 60_000

/** A thread ends while it appends. */
export class ThreadDied extends Error {}

/** The writer's end of a link, whose messages are delivered when they are to be. */
export interface PlayedLink {
  readonly end: LogLinkEnd
  /** The writer takes what was answered. */
  deliver(): void
  /** The writer dies when it appends next: right behind its question, or right behind a campaign; or not any more. */
  dieAtNext(kind: 'append' | 'campaign' | undefined): void
  /** The record that it has sent last. */
  readonly sent: SentRecord | undefined
  /** Whether it has died, or was cut. */
  readonly isCut: boolean
  /** Nothing that it sends or that is sent to it arrives any more. */
  cut(): void
  /** The same, and what it has asked for is given up. */
  giveUp(): void
}

/** The thread that plays an etcd, and what all nodes have of their threads of logs, for as long as another one tells it to. */
export class PlayedLogs {
  readonly clock: PlayedClock
  readonly #done = new Int32Array(new SharedArrayBuffer(doneLength * Int32Array.BYTES_PER_ELEMENT))
  readonly #port: MessagePort
  readonly #worker: Worker
  /** What processes have reported, and nobody has taken yet. */
  readonly #reports = new Map<number, ReportOfLog[]>()
  #records: Uint8Array[] = []
  /** Whether something was sent that may not have arrived. */
  #isAhead = false
  #links = 0
  #processes = 0

  constructor() {
    const clock = PlayedClock.memory()
    this.clock = new PlayedClock(clock)
    const { port1, port2 } = new MessageChannel()
    this.#port = port1
    const workerData: PlayedLogMemory = { clock, done: this.#done.buffer, port: port2 }
    this.#worker = new Worker(new URL('./played-log-thread.js', import.meta.url), { workerData, transferList: [port2] })
  }

  begin(seed: number, nodes: readonly string[], log: LogName): void {
    this.clock.now_ms = 0
    this.#take()
    this.#reports.clear()
    this.#records = []
    this.carryOut({ kind: 'begin', seed, nodes, log })
  }

  /** The records that stand in the metadata log by now, in their order. */
  get records(): readonly Uint8Array[] {
    this.#take()
    return this.#records
  }

  /** Begins a process of a node; gives its number. */
  start(node: string): number {
    this.#processes += 1
    const process = this.#processes
    this.#reports.set(process, [])
    this.carryOut({ kind: 'start', node, process })
    return process
  }

  /** What a process has reported since this was asked last. */
  reportsOf(process: number): readonly ReportOfLog[] {
    this.#take()
    return this.#reports.get(process)?.splice(0) ?? []
  }

  /** Tells the thread something, and sleeps until that is done. */
  carryOut(instruction: AwaitedInstruction): number {
    const before = Atomics.load(this.#done, doneCell)
    this.#port.postMessage(instruction, instruction.kind === 'link' ? [instruction.end.port] : [])
    this.#wake()
    if (Atomics.wait(this.#done, doneCell, before, patience_ms) === 'timed-out') {
      throw new Error(`the thread of the logs does not get done with ${instruction.kind}`)
    }
    this.#isAhead = false
    const found = Atomics.load(this.#done, foundCell)
    if (found === hasFailed) this.#take()
    return found
  }

  /** The clock goes on to a moment. */
  goOn(until_ms: number): void {
    if (this.#isAhead || this.clock.due_ms <= until_ms) this.carryOut({ kind: 'goOn', until_ms })
    else this.clock.now_ms = Math.max(this.clock.now_ms, until_ms)
  }

  /** Tells a node's thread of logs something. */
  instruct(node: string, instruction: LogInstruction): void {
    this.#post({ kind: 'instruct', node, instruction })
  }

  /** What became of a record whose outcome its writer was not told. */
  outcomeOf(sent: SentRecord): (typeof outcomes)[number] {
    return outcomes[this.carryOut({ kind: 'find', ...sent })] ?? 'pending'
  }

  link(node: string, log: LogName): PlayedLink {
    const { writer, server } = newLogLink(log, node)
    this.#links += 1
    const link = this.#links
    this.carryOut({ kind: 'link', link, node, end: server })
    let take: (message: unknown) => void = () => {}
    let [isCut, dies, sent]: [boolean, 'append' | 'campaign' | undefined, SentRecord | undefined] = [
      false,
      undefined,
      undefined,
    ]
    /** Questions without a response for which nobody sleeps. */
    const open = new Set<number>()
    const respond = (response: { readonly number: number; readonly response: unknown }): void => {
      open.delete(response.number)
      take(response)
    }
    const cut = (): void => {
      if (!isCut) this.#post({ kind: 'unlink', link })
      isCut = true
    }
    const postMessage = (message: SentToLog): void => {
      // Timers of a thread that has died go on here.
      if (isCut && 'question' in message) throw new ThreadDied()
      if (isCut) return
      const dying = 'question' in message && message.question.kind === dies
      // The coordinator's thread does other work until its record stands.
      const sleeps = !dying && !(log === 'control' && 'question' in message && message.question.kind === 'append')
      this.#post({ kind: 'sent', link, message, sleeps })
      if (!('question' in message)) return
      if (message.question.kind !== 'extent') open.add(message.number)
      if (message.question.kind === 'append') {
        const { expected, bytes } = message.question
        sent = { log, expected, bytes }
      }
      if (!dying) return
      cut()
      throw new ThreadDied()
    }
    const on = (event: string, handler: (message: unknown) => void): void => {
      if (event === 'message') take = handler
    }
    Object.assign(writer.port, { postMessage, on, unref: () => {} })
    return {
      end: writer,
      deliver: () => {
        for (let next = receiveMessageOnPort(writer.port); next !== undefined && !isCut; ) {
          respond(next.message)
          next = receiveMessageOnPort(writer.port)
        }
      },
      dieAtNext: (kind) => {
        dies = kind
      },
      get sent() {
        return sent
      },
      get isCut() {
        return isCut
      },
      cut,
      giveUp: () => {
        cut()
        for (const number of open) respond({ number, response: 'givenUp' })
      },
    }
  }

  async close(): Promise<void> {
    this.#port.close()
    await this.#worker.terminate()
  }

  #post(instruction: PlayedInstruction): void {
    this.#isAhead = true
    this.#port.postMessage(instruction)
    this.#wake()
  }

  #wake(): void {
    Atomics.add(this.#done, sentCell, 1)
    Atomics.notify(this.#done, sentCell)
  }

  #take(): void {
    for (let next = receiveMessageOnPort(this.#port); next !== undefined; next = receiveMessageOnPort(this.#port)) {
      const report: LogsReport = next.message
      if (report.kind === 'failed') throw new Error(`the thread of the logs has failed: ${report.fault}`)
      if (report.kind === 'stands') this.#records.push(report.bytes)
      else this.#reports.get(report.process)?.push(report.report)
    }
  }
}
