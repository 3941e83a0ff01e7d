import type { Result } from '../result.js'
import type { CounterTableMemory } from '../shared-memory/counter-table.js'
import type { SwitchMemory } from '../shared-memory/switches.js'
import type { LogSequence } from '../wal/record-log.js'
import type { LogName } from './engine.js'
import type { EtcdSettings } from './etcd-client.js'
import type { LogServerEnd } from './log-link.js'

/** What the thread is handed to begin with that has the connection to the engine. Plain data. */
export interface LogTask {
  readonly etcd: EtcdSettings
  /** Where the keys of the cluster begin. */
  readonly prefix: string
  /** Names this process in its records. */
  readonly node: string
  readonly switches: SwitchMemory
  readonly measures: CounterTableMemory
}

/** What the main thread tells it. Each of the first three is answered by a report. */
export type LogInstruction =
  | { readonly kind: 'describe' }
  | { readonly kind: 'begin'; readonly description: string; readonly after: ReadonlyMap<LogName, LogSequence> }
  | { readonly kind: 'claim'; readonly logs: readonly LogName[] }
  | { readonly kind: 'serve'; readonly end: LogServerEnd }
  | { readonly kind: 'end' }

/** What it tells the main thread; refusals are in words for the operator. */
export type LogReport =
  | { readonly kind: 'ready' }
  | { readonly kind: 'described'; readonly text: Result<string | undefined, string> }
  | { readonly kind: 'begun'; readonly isNew: Result<boolean, string> }
  | { readonly kind: 'claimed'; readonly claimed: Result<undefined, string> }
  | { readonly kind: 'fenced'; readonly log: LogName; readonly last: LogSequence }
