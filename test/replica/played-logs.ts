import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads'
import { type LogLinkEnd, newLogLink } from '../../src/cluster/log-link.js'
import type { LogSequence } from '../../src/wal/record-log.js'
import {
  doneCell,
  foundCell,
  hasFailed,
  outcomes,
  type PlayedInstruction,
  type PlayedLogMemory,
  type SentToLog,
} from './played-instructions.js'
import { PlayedClocks } from './played-time.js'

/** A record that was sent by a thread which has died before it was told the outcome. */
export interface SentRecord {
  readonly expected: LogSequence
  readonly bytes: Uint8Array
}

/** A thread that does nothing for so long waits for what never comes. */
const patience_ms = 10_000

/** A thread ends while it appends. */
export class ThreadDied extends Error {}

/** The writer's end of a link, whose messages are delivered when they are to be. */
export interface PlayedLink {
  readonly end: LogLinkEnd
  /** The writer takes what was answered. */
  deliver(): void
  /** The writer dies when it appends next: right behind its question, or right behind one for a claim. */
  dieAtNext(kind: 'append' | 'claim'): void
  /** What it has sent when it died, if that was a record. */
  readonly unknown: SentRecord | undefined
  /** Whether it has died, or was cut. */
  readonly isCut: boolean
  /** Nothing that it sends or that is sent to it arrives any more. */
  cut(): void
}

/** The thread that plays an etcd, and what all nodes have of their threads of logs, for as long as another one tells it to. */
export class PlayedLogs {
  readonly clocks: PlayedClocks
  readonly #done = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT))
  readonly #port: MessagePort
  readonly #worker: Worker
  #links = 0

  constructor() {
    const clocks = PlayedClocks.memory()
    this.clocks = new PlayedClocks(clocks)
    const { port1, port2 } = new MessageChannel()
    this.#port = port1
    const workerData: PlayedLogMemory = { clocks, done: this.#done.buffer, port: port2 }
    this.#worker = new Worker(new URL('./played-log-thread.js', import.meta.url), { workerData, transferList: [port2] })
  }

  begin(seed: number, nodes: readonly string[]): void {
    this.tell({ kind: 'begin', seed, nodes })
  }

  /** Tells the thread something, and sleeps until that is done. */
  tell(instruction: Exclude<PlayedInstruction, { kind: 'sent' }>): number {
    const before = Atomics.load(this.#done, doneCell)
    this.#port.postMessage(instruction, instruction.kind === 'link' ? [instruction.end.port] : [])
    if (Atomics.wait(this.#done, doneCell, before, patience_ms) === 'timed-out') {
      throw new Error(`the thread of the logs does not get done with ${instruction.kind}`)
    }
    const found = Atomics.load(this.#done, foundCell)
    if (found !== hasFailed) return found
    throw new Error(`the thread of the logs has failed: ${receiveMessageOnPort(this.#port)?.message}`)
  }

  /** What became of a record whose outcome its writer was not told. */
  outcomeOf({ expected, bytes }: SentRecord): (typeof outcomes)[number] {
    return outcomes[this.tell({ kind: 'find', expected, bytes })] ?? 'pending'
  }

  link(node: string): PlayedLink {
    const { writer, server } = newLogLink(0, node)
    this.#links += 1
    const link = this.#links
    this.tell({ kind: 'link', link, node, end: server })
    let take: (message: unknown) => void = () => {}
    let [isCut, dies, unknown]: [boolean, 'append' | 'claim' | undefined, SentRecord | undefined] = [
      false,
      undefined,
      undefined,
    ]
    const postMessage = (message: SentToLog): void => {
      // Timers of a thread that has died go on here.
      if (isCut && 'question' in message) throw new ThreadDied()
      if (isCut) return
      this.#port.postMessage({ kind: 'sent', link, message } satisfies PlayedInstruction)
      if (!('question' in message) || message.question.kind !== dies) return
      isCut = true
      if (message.question.kind === 'append') unknown = message.question
      throw new ThreadDied()
    }
    const on = (event: string, listener: (message: unknown) => void): void => {
      if (event === 'message') take = listener
    }
    Object.assign(writer.port, { postMessage, on, unref: () => {} })
    return {
      end: writer,
      deliver: () => {
        for (let next = receiveMessageOnPort(writer.port); next !== undefined && !isCut; ) {
          take(next.message)
          next = receiveMessageOnPort(writer.port)
        }
      },
      dieAtNext: (kind) => {
        dies = kind
      },
      get unknown() {
        return unknown
      },
      get isCut() {
        return isCut
      },
      cut: () => {
        isCut = true
      },
    }
  }

  async close(): Promise<void> {
    this.#port.close()
    await this.#worker.terminate()
  }
}
