import { type Choice, OwnerChoice } from '../cluster/membership/placing.js'
import { type NodeAddress, parseAddress } from '../cluster/membership/route-table.js'
import type { Log } from '../observe/log/log.js'
import type { NodeStanding } from '../observe/measure/meters.js'
import type { LogName } from '../storage/etcd/engine.js'
import {
  type ClusterNodes,
  knownCoordinator,
  knownRoutes,
  listedNames,
  type NodeFacts,
  type Ownership,
  type ReadMode,
  type Route,
  recordFormats,
} from '../storage/etcd/node-facts.js'
import type { LogSequence } from '../storage/wal/record-log.js'
import { PartitionPosition } from '../threads/shared-memory/partition-position.js'
import type { FrontNodes } from './tasks.js'

interface RunningNodesParts {
  readonly node: string
  readonly nodes: ClusterNodes
  readonly partitions: number
  /** How long a change of members must last before logs are moved, see `OwnerChoice`. */
  readonly rebalanceDelay_ms: number
  readonly reads: ReadMode
  readonly log: Log
  /** Tells the other nodes the facts about this one. */
  readonly tell: (self: NodeFacts) => void
  /** Tells the thread of a partition to become the owner of its log, or to release it. */
  readonly instruct: (partition: number, what: 'own' | 'release') => void
  /** Tells this node's replica of the metadata log to become its owner, or to release it. */
  readonly coordinate: (what: 'own' | 'release') => void
  /**
   * Stops notifications of a log that is about to be released. Resolves when the outcomes of attempts under way are
   * stored, at the latest after about this time.
   */
  readonly drain: (log: LogName, limit_ms: number) => Promise<void>
  /** The addresses of this machine. */
  readonly hosts: () => readonly string[]
  /** Whether a partition has no room left on this node's disk. */
  readonly isFull: () => boolean
  /** Called when this node learns of other owners or other members. */
  readonly routed: (routes: readonly Route[], others: readonly NodeAddress[]) => void
  /** Called with the state of this node when that changes. */
  readonly stands: (standing: NodeStanding) => void
}

/** Logs are handed over one by one, so that few of them pause at a time. */
const decide_ms = 1000

/** How long a partition may be without an owner before that is reported: as long as a hand-over takes. */
const handedOver_ms = 1000

/** How long the release of a log waits for attempts under way; at most half of the time, where that is limited. */
const drain_ms = 2000

/**
 * A node of a cluster as its main thread knows it: the members, the owners of the partitions, and the logs that this
 * node is to own or release. It decides who tries to become owner; the logs decide who succeeds.
 */
export class RunningNodes {
  readonly #parts: RunningNodesParts
  /** Per partition, how far its log is applied on this node. */
  readonly positions: readonly SharedArrayBuffer[]
  /** How far the metadata log is applied on this node. */
  readonly metadataPosition = PartitionPosition.memory()
  readonly #slot: number
  readonly #owned = new Map<number, LogSequence>()
  /** Logs for which this node campaigns. */
  readonly #campaigning = new Set<LogName>()
  /** Logs whose release waits for notifications under way. */
  readonly #draining = new Set<LogName>()
  readonly #choice: OwnerChoice
  /** The election by which this node coordinates; 0 while it does not. */
  #coordinates = 0 as LogSequence
  #timer: NodeJS.Timeout | undefined
  #nodes: ClusterNodes
  #members: readonly NodeFacts[] = []
  #isMember = false
  #address = ''
  /** The ports of this node that are not for clients. */
  #ports: readonly number[] = []
  #unreachable: readonly string[] = []
  /** The members that most members cannot reach, as a text. */
  #suspects = ''
  #isLeaving = false
  #isFull = false
  /** When each partition last had an owner, by `performance.now()`. */
  readonly #lastOwned_ms: number[]
  /** Whether etcd has not answered in time since this node began to end. */
  #isGivenUp = false
  /** Called when routes change while this node hands over its logs. */
  #lookAtOwners: () => void = () => {}

  constructor(parts: RunningNodesParts) {
    this.#parts = parts
    this.#nodes = parts.nodes
    this.positions = Array.from({ length: parts.partitions }, () => PartitionPosition.memory())
    const listed = parts.nodes.nodes.find(({ name }) => name === parts.node)
    if (listed === undefined) throw new Error(`node ${parts.node} is not listed`)
    this.#slot = listed.slot
    this.#choice = new OwnerChoice(parts, performance.now())
    this.#lastOwned_ms = this.positions.map(() => Number.NEGATIVE_INFINITY)
    this.#stand()
  }

  get name(): string {
    return this.#parts.node
  }

  /** How far each log with an outbox is applied: the partitions, then the coordinator. */
  get outboxes(): readonly SharedArrayBuffer[] {
    return [...this.positions, this.metadataPosition]
  }

  /** The number of this node in the cluster. */
  get slot(): number {
    return this.#slot
  }

