import type { NodeAddress } from '../cluster/route-table.js'
import type { Log } from '../log/log.js'
import type { Result } from '../result.js'
import type { BatchRoute } from './batch-route.js'
import { linkHeaders, senderText } from './link-protocol.js'
import { type LinkCaller, NodeConnection } from './node-connection.js'
import { NodeRoute } from './node-route.js'
import { type NodeSilent, PositionQuestions, type Positions } from './position-questions.js'

export interface NodeLinkParts extends LinkCaller {
  /** The slot of this node in its cluster, and the number of this front end in it. */
  readonly slot: number
  readonly frontEnd: number
  /** Where a node listens now; nothing for one that is no member. */
  readonly addressOf: (node: string) => NodeAddress | undefined
  readonly log: Log
}

/** How long a node may take to say what it has acknowledged. */
const positions_ms = 2_000

/** What a front end asks of other nodes. */
export class NodeLink {
  readonly #parts: NodeLinkParts
  readonly #questions = new Map<string, PositionQuestions>()
  #generation = 0

  constructor(parts: NodeLinkParts) {
    this.#parts = parts
  }

  /** Opens a way to a partition on a node; nothing when that is no member. */
  open(partition: number, node: string): BatchRoute | undefined {
    const { slot, frontEnd, addressOf, log } = this.#parts
    const address = addressOf(node)
    if (address === undefined) return undefined
    // Greater than any of a process before this one in the slot, unless the clock of the day went back: then the owner says so.
    this.#generation = Math.max(this.#generation + 1, Date.now())
    const sender = senderText({ slot, frontEnd, generation: this.#generation })
    const connection = new NodeConnection(address, this.#parts, [linkHeaders.sender, sender])
    const overtaken = (generation: number): void => {
      this.#generation = Math.max(this.#generation, generation)
    }
    return new NodeRoute({ partition, connection, log, overtaken })
  }

  /** Asks a node for the last acknowledged sequences of partitions; never rejects. */
  async positions(node: string, partitions: readonly number[]): Promise<Positions> {
    const address = this.#parts.addressOf(node)
    if (address === undefined) return noMember(node)
    const name = `${address.host} ${address.port} ${node}`
    let questions = this.#questions.get(name)
    if (questions === undefined) {
      questions = new PositionQuestions(() => new NodeConnection(address, this.#parts), positions_ms)
      this.#questions.set(name, questions)
    }
    return questions.ask(partitions)
  }

  close(): void {
    for (const questions of this.#questions.values()) questions.close()
  }
}

function noMember(node: string): Result<never, NodeSilent> {
  return { ok: false, error: { kind: 'nodeSilent', reason: `node ${node} is no member of the cluster` } }
}
