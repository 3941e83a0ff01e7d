import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Database } from 'lmdb'
import { DamagedRecord, StorageFull } from '../../faults.js'
import type { Log } from '../../observe/log/log.js'
import type { WriteWatch } from '../../threads/shared-memory/thread-beats.js'
import type { Nanoseconds } from '../../time.js'
import { isClusterNote } from '../etcd/cluster-log.js'
import { folderWayOut, storedNumber } from '../records/damage.js'
import type { Key } from '../records/keys.js'
import type { PinnedCommit, PinPurpose } from '../records/store.js'
import { LocalLog, type LocalLogSettings } from '../wal/local-log.js'
import { DiskLogFolder } from '../wal/log-folder.js'
import { cutRecord, damageText } from '../wal/log-recovery.js'
import { LogScan, parsePosition, positionText } from '../wal/log-scan.js'
import type { LogRecord, LogSequence, NotedLog } from '../wal/record-log.js'
import { type Checkpoints, readCheckpoint } from './checkpoint.js'
import { faultOf } from './disk-fault.js'
import { orClose } from './environment.js'
import { FilePin } from './file-pin.js'
import { writeInTransaction } from './write-transaction.js'

export interface LoggedParts {
  /** The folder of the environment. */
  readonly path: string
  /** The checkpoints with their environment, which does not flush: the log makes changes durable. */
  readonly checkpoints: Checkpoints
  readonly facts: Database<string, Key>
  /** Whether a record is on disk when it is appended [management 9.3, -writeConcern]. */
  readonly durable: boolean
  readonly log: Log | undefined
  /** Called when the disk has failed in the background, so that the broker cannot continue. */
  readonly failed: (fault: unknown) => void
  /** Opens the log of a cluster for an environment that has applied it up to a sequence. Without it the log is in local files. */
  readonly openLog?: ((applied: LogSequence) => NotedLog) | undefined
  /** Called when a checkpoint was taken in the background. */
  readonly checkpointed?: ((duration: Nanoseconds) => void) | undefined
  readonly writing?: WriteWatch | undefined
}

/** The fact that names the last applied record of the log. Part of the format on disk. */
export const appliedFact: Key = ['applied']

/** The interval of checkpoints while there is something new. */
const checkpoint_ms = 1000

/** The bytes of the log that recovery applies in one transaction. */
const transaction_bytes = 2 ** 22

/** The interval at which recovery reports its progress. */
const progress_ms = 2000

/** The number of records without changes after which the environment notes them, so that the log can be truncated. */
const passedMost = 100

/** An environment with its log, from which it is brought up to date when it is opened. */
export class LoggedEnvironment {
  readonly #parts: LoggedParts
  readonly #applyPublished: () => void
  readonly #checkpoints: Checkpoints
  readonly #wal: NotedLog
  readonly #timer: NodeJS.Timeout
  #applied: LogSequence
  /** The last applied record that the environment itself has noted. */
  #noted: LogSequence
  /** The last record in the last checkpoint. */
  #checkpointed: LogSequence
  #taking: Promise<void> | undefined
  readonly #pins = new Map<PinPurpose, FilePin>()

  /**
   * Opens the log of an environment that was just opened. To be followed by `recover`. Throws `DamagedRecord` with a text for the
   * operator, when the log is damaged.
   *
   * @param applyPublished applies what its owner has appended and not applied yet, if that is possible
   */
  constructor(parts: LoggedParts, applyPublished: () => void) {
    this.#parts = parts
    this.#applyPublished = applyPublished
    const { path, facts } = parts
    this.#applied = storedNumber(facts.get(appliedFact), path, 'the last record that was applied') as LogSequence
    this.#noted = this.#applied
    this.#checkpoints = parts.checkpoints
    this.#wal = this.#opened()
    this.#checkpointed = this.#applied
    this.#timer = setInterval(() => this.#checkpointIfDue(), checkpoint_ms)
    this.#timer.unref()
  }

  get wal(): NotedLog {
    return this.#wal
  }

