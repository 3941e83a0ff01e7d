import { setTimeout as sleep } from 'node:timers/promises'
import type { Everywhere } from '../broker/coordinator/activation.js'
import type { Partitions } from '../broker/coordinator/partitions.js'
import { type LastNotices, Rounds } from '../broker/coordinator/rounds.js'
import type { SubscriptionService } from '../broker/front-end/broker.js'
import type { ClusterStatistics } from '../broker/front-end/cluster-status.js'
import { type ConfirmedPositions, ConfirmedReads } from '../broker/front-end/confirmed-reads.js'
import {
  type CoordinatorRequest,
  type CoordinatorService,
  type CoordinatorSharing,
  mayBeGiven,
  type NotCoordinator,
  type PartitionHeartbeat,
  sharedRegistry,
  sharedSubscriptions,
} from '../broker/front-end/coordinator-requests.js'
import type { RegistryService } from '../broker/front-end/services.js'
import type { Unavailable } from '../broker/front-end/unavailable.js'
import type { LinkCaller } from '../cluster/link/node-connection.js'
import { NodeLink } from '../cluster/link/node-link.js'
import { faultText, isBehind, isGivenUp } from '../faults.js'
import type { NoticeNumber } from '../model/subscription/notice.js'
import { errorFacts, type Log } from '../observe/log/log.js'
import { addedStatistics, type NodeStatistics } from '../observe/measure/node-statistics.js'
import type { MetadataReplica } from '../partition/replica/metadata-replica.js'
import { err, ok, type Result } from '../result.js'
import type { ClusterLog } from '../storage/etcd/cluster-log.js'
import type { LogName } from '../storage/etcd/engine.js'
import { PartitionPosition } from '../threads/shared-memory/partition-position.js'
import type { RunningDelivery } from './delivery.js'
import { exitCodes } from './exit-codes.js'
import type { RunningNodes } from './running-nodes.js'

interface CoordinationParts {
  readonly nodes: RunningNodes
  readonly delivery: RunningDelivery
  /** The partitions on this node, and their number in the cluster. */
  readonly partitions: {
    readonly all: Pick<Partitions<object>, 'heartbeat' | 'metadataInForce'>
    readonly number: number
  }
  /** The metadata log. */
  readonly wal: ClusterLog
  readonly caller: LinkCaller
  readonly log: Log
  readonly fatal: (reason: string, code?: number) => void
}

/** How long a change waits for a coordinator that carries it out. */
const patience_ms = 5000
const again_ms = 100

/** How long one request waits for a record to come into force on another node. It is repeated after that. */
const inForce_ms = 1000

/** The service's answer, or that another node coordinates and nothing was done here. */
type Taken = Result<unknown, NotCoordinator>

/**
 * The metadata (subscriptions, registrations) on one node of a cluster. Whichever node is asked, the coordinating node
 * carries a change out, and all nodes follow the metadata log.
 */
export class Coordination implements CoordinatorSharing, CoordinatorService {
  readonly subscriptions: SubscriptionService
  readonly registry: RegistryService
  readonly #parts: CoordinationParts
  readonly #link: NodeLink
  /** Confirms reads of the partitions and of the metadata. */
  readonly #confirmed: ConfirmedReads
  readonly #position: PartitionPosition
  readonly #rounds: Rounds
  #replica: MetadataReplica | undefined

