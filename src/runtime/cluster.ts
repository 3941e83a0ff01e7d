import { hostname } from 'node:os'
import { MessageChannel } from 'node:worker_threads'
import { type ClusterService, type ShownCluster, shownCluster } from '../broker/front-end/cluster-status.js'
import { checkJoin, twinRefusal, twinText } from '../cluster/link/join-check.js'
import { readLinkSecurity } from '../cluster/link/link-security.js'
import type { LinkCaller } from '../cluster/link/node-connection.js'
import { Reachability } from '../cluster/link/reachability.js'
import { fetchSnapshots } from '../cluster/link/snapshot-transfer.js'
import type { NodeAddress } from '../cluster/membership/route-table.js'
import { faultText } from '../faults.js'
import { hostsOf } from '../http/listen.js'
import type { MainLog } from '../observe/log/main-log.js'
import type { Measures } from '../observe/measure/measures.js'
import { stand } from '../observe/measure/meters.js'
import { err, ok, type Result } from '../result.js'
import type { WriterSettings } from '../storage/environment/environment.js'
import { ClusterLog } from '../storage/etcd/cluster-log.js'
import type { ClusterState } from '../storage/etcd/cluster-state.js'
import type { LogName } from '../storage/etcd/engine.js'
import type { EtcdSettings } from '../storage/etcd/etcd-client.js'
import { type LogLinkEnd, newLogLink } from '../storage/etcd/log-link.js'
import {
  type LogEvents,
  type LogOperations,
  type LogTask,
  logEvents,
  logOperations,
} from '../storage/etcd/log-thread.js'
import { type ClusterNodes, firstNode, type NodeFacts, type Route } from '../storage/etcd/node-facts.js'
import type { DataFolder } from '../storage/folder/data-folder.js'
import {
  type ClusterFact,
  forgetClusterFact,
  noteClusterFact,
  readClusterFact,
} from '../storage/folder/folder-cluster.js'
import type { LogSequence } from '../storage/wal/record-log.js'
import { LinkedThread } from '../threads/calls/linked-thread.js'
import { methodsOf } from '../threads/calls/service.js'
import { SenderTable } from '../threads/shared-memory/sender-table.js'
import { now } from '../time.js'
import { exitCodes } from './exit-codes.js'
import { announcedHosts, type GuardedEndpoints } from './guarded-endpoints.js'
import {
  type AppliedRecords,
  type ClusterOptions,
  checkpointsOf,
  clusterBegun,
  etcdSettings,
  followingMembers,
  joinRefusal,
  ownRecordsOf,
} from './join-rules.js'
import { RunningNodes } from './running-nodes.js'
import type { FrontNodes, ThreadPorts } from './tasks.js'

interface ClusterParts {
  readonly options: ClusterOptions
  readonly folder: DataFolder
  /** How the folder's stores are opened when the node joins. */
  readonly storage: WriterSettings
  readonly measures: Measures
  readonly guarded: GuardedEndpoints
  readonly log: MainLog
  /** Called with the reason when the broker cannot go on, and the exit code unless it is that of an internal error. */
  readonly fatal: (reason: string, code?: number) => void
  /** Tells the thread of a partition to become the owner of its log, or to release it. */
  readonly instruct: (partition: number, what: 'own' | 'release') => void
  /** Tells this node's replica of the metadata log to become its owner, or to release it. */
  readonly coordinate: (what: 'own' | 'release') => void
  /** Stops notifications of a log, as in `RunningNodes`. */
  readonly drain: (log: LogName, limit_ms: number) => Promise<void>
  /** Called with each step of a long start, see `Core`. */
  readonly goesOn: () => void
  /** Called when this node learns of other owners or other members. */
  readonly routed: (routes: readonly Route[], others: readonly NodeAddress[]) => void
}

type Thread = LinkedThread<LogTask & Pick<ThreadPorts, 'log'>, LogOperations>