  /** Applies the records that the environment lacks, with a function that writes one record. */
  recover(write: (bytes: Uint8Array) => void): void {
    const first = this.#applied
    const progress = new Progress(this.#parts, this.#wal.last - first)
    let batch: { readonly sequence: LogSequence; readonly bytes: Uint8Array }[] = []
    let bytes = 0
    const applyBatch = (): void => {
      const last = batch.at(-1)
      if (last === undefined) return
      this.apply(last.sequence, () => {
        for (const record of batch) this.#replay(record.sequence, () => write(record.bytes))
      })
      progress.applied(batch.length, bytes)
      batch = []
      bytes = 0
    }
    for (const record of this.#wal.records(first)) {
      this.#parts.writing?.recovers()
      batch.push(record)
      bytes += record.bytes.length
      if (bytes >= transaction_bytes) applyBatch()
    }
    applyBatch()
    progress.ended()
    // Behind them may stand what changes nothing.
    if (this.#applied < this.#wal.last) this.apply(this.#wal.last, () => {})
  }

  /** The last record that is applied. */
  get applied(): LogSequence {
    return this.#applied
  }

  /** Writes in one transaction, which notes that everything up to a record is applied. Throws what LMDB throws. */
  apply(sequence: LogSequence, write: () => void): void {
    const { facts, writing } = this.#parts
    const noted = (): void => {
      write()
      facts.putSync(appliedFact, String(sequence))
    }
    writeInTransaction(this.#checkpoints.root, noted, writing)
    this.#applied = sequence
    this.#noted = sequence
  }

  /**
   * Writes what records of another owner say, in one transaction that notes the last of them. `committing` is called right
   * before the commit. Throws `DamagedRecord` when one of them cannot be applied, and refuses what is applied already.
   */
  follow(
    turns: readonly LogRecord[],
    last: LogSequence,
    write: (bytes: Uint8Array) => void,
    committing: () => void,
  ): void {
    let before = this.#applied
    for (const { sequence } of turns) {
      if (sequence <= before) throw new Error(`record ${sequence} comes behind record ${before}, which is applied`)
      before = sequence
    }
    this.apply(last, () => {
      for (const { sequence, bytes } of turns) this.#replay(sequence, () => write(bytes))
      committing()
    })
  }

  /** Notes everything up to a record as applied, where the records since the last applied one have nothing to apply. */
  pass(last: LogSequence): void {
    if (last - this.#noted > passedMost && this.#isNoted(last)) return
    const { isCheckpointed } = this
    this.#applied = last
    if (isCheckpointed) this.#covered(last)
  }

  /** Notes that everything up to a record is applied, if there is room for that: it can be noted later as well. */
  #isNoted(last: LogSequence): boolean {
    try {
      this.apply(last, () => {})
      return true
    } catch (fault) {
      if (faultOf(fault, this.#parts.path) instanceof StorageFull) return false
      throw fault
    }
  }

  /** Whether the last checkpoint has everything. */
  get isCheckpointed(): boolean {
    return this.#applied === this.#checkpointed
  }

  /** Takes a checkpoint, and waits for it, unless there is nothing new or one is under way. Only between two turns. */
  checkpoint(): void {
    this.#applyPublished()
    if (this.isCheckpointed || this.#checkpoints.isUnderWay) return
    this.#wal.flush()
    this.#checkpoints.takeSync(this.#wal.note)
    this.#taken(this.#applied, this.#noted)
  }

  /** Pins the last commit, which has what was applied until now. */
  pin(purpose: PinPurpose): PinnedCommit {
    this.unpin(purpose)
    const pin = new FilePin(this.#parts.path, this.#checkpoints.root)
    this.#pins.set(purpose, pin)
    return { file: pin.file, applied: this.#noted }
  }

  unpin(purpose: PinPurpose): boolean {
    this.#pins.get(purpose)?.release()
    return this.#pins.delete(purpose)
  }

  /** Takes a last checkpoint, so that nothing has to be recovered, and closes the log, but not the environment. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#taking
    for (const purpose of [...this.#pins.keys()]) this.unpin(purpose)
    this.checkpoint()
    this.#checkpoints.close()
    this.#wal.close()
  }

  /** Closes the log and the environment as they are, since what the log has cannot be applied. */
  abandon(): void {
    clearInterval(this.#timer)
    this.#wal.close()
    this.#checkpoints.abandon()
  }

  #opened(): NotedLog {
    const { path, openLog } = this.#parts
    if (openLog === undefined) return this.#openedFiles()
    const wal = openLog(this.#applied)
    return orClose(
      () => {
        this.#checkpoints.takeSync(wal.note)
        // The records there were applied before the folder joined its cluster.
        rmSync(join(path, 'log'), { recursive: true, force: true })
        return wal
      },
      () => wal.close(),
    )
  }

  #openedFiles(): LocalLog {
    const { path, durable, failed, log, writing } = this.#parts
    const folder = new DiskLogFolder(join(path, 'log'), () => writing?.recovers())
    const settings = { durable, failed }
    const checkpoint = readCheckpoint(path)
    if (!checkpoint.ok) throw new DamagedRecord(`${checkpoint.error.reason}: ${folderWayOut}`)
    // A folder that has left its cluster begins a log of its own behind what it has applied.
    if (checkpoint.value === undefined || isClusterNote(checkpoint.value.note)) return this.#begun(folder, settings)
    const from = parsePosition(checkpoint.value.note)
    if (from === undefined)
      throw new DamagedRecord(`the checkpoint of ${path} names no place in the log: ${folderWayOut}`)
    const opened = LocalLog.open(folder, from, settings)
    if (!opened.ok) throw new DamagedRecord(`${damageText(opened.error)}: ${folderWayOut}`)
    const { log: wal, cut_bytes, isEmpty } = opened.value
    if (isEmpty) {
      log?.warn(
        'storage:log',
        `${folder.path} is empty, as a version before this one leaves a log that was never written: if updates were acknowledged since, they are lost`,
      )
    }
    if (cut_bytes > 0) {
      log?.warn('storage:log', `${cut_bytes} bytes at the end of ${folder.path} were cut: ${cutRecord}`)
    }
    return orClose(
      () => this.#readFromApplied(wal),
      () => wal.close(),
    )
  }

  /** The log is read from behind what is applied. */
  #readFromApplied(wal: LocalLog): LocalLog {
    const position = wal.positionOf(this.#applied)
    if (position === undefined) {
      throw new DamagedRecord(
        `${this.#parts.path}/data.mdb has applied record ${this.#applied}, which its log does not have: ${folderWayOut}`,
      )
    }
    this.#checkpoints.takeSync(positionText(position))
    return wal
  }

  /** Begins the log of an environment without a checkpoint, which is new or the copy of a backup. */
  #begun(folder: DiskLogFolder, settings: LocalLogSettings): LocalLog {
    if (!new LogScan(folder).isEmpty) {
      throw new DamagedRecord(`${folder.path} holds records, but the checkpoint beside it is missing: ${folderWayOut}`)
    }
    const wal = LocalLog.begin(folder, this.#applied, settings)
    return orClose(
      () => {
        this.#checkpoints.takeSync(positionText(wal.position))
        return wal
      },
      () => wal.close(),
    )
  }

  /**
   * A record that can not be applied once it stands in the log is a fault of ours, or damage that no CRC has shown, unless there is no
   * room for it.
   */
  #replay(sequence: LogSequence, write: () => void): void {
    this.#parts.writing?.goesOn()
    try {
      write()
    } catch (fault) {
      const ofTheDisk = faultOf(fault, this.#parts.path)
      if (ofTheDisk !== fault) throw ofTheDisk
      const reason = fault instanceof Error ? fault.message : String(fault)
      throw new DamagedRecord(
        `record ${sequence} of ${this.#parts.path}/log cannot be applied (${reason}): ${folderWayOut}`,
        {
          cause: fault,
        },
      )
    }
  }

  /**
   * Takes a checkpoint if one is due. Between two turns everything in the log can be applied, unless a record is being appended or the
   * disk is full.
   */
  #checkpointIfDue(): void {
    try {
      this.#applyPublished()
    } catch (fault) {
      this.#parts.failed(fault)
      return
    }
    const { last, note } = this.#wal
    if (this.isCheckpointed || this.#checkpoints.isUnderWay) return
    if (last === this.#applied) this.#taking = this.#take(last, note).catch(this.#parts.failed)
  }

  async #take(last: LogSequence, note: string): Promise<void> {
    // The log must reach as far as the checkpoint that names a position in it.
    this.#wal.flush()
    const begun = process.hrtime.bigint()
    const noted = this.#noted
    if (!(await this.#checkpoints.take(note))) return
    this.#taken(last, noted)
    this.#parts.checkpointed?.(process.hrtime.bigint() - begun)
  }

  /** Recovery starts behind the position that LMDB itself has stored, so the log is truncated to that, not to the checkpoint. */
  #taken(sequence: LogSequence, noted: LogSequence): void {
    this.#wal.truncate(noted)
    this.#covered(sequence)
  }

  /**
   * Notes that everything up to a record is in the last checkpoint or changes nothing. The log is truncated only behind what the
   * environment has noted.
   */
  #covered(sequence: LogSequence): void {
    this.#checkpointed = sequence
    this.#wal.covered(sequence)
  }
}

/** Reports the progress of a long recovery. */
class Progress {
  readonly #parts: LoggedParts
  readonly #records: number
  readonly #begun = performance.now()
  #reported_ms = this.#begun
  #applied = 0
  #bytes = 0

  constructor(parts: LoggedParts, records: number) {
    this.#parts = parts
    this.#records = records
  }

  applied(records: number, bytes: number): void {
    this.#applied += records
    this.#bytes += bytes
    if (performance.now() - this.#reported_ms < progress_ms) return
    this.#reported_ms = performance.now()
    this.#say(`${this.#applied} of ${this.#records} records of the log are applied`)
  }

  ended(): void {
    if (this.#applied > 0) this.#say(`${this.#applied} records of the log were applied`)
  }

  #say(what: string): void {
    const { log, path } = this.#parts
    const took_ms = Math.round(performance.now() - this.#begun)
    log?.info('storage:recovery', `${path}: ${what}`, { bytes: this.#bytes, took_ms })
  }
}
