import { ok, type Result } from '../../result.js'
import { jsonIn } from '../../unchecked-json.js'
import type { LogSequence } from '../wal/record-log.js'
import type { EngineUnavailable, LogName } from './engine.js'
import type { EtcdNodes } from './etcd-nodes.js'

/**
 * Progress over records that change nothing is sent once in this number of calls: an owner appends such a record every two seconds, and
 * nothing waits for it.
 */
const coveredEvery = 10

/** The record of a log up to which the checkpoints of all replicas reach, and the one up to which those of two replicas reach. */
export interface ReachedByReplicas {
  readonly all: LogSequence
  readonly two: LogSequence
}

/**
 * How far the checkpoints of all replicas reach: a log is not needed up to the lowest of them. A listed node that has reported nothing
 * yet needs everything.
 */
export class ReplicaCheckpoints {
  readonly #nodes: EtcdNodes
  readonly #node: string
  #listed: readonly string[]
  readonly #reached: Map<LogName, LogSequence>
  /** The records up to which a start of this node has nothing to apply. */
  readonly #covered = new Map<LogName, LogSequence>()
  #isTold = false
  #isCoveredTold = true
  #calls = 0

  /** `reached` has the last records in the checkpoints of this node. */
  constructor(nodes: EtcdNodes, node: string, listed: readonly string[], reached: ReadonlyMap<LogName, LogSequence>) {
    this.#nodes = nodes
    this.#node = node
    this.#listed = listed
    this.#reached = new Map(reached)
  }

  /** Sets the names of the nodes that keep replicas. */
  list(nodes: readonly string[]): void {
    this.#listed = nodes
  }

  /** Notes that a checkpoint of this node has everything up to a record of a log. */
  reached(log: LogName, upTo: LogSequence): void {
    this.#reached.set(log, upTo)
    this.#isTold = false
  }

  /** Notes that a start of this node has nothing to apply up to a record of a log. This is only shown, since it may not be on disk yet. */
  covered(log: LogName, upTo: LogSequence): void {
    this.#covered.set(log, upTo)
    this.#isCoveredTold = false
  }

  /** Sends the progress of this node, and returns that of all replicas, by log. */
  async synchronized(): Promise<Result<ReadonlyMap<LogName, ReachedByReplicas>, EngineUnavailable>> {
    this.#calls += 1
    if (!this.#isTold || (!this.#isCoveredTold && this.#calls >= coveredEvery)) {
      this.#isTold = true
      this.#isCoveredTold = true
      const written = await this.#nodes.tellCheckpoints(this.#node, checkpointsText(this.#reached, this.#covered))
      if (!written.ok) {
        this.#isTold = false
        return written
      }
      this.#calls = 0
    }
    const checkpoints = await this.#nodes.checkpoints()
    return checkpoints.ok ? ok(this.#byLogs(checkpoints.value)) : checkpoints
  }

  #byLogs(texts: ReadonlyMap<string, string>): ReadonlyMap<LogName, ReachedByReplicas> {
    const parsed = this.#listed.map((node) => parseCheckpoints(texts.get(node) ?? '{}'))
    const byLogs = [...this.#reached.keys()].map((log) => {
      const reached = parsed.map((checkpoints) => checkpoints.get(String(log)) ?? 0).sort((a, b) => b - a)
      const all = (reached.at(-1) ?? 0) as LogSequence
      return [log, { all, two: (reached[1] ?? all) as LogSequence }] as const
    })
    return new Map(byLogs)
  }
}

/**
 * The text of a node's progress: the last record of each log in its checkpoints, and the record up to which a start has nothing to
 * apply.
 */
export function checkpointsText(
  reached: ReadonlyMap<LogName, LogSequence>,
  covered: ReadonlyMap<LogName, LogSequence> = new Map(),
): string {
  // An earlier version, which does not know this member, reads only numbers.
  return JSON.stringify({ ...Object.fromEntries(reached), covered: Object.fromEntries(covered) })
}

/** Parses the last records in a node's checkpoints, by log; none if the text is malformed, so that nothing is truncated. */
export function parseCheckpoints(text: string): ReadonlyMap<string, number> {
  return sequencesIn(jsonIn(text))
}

/** Parses the records up to which a start of a node has nothing to apply, by log; empty if it has not reported them. */
export function parseCovered(text: string): ReadonlyMap<string, number> {
  const raw = jsonIn(text)
  return typeof raw === 'object' && raw !== null && 'covered' in raw ? sequencesIn(raw.covered) : new Map()
}

function sequencesIn(raw: unknown): ReadonlyMap<string, number> {
  if (typeof raw !== 'object' || raw === null) return new Map()
  return new Map(Object.entries(raw).filter((entry): entry is [string, number] => Number.isSafeInteger(entry[1])))
}
