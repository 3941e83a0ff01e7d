import { ok, type Result } from '../../result.js'
import type { LogRecord, LogSequence } from '../wal/record-log.js'
import type { Engine, LogName, ReadRefusal } from './engine.js'

/** The interval at which a log is read even without a notification, since notifications are hints. */
const look_ms = 2000

/** The pause after a failed read. */
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
  /** Callbacks of the waits for records: each checks again. */
  readonly #waiting = new Set<() => void>()
  /** The number of threads that have followed each log; only the last one is alive. */
  readonly #followers = new Map<LogName, number>()
  #isClosed = false

  /** `heard` is called with the last record of each log whenever a log has a new one. */
  constructor(engine: FollowedEngine, heard: (log: LogName, last: LogSequence) => void) {
    this.#engine = engine
    this.#heads = engine.watchHeads((last) => {
      this.#last = last
      for (const [log, sequence] of last) heard(log, sequence)
      for (const look of [...this.#waiting]) look()
    })
  }

  /** Begins to follow a log for a new thread. The previous thread has ended: its questions are answered with no records. */
  begin(log: LogName): void {
    this.#followers.set(log, this.#follower(log) + 1)
    for (const look of [...this.#waiting]) look()
  }

  /** The records after one, as soon as there are any; none after `close`, or when another thread follows the log. */
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

  /** Resolves when there may be records after one, when `isOver` holds, or after the limit. */
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
