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
  /** The name of this node. */
  readonly node: string
  readonly nodes: ClusterNodes
  readonly partitions: number
  /** See `OwnerChoice`. */
  readonly rebalanceDelay_ms: number
  readonly reads: ReadMode
  readonly log: Log
  /** Tells the other nodes what this one is. */
  readonly tell: (self: NodeFacts) => void
  /** Has the thread of a partition become the owner of its log, or release it. */
  readonly instruct: (partition: number, what: 'own' | 'release') => void
  /** Has the copy of the coordinator's log become its owner, or release it. */
  readonly coordinate: (what: 'own' | 'release') => void
  /**
   * Has notifications of a log that is about to be released be sent no more. Resolves when what was under way is stored, and at
   * the latest after about this time.
   */
  readonly drain: (log: LogName, limit_ms: number) => Promise<void>
  /** The addresses of this machine. */
  readonly hosts: () => readonly string[]
  /** Whether a partition has no room on the disk of this node. */
  readonly isFull: () => boolean
  /** Who owns what is known to be different now. */
  readonly routed: (routes: readonly Route[], others: readonly NodeAddress[]) => void
  /** How things stand now. */
  readonly stands: (standing: NodeStanding) => void
}

/** Logs are handed over one by one, so that few of them pause at one time. */
const decide_ms = 1000

/** For so long a partition may have no owner before that is said: as long as it is handed over. */
const handedOver_ms = 1000

/** For so long the notifications that are being sent are waited for when a log is released; half of the time, where that is limited. */
const drain_ms = 2000

/**
 * A node of a cluster, as its main thread knows it: who the members are, who owns which partition, and which of them
 * this node is to claim or to release. It decides who tries; the logs decide who succeeds.
 */
export class RunningNodes {
  readonly #parts: RunningNodesParts
  /** How far the log of each partition is on this node, see `PartitionPosition`. */
  readonly positions: readonly SharedArrayBuffer[]
  /** How far the metadata log is on this node. */
  readonly controlPosition = PartitionPosition.memory()
  readonly #slot: number
  readonly #owned = new Map<number, LogSequence>()
  /** Logs that this node was told to claim, and has not claimed yet. */
  readonly #claiming = new Set<LogName>()
  /** Logs whose notifications are waited for before they are released. */
  readonly #draining = new Set<LogName>()
  readonly #choice: OwnerChoice
  /** Since which claim this node coordinates; 0 while it does not. */
  #coordinates = 0 as LogSequence
  #timer: NodeJS.Timeout | undefined
  #nodes: ClusterNodes
  #members: readonly NodeFacts[] = []
  #isMember = false
  #address = ''
  /** Those of this node that are not for clients. */
  #ports: readonly number[] = []
  #unreachable: readonly string[] = []
  /** Members that most cannot reach, in words. */
  #suspects = ''
  #isLeaving = false
  #isFull = false
  /** When each partition had an owner last, by `performance.now()`. */
  readonly #lastOwned_ms: number[]
  /** Whether etcd has not answered in time since this node ends. */
  #isGivenUp = false
  /** Hears of new owners while this node hands over what it has. */
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

  /** The name of this node. */
  get name(): string {
    return this.#parts.node
  }

  /** How far the log of each outbox is: of the partitions, then of the coordinator. */
  get outboxes(): readonly SharedArrayBuffer[] {
    return [...this.positions, this.controlPosition]
  }

  /** The number of this node in the cluster. */
  get slot(): number {
    return this.#slot
  }

  get reads(): ReadMode {
    return this.#parts.reads
  }

