import { setTimeout as sleep } from 'node:timers/promises'
import type { Appended, LogSequence } from '../wal/record-log.js'
import { AppendedBytes } from './appended-bytes.js'
import type { Appender } from './appender.js'
import { encodeClusterRecord } from './cluster-record.js'
import type { Engine, LogName } from './engine.js'
import { FollowedLogs } from './followed-logs.js'
import { type LogQuestion, type LogResponses, type LogServerEnd, serveLogLink } from './log-link.js'
import type { ReplicaCheckpoints } from './replica-checkpoints.js'

export interface LogServiceParts {
  readonly engine: Pick<Engine, 'read' | 'extent' | 'truncate' | 'compact' | 'watchHeads'>
  readonly appender: Pick<Appender, 'append'>
  readonly node: string
  /** The progress of all replicas: what none of them needs is truncated. */
  readonly checkpoints: ReplicaCheckpoints
  /** Called with the last record of each log. */
  readonly heard: (log: LogName, last: LogSequence) => void
  /**
   * So much of a log is kept in the engine for a replica that does not follow, or is away. After that it has to fetch a checkpoint,
   * of which two others have one.
   */
  readonly heldMost_bytes: number
  /** Called when the process ends before the engine has answered: the offered records may be in the logs. */
  readonly givenUp: () => void
  /** Called when another node's record has the place of ours in a log, so that this process does not own it any more. */
  readonly fenced: () => void
  /** Called for a task in the background that has failed and will be repeated. */
  readonly neglected: (what: string, reason: string) => void
}

/** A log that this process owns. */
interface Owned {
  first: LogSequence
  last: LogSequence
  /** The record that is being appended, possibly for a thread that has died meanwhile. */
  appending: Promise<unknown> | undefined
  /** The record up to which the log is to be truncated; 0 for nothing. */
  truncate: LogSequence
  readonly bytes: AppendedBytes
}

/** Answers a question with `givenUp`, unless it was answered. */
interface GiveUp {
  (): void
  /** Whether it is a long poll for further records of a log. */
  readonly isForMore: boolean
}

/** The intervals of truncation and of compaction in etcd. */
const truncate_ms = 1000
const compact_ms = 10_000

/** The pause after a failure while a store is being opened. */
const again_ms = 200

/**
 * The logs of a cluster as one node has them: follows those that it does not own, and serves the threads that have them, which campaign for them and
 * lose them one by one.
 */
export class LogService {
  readonly #parts: LogServiceParts
  readonly #owned = new Map<LogName, Owned>()
  readonly #timers: readonly NodeJS.Timeout[]
  readonly #followed: FollowedLogs
  /** The questions under way. */
  readonly #open = new Set<GiveUp>()
  /** The limit of questions once the process ends. */
  #patience_ms: number | undefined

