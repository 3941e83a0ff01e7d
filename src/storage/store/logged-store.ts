import { DiskFault, StorageFull } from '../../faults.js'
import type { NoticeNumber } from '../../model/subscription/notice.js'
import { faultOf } from '../environment/disk-fault.js'
import { DiskRoom } from '../environment/disk-room.js'
import { orClose, type WriterSettings } from '../environment/environment.js'
import { LoggedEnvironment, type LoggedParts } from '../environment/logged-environment.js'
import type { PinnedCommit, PinPurpose, Pins } from '../records/store.js'
import { type Appended, appendFault, type LogRecord, type LogSequence, type NotedLog } from '../wal/record-log.js'
import type { Outbox } from './outbox.js'

/**
 * A store with an outbox and the log before it, of which this is the only writer. What stands in the log has happened, so a record of
 * it is applied as a whole or not at all: a new one of this store, one of another node, or one that a start finds.
 */
export abstract class LoggedStore<Content> implements Pins {
  readonly outbox: Outbox
  protected readonly path: string
  protected readonly disk: DiskRoom
  protected readonly logged: LoggedEnvironment
  readonly #close: () => Promise<void>

  /**
   * Opens the log; to be followed by `recover`. Both close the environment when they throw. `inFile_bytes` gives the free pages of the environment's
   * file.
   */
  protected constructor(parts: LoggedParts, outbox: Outbox, settings: WriterSettings, inFile_bytes: () => number) {
    this.path = parts.path
    this.outbox = outbox
    this.logged = orClose(
      () => new LoggedEnvironment(parts, () => this.applyPublished()),
      () => parts.checkpoints.abandon(),
    )
    this.disk = new DiskRoom(parts.path, settings, () => (this.logged.isCheckpointed ? inFile_bytes() : 0))
    this.#close = () => parts.checkpoints.root.close()
  }

  /** The content of a record of the log, within the transaction that writes it; throws when it cannot be read. */
  protected abstract decode(bytes: Uint8Array): Content

  /** Writes the content of a record within a transaction. */
  protected abstract write(content: Content): void

  /** Writes what stands in the log and is not applied yet, if that is possible. */
  protected applyPublished(): void {}

  /** Remembers what is in memory; returns a function that brings it back after a transaction was undone. */
  protected savepoint(): () => void {
    const { last } = this.outbox
    return () => this.outbox.rewind(last)
  }

  /** The number of the last notice that was ever put into the outbox; 0 before the first. */
  get lastNotice(): NoticeNumber {
    return this.outbox.last
  }

  get wal(): NotedLog {
    return this.logged.wal
  }

  /** The last record of its log that is applied. */
  get applied(): LogSequence {
    return this.logged.applied
  }

  pin(purpose: PinPurpose): PinnedCommit {
    return this.logged.pin(purpose)
  }

  unpin(purpose: PinPurpose): boolean {
    return this.logged.unpin(purpose)
  }

  /** Notes everything up to a record of the log as applied, since the records behind the last applied one change nothing. */
  pass(last: LogSequence): void {
    this.logged.pass(last)
  }

  /**
   * Applies what others have appended to the log, as recovery does, in one transaction; returns what it was. `committing` is called
   * with it before anybody can see it. Throws `StorageFull` when there is no room.
   */
  follow(
    records: readonly LogRecord[],
    last: LogSequence,
    committing = (_: readonly Content[]): void => {},
  ): readonly Content[] {
    const contents: Content[] = []
    const write = (bytes: Uint8Array): void => {
      const content = this.decode(bytes)
      contents.push(content)
      this.write(content)
    }
    if (records.length > 0) {
      const bytes = records.reduce((sum, record) => sum + record.bytes.length, 0)
      // They may be thousands that change little each: their pages are left out, so that a replica follows for as long as it can.
      this.disk.enterAtOnce({ bytes, changes: 0 })
    }
    this.attempt(() => {
      if (records.length === 0) this.pass(last)
      else this.logged.follow(records, last, write, () => committing(contents))
    })
    return contents
  }

  /** Closes the environment for this thread. Only between turns. */
  async close(): Promise<void> {
    await this.logged.close()
    await this.#close()
  }

  /** Applies the records that the store lacks. */
  protected recover(): void {
    orClose(
      () => this.logged.recover((bytes) => this.write(this.decode(bytes))),
      () => this.logged.abandon(),
    )
  }

  /**
   * Applies a record of this store that was appended to the log, or throws why it was not. When it throws, nothing of the record stays,
   * not even in the log, unless the disk has failed: then the log decides at the next start. `logged` is called between the two.
   */
  protected applyOwn(appended: Appended, content: Content, logged: () => void): void {
    const sequence = this.sequenceOf(appended)
    try {
      logged()
      this.attempt(() => this.logged.apply(sequence, () => this.write(content)))
    } catch (fault) {
      if (!(fault instanceof DiskFault)) this.wal.retract(sequence)
      throw fault
    }
  }

  /** The sequence of an appended record; throws why it was not appended. */
  protected sequenceOf(appended: Appended): LogSequence {
    if (appended.ok) return appended.value
    // Refuses growth for a while, so that removals and acks find the space that is left.
    if (appended.error.kind === 'diskFull') this.disk.wasFull()
    throw appendFault(appended.error)
  }

  /** Carries out a transaction; if it fails, memory is as before, and its fault is classified. */
  protected attempt(apply: () => void): void {
    const rollBack = this.savepoint()
    try {
      apply()
    } catch (fault) {
      rollBack()
      const known = faultOf(fault, this.path)
      if (known instanceof StorageFull) this.disk.wasFull()
      throw known
    }
  }
}