  /** What front ends begin with. */
  get forFronts(): Omit<FrontNodes, 'link'> {
    const { positions, controlPosition, reads, others } = this
    return { positions, controlPosition, reads, routes: this.#routes(), others }
  }

  /**
   * All partitions are open: this node is a member from now on, which others reach there. These of its ports
   * are not for clients.
   */
  begin(address: string, ports: readonly number[]): void {
    this.#address = address
    this.#ports = ports
    this.#tell()
    this.#timer = setInterval(() => this.#decide(), decide_ms)
  }

  /** Claims nothing more. */
  end(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /**
   * Releases what this node owns, so that other members own it, and claims nothing more. Resolves when all of it has another owner
   * as far as is known here, another node coordinates if this one did, at the limit, or as soon as no other member stays.
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
    const logs = new Set<LogName>([...owned, ...this.#claiming])
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
      log.warn('cluster:handover', `etcd does not answer: others own what this node has had when its lease is over`)
    else if (left() > 0 && !this.#hasSuccessor()) log.info('cluster:handover', 'all other nodes end as well')
    else if (left() > 0) log.warn('cluster:handover', `${left()} of the logs of this node have no other owner ${took}`)
    else log.info('cluster:handover', `other nodes own the ${owned.length} partitions of this one ${took}`)
  }

  /** While this node ends, etcd does not answer: nothing can be handed over. */
  givenUp(): void {
    this.#isGivenUp = true
    this.#lookAtOwners()
  }

  listed(nodes: ClusterNodes): void {
    this.#nodes = nodes
    this.#stand()
    this.#claim()
  }

  members(members: readonly NodeFacts[]): void {
    const [before, after] = [membersText(this.#members), membersText(members)]
    this.#members = members
    if (before !== after) {
      this.#parts.log.info('cluster:members', `the members of the cluster are ${after || 'none'}`)
    }
    this.#routed()
    this.#claim()
  }

  /** Whether this node has a lease. */
  member(isMember: boolean): void {
    if (!isMember)
      this.#parts.log.warn('cluster:members', 'this node has lost its lease: it is no member until it has another')
    this.#isMember = isMember
    this.#stand()
    this.#claim()
  }

  /** What the thread of a partition says: since which claim it owns the log, or that it does not. */
  owns(partition: number, epoch: LogSequence | undefined): void {
    this.#claiming.delete(partition)
    if (epoch === undefined) this.#owned.delete(partition)
    else this.#owned.set(partition, epoch)
    this.#tell()
    this.#routed()
  }

  /** What the copy of the coordinator's log says: since which claim this node owns it, or that it does not. */
  coordinates(epoch: LogSequence | undefined): void {
    this.#claiming.delete('control')
    this.#coordinates = epoch ?? (0 as LogSequence)
    this.#tell()
    this.#lookAtOwners()
  }

  /** The node that coordinates as far as is known, this one or another; nothing while none is known to. */
  get coordinator(): string | undefined {
    return knownCoordinator(this.#known())?.name
  }

  /** The other node that owns a partition as far as is known. */
  otherOwnerOf(partition: number): string | undefined {
    const owner = this.#routes().find((route) => route.partition === partition)?.node
    return owner === this.name ? undefined : owner
  }

  /** The names of the members. */
  get memberNames(): readonly string[] {
    return this.#members.map(({ name }) => name)
  }

  /** The names of all nodes of the cluster, whether they run or not. */
  get nodeNames(): readonly string[] {
    return listedNames(this.#nodes)
  }

  /** Members that this node cannot reach now. */
  unreachable(names: readonly string[]): void {
    this.#unreachable = names
    this.#tell()
    this.#stand()
  }

  /** Where the other members listen that do. */
  get others(): readonly NodeAddress[] {
    const others = this.#members.filter(({ name }) => name !== this.#parts.node)
    return others.flatMap(({ name, address }) => parseAddress(name, address) ?? [])
  }

  /** Where another member listens for others; nothing for one that is no member, or does not. */
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
    this.#claim()
  }

  /** Has this node claim what belongs to it and has no owner that most members reach. */
  #claim(): void {
    if (this.#timer === undefined || !this.#isMember) return
    for (const log of this.#chosen().claim) {
      if (this.#claiming.has(log)) continue
      this.#claiming.add(log)
      this.#instruct(log, 'own')
    }
  }

  /** Updates go on meanwhile. The next owner would send again what is not stored by then. */
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
    else log.warn('cluster:suspects', `most members cannot reach ${suspects}: others are to own what it has`)
    this.#suspects = suspects
  }

  /** Whether another member may own something. */
  #hasSuccessor(): boolean {
    return this.#members.some(({ name, isLeaving }) => name !== this.#parts.node && !isLeaving)
  }

  #routes(): readonly Route[] {
    return knownRoutes(this.#known())
  }

  /** What others say of themselves, and what is so of this node, which they may not have heard yet. */
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