  constructor(parts: LogServiceParts) {
    this.#parts = parts
    this.#followed = new FollowedLogs(parts.engine, parts.heard)
    const truncating = setInterval(() => void this.#truncate(), truncate_ms)
    const compacting = setInterval(() => void this.#compact(), compact_ms)
    this.#timers = [truncating, compacting]
  }

  /** Answers the questions of a thread that writes or follows a log, in the place of the thread before it. */
  serve(end: LogServerEnd): void {
    this.#followed.begin(end.log)
    const respond = (question: LogQuestion) => this.#respond(end.log, question)
    serveLogLink(end, respond, ({ kind, upTo }) => {
      const { checkpoints } = this.#parts
      if (kind === 'truncate') checkpoints.reached(end.log, upTo)
      else checkpoints.covered(end.log, upTo)
    })
  }

  /** The process ends: from now on questions that the engine does not answer within this time are given up. */
  end(patience_ms: number): void {
    this.#patience_ms = patience_ms
    for (const giveUp of this.#open) if (!giveUp.isForMore) setTimeout(giveUp, patience_ms)
  }

  /** Gives up all questions under way: the process ends. */
  close(): void {
    for (const timer of this.#timers) clearInterval(timer)
    this.#followed.close()
    this.#patience_ms = 0
    for (const giveUp of this.#open) giveUp()
  }

  #respond(log: LogName, question: LogQuestion): Promise<LogResponses[LogQuestion['kind']]> {
    return new Promise((resolve, reject) => {
      // A log without new records does not mean that etcd is unreachable.
      const isForMore = question.kind === 'next'
      const give = (): void => {
        if (!this.#open.delete(giveUp)) return
        if (!isForMore) this.#parts.givenUp()
        resolve('givenUp')
      }
      const giveUp: GiveUp = Object.assign(give, { isForMore })
      this.#open.add(giveUp)
      if (this.#patience_ms !== undefined && !isForMore) setTimeout(giveUp, this.#patience_ms)
      this.#responseTo(log, question).then((response) => this.#open.delete(giveUp) && resolve(response), reject)
    })
  }

  #truncatable(log: LogName, upTo: LogSequence): void {
    const owned = this.#owned.get(log)
    // The last record always stays.
    if (owned) owned.truncate = Math.max(owned.truncate, Math.min(upTo, owned.last - 1)) as LogSequence
  }

  #of(log: LogName): Owned {
    const owned = this.#owned.get(log)
    if (owned === undefined) throw new Error(`log ${log} has no owner here`)
    return owned
  }

  async #responseTo(log: LogName, question: LogQuestion): Promise<LogResponses[LogQuestion['kind']]> {
    switch (question.kind) {
      case 'append': {
        const owned = this.#of(log)
        const appending = this.#appended(log, owned, question.expected, question.bytes)
        owned.appending = appending
        return appending
      }
      case 'extent':
        return this.#extent(log)
      case 'next':
      case 'read':
        return this.#followed.next(log, question.after)
      case 'campaign':
        return this.#elected(log, question.expected, question.metadataVersion)
    }
  }

  async #extent(log: LogName): Promise<LogResponses['extent']> {
    // A thread may have died during an append: the thread that replaces it must know the outcome.
    await this.#owned.get(log)?.appending
    // The thread that replaces it campaigns for the log again.
    this.#owned.delete(log)
    for (;;) {
      const extent = await this.#parts.engine.extent(log)
      if (extent.ok && extent.value !== undefined) return extent.value
      if (extent.ok) throw new Error(`the cluster has no log ${log}`)
      await sleep(again_ms)
    }
  }

  async #elected(log: LogName, expected: LogSequence, metadataVersion: LogSequence): Promise<Appended> {
    const { appender, node } = this.#parts
    const [payload, epoch] = [new Uint8Array(), 0 as LogSequence]
    const record = encodeClusterRecord({ kind: 'election', epoch, time_ms: Date.now(), metadataVersion, node, payload })
    const elected = await appender.append(log, expected, record)
    if (elected.ok) {
      const [first, truncate] = [elected.value, 0 as LogSequence]
      const bytes = new AppendedBytes()
      this.#owned.set(log, { first, last: elected.value, appending: undefined, truncate, bytes })
    }
    return elected
  }

  async #appended(
    log: LogName,
    owned: Owned,
    expected: LogSequence,
    bytes: Uint8Array,
  ): Promise<LogResponses['append']> {
    const appended = await this.#parts.appender.append(log, expected, bytes)
    if (appended.ok) {
      owned.last = appended.value
      owned.bytes.appended(appended.value, bytes.length)
    } else if (appended.error.kind === 'fenced') {
      this.#parts.fenced()
      this.#owned.delete(log)
    }
    return appended
  }

  /** Truncates all logs up to what checkpoints allow, in one request. */
  async #truncate(): Promise<void> {
    const { checkpoints, heldMost_bytes } = this.#parts
    const least = await checkpoints.synchronized()
    if (!least.ok) return this.#parts.neglected('be told of checkpoints', least.error.reason)
    for (const [log, { all, two }] of least.value) {
      const held_bytes = this.#owned.get(log)?.bytes.behind_bytes(all) ?? 0
      this.#truncatable(log, held_bytes > heldMost_bytes ? two : all)
    }
    const upTo = new Map<LogName, LogSequence>()
    for (const [log, owned] of this.#owned) {
      if (owned.truncate >= Math.max(1, owned.first)) upTo.set(log, owned.truncate)
    }
    if (upTo.size === 0) return
    const truncated = await this.#parts.engine.truncate(upTo)
    if (!truncated.ok) return this.#parts.neglected('truncate the logs', truncated.error.reason)
    for (const [log, last] of upTo) {
      const owned = this.#owned.get(log)
      if (owned) owned.first = (last + 1) as LogSequence
      owned?.bytes.truncated(last)
    }
  }

  async #compact(): Promise<void> {
    const compacted = await this.#parts.engine.compact()
    if (!compacted.ok) this.#parts.neglected('compact the history of its keys', compacted.error.reason)
  }
}
