import type { MessagePort } from 'node:worker_threads'
import type { Result } from '../result.js'
import type { CounterTableMemory } from '../shared-memory/counter-table.js'
import type { SwitchMemory } from '../shared-memory/switches.js'
import type { Operations } from '../thread/service.js'
import type { LogSequence } from '../wal/record-log.js'
import type { ClusterState } from './cluster-state.js'
import type { Extent, LogName } from './engine.js'
import type { EtcdSettings } from './etcd-client.js'
import type { LogServerEnd } from './log-link.js'
import type { ClusterNodes, NodeFacts } from './node-facts.js'

/** What the thread is handed to begin with that has the connection to the engine. Plain data. */
export interface LogTask {
  readonly etcd: EtcdSettings
  /** Where the keys of the cluster begin. */
  readonly prefix: string
  /** Names this process in its records. */
  readonly node: string
  /** See `LogServiceParts`. */
  readonly heldMost_bytes: number
  readonly switches: SwitchMemory
  /** The table of `engineFigures`. */
  readonly measures: CounterTableMemory
  /** The table of `copyFigures`, where it says how far the logs are. */
  readonly copies: CounterTableMemory
  /** Where it says whether it runs, see `ThreadBeats`; nothing where nobody looks. */
  readonly beats?: SharedArrayBuffer | undefined
}

/** What the main thread has it do. Refusals are in words for the operator. */
export interface LogOperations {
  /** The cluster as it stands in the engine; nothing where none does. */
  describe(): Promise<Result<ClusterState | undefined, string>>
  /** This process is a node of the cluster, with a data folder of this id. */
  list(folder: string): Promise<Result<ClusterNodes, string>>
  /** Begins a cluster; says whether it was this process that has begun it. */
  begin(cluster: BegunCluster): Promise<Result<boolean, string>>
  /** Has the logs keep what comes behind these records, since this node fetches copies that have them. */
  hold(behind: ReadonlyMap<LogName, LogSequence>): Promise<Result<undefined, string>>
  /** What these logs have, and who the members are. */
  survey(logs: readonly LogName[]): Promise<Result<ClusterSurvey, string>>
  /** What stands in the engine about the cluster. */
  readState(): Promise<Result<ClusterState, string>>
  /** This node is no member any more. */
  leave(): Promise<void>
  /**
   * These nodes keep copies of the logs, which are claimed by the threads that have them. This node's own copies have applied these
   * records.
   */
  follow(nodes: ClusterNodes, applied: ReadonlyMap<LogName, LogSequence>): void
  /** Serves a link, whose port is handed over. */
  serve(port: MessagePort, end: Omit<LogServerEnd, 'port'>): void
  /** This node is a member from now on, and says this of itself: the first time and whenever it changes. */
  tell(self: NodeFacts): void
  /** The process ends: what the engine does not answer within this time is given up. Each time `givenUp` says so. */
  ending(patience_ms: number): void
  end(): void
}

export const logOperations: Operations<LogOperations> = {
  describe: 'asked',
  list: 'asked',
  begin: 'asked',
  hold: 'asked',
  survey: 'asked',
  readState: 'asked',
  leave: 'asked',
  follow: 'told',
  serve: 'told',
  tell: 'told',
  ending: 'told',
  end: 'told',
}

/** What it tells the main thread. */
export interface LogEvents {
  nodes(nodes: ClusterNodes): void
  members(members: readonly NodeFacts[]): void
  /** The URLs that the members of etcd announce: before the first answer to `describe`, and again and again. */
  engineUrls(urls: readonly string[]): void
  isMember(isMember: boolean): void
  givenUp(): void
}

export const logEvents: Operations<LogEvents> = {
  nodes: 'told',
  members: 'told',
  engineUrls: 'told',
  isMember: 'told',
  givenUp: 'told',
}

/** How a cluster is begun, see `Engine`. */
export interface BegunCluster {
  readonly description: string
  readonly after: ReadonlyMap<LogName, LogSequence>
  readonly nodes: string
}

/** What a node can know of its cluster before it is a member. */
export interface ClusterSurvey {
  readonly extents: ReadonlyMap<LogName, Extent>
  readonly members: readonly NodeFacts[]
}
