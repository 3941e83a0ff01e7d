import { performance } from 'node:perf_hooks'
import type { Tenant } from '../src/model/context/entity.js'
import { openEnvironment } from '../src/storage/environment/environment.js'
import { recordKey } from '../src/storage/records/keys.js'
import type { Sequence } from '../src/threads/shared-memory/sequences.js'
import { now } from '../src/time.js'
import { helpWith } from './helper.js'
import { rawRecord } from './raw-record.js'
import { firstFresh } from './request.js'

/** Records that are written for a time, a number of them in a commit, each commit on disk before the next begins. */
export interface RawTask {
  /** An empty folder at first; it is the same in every task. */
  readonly path: string
  readonly records: number
  readonly recordsPerCommit: number
  readonly warmUp_s: number
  readonly duration_s: number
}

export interface RawResult {
  /** Records in a second, not commits. */
  readonly rate_per_s: number
}

const tenant = '' as Tenant

/**
 * What the storage does without a broker, as a process of its own: one thread that writes prepared records under the keys
 * that they have in a partition, in an environment as the broker opens it.
 */
class RawStore {
  readonly #environment
  readonly #texts: readonly string[]
  #next = 0

  constructor(path: string, records: number) {
    this.#environment = openEnvironment(path, { readOnly: false, sizeMax_bytes: 2 ** 34, maxReaders: 16 }, true)
    const date = now()
    this.#texts = Array.from({ length: records }, (_, number) => rawRecord(number, firstFresh, date))
  }

  measure({ recordsPerCommit, warmUp_s, duration_s }: RawTask): RawResult {
    this.#write(recordsPerCommit, warmUp_s)
    return { rate_per_s: this.#write(recordsPerCommit, duration_s) }
  }

  /** LMDB does not look at what a record was before: the same text again costs what another one does. */
  #write(recordsPerCommit: number, duration_s: number): number {
    const { root, records } = this.#environment
    const started_ms = performance.now()
    for (let written = recordsPerCommit; ; written += recordsPerCommit) {
      root.transactionSync(() => {
        for (let count = 0; count < recordsPerCommit; count++) {
          records.putSync(recordKey(tenant, (this.#next + 1) as Sequence), this.#texts[this.#next] ?? '')
          this.#next = (this.#next + 1) % this.#texts.length
        }
      })
      const elapsed_s = (performance.now() - started_ms) / 1000
      if (elapsed_s >= duration_s) return written / elapsed_s
    }
  }
}

let store: RawStore | undefined
helpWith<RawTask, RawResult>(async (task) => {
  store ??= new RawStore(task.path, task.records)
  return store.measure(task)
})
