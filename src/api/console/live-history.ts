import { uptime } from 'node:os'
import type { Resource } from '../../broker/operations/api.js'
import { durationBuckets } from '../../observe/measure/buckets.js'
import { verbIndex } from '../../observe/measure/counted-routes.js'
import type { Measures } from '../../observe/measure/measures.js'
import { type Nanoseconds, now } from '../../time.js'
import { bucketsShown, routesShown } from './live-figures.js'
import type { LiveHistory, LiveSample } from './live-frame.js'
import { type Reading, type Sample, SampleHistory } from './sample-history.js'

export const sampleInterval_ms = 5_000
/** How far back samples are kept. */
export const historyKept_s = 1800

/** The waits of more partitions are not kept: reading them would take too long. */
const mostWaitedFor = 32

const stages = ['request', 'mailbox', 'transaction', 'dbConnectionPool'] as const
const buckets = durationBuckets.bounds.length + 1
/** The sums of a sample: errors, notifications, then durations of updates, of reads, and waits by stage, each by bucket, cumulative. */
const [updates, reads, waits] = [2, 2 + buckets, 2 + 2 * buckets]
const shape = {
  kept: (1000 * historyKept_s) / sampleInterval_ms,
  sums: waits + stages.length * buckets,
  gauges: 1,
  longest_s: (3 * sampleInterval_ms) / 1000,
}

/** A route and a method by their indexes, with what was read of them last. */
interface Counted {
  readonly route: number
  readonly verb: number
  spent: Nanoseconds
  /** Whether that had changed: a duration is added up before it is counted, so its count may have been missed. */
  isFresh: boolean
  durations: readonly number[]
}

interface HistorySources {
  readonly measures: Measures
  readonly resources: () => readonly Resource[]
}

/** What the charts of the console show of the last half an hour: sums over the whole broker, without names. */
export class FigureHistory {
  readonly #sources: HistorySources
  readonly #history = new SampleHistory(shape, uptime())
  #counted: Readonly<Record<'updates' | 'reads', readonly Counted[]>> | undefined

  constructor(sources: HistorySources) {
    this.#sources = sources
  }

  /** Takes a sample; to be called every `sampleInterval_ms`. */
  take(): void {
    this.#history.take(this.#read(), uptime())
  }

  /** What has happened in the last seconds, until now. */
  last(seconds: number): LiveHistory {
    return { samples: this.#history.last(seconds, this.#read(), uptime(), now()).map(sampleShown) }
  }

  #read(): Reading {
    const { measures } = this.#sources
    const { sums, oldest } = measures.delivery
    this.#counted ??= this.#countedRoutes()
    return {
      sums: [
        measures.frontEnds.value('failures'),
        sums.value('notifications.accepted') + sums.value('notifications.simulated'),
        ...this.#durations(this.#counted.updates),
        ...this.#durations(this.#counted.reads),
        ...stages.flatMap((stage) => this.#waits(stage)),
      ],
      gauges: [oldest === undefined ? 0 : Math.max(0, now() - oldest) / 1000],
    }
  }

  /** The routes of entities. They are complete only after the start. */
  #countedRoutes() {
    const { measures, resources } = this.#sources
    const shown = routesShown(measures, resources())
    const by = (use: 'updates' | 'reads') =>
      shown.flatMap((names, route) =>
        names[use].map((name): Counted => ({ route, verb: verbIndex(name), spent: 0n, isFresh: false, durations: [] })),
      )
    return { updates: by('updates'), reads: by('reads') }
  }

  #durations(counted: readonly Counted[]): readonly number[] {
    const { traffic } = this.#sources.measures
    for (const each of counted) {
      // Most routes are not used at all, and reading all their buckets takes most of the time of a sample.
      const spent = traffic.spent(each.route, each.verb)
      if (spent === each.spent && !each.isFresh) continue
      each.isFresh = spent !== each.spent
      each.spent = spent
      each.durations = traffic.durations(each.route, each.verb).counts
    }
    return added(counted.map(({ durations }) => durations))
  }

  #waits(stage: (typeof stages)[number]): readonly (number | undefined)[] {
    const { measures } = this.#sources
    const { partitions } = measures.threads
    if (!measures.isOn('semWait') || partitions > mostWaitedFor) return new Array(buckets).fill(undefined)
    const numbers = stage === 'request' ? [0] : Array.from({ length: partitions }, (_, number) => number)
    return added(numbers.map((number) => measures.waits.lengths(stage, number)))
  }
}

function added(counts: readonly (readonly number[])[]): readonly number[] {
  const sums: number[] = new Array(buckets).fill(0)
  for (const each of counts) for (let at = 0; at < buckets; at += 1) sums[at] = (sums[at] ?? 0) + (each[at] ?? 0)
  return sums
}

function sampleShown({ time_ms, over_s, grown, gauges }: Sample): LiveSample {
  const [errors = 0, notified = 0] = grown
  const [lag_s = 0] = gauges
  const from = (first: number) =>
    bucketsShown({ bounds: [], counts: Array.from(grown.subarray(first, first + buckets)), sum: 0 })
  const waited = (stage: number) => from(waits + stage * buckets)
  return {
    ...{ time_ms, over_s: rounded(over_s), errors, notified, lag_s: rounded(lag_s) },
    updates: from(updates),
    reads: from(reads),
    waits: Number.isNaN(grown[waits])
      ? null
      : { request: waited(0), mailbox: waited(1), transaction: waited(2), dbConnectionPool: waited(3) },
  }
}

/** Milliseconds are enough. */
function rounded(seconds: number): number {
  return Math.round(1000 * seconds) / 1000
}
