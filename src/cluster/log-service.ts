import { setTimeout as sleep } from 'node:timers/promises'
import { err, ok, type Result } from '../result.js'
import type { Appended, LogSequence } from '../wal/record-log.js'
import { AppendedBytes } from './appended-bytes.js'
import type { Appender } from './appender.js'
import { encodeClusterRecord } from './cluster-record.js'
import type { CopyCheckpoints } from './copy-checkpoints.js'
import type { Engine, Extent, LogName } from './engine.js'
import { FollowedLogs } from './followed-logs.js'
import { type LogAnswers, type LogQuestion, type LogServerEnd, serveLogLink } from './log-link.js'

export interface LogServiceParts {
  readonly engine: Omit<Engine, 'append' | 'begin'>
  readonly appender: Pick<Appender, 'append' | 'close'>
  readonly node: string
  /**
   * So much of a log is kept in the engine for a copy that does not follow, or is away. After that it has to fetch a checkpoint,
   * of which two others have one.
   */
  readonly heldMost_bytes: number
  /** The process ends, and the engine has not answered in time: what was offered may stand in the logs. */
  readonly givenUp: () => void
  /** Somebody else's record stands in a log where ours was to stand: this process is its owner no more. */
  readonly fenced: (log: LogName, last: LogSequence) => void
  /** Told of a task in the background that failed and will be repeated. */
  readonly neglected: (what: string, reason: string) => void
}

/** What this process knows of a log that it owns. */
interface Owned {
  readonly claim: LogSequence
  first: LogSequence
  last: LogSequence
  /** A record that is being appended, maybe for a thread that has died meanwhile. */
  appending: Promise<unknown> | undefined
  /** Up to this record the log is to be truncated; 0 for nothing. */
  truncate: LogSequence
  readonly bytes: AppendedBytes
}

/** Answers a question with `givenUp`, unless it was answered. */
interface GiveUp {
  (): void
  /** Whether it is a question for more of a log, which waits for as long as there is none. */
  readonly isForMore: boolean
}

/** How often what checkpoints have made dispensable is deleted, and how often etcd lets go of its room. */
const truncate_ms = 1000
const compact_ms = 10_000

/** How long reading is tried for a store that is being opened. */
const patience_ms = 10_000
const again_ms = 200

/** How often a claim may be overtaken by that of somebody else before this process gives in. */
const claimsMost = 5

/** The logs of a cluster as one process has them: claims them, and serves the threads that write them. */
export class LogService {
  readonly #parts: LogServiceParts
  readonly #owned = new Map<LogName, Owned>()
  #timers: readonly NodeJS.Timeout[] = []
  #followed: FollowedLogs | undefined
  #checkpoints: CopyCheckpoints | undefined
  /** Give up each question that is under way. */
  readonly #open = new Set<GiveUp>()
  /** How long questions are under way at most, once the process ends. */
  #patience_ms: number | undefined

  constructor(parts: LogServiceParts) {
    this.#parts = parts
  }

