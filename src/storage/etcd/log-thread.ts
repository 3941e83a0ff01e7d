import type { MessagePort } from 'node:worker_threads'
import type { Result } from '../../result.js'
import type { Operations } from '../../threads/calls/service.js'
import type { CounterTableMemory } from '../../threads/shared-memory/counter-table.js'
import type { SwitchMemory } from '../../threads/shared-memory/switches.js'
import type { LogSequence } from '../wal/record-log.js'
import type { ClusterState } from './cluster-state.js'
import type { Extent, LogName } from './engine.js'
import type { EtcdSettings } from './etcd-client.js'
import type { LogServerEnd } from './log-link.js'
import type { ClusterNodes, NodeFacts } from './node-facts.js'

/** The data that the thread with the connection to the engine begins with. Plain data. */
export interface LogTask {
  readonly etcd: EtcdSettings
  /** The prefix of the cluster's keys. */
  readonly prefix: string
  /** The name of this node in its records. */
  readonly node: string
  /** The bytes of a log that are kept for a replica that does not follow. */
  readonly heldMost_bytes: number
  readonly switches: SwitchMemory
  /** The table of `engineFigures`. */
  readonly measures: CounterTableMemory
  /** The table of `replicaFigures`, which has the progress of the logs. */
  readonly replicas: CounterTableMemory
  /** The beats of the thread, see `ThreadBeats`; undefined when it is not watched. */
  readonly beats?: SharedArrayBuffer | undefined
}

/** The operations for the main thread. Refusals are sentences for the operator. */
export interface LogOperations {
  /** The state of the cluster in the engine; undefined when there is no cluster. */
  describe(): Promise<Result<ClusterState | undefined, string>>
  /** Lists this node in the cluster, with the id of its data folder. */
  list(folder: string): Promise<Result<ClusterNodes, string>>
  /** Begins a cluster; returns whether this process has begun it. */
  begin(cluster: BegunCluster): Promise<Result<boolean, string>>
  /** Keeps the logs behind these records, since this node fetches snapshots up to them. */
  hold(behind: ReadonlyMap<LogName, LogSequence>): Promise<Result<undefined, string>>
  /** The extents of these logs, and the members. */
  survey(logs: readonly LogName[]): Promise<Result<ClusterSurvey, string>>
  /** The state of the cluster in the engine. */
  readState(): Promise<Result<ClusterState, string>>
  /** Ends the membership of this node. */
  leave(): Promise<void>
  /**
   * These nodes keep replicas of the logs, for which the threads that have them campaign. This node's own replicas have applied these
   * records.
   */
  follow(nodes: ClusterNodes, applied: ReadonlyMap<LogName, LogSequence>): void
  /** Serves a link, whose port is transferred. */
  serve(port: MessagePort, end: Omit<LogServerEnd, 'port'>): void
  /** Makes this node a member with these facts, or publishes new facts of it. */
  tell(self: NodeFacts): void
  /** The process ends: questions that the engine does not answer within this time are given up, with a `givenUp` event for each. */
  ending(patience_ms: number): void
  end(): void
}

export const logOperations: Operations<LogOperations> = {
  describe: 'ask',
  list: 'ask',
  begin: 'ask',
  hold: 'ask',
  survey: 'ask',
  readState: 'ask',
  leave: 'ask',
  follow: 'tell',
  serve: 'tell',
  tell: 'tell',
  ending: 'tell',
  end: 'tell',
}

/** The events for the main thread. */
export interface LogEvents {
  nodes(nodes: ClusterNodes): void
  members(members: readonly NodeFacts[]): void
  /** The URLs that the members of etcd announce: before the first response to `describe`, and again and again. */
  engineUrls(urls: readonly string[]): void
  isMember(isMember: boolean): void
  /** Another process, which has this address, keeps being the member of this node's name. */
  taken(address: string): void
  givenUp(): void
}

export const logEvents: Operations<LogEvents> = {
  nodes: 'tell',
  members: 'tell',
  engineUrls: 'tell',
  isMember: 'tell',
  taken: 'tell',
  givenUp: 'tell',
}

/** The parameters of a new cluster. */
export interface BegunCluster {
  readonly description: string
  readonly after: ReadonlyMap<LogName, LogSequence>
  readonly nodes: string
}

/** The facts about a cluster that a node can read before it is a member. */
export interface ClusterSurvey {
  readonly extents: ReadonlyMap<LogName, Extent>
  readonly members: readonly NodeFacts[]
}
