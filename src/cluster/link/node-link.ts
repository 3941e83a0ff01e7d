import {
  type ControlRequest,
  type PartitionMark,
  parseControlAnswer,
  parseMarks,
} from '../../broker/services/shared-control.js'
import type { OpenStream, StreamPiece, StreamRefusal, StreamRequest } from '../../delivery/streams/stream-message.js'
import type { StreamPosition } from '../../delivery/streams/stream-position.js'
import type { SubscriptionId } from '../../model/subscription/subscription.js'
import type { Log } from '../../observe/log/log.js'
import { type NodeStatistics, parseNodeStatistics } from '../../observe/measure/node-statistics.js'
import { err, ok, type Result } from '../../result.js'
import type { LogName } from '../../storage/etcd/engine.js'
import type { NodeAddress } from '../membership/route-table.js'
import type { BatchRoute } from './batch-route.js'
import { type LinkTarget, linkHeaders, senderText } from './link-protocol.js'
import { type LinkCaller, type LinkResponse, NodeConnection } from './node-connection.js'
import { NodeRoute } from './node-route.js'
import { type NodeSilent, PositionQuestions, type Positions } from './position-questions.js'
import { openRemoteStream } from './remote-streams.js'
import { streamPositionText } from './stream-relay.js'

export interface NodeLinkParts extends LinkCaller {
  /** The slot of this node in its cluster, and the number of this front end in it. */
  readonly slot: number
  readonly frontEnd: number
  /** Where a node listens now; nothing for one that is no member. */
  readonly addressOf: (node: string) => NodeAddress | undefined
  readonly log: Log
}

/** How long a node may take to say what it has counted. */
const statistics_ms = 2_000

/** How long a node may take to say what it has acknowledged. */
const positions_ms = 2_000

/** What there is of a node that was asked for something. */
interface LinkedMember {
  readonly address: NodeAddress
  readonly questions: PositionQuestions
  /** By the kind of what is asked. */
  readonly connections: Map<LinkTarget['kind'], NodeConnection>
}

/** What a front end asks of other nodes. */
export class NodeLink {
  readonly #parts: NodeLinkParts
  /** By the name of the node. */
  readonly #members = new Map<string, LinkedMember>()
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

  /** Has a node carry out a change of what the coordinator owns; never rejects. */
  async change(node: string, request: ControlRequest): Promise<ControlResponse> {
    return controlResponse(await this.#ask(node, { kind: 'control' }, request))
  }

  /** Has a node mark its partitions, see `CoordinatorService`; nothing when it is not reached either. Never rejects. */
  async mark(node: string, control: number): Promise<readonly PartitionMark[] | undefined> {
    const response = await this.#ask(node, { kind: 'marks' }, { control })
    if (response.kind !== 'answered' || response.status !== 200) return undefined
    return parseMarks(response.bytes.toString())
  }

  /** What a node has counted and measured; refuses in words for the operator, when it does not say so in time. Never rejects. */
  async statistics(node: string): Promise<Result<NodeStatistics, string>> {
    const address = this.#parts.addressOf(node)
    if (address === undefined) return err('it is no member of the cluster')
    const connection = new NodeConnection(address, this.#parts)
    let isLate = false
    const limit = setTimeout(() => {
      isLate = true
      connection.close()
    }, statistics_ms)
    const response = await connection.ask({ kind: 'statistics' }, Buffer.from('{}'))
    clearTimeout(limit)
    connection.close()
    if (isLate) return err(`it does not answer within ${statistics_ms / 1000} s`)
    if (response.kind !== 'answered') return err(response.reason)
    const text = response.bytes.toString()
    return response.status === 200
      ? parseNodeStatistics(text)
      : err(`it answers ${response.status}: ${text.slice(0, 500)}`)
  }

  /** Opens a stream of another node, see `StreamSource`; never rejects. */
  async stream(
    node: string,
    request: StreamRequest,
    take: (piece: StreamPiece) => void,
  ): Promise<Result<OpenStream, StreamRefusal | 'away'>> {
    const address = this.#parts.addressOf(node)
    return address === undefined ? err('away') : openRemoteStream(address, this.#parts, request, take)
  }

  /** Tells another node what a client has received of a subscription, see `StreamSource`; never rejects. */
  async confirm(node: string, subscription: SubscriptionId, upTo: StreamPosition): Promise<Result<boolean, 'away'>> {
    const said = await this.#ask(node, { kind: 'confirmations' }, { subscription, upTo: streamPositionText(upTo) })
    if (said.kind !== 'answered' || said.status !== 200) return err('away')
    return ok(said.bytes.toString() === JSON.stringify({ isKnown: true }))
  }

  /** On one connection for each kind, whose requests do not wait for those of another kind. */
  async #ask(node: string, target: LinkTarget, body: unknown): Promise<LinkResponse> {
    const member = this.#member(node)
    if (member === undefined) return { kind: 'unsent', reason: 'it is no member' }
    let connection = member.connections.get(target.kind)
    if (connection === undefined || connection.isOver) {
      connection = new NodeConnection(member.address, this.#parts)
      member.connections.set(target.kind, connection)
    }
    return connection.ask(target, Buffer.from(JSON.stringify(body)))
  }

  /** Asks a node for the last acknowledged sequences of logs; never rejects. */
  async positions(node: string, partitions: readonly LogName[]): Promise<Positions> {
    return this.#member(node)?.questions.ask(partitions) ?? noMember(node)
  }

  close(): void {
    for (const node of [...this.#members.keys()]) this.#forget(node)
  }

  /** A node where it listens now: what was opened to it elsewhere is closed, and so is all of one that is no member any more. */
  #member(node: string): LinkedMember | undefined {
    const address = this.#parts.addressOf(node)
    const known = this.#members.get(node)
    if (known !== undefined && known.address.host === address?.host && known.address.port === address.port) return known
    this.#forget(node)
    if (address === undefined) return undefined
    const questions = new PositionQuestions(() => new NodeConnection(address, this.#parts), positions_ms)
    const member = { address, questions, connections: new Map() }
    this.#members.set(node, member)
    return member
  }

  #forget(node: string): void {
    const member = this.#members.get(node)
    member?.questions.close()
    for (const connection of member?.connections.values() ?? []) connection.close()
    this.#members.delete(node)
  }
}

/** What became of a change that another node was asked for. */
export type ControlResponse =
  /** What the service there has answered. */
  | { readonly kind: 'answered'; readonly answer: Result<unknown, unknown> }
  /** It does not coordinate; nothing was done. */
  | { readonly kind: 'notCoordinator' }
  /** It is not reached; nothing was done. */
  | { readonly kind: 'unsent' }
  /** It may have been carried out. */
  | { readonly kind: 'outcomeUnknown' }

function controlResponse(response: LinkResponse): ControlResponse {
  if (response.kind !== 'answered') return { kind: response.kind === 'unsent' ? 'unsent' : 'outcomeUnknown' }
  if (response.status === 421) return { kind: 'notCoordinator' }
  const answer = response.status === 200 ? parseControlAnswer(response.bytes.toString()) : undefined
  if (answer !== undefined) return { kind: 'answered', answer }
  return { kind: response.status === 200 ? 'outcomeUnknown' : 'unsent' }
}

function noMember(node: string): Result<never, NodeSilent> {
  return { ok: false, error: { kind: 'nodeSilent', reason: `node ${node} is no member of the cluster` } }
}
