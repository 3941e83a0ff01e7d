import { statfs } from 'node:fs/promises'
import { hostname } from 'node:os'
import type { Resource } from '../../broker/operations/api.js'
import { openManagementPort } from '../../flags/command-line.js'
import type { Options } from '../../flags/settings.js'
import { memoryLeft_bytes, memoryLimit_bytes, memoryUsed_bytes } from '../../machine.js'
import type { Alarms } from '../../observe/log/alarms.js'
import { durationBuckets } from '../../observe/measure/buckets.js'
import { verbs } from '../../observe/measure/counted-routes.js'
import { forwardResults } from '../../observe/measure/figures.js'
import { type Measures, threadsOf } from '../../observe/measure/measures.js'
import { rejections } from '../../observe/measure/requests.js'
import { errorCodes, statusCodes } from '../../observe/measure/route-table.js'
import { now } from '../../time.js'
import { versionFacts } from '../../version.js'
import { bucketsShown, partitionsShown, routesShown, trafficShown } from './live-figures.js'
import type { LiveAlarms, LiveDeliveries, LiveDisk, LiveFrame, LiveHello } from './live-frame.js'

export const frameInterval_ms = 1000

/** At most this many failing receivers are in a frame. */
const mostFailing = 10

export interface LiveSources {
  readonly measures: Measures
  /** The resources that the measures count by; complete only after the start. */
  readonly resources: () => readonly Resource[]
  readonly options: Options
  readonly alarms: Pick<Alarms, 'counts' | 'worst'>
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
    const partitions = partitionsShown(measures, this.#sequence)
    this.#sequence += 1
    return {
      processStart_ms: this.#processStart_ms,
      sequence: this.#sequence,
      time_ms: now(),
      ...trafficShown(measures),
      ...partitions,
      threads: this.#threads(),
      deliveries: this.#deliveries(),
      alarms: alarmsShown(alarms),
      memory: {
        used_bytes: memoryUsed_bytes(),
        resident_bytes: process.memoryUsage.rss(),
        left_bytes: memoryLeft_bytes(),
      },
      disk: this.#disk(partitions),
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
    const { measures, alarms } = this.#sources
    const { sums, outboxes, oldest } = measures.delivery
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
      failing: alarms
        .worst(['NotificationError', 'MqttConnectionError'], mostFailing)
        .map(({ subject, since, occurrences, reason }) => {
          return { receiver: subject ?? '', since_ms: since, failures: occurrences, reason }
        }),
    }
  }

  #disk({ partitions }: Pick<LiveFrame, 'partitions'>): LiveDisk {
    const { options, disk } = this.#sources
    const free = this.#free_bytes
    const fullest_bytes = Math.max(0, ...partitions.used_bytes)
    return {
      free_bytes: free ?? null,
      left_bytes: free === undefined ? null : Math.max(0, free - disk.keepFree_bytes),
      fullestMap: Math.round((fullest_bytes / (options.dbSizeMax_MiB * 2 ** 20)) * 1e4) / 1e4,
    }
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

function alarmsShown({ counts }: Pick<Alarms, 'counts'>): LiveAlarms {
  return Object.fromEntries(Object.entries(counts).map(([kind, { active, raised }]) => [kind, [active, raised]]))
}
