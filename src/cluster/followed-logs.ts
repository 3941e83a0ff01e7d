import { ok, type Result } from '../result.js'
import type { LogRecord, LogSequence } from '../wal/record-log.js'
import type { Engine, LogName, ReadRefusal } from './engine.js'

/** A log is looked at so often even if nothing is heard of it: what is heard is a hint. */
const look_ms = 2000

/** How long after a failure records are read again. */
const again_ms = 200

type FollowedEngine = Pick<Engine, 'read' | 'watchHeads'>

/**
 * The logs of a cluster that this process follows: whoever has applied one up to a record learns when there are more, and
 * gets as many as have gathered. While they are applied the next ones gather.
 */
export class FollowedLogs {
  readonly #engine: FollowedEngine
  readonly #heads: { stop(): void }
  #last: ReadonlyMap<LogName, LogSequence> = new Map()
  /** Has everyone who waits for records look again. */
  readonly #waiting = new Set<() => void>()
  /** How many threads have followed each log: only the last one lives. */
  readonly #followers = new Map<LogName, number>()
  #isClosed = false

  /** `heard` is told of the last record of each log, whenever some log has another one. */
  constructor(engine: FollowedEngine, heard: (log: LogName, last: LogSequence) => void) {
    this.#engine = engine
    this.#heads = engine.watchHeads((last) => {
      this.#last = last
      for (const [log, sequence] of last) heard(log, sequence)
      for (const look of [...this.#waiting]) look()
    })
  }

  /** A thread begins to follow a log. The one before it has ended: its questions are answered with no records. */
  begin(log: LogName): void {
    this.#followers.set(log, this.#follower(log) + 1)
    for (const look of [...this.#waiting]) look()
  }

  /** The records after one, when there are any; none when this is closed before, or another thread follows the log. */
  async next(log: LogName, after: LogSequence): Promise<Result<readonly LogRecord[], ReadRefusal>> {
    const follower = this.#follower(log)
    const isOver = () => this.#isClosed || this.#follower(log) !== follower
    while (!isOver()) {
      const read = await this.#engine.read(log, after)
      if (read.ok ? read.value.length > 0 : read.error.kind === 'behind') return read
      await this.#changed(log, after, read.ok ? look_ms : again_ms, isOver)
    }
    return ok([])
  }

  close(): void {
    this.#isClosed = true
    this.#heads.stop()
    for (const look of [...this.#waiting]) look()
  }

  #follower(log: LogName): number {
    return this.#followers.get(log) ?? 0
  }

  /** Resolves when there may be records after one, when the wait is over, or after the limit. */
  #changed(log: LogName, after: LogSequence, limit_ms: number, isOver: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (isOver() || (this.#last.get(log) ?? 0) > after) end()
      }
      const end = (): void => {
        clearTimeout(timer)
        this.#waiting.delete(look)
        resolve()
      }
      const timer = setTimeout(end, limit_ms)
      this.#waiting.add(look)
      look()
    })
  }
}
