import { ok, type Result } from '../result.js'
import type { LogSequence } from '../wal/record-log.js'
import type { EngineUnavailable, LogName } from './engine.js'
import type { EtcdNodes } from './etcd-nodes.js'

/**
 * What is new only of records that change nothing is told every so many exchanges: an owner appends one every two seconds, and nothing
 * waits for that.
 */
const coveredEvery = 10

/** Up to which record of a log the checkpoints of all copies are, and those of two of them. */
export interface ReachedByCopies {
  readonly all: LogSequence
  readonly two: LogSequence
}

/**
 * How far the checkpoints of all copies are: what stands in a log up to the lowest of them is needed by nobody. A node that
 * is listed and has said nothing yet needs everything.
 */
export class CopyCheckpoints {
  readonly #nodes: EtcdNodes
  readonly #node: string
  #listed: readonly string[]
  readonly #reached: Map<LogName, LogSequence>
  /** Up to these records a start of this node has nothing to apply. */
  readonly #covered = new Map<LogName, LogSequence>()
  #isTold = false
  #isCoveredTold = true
  #exchanges = 0

  /** `reached` says how far the checkpoints of this node are. */
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

  /** A checkpoint of this node has everything up to a record of a log. */
  reached(log: LogName, upTo: LogSequence): void {
    this.#reached.set(log, upTo)
    this.#isTold = false
  }

  /** A start of this node has nothing to apply up to a record of a log: only shown, since it may not have noted that yet. */
  covered(log: LogName, upTo: LogSequence): void {
    this.#covered.set(log, upTo)
    this.#isCoveredTold = false
  }

  /** Tells the others what is new, and gives what they have reached, by logs. */
  async exchanged(): Promise<Result<ReadonlyMap<LogName, ReachedByCopies>, EngineUnavailable>> {
    this.#exchanges += 1
    if (!this.#isTold || (!this.#isCoveredTold && this.#exchanges >= coveredEvery)) {
      this.#isTold = true
      this.#isCoveredTold = true
      const told = await this.#nodes.tellCheckpoints(this.#node, checkpointsText(this.#reached, this.#covered))
      if (!told.ok) {
        this.#isTold = false
        return told
      }
      this.#exchanges = 0
    }
    const said = await this.#nodes.checkpoints()
    return said.ok ? ok(this.#byLogs(said.value)) : said
  }

  #byLogs(said: ReadonlyMap<string, string>): ReadonlyMap<LogName, ReachedByCopies> {
    const parsed = this.#listed.map((node) => parseCheckpoints(said.get(node) ?? '{}'))
    const byLogs = [...this.#reached.keys()].map((log) => {
      const reached = parsed.map((checkpoints) => checkpoints.get(String(log)) ?? 0).sort((a, b) => b - a)
      const all = (reached.at(-1) ?? 0) as LogSequence
      return [log, { all, two: (reached[1] ?? all) as LogSequence }] as const
    })
    return new Map(byLogs)
  }
}

/** What a node says of its checkpoints: the last record of each log that they have, and up to where a start has nothing to apply. */
export function checkpointsText(
  reached: ReadonlyMap<LogName, LogSequence>,
  covered: ReadonlyMap<LogName, LogSequence> = new Map(),
): string {
  // A version that knows of no such member takes only numbers.
  return JSON.stringify({ ...Object.fromEntries(reached), covered: Object.fromEntries(covered) })
}

/** The sequences by logs in what a node has said of its checkpoints. */
export function parseCheckpoints(text: string): ReadonlyMap<string, number> {
  return sequencesIn(parsed(text))
}

/** Up to which record of each log a start of a node has nothing to apply; nothing where it has not said so. */
export function parseCovered(text: string): ReadonlyMap<string, number> {
  const raw = parsed(text)
  return typeof raw === 'object' && raw !== null && 'covered' in raw ? sequencesIn(raw.covered) : new Map()
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // As of a node that has said nothing: nothing is truncated.
  }
}

function sequencesIn(raw: unknown): ReadonlyMap<string, number> {
  if (typeof raw !== 'object' || raw === null) return new Map()
  return new Map(Object.entries(raw).filter((entry): entry is [string, number] => Number.isSafeInteger(entry[1])))
}
