import { statfs } from 'node:fs/promises'
import { hostname } from 'node:os'
import type { Resource } from '../../broker/operations/api.js'
import type { ReceiverState } from '../../delivery/queue/courier-protocol.js'
import { openManagementPort } from '../../flags/command-line.js'
import type { Options } from '../../flags/settings.js'
import { memoryLeft_bytes, memoryLimit_bytes, memoryUsed_bytes } from '../../machine.js'
import { type AlarmCounts, type Alarms, alarmKinds } from '../../observe/log/alarms.js'
import { durationBuckets } from '../../observe/measure/buckets.js'
import { verbs } from '../../observe/measure/counted-routes.js'
import { forwardResults } from '../../observe/measure/figures.js'
import { type Measures, threadsOf } from '../../observe/measure/measures.js'
import { rejections } from '../../observe/measure/requests.js'
import { errorCodes, statusCodes } from '../../observe/measure/route-table.js'
import { now } from '../../time.js'
import { versionFacts } from '../../version.js'
import { type AlarmGroups, alarmGroups } from './alarm-groups.js'
import { bucketsShown, partitionsShown, routesShown, trafficShown } from './live-figures.js'
import type { LiveAlarms, LiveBacklog, LiveDeliveries, LiveDisk, LiveFrame, LiveHello } from './live-frame.js'

export const frameInterval_ms = 1000

/** The characters of a name that are shown. */
const longestName = 64
/** At most this many hosts of each kind of alarm are in a frame. */
const mostHosts = 10
/** At most this many receivers for which notifications wait are in a frame. */
const mostBacklogs = 20
/** The least time between two questions for them, and how often the time that the last answer took. */
const backlogs_ms = 2_000
const backlogsShare = 20

export interface LiveSources {
  readonly measures: Measures
  /** The resources that the measures count by; complete only after the start. */
  readonly resources: () => readonly Resource[]
  readonly options: Options
  readonly alarms: Pick<Alarms, 'counts' | 'active'>
  /** The receivers for which notifications wait, at most this many: those for which most wait. */
  readonly backlogs: (most: number) => Promise<readonly ReceiverState[]>
  /** Number of lines of the log that were dropped. */
  readonly dropped: () => number
  /** A folder on the disk of the data, and the space that updates leave free there. */
  readonly disk: { readonly path: string; readonly keepFree_bytes: number }
}

/** Takes the frames of the live figures [console: data]. */
export class LiveSampler {
  readonly #sources: LiveSources
  readonly #processStart_ms = Math.round(performance.timeOrigin)
  #sequence = 0
  #free_bytes: number | undefined
  #isAskingDisk = false
  #backlogs: readonly LiveBacklog[] = []
  /** When they may be asked for again, by `performance.now()`. */
  #nextBacklogs_ms = 0

  constructor(sources: LiveSources) {
    this.#sources = sources
  }

  /** The figures that do not change while the process lives. */
  hello(mayChange: boolean): LiveHello {
    const { measures, resources, options, disk } = this.#sources
    return {
      version: versionFacts.version,
      gitHash: versionFacts.git_hash,
      host: hostname(),
      name: (options.name ?? hostname()).slice(0, longestName),
      processStart_ms: this.#processStart_ms,
      interval_ms: frameInterval_ms,
      partitions: measures.threads.partitions,
      isDurable: options.writeConcern === 1,
      isReadOnly: !mayChange || openManagementPort(options) !== undefined,
      durationBounds_s: durationBuckets.bounds,
      routes: routesShown(measures, resources()),
      methods: verbs,
      statusCodes,
      errorCodes,
      rejections,
      forwardResults,
      threads: threadsOf(measures.threads).map(({ kind, number }) => ({ kind, number })),
      mailboxSize: options.mailboxSize,
      map_bytes: options.dbSizeMax_MiB * 2 ** 20,
      keepFree_bytes: disk.keepFree_bytes,
      memoryLimit_bytes: memoryLimit_bytes(),
    }
  }

