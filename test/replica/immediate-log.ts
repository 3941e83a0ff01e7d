import { MessageChannel } from 'node:worker_threads'
import { err, ok } from '../../src/result.js'
import { encodeClusterRecord } from '../../src/storage/etcd/cluster-record.js'
import type { LogLinkEnd, LogQuestion, LogResponses } from '../../src/storage/etcd/log-link.js'
import type { Appended, LogRecord, LogSequence } from '../../src/storage/wal/record-log.js'

type Response = LogResponses[LogQuestion['kind']]

interface Question {
  readonly number: number
  readonly question: LogQuestion
}

/** A log of a cluster in memory, which answers its writers within their call: nobody has to sleep for it. */
export class ImmediateLog {
  readonly records: LogRecord[] = []
  /** Whether it has no room for another record. */
  isFull = false
  /** Whether the process ends before anything is answered. */
  isGivenUp = false
  /** Those that wait for more. */
  #waiting: (() => void)[] = []

  get last(): LogSequence {
    return this.records.length as LogSequence
  }

  /** The end of a link by which a node has it. */
  linkOf(node: string): LogLinkEnd {
    const { port1, port2 } = new MessageChannel()
    const responses = new SharedArrayBuffer(8)
    const respond = (number: number, response: Response): void => {
      port2.postMessage({ number, response })
      Atomics.add(new Int32Array(responses), 0, 1)
    }
    port1.postMessage = (request: Question | { readonly kind: string }): void => {
      if ('kind' in request) return
      const { number, question } = request
      if (question.kind === 'next') this.#next(question.after, (records) => respond(number, ok(records)))
      else respond(number, this.isGivenUp ? 'givenUp' : this.#responseTo(question, node))
    }
    port2.unref()
    return { log: 0, node, port: port1, responses }
  }

  /** A record of a node is put behind the last one, whoever owns the log. */
  put(node: string, kind: 'election' | 'idle' | 'release'): LogSequence {
    const [payload, none] = [new Uint8Array(), 0 as LogSequence]
    this.#push(encodeClusterRecord({ kind, epoch: none, time_ms: Date.now(), metadataVersion: none, node, payload }))
    return this.last
  }

  #responseTo(question: Exclude<LogQuestion, { kind: 'next' }>, node: string): Response {
    switch (question.kind) {
      case 'extent':
        return { first: (this.records.length > 0 ? 1 : 0) as LogSequence, last: this.last }
      case 'campaign':
        return this.#appended(question.expected, () => this.put(node, 'election'))
      case 'read':
        return ok(this.records.slice(question.after))
      case 'append':
        return this.#appended(question.expected, () => this.#push(question.bytes))
    }
  }

  #appended(expected: LogSequence, append: () => void): Appended {
    if (expected !== this.last) return err({ kind: 'fenced', last: this.last })
    if (this.isFull) return err({ kind: 'etcdFull' })
    append()
    return ok(this.last)
  }

  #next(after: LogSequence, respond: (records: readonly LogRecord[]) => void): void {
    if (this.last > after) respond(this.records.slice(after))
    else this.#waiting.push(() => this.#next(after, respond))
  }

  #push(bytes: Uint8Array): void {
    this.records.push({ sequence: (this.last + 1) as LogSequence, bytes })
    const waiting = this.#waiting
    this.#waiting = []
    for (const look of waiting) look()
  }
}