  /** Makes this process the owner of logs: whoever was it before is fenced. Refuses in words when that does not succeed. */
  async claim(logs: readonly LogName[]): Promise<Result<undefined, string>> {
    const claims = await Promise.all(logs.map((log) => this.#claimed(log)))
    const refused = claims.find((claim) => !claim.ok)
    if (refused && !refused.ok) return refused
    this.#begin()
    return ok(undefined)
  }

  /**
   * From now on this process is one of several nodes: it follows the logs that it does not own, the threads that have them
   * claim and lose them one by one, and what some copy may need is not truncated. `heard` is told of the last record of each log.
   */
  follow(checkpoints: CopyCheckpoints, heard: (log: LogName, last: LogSequence) => void): void {
    this.#followed = new FollowedLogs(this.#parts.engine, heard)
    this.#checkpoints = checkpoints
    this.#begin()
  }

  #begin(): void {
    const truncating = setInterval(() => void this.#truncate(), truncate_ms)
    const compacting = setInterval(() => void this.#compact(), compact_ms)
    this.#timers = [truncating, compacting]
  }

  /** Answers the questions of a thread that writes or follows a log, in the place of the thread before it. */
  serve(end: LogServerEnd): void {
    this.#followed?.begin(end.log)
    const answer = (question: LogQuestion) => this.#answer(end.log, question)
    serveLogLink(end, answer, ({ kind, upTo }) => {
      if (kind === 'truncate') this.#dispensable(end.log, upTo)
      else this.#checkpoints?.covered(end.log, upTo)
    })
  }

  /** The process ends: from now on what the engine does not answer within this time is given up. */
  end(patience_ms: number): void {
    this.#patience_ms = patience_ms
    for (const giveUp of this.#open) if (!giveUp.isForMore) setTimeout(giveUp, patience_ms)
  }

  /** Gives up what is under way: the process ends. */
  close(): void {
    for (const timer of this.#timers) clearInterval(timer)
    this.#followed?.close()
    this.#patience_ms = 0
    for (const giveUp of this.#open) giveUp()
    this.#parts.appender.close()
    this.#parts.engine.close()
  }

  #answer(log: LogName, question: LogQuestion): Promise<LogAnswers[LogQuestion['kind']]> {
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
      this.#answered(log, question).then((answer) => this.#open.delete(giveUp) && resolve(answer), reject)
    })
  }

  async #claimed(log: LogName): Promise<Result<undefined, string>> {
    const { engine, appender } = this.#parts
    for (let claims = 0; claims < claimsMost; claims += 1) {
      const extent = await engine.extent(log)
      if (!extent.ok) return err(extent.error.reason)
      if (extent.value === undefined) return err(`the cluster has no log ${log}: its data in etcd are damaged`)
      const { last } = extent.value
      const late = sleep(patience_ms, undefined, { ref: false })
      const appended = await Promise.race([appender.append(log, last, this.#claimRecord()), late])
      if (appended === undefined) return err(`etcd took no record for log ${log} within ${patience_ms / 1000} s`)
      if (appended.ok) {
        this.#enter(log, extent.value, appended.value)
        return ok(undefined)
      }
      if (appended.error.kind === 'etcdFull' || appended.error.kind === 'diskFull') return err(fullText)
      if (appended.error.kind === 'invalid') return err(appended.error.reason)
      if (appended.error.kind === 'tooLarge') return err('etcd takes not even an empty record: see --max-request-bytes')
    }
    return err(`another process claims log ${log} at the same time: one of the two has to end`)
  }

  #enter(log: LogName, { first }: Extent, claim: LogSequence): void {
    const truncate = 0 as LogSequence
    const bytes = new AppendedBytes()
    this.#owned.set(log, { claim, first: first || claim, last: claim, appending: undefined, truncate, bytes })
  }

  #dispensable(log: LogName, upTo: LogSequence): void {
    if (this.#checkpoints) this.#checkpoints.reached(log, upTo)
    else this.#truncatable(log, upTo)
  }

  #truncatable(log: LogName, upTo: LogSequence): void {
    const owned = this.#owned.get(log)
    // The last record always stays.
    if (owned) owned.truncate = Math.max(owned.truncate, Math.min(upTo, owned.last - 1)) as LogSequence
  }

  #of(log: LogName): Owned {
    const owned = this.#owned.get(log)
    if (owned === undefined) throw new Error(`log ${log} was not claimed`)
    return owned
  }

  async #answered(log: LogName, question: LogQuestion): Promise<LogAnswers[LogQuestion['kind']]> {
    switch (question.kind) {
      case 'append': {
        const owned = this.#of(log)
        const appending = this.#appended(log, owned, question.expected, question.bytes)
        owned.appending = appending
        return appending
      }
      case 'extent':
        return this.#extent(log)
      case 'read':
        return this.#read(log, question.after)
      case 'next':
        if (this.#followed === undefined) throw new Error(`log ${log} is not followed`)
        return this.#followed.next(log, question.after)
      case 'claim':
        return this.#claimedBehind(log, question.expected, question.control)
    }
  }

  async #extent(log: LogName): Promise<LogAnswers['extent']> {
    const owned = this.#owned.get(log)
    // Of a thread that has died over it: whoever replaces it has to know what became of it.
    await owned?.appending
    if (owned && this.#followed === undefined) return { first: owned.first, last: owned.last, claim: owned.claim }
    // Whoever replaces it claims the log again.
    this.#owned.delete(log)
    for (;;) {
      const extent = await this.#parts.engine.extent(log)
      if (extent.ok && extent.value !== undefined) return { ...extent.value, claim: 0 as LogSequence }
      if (extent.ok) throw new Error(`the cluster has no log ${log}`)
      await sleep(again_ms)
    }
  }

  async #claimedBehind(log: LogName, expected: LogSequence, control: LogSequence): Promise<Appended> {
    const { appender } = this.#parts
    const claimed = await appender.append(log, expected, this.#claimRecord(control))
    if (claimed.ok) this.#enter(log, { first: 0 as LogSequence, last: expected }, claimed.value)
    return claimed
  }

  #claimRecord(control = 0 as LogSequence): Buffer {
    const [payload, epoch] = [new Uint8Array(), 0 as LogSequence]
    const { node } = this.#parts
    return encodeClusterRecord({ kind: 'claim', epoch, time_ms: Date.now(), control, node, payload })
  }

  async #appended(log: LogName, owned: Owned, expected: LogSequence, bytes: Uint8Array): Promise<LogAnswers['append']> {
    const appended = await this.#parts.appender.append(log, expected, bytes)
    if (appended.ok) {
      owned.last = appended.value
      owned.bytes.appended(appended.value, bytes.length)
    } else if (appended.error.kind === 'fenced') {
      this.#parts.fenced(log, appended.error.last)
      if (this.#followed !== undefined) {
        this.#owned.delete(log)
        return appended
      }
      // Nothing may be answered that the new owner does not know of: the process ends.
      return new Promise(() => {})
    }
    return appended
  }

  async #read(log: LogName, after: LogSequence): Promise<LogAnswers['read']> {
    const until = performance.now() + patience_ms
    for (;;) {
      const read = await this.#parts.engine.read(log, after)
      if (read.ok || read.error.kind === 'behind' || performance.now() > until) return read
      await sleep(again_ms)
    }
  }

  /** What checkpoints have made dispensable, of all logs in one request. */
  async #truncate(): Promise<void> {
    if (this.#checkpoints) {
      const least = await this.#checkpoints.exchanged()
      if (!least.ok) return this.#parts.neglected('be told of checkpoints', least.error.reason)
      for (const [log, { all, two }] of least.value) {
        const held_bytes = this.#owned.get(log)?.bytes.behind_bytes(all) ?? 0
        this.#truncatable(log, held_bytes > this.#parts.heldMost_bytes ? two : all)
      }
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

/** What is said when etcd has raised its alarm. */
const fullText =
  'etcd is full (alarm NOSPACE): make room with `etcdctl compaction` and `etcdctl defrag`, or raise --quota-backend-bytes; then `etcdctl alarm disarm`'