  get reads(): ReadMode {
    return this.#parts.reads
  }

  /** What front ends are started with. */
  get forFronts(): Omit<FrontNodes, 'link'> {
    const { positions, metadataPosition, reads, others } = this
    return { positions, metadataPosition, reads, routes: this.#routes(), others }
  }

  /**
   * All partitions are open: makes this node a member that others reach at this address. The given ports are not for
   * clients.
   */
  begin(address: string, ports: readonly number[]): void {
    this.#address = address
    this.#ports = ports
    this.#tell()
    this.#timer = setInterval(() => this.#decide(), decide_ms)
  }

  /** From now on this node campaigns for nothing more. */
  end(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /**
   * Releases the logs that this node owns and campaigns for nothing more. Resolves when each has another owner as far as is
   * known here (for the metadata log: another node coordinates), at the limit, or when no other member is left.
   */
  async handOver(limit_ms: number): Promise<void> {
    const { node, log } = this.#parts
    const begun_ms = performance.now()
    this.end()
    this.#isLeaving = true
    this.#tell()
    const owned = [...this.#owned.keys()]
    const didCoordinate = this.#coordinates > 0
    if (!this.#hasSuccessor()) return
    const logs = new Set<LogName>([...owned, ...this.#campaigning])
    if (didCoordinate) logs.add('control')
    for (const name of logs) void this.#release(name, Math.min(limit_ms / 2, drain_ms))
    const left = (): number => {
      const others = new Set(this.#routes().flatMap((route) => (route.node === node ? [] : route.partition)))
      const isCoordinated = this.coordinator !== undefined && this.coordinator !== node
      return owned.filter((partition) => !others.has(partition)).length + (didCoordinate && !isCoordinated ? 1 : 0)
    }
    await new Promise<void>((resolve) => {
      const limit = setTimeout(resolve, limit_ms)
      this.#lookAtOwners = () => {
        if (left() > 0 && this.#hasSuccessor() && !this.#isGivenUp) return
        clearTimeout(limit)
        resolve()
      }
      this.#lookAtOwners()
    })
    const took = `in ${Math.round(performance.now() - begun_ms)} ms`
    if (left() > 0 && this.#isGivenUp)
      log.warn(
        'cluster:handover',
        'etcd does not answer: other nodes own the partitions of this one when its lease has ended',
      )
    else if (left() > 0 && !this.#hasSuccessor()) log.info('cluster:handover', 'all other nodes are ending, too')
    else if (left() > 0) log.warn('cluster:handover', `${left()} of the logs of this node have no other owner ${took}`)
    else log.info('cluster:handover', `other nodes own the ${owned.length} partitions of this one ${took}`)
  }

  /** This node ends and etcd does not answer: nothing can be handed over. */
  givenUp(): void {
    this.#isGivenUp = true
    this.#lookAtOwners()
  }

  listed(nodes: ClusterNodes): void {
    this.#nodes = nodes
    this.#stand()
    this.#campaign()
  }

  members(members: readonly NodeFacts[]): void {
    const [before, after] = [membersText(this.#members), membersText(members)]
    this.#members = members
    if (before !== after) {
      this.#parts.log.info('cluster:members', `the members of the cluster are ${after || 'none'}`)
    }
    this.#routed()
    this.#campaign()
  }

  /** Takes whether this node has a lease. */
  member(isMember: boolean): void {
    if (!isMember)
      this.#parts.log.warn('cluster:members', 'this node has lost its lease: it is no member until it has another')
    this.#isMember = isMember
    this.#stand()
    this.#campaign()
  }

  /** Takes the election by which a partition's thread owns its log; undefined: it does not own it. */
  owns(partition: number, epoch: LogSequence | undefined): void {
    this.#campaigning.delete(partition)
    if (epoch === undefined) this.#owned.delete(partition)
    else this.#owned.set(partition, epoch)
    this.#tell()
    this.#routed()
  }

  /** Takes the election by which this node owns the metadata log; undefined: it does not own it. */
  coordinates(epoch: LogSequence | undefined): void {
    this.#campaigning.delete('control')
    this.#coordinates = epoch ?? (0 as LogSequence)
    this.#tell()
    this.#lookAtOwners()
  }

  /** The coordinating node as far as is known, this one or another; undefined while none is known. */
  get coordinator(): string | undefined {
    return knownCoordinator(this.#known())?.name
  }

  /** The other node that owns a partition as far as is known. */
  otherOwnerOf(partition: number): string | undefined {
    const owner = this.#routes().find((route) => route.partition === partition)?.node
    return owner === this.name ? undefined : owner
  }

  get memberNames(): readonly string[] {
    return this.#members.map(({ name }) => name)
  }

  /** The names of all nodes of the cluster, whether they run or not. */
  get nodeNames(): readonly string[] {
    return listedNames(this.#nodes)
  }

  /** Takes the members that this node cannot reach now. */
  unreachable(names: readonly string[]): void {
    this.#unreachable = names
    this.#tell()
    this.#stand()
  }

  /** The addresses of the other members that listen. */
  get others(): readonly NodeAddress[] {
    const others = this.#members.filter(({ name }) => name !== this.#parts.node)
    return others.flatMap(({ name, address }) => parseAddress(name, address) ?? [])
  }

  /** The address at which another member listens for nodes; undefined for one that is no member or does not listen. */
  addressOf(node: string): NodeAddress | undefined {
    const member = this.#members.find(({ name }) => name === node)
    return member && parseAddress(node, member.address)
  }

  #decide(): void {
    const isFull = this.#parts.isFull()
    if (isFull !== this.#isFull) {
      this.#isFull = isFull
      this.#tell()
    }
    this.#stand()
    for (const log of this.#chosen().release) void this.#release(log, drain_ms)
    this.#campaign()
  }

  /** Campaigns for the logs that belong to this node and have no owner whom most members reach. */
  #campaign(): void {
    if (this.#timer === undefined || !this.#isMember) return
    for (const log of this.#chosen().own) {
      if (this.#campaigning.has(log)) continue
      this.#campaigning.add(log)
      this.#instruct(log, 'own')
    }
  }

  /** Updates go on while notifications are drained: the next owner would send again whatever is not stored by then. */
  async #release(log: LogName, limit_ms: number): Promise<void> {
    if (this.#draining.has(log)) return
    this.#draining.add(log)
    await this.#parts.drain(log, limit_ms)
    this.#draining.delete(log)
    this.#instruct(log, 'release')
  }

  #instruct(log: LogName, what: 'own' | 'release'): void {
    if (log === 'control') this.#parts.coordinate(what)
    else this.#parts.instruct(log, what)
  }

  #chosen(): Choice {
    const owners = new Map<LogName, string>(this.#routes().map(({ partition, node }) => [partition, node]))
    const { coordinator } = this
    if (coordinator !== undefined) owners.set('control', coordinator)
    const owned = new Set<LogName>(this.#owned.keys())
    if (this.#coordinates > 0) owned.add('control')
    const facts = {
      ...{ listed: listedNames(this.#nodes), owners, now_ms: performance.now() },
      members: this.#members.filter(({ isLeaving }) => !isLeaving),
    }
    const choice = this.#choice.choice(facts, owned)
    this.#suspected(
      this.#choice
        .suspects(facts)
        .map((name) => `node ${name}`)
        .join(', '),
    )
    return choice
  }

  #suspected(suspects: string): void {
    if (suspects === this.#suspects) return
    const { log } = this.#parts
    if (suspects === '') log.info('cluster:suspects', 'most members can reach all others again')
    else log.warn('cluster:suspects', `most members cannot reach ${suspects}: other nodes are to own its partitions`)
    this.#suspects = suspects
  }

  /** Whether another member may own something. */
  #hasSuccessor(): boolean {
    return this.#members.some(({ name, isLeaving }) => name !== this.#parts.node && !isLeaving)
  }

  #routes(): readonly Route[] {
    return knownRoutes(this.#known())
  }

  /** What the other nodes have announced, and what is true of this node now, even if the others do not know it yet. */
  #known(): readonly NodeFacts[] {
    const others = this.#members.filter(({ name }) => name !== this.#parts.node)
    return [...others, this.#self()]
  }

  #routed(): void {
    this.#parts.routed(this.#routes(), this.others)
    this.#stand()
    this.#lookAtOwners()
  }

  #stand(): void {
    const now_ms = performance.now()
    const routes = this.#routes()
    for (const { partition } of routes) this.#lastOwned_ms[partition] = now_ms
    this.#parts.stands({
      hasLease: this.#isMember,
      listed: this.#nodes.nodes.length,
      members: this.#members.length,
      owned: this.#owned.size,
      unowned: this.#lastOwned_ms.filter((owned_ms) => owned_ms < now_ms - handedOver_ms).length,
      unreached: routes.filter(({ node }) => this.#unreachable.includes(node)).length,
    })
  }

  #tell(): void {
    this.#parts.tell(this.#self())
  }

  #self(): NodeFacts {
    const { node: name, hosts } = this.#parts
    const owns: readonly Ownership[] = Array.from(this.#owned, ([partition, epoch]) => ({ partition, epoch }))
    const [slot, address, isLeaving, coordinates] = [this.#slot, this.#address, this.#isLeaving, this.#coordinates]
    const [formats, unreachable, isFull] = [recordFormats, this.#unreachable, this.#isFull]
    const guarded = { hosts: hosts(), ports: this.#ports }
    return { name, slot, address, ...guarded, formats, unreachable, isLeaving, isFull, owns, coordinates }
  }
}

function membersText(members: readonly NodeFacts[]): string {
  return members.map(({ name }) => name).join(', ')
}
