import { DataFolder } from './broker-process.js'
import type { Bench } from './harness.js'
import { Helper } from './helper.js'
import type { AppendResult, AppendTask } from './raw-log.js'
import { inTurns, median, medianRate, rounded, times, wholeRate } from './rounds.js'

/** Turns of some 4, 20 and 100 updates are so long in the log. */
const sizes_bytes: readonly number[] = [4_000, 20_000, 100_000]

/** What the log costs beside what the disk costs. */
export const log: Bench = {
  name: 'log',
  question: 'durable appends to the write-ahead log by size, against a write and an fdatasync in the same folder',
  run: async (harness) => {
    const { duration_s, rounds } = harness.options
    const folder = new DataFolder()
    const appending = new Helper<AppendTask, AppendResult>('./raw-log.js')
    try {
      for (const record_bytes of sizes_bytes) {
        const appends = (way: AppendTask['way']) => (round: number) => {
          harness.report.progress(`log, ${way}, ${record_bytes} bytes, round ${round}`)
          return appending.ask({ path: folder.path, way, record_bytes, ...times(duration_s / rounds) })
        }
        const { measured, reference } = await inTurns(rounds, appends('log'), appends('bare'))
        harness.report.add({
          bench: 'log',
          case: 'append',
          record_bytes,
          rounds,
          appends_per_s: wholeRate(medianRate(measured)),
          p50_ms: rounded(median(measured.map(({ p50_ms }) => p50_ms))),
          p99_ms: rounded(median(measured.map(({ p99_ms }) => p99_ms))),
          bare_per_s: wholeRate(medianRate(reference)),
          bare_p50_ms: rounded(median(reference.map(({ p50_ms }) => p50_ms))),
          bare_p99_ms: rounded(median(reference.map(({ p99_ms }) => p99_ms))),
          ratio: rounded(medianRate(measured) / medianRate(reference)),
        })
      }
    } finally {
      await appending.end()
      folder.remove()
    }
  },
}
