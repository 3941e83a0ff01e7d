import type { Result } from '../result.js'
import type { CounterTableMemory } from '../shared-memory/counter-table.js'
import type { SwitchMemory } from '../shared-memory/switches.js'
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

/** What the main thread tells it. Each of the first four is answered by a report, and so are `survey` and `hold`. */
export type LogInstruction =
  | { readonly kind: 'describe' }
  /** That this process is one of several nodes of the cluster, with a data folder of this id. */
  | { readonly kind: 'list'; readonly folder: string }
  | ({ readonly kind: 'begin' } & BegunCluster)
  | { readonly kind: 'claim'; readonly logs: readonly LogName[] }
  /** To have the logs keep what comes behind these records, since this node fetches copies that have them. */
  | { readonly kind: 'hold'; readonly behind: ReadonlyMap<LogName, LogSequence> }
  /**
   * That this process is one of several nodes, of which these keep copies: logs are claimed by the threads that have them. Its own
   * copies have applied these records.
   */
  | { readonly kind: 'follow'; readonly nodes: ClusterNodes; readonly applied: ReadonlyMap<LogName, LogSequence> }
  /** To say what these logs have, and who the members are. */
  | { readonly kind: 'survey'; readonly logs: readonly LogName[] }
  | { readonly kind: 'serve'; readonly end: LogServerEnd }
  /** That this node is a member from now on, and says this of itself: the first time and whenever it changes. */
  | { readonly kind: 'tell'; readonly self: NodeFacts }
  /** That this node is no member any more; answered by a report. */
  | { readonly kind: 'leave' }
  /** To read what stands in the engine about the cluster; answered by a report. */
  | { readonly kind: 'readState' }
  /** The process ends: what the engine does not answer within this time is given up. Reported each time. */
  | { readonly kind: 'ending'; readonly patience_ms: number }
  | { readonly kind: 'end' }

/** How a cluster is begun, see `Engine`. */
export interface BegunCluster {
  readonly description: string
  readonly after: ReadonlyMap<LogName, LogSequence>
  readonly nodes: string | undefined
}

/** What a node can know of its cluster before it is a member. */
export interface ClusterSurvey {
  readonly extents: ReadonlyMap<LogName, Extent>
  readonly members: readonly NodeFacts[]
}

/** What it tells the main thread; refusals are in words for the operator. */
export type LogReport =
  | { readonly kind: 'ready' }
  /** Nothing where no cluster stands. */
  | { readonly kind: 'described'; readonly state: Result<ClusterState | undefined, string> }
  | { readonly kind: 'listed'; readonly nodes: Result<ClusterNodes, string> }
  | { readonly kind: 'begun'; readonly isNew: Result<boolean, string> }
  | { readonly kind: 'surveyed'; readonly survey: Result<ClusterSurvey, string> }
  | { readonly kind: 'held'; readonly held: Result<undefined, string> }
  | { readonly kind: 'claimed'; readonly claimed: Result<undefined, string> }
  | { readonly kind: 'nodes'; readonly nodes: ClusterNodes }
  | { readonly kind: 'members'; readonly members: readonly NodeFacts[] }
  /** The URLs that the members of etcd announce: before the first `described`, and again and again. */
  | { readonly kind: 'engineUrls'; readonly urls: readonly string[] }
  | { readonly kind: 'isMember'; readonly isMember: boolean }
  | { readonly kind: 'left' }
  | { readonly kind: 'state'; readonly state: Result<ClusterState, string> }
  | { readonly kind: 'givenUp' }
  | { readonly kind: 'fenced'; readonly log: LogName; readonly last: LogSequence }
