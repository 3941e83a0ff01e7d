import { systemFaultText } from './system-fault.js'

/** The disk has no space left for what was to be written; nothing of it was written. */
export class StorageFull extends Error {
  override readonly name = 'StorageFull'
}

/** The disk, or what lies on it, has failed: nobody knows what a further write would do, so the broker has to end. */
export class DiskFault extends Error {
  override readonly name: string = 'DiskFault'
}

/** A turn whose record is larger than the log takes; nothing of it was written. */
export class RecordTooLarge extends Error {
  override readonly name = 'RecordTooLarge'
}

/** Somebody else's record stands in the log where that of a turn was to stand: nothing of the turn was written. */
export class LogFenced extends Error {
  override readonly name = 'LogFenced'
}

/**
 * The process ends before it is known whether a record stands in its log: nothing of it is applied here, and the log decides at
 * the next start.
 */
export class LogGivenUp extends Error {
  override readonly name = 'LogGivenUp'
}

/** The log of a cluster does not have any more what comes behind an environment: a copy of another node has to take its place. */
export class BehindLog extends Error {
  override readonly name = 'BehindLog'
}

/** Whether a fault is that, also when it has crossed from another thread, which leaves it nothing of its class but the name. */
export function isBehind(fault: unknown): boolean {
  return fault instanceof Error && fault.name === BehindLog.name
}

/** What a failed write or flush is: after it nobody knows what is on disk, so it is not tried again. */
export function diskFault(file: string, fault: unknown): DiskFault {
  if (fault instanceof DiskFault) return fault
  return new DiskFault(`${file} cannot be used any more: ${systemFaultText(fault)}`, { cause: fault })
}

/**
 * A record that is missing although an index names it, or that cannot be read: what was stored is not there any more as it
 * was. A fault, never a gap in a response. The message names the file, the record and the way out.
 */
export class DamagedRecord extends Error {
  override readonly name = 'DamagedRecord'
}