  frame(): LiveFrame {
    const { measures, alarms, dropped } = this.#sources
    this.#askDisk()
    this.#askBacklogs()
    const partitions = partitionsShown(measures, this.#sequence)
    const { groups, hosts } = alarmGroups(alarms.active(), mostHosts)
    this.#sequence += 1
    return {
      processStart_ms: this.#processStart_ms,
      sequence: this.#sequence,
      time_ms: now(),
      ...trafficShown(measures),
      ...partitions,
      threads: this.#threads(),
      deliveries: this.#deliveries(),
      alarms: alarmsShown(alarms.counts, hosts),
      alarmGroups: groups,
      memory: {
        used_bytes: memoryUsed_bytes(),
        resident_bytes: process.memoryUsage.rss(),
        left_bytes: memoryLeft_bytes(),
      },
      disk: this.#disk(partitions.partitions),
      logLinesDropped: dropped(),
    }
  }

  #threads(): LiveFrame['threads'] {
    const { threads, threadTable, startedAt } = this.#sources.measures
    return threadsOf(threads).map(({ row }) => {
      const looked = threadTable.exact('looked_ns', row)
      return [
        Number(threadTable.exact('busy_ns', row) / 1_000_000n),
        looked === 0n ? 0 : Number((looked - startedAt) / 1_000_000n),
        threadTable.value('heapUsed_bytes', row),
        threadTable.value('heapLimit_bytes', row),
      ]
    })
  }

  #deliveries(): LiveDeliveries {
    const { measures } = this.#sources
    const { sums, outboxes, courier, oldest } = measures.delivery
    return {
      accepted: sums.value('notifications.accepted'),
      dropped: sums.value('notifications.dropped'),
      simulated: sums.value('notifications.simulated'),
      trouble: sums.value('trouble'),
      refused: sums.value('refused'),
      attempts: bucketsShown(sums.distribution('attemptDurations')),
      queueWaits: bucketsShown(sums.distribution('queueWaits')),
      outboxes: Array.from({ length: outboxes.rows }, (_, outbox) => {
        return [outboxes.value('depth', outbox), outboxes.value('bytes', outbox)]
      }),
      oldest_ms: oldest ?? null,
      withheld: courier.value('withheld'),
      backlogs: this.#backlogs,
    }
  }

  #disk({ used_bytes }: Pick<LiveFrame['partitions'], 'used_bytes'>): LiveDisk {
    const { options, disk } = this.#sources
    const free = this.#free_bytes
    const fullest_bytes = Math.max(0, ...used_bytes)
    return {
      free_bytes: free ?? null,
      left_bytes: free === undefined ? null : Math.max(0, free - disk.keepFree_bytes),
      fullestMap: Math.round((fullest_bytes / (options.dbSizeMax_MiB * 2 ** 20)) * 1e4) / 1e4,
    }
  }

  /**
   * Asks for the backlogs without waiting: a frame shows the previous answer. The work of an answer grows with the number of
   * receivers for which something waits, so a question that took long is asked less often.
   */
  #askBacklogs(): void {
    const asked_ms = performance.now()
    if (asked_ms < this.#nextBacklogs_ms) return
    this.#nextBacklogs_ms = Number.POSITIVE_INFINITY
    this.#sources
      .backlogs(mostBacklogs)
      .then(
        (receivers) => {
          this.#backlogs = receivers.flatMap(backlogShown)
        },
        () => {
          this.#backlogs = []
        },
      )
      .finally(() => {
        const answered_ms = performance.now()
        this.#nextBacklogs_ms = answered_ms + Math.max(backlogs_ms, backlogsShare * (answered_ms - asked_ms))
      })
  }

  /** Asks for the free space without waiting: a frame shows the previous answer. */
  #askDisk(): void {
    if (this.#isAskingDisk) return
    this.#isAskingDisk = true
    statfs(this.#sources.disk.path)
      .then(
        ({ bavail, bsize }) => {
          this.#free_bytes = bavail * bsize
        },
        () => {
          this.#free_bytes = undefined
        },
      )
      .finally(() => {
        this.#isAskingDisk = false
      })
  }
}

function backlogShown({ receiver, queueDepth, oldestQueued, meanLatency_ms }: ReceiverState): readonly LiveBacklog[] {
  if (oldestQueued === undefined) return []
  return [{ receiver, depth: queueDepth, oldest_ms: oldestQueued, latency_ms: meanLatency_ms ?? null }]
}

function alarmsShown(counts: AlarmCounts, hosts: AlarmGroups['hosts']): LiveAlarms {
  return Object.fromEntries(
    alarmKinds.map((kind) => [kind, [counts[kind].active, counts[kind].raised, hosts.get(kind) ?? 0]]),
  )
}
