import type { BackupPoint, BackupRefusal, BackupService } from '../broker/backup-service.js'
import type { Log } from '../log/log.js'
import type { PinnedFile } from '../partition/store.js'
import { err, ok, type Result } from '../result.js'
import { now } from '../time.js'
import type { Partitions, PinnedPartitions } from './partitions.js'

interface BackupsParts {
  /** Id and format of the data folder. */
  readonly folder: Pick<BackupPoint, 'folder' | 'format'>
  readonly partitions: Pick<Partitions<object>, 'pin'>
  /** What the coordinator owns itself. */
  readonly control: { pin(): PinnedFile; unpin(): boolean }
  readonly log: Log
}

interface Begun {
  readonly number: number
  readonly pinned: PinnedPartitions
  readonly at_ms: number
  heard_ms: number
}

/** A backup that says nothing for so long is given up: while its moment is kept, the files grow. */
const silence_ms = 15_000

/** What a backup has to copy on average, after a first minute. */
const slowest_bytesPerSecond = 2 ** 20
const firstMinute_ms = 60_000

/** How often the partitions are asked to come together before it is said that they do not. */
const attempts = 3

/** Keeps the data of one moment while it is copied. */
export class Backups implements BackupService {
  readonly #parts: BackupsParts
  #number = 0
  /** From the first question on until everything is let go. */
  #isBusy = false
  #begun: Begun | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(parts: BackupsParts) {
    this.#parts = parts
  }

  async begin(): Promise<Result<BackupPoint, BackupRefusal>> {
    if (this.#isBusy) return err({ kind: 'underWay' })
    this.#isBusy = true
    let point: BackupPoint | undefined
    try {
      for (let attempt = 0; point === undefined && attempt < attempts; attempt += 1) point = await this.#pinned()
    } finally {
      if (point === undefined) this.#isBusy = false
    }
    if (point === undefined) {
      this.#parts.log.warn('storage:backup', 'a backup was refused: the partitions did not stand still together')
      return err({ kind: 'notTogether' })
    }
    const bytes = [...point.partitions, point.control].reduce((sum, file) => sum + file.bytes, 0)
    this.#parts.log.info('storage:backup', `backup ${point.number} begins`, { bytes })
    return ok(point)
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

  async #pinned(): Promise<BackupPoint | undefined> {
    const { partitions, control, folder } = this.#parts
    let controlFile: PinnedFile | undefined
    let time = now()
    const pinned = await partitions.pin(() => {
      time = now()
      controlFile = control.pin()
    })
    if (pinned === undefined || controlFile === undefined) {
      control.unpin()
      return undefined
    }
    this.#number += 1
    const at_ms = performance.now()
    this.#begun = { number: this.#number, pinned, at_ms, heard_ms: at_ms }
    this.#timer = setInterval(() => this.#look(), 1000)
    this.#timer.unref()
    return { number: this.#number, ...folder, time, partitions: pinned.files, control: controlFile }
  }

  #look(): void {
    const begun = this.#begun
    if (begun === undefined || performance.now() - begun.heard_ms < silence_ms) return
    this.#over(begun, undefined, `was given up: nothing was taken of it for ${silence_ms / 1000} s`).catch((fault) =>
      this.#parts.log.error('storage:backup', String(fault)),
    )
  }

  /** Lets go of everything; says whether the moment was kept until now. */
  async #over({ number, pinned, at_ms }: Begun, bytes: number | undefined, why: string | undefined): Promise<boolean> {
    this.#begun = undefined
    clearInterval(this.#timer)
    this.#parts.control.unpin()
    const wereKept = await pinned.release()
    this.#isBusy = false
    const { log } = this.#parts
    const facts = { ...(bytes !== undefined && { bytes }), took_ms: Math.round(performance.now() - at_ms) }
    if (why !== undefined) log.warn('storage:backup', `backup ${number} ${why}`, facts)
    else if (!wereKept)
      log.warn('storage:backup', `backup ${number} is of no use: a partition was replaced meanwhile`, facts)
    else log.info('storage:backup', `backup ${number} is complete`, facts)
    return wereKept && why === undefined
  }
}
