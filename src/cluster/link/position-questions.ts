import { err, ok, type Result } from '../../result.js'
import type { LogName } from '../../storage/etcd/engine.js'
import type { LogSequence } from '../../storage/wal/record-log.js'
import { parsePositionsResponse } from './link-protocol.js'
import type { LinkResponse, NodeConnection } from './node-connection.js'

/** A node does not give its positions: it cannot be reached, is too slow, or does not understand the question. */
export interface NodeSilent {
  readonly kind: 'nodeSilent'
  /** A text for the operator. */
  readonly reason: string
}

/** The appliedIndex per log; a log that the node may not confirm is missing. */
export type Positions = Result<ReadonlyMap<LogName, LogSequence>, NodeSilent>

export type PositionsConnection = Pick<NodeConnection, 'ask' | 'close' | 'isOver'>

/** The next question, shared by all who have called since the last one was sent. */
interface Next {
  readonly partitions: Set<LogName>
  readonly response: Promise<Positions>
  readonly resolve: (positions: Positions) => void
}

/**
 * Asks one node for the appliedIndex of partitions and of the metadata log. One question is under way at a time. Its response is of
 * no use to later callers, since updates may have been acknowledged after it was sent: they share the next question.
 */
export class PositionQuestions {
  readonly #connect: () => PositionsConnection
  readonly #limit_ms: number
  #connection: PositionsConnection | undefined
  #isUnderWay = false
  #next: Next | undefined

  /** `connect` opens a connection to the node's current address. */
  constructor(connect: () => PositionsConnection, limit_ms: number) {
    this.#connect = connect
    this.#limit_ms = limit_ms
  }

  /** Never rejects. The response was true at some moment after this call. */
  ask(partitions: readonly LogName[]): Promise<Positions> {
    this.#next ??= newQuestion()
    for (const partition of partitions) this.#next.partitions.add(partition)
    const { response } = this.#next
    if (!this.#isUnderWay) void this.#askNext()
    return response
  }

  close(): void {
    this.#connection?.close()
  }

  async #askNext(): Promise<void> {
    this.#isUnderWay = true
    for (let next = this.#next; next !== undefined; next = this.#next) {
      this.#next = undefined
      next.resolve(await this.#responseOf([...next.partitions]))
    }
    this.#isUnderWay = false
  }

  async #responseOf(partitions: readonly LogName[]): Promise<Positions> {
    if (this.#connection === undefined || this.#connection.isOver) this.#connection = this.#connect()
    const connection = this.#connection
    const limit = setTimeout(() => connection.close(), this.#limit_ms)
    const response = await connection.ask({ kind: 'positions' }, Buffer.from(JSON.stringify({ partitions })))
    clearTimeout(limit)
    return positionsOf(response, partitions)
  }
}

function newQuestion(): Next {
  let resolve: Next['resolve'] = () => {}
  const response = new Promise<Positions>((resolved) => {
    resolve = resolved
  })
  return { partitions: new Set(), response, resolve }
}

function positionsOf(response: LinkResponse, partitions: readonly LogName[]): Positions {
  if (response.kind !== 'answered') return err({ kind: 'nodeSilent', reason: response.reason })
  const text = response.bytes.toString('utf8')
  const confirmed = response.status === 200 ? parsePositionsResponse(text, partitions.length) : undefined
  if (confirmed === undefined) {
    return err({ kind: 'nodeSilent', reason: `it answers ${response.status}: ${text.slice(0, 500)}` })
  }
  const positions = new Map<LogName, LogSequence>()
  for (const [at, partition] of partitions.entries()) {
    const position = confirmed[at] ?? null
    if (position !== null) positions.set(partition, position as LogSequence)
  }
  return ok(positions)
}