interface Joined {
  readonly nodes: RunningNodes
  readonly caller: LinkCaller
  readonly reachability: Reachability
  /** The id of the folder from which the cluster was begun. */
  readonly folderId: string
}

/** This broker as a node of its cluster. A thread of its own talks to the logs. */
export class RunningCluster implements Pick<ClusterService, 'shown'> {
  readonly #parts: ClusterParts
  readonly #thread: Thread
  #joined: Joined | undefined
  #shown: Promise<Result<ShownCluster, string>> | undefined

  /** Refuses with a text for the operator when the broker cannot be a node of the cluster. */
  static async start(parts: ClusterParts): Promise<Result<RunningCluster, string>> {
    const etcd = etcdSettings(parts.options)
    if (!etcd.ok) return etcd
    const cluster = new RunningCluster(parts, etcd.value)
    const started = await cluster.#started().catch((fault: unknown) => err(faultText(fault)))
    if (started.ok) return ok(cluster)
    cluster.end()
    return err(`cluster ${parts.options.name} cannot be used: ${started.error}`)
  }

  private constructor(parts: ClusterParts, etcd: EtcdSettings) {
    const { options, log, measures } = parts
    this.#parts = parts
    const { port1, port2 } = new MessageChannel()
    log.take(port1)
    this.#thread = new LinkedThread({
      entry: new URL('../../workers/log.js', import.meta.url),
      task: {
        etcd,
        prefix: options.prefix,
        node: options.node,
        heldMost_bytes: options.logMax_MiB * 2 ** 20,
        switches: measures.memory.switches,
        measures: measures.memory.engine,
        replicas: measures.memory.replicas,
        beats: measures.memory.beats,
        log: port2,
      },
      transfer: [port2],
      far: logOperations,
      offered: methodsOf(this.#events(), logEvents),
      begins: () => measures.beats.begins(measures.beats.rows - 1),
    })
    this.#thread.ended.catch((fault: unknown) =>
      parts.fatal(`the thread of the cluster's log failed: ${String(fault)}`),
    )
  }

  /** The connection to a log for the thread that writes it; its port is to be transferred to that thread. */
  link(log: LogName): LogLinkEnd {
    const { writer, server } = newLogLink(log, this.#parts.options.node)
    const { port, ...end } = server
    this.#thread.far.serve(port, end)
    return writer
  }

  /** Opens the metadata log, which this thread writes. */
  openMetadata(applied: LogSequence): ClusterLog {
    const { beats, row } = this.#parts.measures
    return new ClusterLog(this.link('control'), applied, () => beats.beat(row))
  }

  get caller(): LinkCaller {
    return this.#in.caller
  }

  /**
   * The id of the folder from which the cluster was begun. Receivers of notifications see all nodes as one broker by
   * it.
   */
  get folderId(): string {
    return this.#in.folderId
  }

  get nodes(): RunningNodes {
    return this.#in.nodes
  }

  get #in(): Joined {
    if (this.#joined === undefined) throw new Error('the cluster is not joined yet')
    return this.#joined
  }

  /** What front ends are started with. */
  get forFronts(): FrontNodes {
    const { options, folder } = this.#parts
    const { nodes, caller } = this.#in
    const { port, ip } = options.link
    return {
      ...nodes.forFronts,
      link: {
        ...caller,
        slot: nodes.slot,
        senders: SenderTable.memory(folder.partitions),
        where: { port, hosts: hostsOf({ localIp: ip, family: 'both' }) },
      },
    }
  }

  /** Makes this node a member. All front ends listen for other nodes, on this port. */
  begin(port: number): void {
    const { guarded, options } = this.#parts
    const { host, port: advertised } = options.link.advertised ?? { host: hostname(), port: undefined }
    const name = host.includes(':') ? `[${host}]` : host
    guarded.listens(port)
    this.nodes.begin(`${name}:${advertised ?? port}`, guarded.ownPorts(port))
  }

  /** The cluster as the console shows it, see `ClusterService`. Callers share a request that is under way. */
  shown(): Promise<Result<ShownCluster, string>> {
    this.#shown ??= this.#readShown().finally(() => {
      this.#shown = undefined
    })
    return this.#shown
  }

  async #readShown(): Promise<Result<ShownCluster, string>> {
    const { options } = this.#parts
    const state = await this.#thread.far.readState()
    const own = { name: options.node, reads: options.reads }
    return state.ok ? ok(shownCluster(state.value, options.prefix, own)) : state
  }

  /** Tells the cluster that this node has left, so that the others need not wait for its lease to expire. */
  async leave(): Promise<void> {
    await this.#thread.far.leave()
  }

  /**
   * The process ends: what etcd does not answer within this time is given up. The next start finds out what became of
   * it.
   */
  ending(patience_ms: number): void {
    this.#thread.far.ending(patience_ms)
  }

  /** The process ends: releases everyone who waits for etcd. */
  end(): void {
    this.#joined?.nodes.end()
    this.#joined?.reachability.close()
    this.#thread.far.end()
  }

  async #started(): Promise<Result<undefined, string>> {
    const { options, folder, log } = this.#parts
    const security = await readLinkSecurity(options.link)
    if (!security.ok) return security
    const caller = { self: { cluster: options.name, node: options.node }, security: security.value }
    const fact = readClusterFact(folder.path)
    const described = await this.#described(fact)
    if (!described.ok) return described
    const { description } = described.value
    const members = described.value.members.map(({ facts }) => facts)
    this.#parts.guarded.members(members)
    const [known, twin] = await Promise.all([this.#known(members, caller), twinRefusal(members, caller)])
    if (!known.ok) return known
    const listed = await this.#thread.far.list(folder.id)
    if (!listed.ok) return listed
    if (twin !== undefined) return err(twin)
    const began = description.began?.id
    if (fact?.state !== 'member' || fact.began !== began)
      noteClusterFact(folder.path, { name: options.name, prefix: options.prefix, state: 'member', began })
    if (fact?.state !== 'member') {
      log.warn(
        'cluster:joined',
        `${folder.path} has become the folder of node ${options.node} of cluster ${options.name}: its logs are in etcd`,
      )
    }
    const fetched = await this.#fetched(caller)
    if (!fetched.ok) return fetched
    this.#thread.far.follow(listed.value, fetched.value)
    const nodes = this.#runningNodes(listed.value)
    const changed = (names: readonly string[]): void => nodes.unreachable(names)
    this.#joined = {
      nodes,
      caller,
      folderId: description.folder,
      reachability: new Reachability({ caller, log, changed }),
    }
    return ok(undefined)
  }

  /** The cluster, begun by this node if there is none yet. Refuses when the folder does not belong to it. */
  async #described(fact: ClusterFact | undefined): Promise<Result<ClusterState, string>> {
    const { options, folder } = this.#parts
    const before = await this.#thread.far.describe()
    if (!before.ok) return before
    if (before.value === undefined) {
      if (fact?.state === 'member') return err(emptiedText(this.#parts))
      const begun = await this.#begun()
      if (!begun.ok) return begun
    }
    // Another node may have begun the cluster first. Then this one joins it or is refused.
    const after = before.value === undefined ? await this.#thread.far.describe() : before
    if (!after.ok) return after
    if (after.value === undefined) return err(`what was begun at ${options.prefix} is gone`)
    const state = after.value
    const joining = { ...folder, fact: readClusterFact(folder.path), applied: () => this.#applied() }
    const reason = await joinRefusal(state, options, joining)
    if (reason === undefined) return ok(state)
    if (fact === undefined && state.description.folder !== folder.id) forgetClusterFact(folder.path)
    return err(reason)
  }

  /** Refuses unless the other members accept this node's requests and its clock agrees with theirs. */
  async #known(members: readonly NodeFacts[], caller: LinkCaller): Promise<Result<undefined, string>> {
    const verdict = await checkJoin(members, caller, now)
    if (verdict.kind === 'warned') this.#parts.log.warn('cluster:clock', verdict.reason)
    return verdict.kind === 'refused' ? err(verdict.reason) : ok(undefined)
  }

  /** Fetches from other nodes what the logs no longer hold. */
  #fetched(caller: LinkCaller): ReturnType<typeof fetchSnapshots> {
    const { folder, storage, log } = this.#parts
    const members = followingMembers(folder)
    const { far } = this.#thread
    const survey = () => far.survey([...members.keys()])
    const hold = (behind: ReadonlyMap<LogName, LogSequence>) => far.hold(behind)
    const settings = { ...storage, everyPage_bytes: 0, goesOn: this.#parts.goesOn }
    return fetchSnapshots({ members, folder: folder.id, settings, survey, hold, caller, log })
  }

  #runningNodes(nodes: ClusterNodes): RunningNodes {
    const { options, folder, log, measures, instruct, coordinate, drain, routed } = this.#parts
    return new RunningNodes({
      ...{
        node: options.node,
        nodes,
        partitions: folder.partitions,
        rebalanceDelay_ms: options.rebalanceDelay_s * 1000,
        reads: options.reads,
        log,
        instruct,
        coordinate,
        drain,
      },
      tell: (self) => this.#thread.far.tell(self),
      hosts: announcedHosts,
      isFull: () => this.#partitions().some((partition) => measures.partitions.value('isFull', partition) === 1),
      routed,
      stands: (standing) => stand(measures.node, standing),
    })
  }

  #takeMembers(members: readonly NodeFacts[]): void {
    this.#parts.guarded.members(members)
    this.#joined?.nodes.members(members)
    this.#joined?.reachability.put(this.#joined.nodes.others)
  }

  #takeListed(nodes: ClusterNodes): void {
    this.#parts.guarded.listed(nodes.nodes)
    this.#joined?.nodes.listed(nodes)
  }

  #events(): LogEvents {
    return {
      nodes: (nodes) => this.#takeListed(nodes),
      engineUrls: (urls) => this.#parts.guarded.engine(urls),
      members: (members) => this.#takeMembers(members),
      isMember: (isMember) => this.#joined?.nodes.member(isMember),
      taken: (address) => this.#parts.fatal(twinText(this.#parts.options.node, address), exitCodes.cluster),
      givenUp: () => this.#joined?.nodes.givenUp(),
    }
  }

  /**
   * Begins the cluster's logs behind what the folder's stores have applied, which is all that the node's own logs hold.
   */
  async #begun(): Promise<Result<undefined, string>> {
    const { options, folder } = this.#parts
    noteClusterFact(folder.path, { name: options.name, prefix: options.prefix, state: 'joining' })
    // The node is listed in the same transaction, so that nobody finds a cluster without nodes.
    const nodes = firstNode(options.node, folder.id)
    const isNew = await this.#thread.far.begin(clusterBegun(options.name, folder, await this.#applied(), nodes))
    return isNew.ok ? ok(undefined) : isNew
  }

  /**
   * The last record that each store has applied: a member's checkpoints say it; for any other folder its own logs do.
   */
  #applied(): Promise<AppliedRecords> {
    const { folder, storage, log } = this.#parts
    const isMember = readClusterFact(folder.path)?.state === 'member'
    return isMember ? checkpointsOf(folder, storage) : ownRecordsOf(folder, storage, log)
  }

  #partitions(): readonly number[] {
    return Array.from({ length: this.#parts.folder.partitions }, (_, number) => number)
  }
}

function emptiedText({ options, folder }: ClusterParts): string {
  return `${folder.path} belongs to it, but etcd holds nothing at ${options.prefix}: give the -clusterUrl and -clusterPrefix that it was begun with. If etcd has lost its data for good, \`rigel cluster recover\` begins the cluster anew with what a folder has, as docs/cluster.md says`
}
