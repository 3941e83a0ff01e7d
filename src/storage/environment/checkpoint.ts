import { closeSync, fdatasync, fdatasyncSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { RootDatabase, Transaction } from 'lmdb'
import { type DiskFault, diskFault } from '../../faults.js'
import { pathExists } from '../../folder.js'
import { err, type Result } from '../../result.js'
import { openOwnFile } from '../../text-file.js'
import { folderWayOut } from '../records/damage.js'
import type { Key } from '../records/keys.js'
import {
  type Checkpoint,
  CheckpointFile,
  flushCheckpoints,
  type KeptCheckpoint,
  keptCheckpoint,
  metasOf,
  type NoCheckpoint,
  noteMax_bytes,
  transactionOf,
  written,
} from './checkpoint-file.js'
import { type EnvironmentSettings, openRoot, orClose } from './environment.js'
import { pinOf } from './file-pin.js'
import { pageSizeOf } from './page-layout.js'

/**
 * Checkpoints of an environment that LMDB does not flush. After a loss of power its file holds some of the
 * pages that were written since the last flush, and meta pages that may refer to others. A checkpoint is a commit whose
 * pages are all on disk and stay as they are until the next checkpoint is durable; its meta pages are kept in a file of their
 * own, and written back before the environment is opened again.
 *
 * A `Checkpoints` belongs to the only writer of the environment, in the writer's thread, and is used between transactions. It
 * opens the environment itself: nothing can be committed before the pages of the last checkpoint are kept. Even a database that
 * is opened for the first time is a commit. Until the first checkpoint of a new environment nothing of it is durable.
 */
export class Checkpoints {
  /** The environment, without its databases. */
  readonly root: RootDatabase<string, Key>
  readonly #data: string
  /** Stays open, since the system reports a failed write once to each open descriptor, whoever has written. */
  readonly #descriptor: number
  readonly #file: CheckpointFile
  /**
   * They keep the pages of the last durable checkpoint, or of the commit that was found at first; then, while one is under
   * way, those of the next.
   */
  readonly #pins: Transaction[] = []
  #number: number
  #state: 'idle' | 'underWay' | 'closed' = 'idle'
  #fault: DiskFault | undefined

  /**
   * Opens the environment in a folder as its only writer. Throws when the files cannot be opened, and when that of the checkpoints
   * is damaged; nothing stays open then.
   */
  static open(path: string, settings: Omit<EnvironmentSettings, 'readOnly'>): Checkpoints {
    const kept = keptCheckpoint(path)
    if (!kept.ok) throw new Error(kept.error.reason)
    const root = openRoot(path, { ...settings, readOnly: false })
    const checkpoints = orClose(
      () => new Checkpoints(path, root, kept.value?.number ?? 0),
      () => void root.close(),
    )
    orClose(
      () => checkpoints.#takeOver(kept.value),
      () => checkpoints.abandon(),
    )
    return checkpoints
  }

  private constructor(path: string, root: RootDatabase<string, Key>, number: number) {
    this.root = root
    this.#number = number
    this.#data = join(path, 'data.mdb')
    this.#descriptor = openSync(this.#data, 'r')
    this.#file = orClose(
      () => new CheckpointFile(path),
      () => closeSync(this.#descriptor),
    )
    this.#pins.push(
      orClose(
        () => pinOf(root),
        () => this.#closeFiles(),
      ),
    )
  }

  /**
   * Behind a writer of this process that has died, the environment is further than its checkpoint, whose pages nobody has kept since:
   * the last commit becomes the checkpoint. The log goes on from the same place, and knows what of it was applied.
   */
  #takeOver(kept: KeptCheckpoint | undefined): void {
    const metas = metasOf(this.#descriptor)
    if (kept === undefined || (metas && transactionOf(metas) === kept.transaction)) return
    this.takeSync(kept.note)
  }

  /** Whether a checkpoint is under way: no other may begin. */
  get isUnderWay(): boolean {
    return this.#state === 'underWay'
  }

  /**
   * Makes the last commit a checkpoint, while transactions go on. Resolves with true when it is durable, with false when
   * `close` came first. Rejects with a `DiskFault` when the disk has failed, then and ever after; with another fault while
   * one is under way, after `close`, and for a note of more than `noteMax_bytes`.
   */
  async take(note: string): Promise<boolean> {
    const checkpoint = this.#begin(note)
    this.#state = 'underWay'
    try {
      await promisify(fdatasync)(this.#descriptor)
      if (this.#isClosed) return false // Nothing keeps its pages any more.
      this.#file.put(checkpoint)
      await this.#file.flush()
      if (this.#isClosed) return false
      this.#end(checkpoint)
      return true
    } catch (fault) {
      throw this.#failed(fault)
    } finally {
      if (this.#isClosed) this.#closeFiles()
      else this.#state = 'idle'
    }
  }

  /** Makes the last commit a checkpoint, and blocks the thread until it is durable. Throws as `take` rejects. */
  takeSync(note: string): void {
    const checkpoint = this.#begin(note)
    try {
      fdatasyncSync(this.#descriptor)
      this.#file.put(checkpoint)
      this.#file.flushSync()
    } catch (fault) {
      throw this.#failed(fault)
    }
    this.#end(checkpoint)
  }

  /**
   * Lets go of the pages and of the files; one that is under way is given up. The environment is to be closed after this, and nothing
   * is committed any more.
   */
  close(): void {
    if (this.#isClosed) return
    const isUnderWay = this.isUnderWay
    this.#state = 'closed'
    for (const pin of this.#pins.splice(0)) pin.done()
    if (!isUnderWay) this.#closeFiles()
  }

  /** Closes the environment too: whoever opened it cannot use it. */
  abandon(): void {
    this.close()
    void this.root.close()
  }

  get #isClosed(): boolean {
    return this.#state === 'closed'
  }

  /** Pins the last commit and reads its meta pages. Nothing is committed in between: this thread is the only writer. */
  #begin(note: string): KeptCheckpoint {
    if (this.#fault) throw this.#fault
    if (this.#state !== 'idle') throw new Error(this.#isClosed ? 'checkpoints are closed' : 'a checkpoint is under way')
    if (Buffer.byteLength(note) > noteMax_bytes) throw new RangeError('the note of a checkpoint is too long')
    const metas = metasOf(this.#descriptor)
    if (metas === undefined) throw this.#failed(new Error('its meta pages are damaged'))
    this.#pins.push(pinOf(this.root))
    return { note, number: this.#number + 1, metas, transaction: transactionOf(metas) }
  }

  /** Ends a checkpoint that is durable: the pages of the previous one may be reused. */
  #end({ number }: Checkpoint): void {
    this.#number = number
    this.#pins.shift()?.done()
  }

  /** A flush that has failed is not tried again: the system forgets what it could not write. */
  #failed(fault: unknown): DiskFault {
    this.#fault = diskFault(this.#data, fault)
    return this.#fault
  }

  #closeFiles(): void {
    closeSync(this.#descriptor)
    this.#file.close()
  }
}

/** The last checkpoint in the folder of an environment; undefined when none was ever taken. Changes nothing. */
export function readCheckpoint(path: string): Result<Checkpoint | undefined, NoCheckpoint> {
  return keptCheckpoint(path)
}

/**
 * Makes an environment what it was at its last checkpoint, durably, and gives that; nothing when none was ever taken. Only
 * while nobody has the environment open. It is done at every start: after an orderly end it changes nothing. Refuses when the
 * checkpoints are damaged, and when they are not those of the data file. Should the last slot be lost to other damage than
 * a torn write, the checkpoint before counts, whose pages may be gone: `damageOf` tells, and so does a log that does not go
 * back to its note.
 */
export function restoreCheckpoint(path: string): Result<Checkpoint | undefined, NoCheckpoint> {
  const found = keptCheckpoint(path)
  if (!found.ok || found.value === undefined) return found
  const data = join(path, 'data.mdb')
  if (!pathExists(data)) return err({ reason: `${data} is missing` })
  // A killed process may have written it without a flush, and it must not be lost once it is used.
  flushCheckpoints(path)
  const descriptor = openOwnFile(data, 'r+', folderWayOut)
  try {
    return restored(descriptor, found.value)
      ? found
      : err({ reason: `${data} is older than its checkpoint, or another file` })
  } finally {
    closeSync(descriptor)
  }
}

/** Writes meta pages back where they differ; returns whether they can be those of the file. */
function restored(descriptor: number, { metas, transaction }: KeptCheckpoint): boolean {
  const found = metasOf(descriptor)
  const pageSize = pageSizeOf(metas[0])
  // All that was ever flushed with a checkpoint stays at least as new. Meta pages that are none were torn.
  if (pageSize === undefined || (found && (transactionOf(found) < transaction || pageSizeOf(found[0]) !== pageSize))) {
    return false
  }
  if (metas.every((page, number) => found?.[number]?.equals(page))) return true
  for (const [number, page] of metas.entries()) written(descriptor, page, number * pageSize)
  fdatasyncSync(descriptor)
  return true
}
