/** The disk has no space left for what was to be written; nothing of it was written. */
export class StorageFull extends Error {
  override readonly name: string = 'StorageFull'
}

/** The engine of the cluster has no space left, as for all of its nodes; the disk of this one has nothing to do with that. */
export class EngineFull extends StorageFull {
  override readonly name = 'EngineFull'
}

/** The disk, or what lies on it, has failed: nobody knows what a further write would do, so the broker has to end. */
export class DiskFault extends Error {
  override readonly name: string = 'DiskFault'
}

/** The thread that has the connection to a cluster's logs stands still: nobody knows whether a record stands in its log. */
export class LogSilent extends DiskFault {}

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

/** Whether a fault is that, also when it has crossed from another thread: no fault of anything, the process ends in order. */
export function isGivenUp(fault: unknown): boolean {
  return isOf(LogGivenUp, fault)
}

/** A signal ends the process while it still recovers a log: what is applied stays, and the next start applies the rest. */
export class StartGivenUp extends Error {
  override readonly name = 'StartGivenUp'
}

/** Whether a fault is that, also when it has crossed from another thread. */
export function isStartGivenUp(fault: unknown): boolean {
  return isOf(StartGivenUp, fault)
}

/** The log of a cluster does not have any more what comes behind an environment: a snapshot from another node has to take its place. */
export class BehindLog extends Error {
  override readonly name = 'BehindLog'
}

/** Whether a fault is that, also when it has crossed from another thread. */
export function isBehind(fault: unknown): boolean {
  return isOf(BehindLog, fault)
}

/** Whether the disk has failed, also when that has crossed from another thread. */
export function isDiskFault(fault: unknown): boolean {
  return isOf(DiskFault, fault)
}

/**
 * Whether a fault is of a class. From another thread comes an `Error` without it: with its name where the thread has ended of the fault,
 * and with the name in its stack alone where a message has brought it, as that of a task which has failed.
 */
function isOf({ name }: { readonly name: string }, fault: unknown): boolean {
  return fault instanceof Error && (fault.name === name || fault.stack?.startsWith(`${name}: `) === true)
}

/** Whether the process, or the system, had no descriptor for a file or a connection. */
export function isOutOfDescriptors(fault: unknown): boolean {
  return fault instanceof Error && 'code' in fault && (fault.code === 'EMFILE' || fault.code === 'ENFILE')
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

/** What the codes of the system mean, and what helps. */
const meanings: Readonly<Record<string, string>> = {
  EACCES: 'the user of this process may not: change its owner or its rights, or use another user',
  EADDRNOTAVAIL: 'this machine does not have the address',
  EDQUOT: 'the quota of the user is used up',
  EEXIST: 'something else has that name',
  EFBIG: 'a file may not become so large: raise the limit (ulimit -f), or use another file system',
  EISDIR: 'it is a folder',
  EMFILE: 'the process has too many files open: raise the limit (ulimit -n)',
  ENFILE: 'the system has too many files open',
  ENOENT: 'there is no such file or folder',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of the path is no folder',
  EPERM: 'the user of this process may not: change its owner or its rights, or use another user',
  EROFS: 'the file system can only be read: mount it for writing, or use another place',
}

/** What is wrong, for an operator: the meaning of the code of the system with the code, else what the fault says. */
export function systemFaultText(fault: unknown): string {
  if (!(fault instanceof Error)) return String(fault)
  const code = 'code' in fault ? String(fault.code) : ''
  const meaning = meanings[code]
  return meaning === undefined ? fault.message : `${meaning} (${code})`
}

/** The text of an error: for a system error with its file and what helps. */
export function failureText(fault: unknown): string {
  const text = systemFaultText(fault)
  const isKnown = fault instanceof Error && text !== fault.message
  return isKnown && 'path' in fault ? `${fault.path}: ${text}` : text
}

/** The message of a fault on its own. */
export function faultText(fault: unknown): string {
  return fault instanceof Error ? fault.message : String(fault)
}
