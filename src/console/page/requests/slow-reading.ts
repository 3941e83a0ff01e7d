import { durationText } from '../format.js'
import { type Reader, readList, readMap, readMembers, readNumber, readOptional, readText } from '../raw.js'

/** A slow request. */
export interface SlowShown {
  /** Tells it from others. */
  readonly key: string
  readonly time_ms: number
  readonly method: string
  readonly route: string
  readonly status: number
  readonly request_bytes: number
  readonly duration_ms: number
  readonly stages_ms: ReadonlyMap<string, number>
  /** How many partitions it asked, and the one of them whose times are shown. */
  readonly partitions: number
  readonly partition: number | undefined
  /** As much of the commit as it took until the record was on disk. */
  readonly log_ms: number | undefined
  readonly tenant: string
  readonly correlator: string
}

/** What `/admin/slow` says; 0 when none is kept. */
export interface Slow {
  readonly above: number
  readonly requests: readonly SlowShown[]
}

const reading = readMembers({
  above: readNumber,
  requests: readList(
    readMembers({
      ...{ time_ms: readNumber, method: readText, route: readText, status: readNumber, request_bytes: readNumber },
      ...{ duration_ms: readNumber, stages_ms: readMap(readNumber), tenant: readText, correlator: readText },
      ...{ partitions: readNumber, partition: readOptional(readNumber), log_ms: readOptional(readNumber) },
    }),
  ),
})

/** Reads `/admin/slow`. */
export const readSlow: Reader<Slow> = (raw) => {
  const { above, requests } = reading(raw)
  const seen = new Map<string, number>()
  return {
    above,
    requests: requests.map((request) => {
      const name = `${request.time_ms} ${request.correlator} ${request.duration_ms}`
      const times = (seen.get(name) ?? 0) + 1
      seen.set(name, times)
      return { ...request, key: `${name} ${times}` }
    }),
  }
}

/** The stages of a request with their durations, and of its commit how long the log took. */
export function stagesText({ stages_ms, log_ms }: Pick<SlowShown, 'stages_ms' | 'log_ms'>): string {
  return [...stages_ms]
    .map(([name, spent_ms]) => {
      const text = `${name} ${durationText(spent_ms / 1000)}`
      return name === 'commit' && log_ms !== undefined ? `${text} (log ${durationText(log_ms / 1000)})` : text
    })
    .join(', ')
}

/** The partition that took longest, and of how many. */
export function partitionText({ partition, partitions }: Pick<SlowShown, 'partition' | 'partitions'>): string {
  if (partition === undefined) return 'none'
  return partitions === 1 ? String(partition) : `${partition}, slowest of ${partitions}`
}
