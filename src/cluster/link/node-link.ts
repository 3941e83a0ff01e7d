import {
  type CoordinatorRequest,
  type PartitionHeartbeat,
  parseCoordinatorResponse,
  parseHeartbeats,
} from '../../broker/front-end/coordinator-requests.js'
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
  /** The number of this node in its cluster, and of this front end in the node. */
  readonly slot: number
  readonly frontEnd: number
  /** Where a node listens now; undefined for one that is no member. */
  readonly addressOf: (node: string) => NodeAddress | undefined
  readonly log: Log
}

const statistics_ms = 2_000

const positions_ms = 2_000

/** The routes and connections to one other node. */
interface LinkedMember {
  readonly address: NodeAddress
  readonly questions: PositionQuestions
  /** By the kind of request. */
  readonly connections: Map<LinkTarget['kind'], NodeConnection>
}

/** A front end's requests to other nodes. */
export class NodeLink {
  readonly #parts: NodeLinkParts
  /** By the name of the node. */
  readonly #members = new Map<string, LinkedMember>()
  #generation = 0

  constructor(parts: NodeLinkParts) {
    this.#parts = parts
  }

  /** Opens a route to a partition on a node; undefined when the node is no member. */
  open(partition: number, node: string): BatchRoute | undefined {
    const { slot, frontEnd, addressOf, log } = this.#parts
    const address = addressOf(node)
    if (address === undefined) return undefined
    // Greater than any generation of an earlier process of this node, unless the clock of the day went back: then the owner names
    // the last one.
    this.#generation = Math.max(this.#generation + 1, Date.now())
    const sender = senderText({ slot, frontEnd, generation: this.#generation })
    const connection = new NodeConnection(address, this.#parts, [linkHeaders.sender, sender])
    const overtaken = (generation: number): void => {
      this.#generation = Math.max(this.#generation, generation)
    }
    return new NodeRoute({ partition, connection, log, overtaken })
  }

  /** Asks a node to carry out a change of the metadata; never rejects. */
  async change(node: string, request: CoordinatorRequest): Promise<CoordinatorResponse> {
    return coordinatorResponse(await this.#ask(node, { kind: 'control' }, request))
  }

  /** Has a node write heartbeat records, see `CoordinatorService`; undefined when it does not answer. Never rejects. */
  async heartbeat(node: string, metadataVersion: number): Promise<readonly PartitionHeartbeat[] | undefined> {
    const response = await this.#ask(node, { kind: 'heartbeats' }, { control: metadataVersion })
    if (response.kind !== 'answered' || response.status !== 200) return undefined
    return parseHeartbeats(response.bytes.toString())
  }

  /** The counters and measures of a node. Refuses with a text for the operator when they do not come in time; never rejects. */
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
    const response = await this.#ask(node, { kind: 'confirmations' }, { subscription, upTo: streamPositionText(upTo) })
    if (response.kind !== 'answered' || response.status !== 200) return err('away')
    return ok(response.bytes.toString() === JSON.stringify({ isKnown: true }))
  }

  /** Each kind of request has a connection of its own, so that it does not wait for responses of another kind. */
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

  /** Asks a node for the appliedIndex of logs; never rejects. */
  async positions(node: string, partitions: readonly LogName[]): Promise<Positions> {
    return this.#member(node)?.questions.ask(partitions) ?? noMember(node)
  }

  close(): void {
    for (const node of [...this.#members.keys()]) this.#forget(node)
  }

  /** A node at its current address; connections to an earlier address, or to a node that is no longer a member, are closed. */
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

/** The outcome of a change that another node was asked for. */
export type CoordinatorResponse =
  /** The response of the service on that node. */
  | { readonly kind: 'answered'; readonly response: Result<unknown, unknown> }
  /** That node does not coordinate; nothing was done. */
  | { readonly kind: 'notCoordinator' }
  /** That node cannot be reached; nothing was done. */
  | { readonly kind: 'unsent' }
  /** The change may have been carried out. */
  | { readonly kind: 'outcomeUnknown' }

function coordinatorResponse(response: LinkResponse): CoordinatorResponse {
  if (response.kind !== 'answered') return { kind: response.kind === 'unsent' ? 'unsent' : 'outcomeUnknown' }
  if (response.status === 421) return { kind: 'notCoordinator' }
  const parsed = response.status === 200 ? parseCoordinatorResponse(response.bytes.toString()) : undefined
  if (parsed !== undefined) return { kind: 'answered', response: parsed }
  return { kind: response.status === 200 ? 'outcomeUnknown' : 'unsent' }
}

function noMember(node: string): Result<never, NodeSilent> {
  return { ok: false, error: { kind: 'nodeSilent', reason: `node ${node} is no member of the cluster` } }
}
