import { errorFacts, type Log } from '../../observe/log/log.js'
import type { RowOf } from '../../observe/measure/figure-table.js'
import type { backupFigures } from '../../observe/measure/figures.js'
import { err, ok, type Result } from '../../result.js'
import type { BackupPoint } from '../../storage/archive/archive.js'
import type { PinnedFile, Pins } from '../../storage/records/store.js'
import { now } from '../../time.js'
import type { BackupRefusal, BackupService } from '../front-end/services.js'
import type { Partitions, PinnedPartitions } from './partitions.js'

interface BackupsParts {
  /** Waits until this node has all that was acknowledged before, on any node; refuses when that is not known in time. */
  readonly confirm: () => Promise<Result<undefined, unknown>>
  /** Id and format of the data folder. */
  readonly folder: Pick<BackupPoint, 'folder' | 'format'>
  readonly partitions: Pick<Partitions<object>, 'pin'>
  /** The pins of the metadata store. */
  readonly metadata: () => Pins
  readonly log: Log
  readonly measures: RowOf<typeof backupFigures>
}

interface Begun {
  readonly number: number
  readonly pinned: PinnedPartitions
  readonly at_ms: number
  heard_ms: number
}

/** A backup is given up after this silence, since the files grow while its moment is kept. */
const silence_ms = 15_000

/** The least average rate of a backup after its first minute. */
const slowest_bytesPerSecond = 2 ** 20
const firstMinute_ms = 60_000

const reasons: Readonly<Record<BackupRefusal['kind'], string>> = {
  underWay: 'another one is under way',
  notConfirmed: 'the owner of a partition did not confirm in time what was acknowledged',
  notTogether: 'the partitions did not stand still together',
  unreadable: 'a file of the data folder cannot be read, see the line before',
  notApplied: 'the disk has no room for the last updates of a partition, which are only in its log',
}

/** Keeps the data of one moment while it is copied. */
export class Backups implements BackupService {
  readonly #parts: BackupsParts
  #number = 0
  /** Set from the beginning of a backup until everything is released. */
  #isBusy = false
  #begun: Begun | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(parts: BackupsParts) {
    this.#parts = parts
  }

  async begin(): Promise<Result<BackupPoint, BackupRefusal>> {
    const { log, measures } = this.#parts
    if (this.#isBusy) {
      measures.add('results.refused')
      return err({ kind: 'underWay' })
    }
    this.#isBusy = true
    let point: Result<BackupPoint, BackupRefusal> = err({ kind: 'unreadable' })
    try {
      point = (await this.#parts.confirm()).ok ? await this.#pinned() : err({ kind: 'notConfirmed' })
    } finally {
      if (!point.ok) {
        this.#isBusy = false
        measures.add('results.refused')
      }
    }
    if (!point.ok) log.warn('storage:backup', `a backup was refused: ${reasons[point.error.kind]}`)
    else {
      const bytes = [...point.value.partitions, point.value.metadata].reduce((sum, file) => sum + file.bytes, 0)
      log.info('storage:backup', `backup ${point.value.number} begins`, { bytes })
    }
    return point
  }

  async goOn(backup: number, bytes: number): Promise<boolean> {
    const begun = this.#begun
    if (begun?.number !== backup) return false
    begun.heard_ms = performance.now()
    const allowed_ms = firstMinute_ms + (bytes / slowest_bytesPerSecond) * 1000
    if (performance.now() - begun.at_ms <= allowed_ms) return true
    await this.#over(begun, bytes, 'was given up: its client takes less than 1 MiB a second')
    return false
  }

  async end(backup: number, bytes: number, why: 'copied' | 'givenUp'): Promise<boolean> {
    const begun = this.#begun
    if (begun?.number !== backup) return false
    return this.#over(begun, bytes, why === 'copied' ? undefined : 'was given up: its client has gone')
  }

  async #pinned(): Promise<Result<BackupPoint, BackupRefusal>> {
    const { partitions, metadata, folder } = this.#parts
    let metadataFile: PinnedFile | undefined
    let time = now()
    const pinned = await partitions.pin(() => {
      time = now()
      try {
        metadataFile = metadata().pin('backup').file
      } catch (fault) {
        this.#parts.log.error('storage:backup', "the coordinator's file cannot be copied", errorFacts(fault))
      }
    })
    if (!pinned.ok || metadataFile === undefined) {
      metadata().unpin('backup')
      if (pinned.ok) await pinned.value.release()
      return err({ kind: pinned.ok ? 'unreadable' : pinned.error })
    }
    this.#number += 1
    const at_ms = performance.now()
    this.#begun = { number: this.#number, pinned: pinned.value, at_ms, heard_ms: at_ms }
    this.#timer = setInterval(() => this.#look(), 1000)
    this.#timer.unref()
    return ok({ number: this.#number, ...folder, time, partitions: pinned.value.files, metadata: metadataFile })
  }

  #look(): void {
    const begun = this.#begun
    if (begun === undefined || performance.now() - begun.heard_ms < silence_ms) return
    this.#over(begun, undefined, `was given up: nothing was taken of it for ${silence_ms / 1000} s`).catch((fault) =>
      this.#parts.log.error('storage:backup', String(fault)),
    )
  }

  /** Releases everything; returns whether the moment was kept until now. */
  async #over({ number, pinned, at_ms }: Begun, bytes: number | undefined, why: string | undefined): Promise<boolean> {
    this.#begun = undefined
    clearInterval(this.#timer)
    this.#parts.metadata().unpin('backup')
    const wereKept = await pinned.release()
    this.#isBusy = false
    const { log, measures } = this.#parts
    const took_ms = Math.round(performance.now() - at_ms)
    const facts = { ...(bytes !== undefined && { bytes }), took_ms }
    if (wereKept && why === undefined) {
      measures.put('duration_ms', took_ms)
      measures.put('size_bytes', bytes ?? 0)
      measures.put('end', now())
      measures.add('results.complete')
    } else measures.add('results.failed')
    if (why !== undefined) log.warn('storage:backup', `backup ${number} ${why}`, facts)
    else if (!wereKept)
      log.warn('storage:backup', `backup ${number} is of no use: a partition was replaced meanwhile`, facts)
    else log.info('storage:backup', `backup ${number} is complete`, facts)
    return wereKept && why === undefined
  }
}