  constructor(parts: CoordinationParts) {
    this.#parts = parts
    const { nodes, caller, delivery, partitions, log } = parts
    this.#position = new PartitionPosition(nodes.metadataPosition)
    this.#rounds = new Rounds({
      partitions: partitions.number,
      members: () => nodes.memberNames,
      heartbeat: (name, metadataVersion) => this.#heartbeatsOf(name, metadataVersion),
    })
    const addressOf = (name: string) => nodes.addressOf(name)
    this.#link = new NodeLink({ ...caller, slot: nodes.slot, frontEnd: 0, addressOf, log })
    this.#confirmed = new ConfirmedReads({
      positions: nodes.outboxes,
      ownerOf: (log) => (log === partitions.number ? this.#other : nodes.otherOwnerOf(log)),
      positionsOf: (name, logs) => this.#positionsOf(name, logs),
    })
    this.subscriptions = sharedSubscriptions(delivery.subscriptions, this)
    this.registry = sharedRegistry(delivery.registry, this)
  }

  /** Partitions and front ends run: from now on changes of other nodes come into force here. */
  begin(): void {
    const { nodes, wal, delivery, partitions, log, fatal } = this.#parts
    this.#replica = delivery.follow(
      {
        ...{ wal, log, node: nodes.name },
        position: this.#position,
        inForce: (sequence) => partitions.all.metadataInForce(sequence),
        owns: (epoch) => {
          nodes.coordinates(epoch)
          delivery.coordinates(epoch !== undefined)
        },
        failed: (fault) => {
          // The change is stored and comes into force at the next start.
          if (isGivenUp(fault)) return
          log.error('cluster:replica', 'the replica of what the coordinator owns cannot go on', errorFacts(fault))
          fatal(faultText(fault), isBehind(fault) ? exitCodes.behind : undefined)
        },
      },
      this,
    )
  }

  /** The counters and measures of another node, see `NodeLink.statistics`. */
  statistics(node: string): Promise<Result<NodeStatistics, string>> {
    return this.#link.statistics(node)
  }

  /** Tells this node to coordinate, or to stop doing so. */
  instruct(what: 'own' | 'release'): void {
    if (what === 'own') this.#replica?.own()
    else void this.#replica?.release()
  }

  end(): void {
    this.#link.close()
  }

  async take(request: CoordinatorRequest): Promise<Taken> {
    if (this.#replica?.isOwner !== true) return this.#notCoordinator()
    const response = await this.#carriedOut(request)
    // A refusal without a confirmed position means that nothing was done: another node may have become coordinator.
    return mayBeGiven(response, () => this.#position.isConfirmed()) ? ok(response) : this.#notCoordinator()
  }

  async heartbeat(metadataVersion: number): Promise<readonly PartitionHeartbeat[] | undefined> {
    if (!(await this.#position.reaches(metadataVersion, inForce_ms))) return undefined
    return [...(await this.#parts.partitions.all.heartbeat())]
  }

  everywhere(): ReturnType<Everywhere> {
    return this.#rounds.passed(this.#position.appliedIndex)
  }

  async change<Response>(request: CoordinatorRequest): Promise<Response> {
    const until_ms = performance.now() + patience_ms
    for (;;) {
      const taken = await this.#taken(request)
      // Both ends are typed by the same service, so the response is one of this operation.
      if (taken !== undefined) return taken as Response
      if (performance.now() > until_ms) return err({ kind: 'coordinatorAway' }) as Response
      await sleep(again_ms)
    }
  }

  async confirmed(): Promise<Result<undefined, Unavailable>> {
    return this.#parts.nodes.reads === 'local'
      ? ok(undefined)
      : this.#confirmed.confirm([this.#parts.partitions.number])
  }

  /**
   * Resolves when this node has applied all metadata and updates that were acknowledged on any node before the call.
   * Refuses when that is not known in time.
   */
  caughtUp(): Promise<Result<undefined, Unavailable>> {
    return this.#confirmed.confirm(this.#parts.nodes.outboxes.keys())
  }

  /** The response to a change, from this node or another one; undefined when nobody has carried it out. */
  async #taken(request: CoordinatorRequest): Promise<unknown> {
    const taken = await this.take(request)
    if (taken.ok) return taken.value
    const { owner } = taken.error
    if (owner === undefined || this.#link === undefined) return undefined
    const response = await this.#link.change(owner, request)
    if (response.kind === 'answered') return response.response
    return response.kind === 'outcomeUnknown' ? err({ kind: 'outcomeUnknown' }) : undefined
  }

  /** A change of registrations is answered only when it is in force on all nodes, or with `outcomeUnknown`. */
  async #carriedOut(request: CoordinatorRequest): Promise<unknown> {
    const response = await this.#responseOf(request)
    if (request.service !== 'registry' || !isOk(response)) return response
    const passed = await this.everywhere()
    return passed.ok ? response : err({ kind: 'outcomeUnknown' })
  }

  #responseOf({ service, operation, given }: CoordinatorRequest): Promise<unknown> {
    const owner: object = this.#parts.delivery[service]
    const carryOut: unknown = Reflect.get(owner, operation)
    if (typeof carryOut !== 'function') throw new Error(`nobody serves ${operation}`)
    return Reflect.apply(carryOut, owner, given)
  }

  #notCoordinator(): Result<never, NotCoordinator> {
    return err({ kind: 'notCoordinator', owner: this.#other })
  }

  /** The coordinating node, if it is known and not this one. */
  get #other(): string | undefined {
    const { coordinator, name } = this.#parts.nodes
    return coordinator === name ? undefined : coordinator
  }

  async #heartbeatsOf(node: string, metadataVersion: number): Promise<LastNotices | undefined> {
    const heartbeats =
      node === this.#parts.nodes.name
        ? await this.heartbeat(metadataVersion)
        : await this.#link.heartbeat(node, metadataVersion)
    return heartbeats && new Map(heartbeats.map(([partition, last]) => [partition, last as NoticeNumber]))
  }

  /** The appliedIndex of logs that a node owns, by partition number; the metadata log follows the partitions. */
  async #positionsOf(node: string, numbers: readonly number[]): Promise<ConfirmedPositions> {
    if (this.#link === undefined) return err('nodes do not ask each other')
    const row = this.#parts.partitions.number
    const logs = numbers.map((number): LogName => (number === row ? 'control' : number))
    const confirmed = await this.#link.positions(node, logs)
    if (!confirmed.ok) return confirmed
    return ok(new Map(Array.from(confirmed.value, ([log, position]) => [log === 'control' ? row : log, position])))
  }
}

function isOk(response: unknown): boolean {
  return typeof response === 'object' && response !== null && 'ok' in response && response.ok === true
}

interface StatisticsParts {
  /** This node. `nodes` are all that are listed. */
  readonly self: string
  readonly nodes: readonly string[]
  readonly own: () => NodeStatistics
  /** Asks another node; refuses with a text for the operator. */
  readonly statisticsOf: (node: string) => Promise<Result<NodeStatistics, string>>
}

/** The counters and measures of all nodes. A node that does not answer in time stands there with the reason. */
export async function clusterStatistics({
  self,
  nodes,
  own,
  statisticsOf,
}: StatisticsParts): Promise<ClusterStatistics> {
  const responses = await Promise.all(
    nodes.map(async (name) => ({ name, response: name === self ? ok(own()) : await statisticsOf(name) })),
  )
  return {
    node: self,
    nodes: responses.map(({ name, response }) =>
      response.ok ? { name, statistics: response.value } : { name, reason: response.error },
    ),
    all: addedStatistics(responses.flatMap(({ response }) => (response.ok ? response.value : []))),
  }
}
