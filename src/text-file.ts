import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { systemFaultText } from './faults.js'

/** Far more than keys, certificates, tokens and passwords take. */
const usualLimit_bytes = 2 ** 22

/**
 * The text of a file that somebody names, at most so many bytes of it: a longer file, and what is no regular file, is refused. Devices
 * and pipes have no end, or one that keeps the process waiting, and their size says nothing. Throws what the system says, or an error
 * whose message is for an operator.
 */
export function readTextFile(file: string, limit_bytes = usualLimit_bytes): string {
  const descriptor = openRegularFile(file)
  try {
    return readAll(descriptor, fstatSync(descriptor).size, limit_bytes)
  } finally {
    closeSync(descriptor)
  }
}

/** The text of a file that the broker has written. Throws an error that names the file, the reason, and what helps. */
export function readOwnText(file: string, wayOut: string): string {
  try {
    return readTextFile(file)
  } catch (fault) {
    throw ownFileFault(file, fault, wayOut)
  }
}

/** Opens a file that the broker has written, for reading or for writing too. Throws as `readOwnText`. */
export function openOwnFile(file: string, access: 'r' | 'r+', wayOut: string): number {
  try {
    const descriptor = openRegularFile(file, access === 'r' ? constants.O_RDONLY : constants.O_RDWR)
    if (!fstatSync(descriptor).isDirectory()) return descriptor
    closeSync(descriptor)
    throw new Error('it is a folder')
  } catch (fault) {
    throw ownFileFault(file, fault, wayOut)
  }
}

/** Where the system does not let this process read, its words say what helps; otherwise the file is not the one that was written. */
function ownFileFault(file: string, fault: unknown, wayOut: string): Error {
  const isAnother = !(fault instanceof Error && 'code' in fault) || fault.code === 'EISDIR'
  const text = systemFaultText(fault)
  return new Error(`${file} cannot be read: ${text}${isAnother ? `: ${wayOut}` : ''}`, { cause: fault })
}

function openRegularFile(file: string, flags = constants.O_RDONLY): number {
  // Without waiting for somebody to write to it, which opening a pipe does.
  const descriptor = openSync(file, flags | constants.O_NONBLOCK)
  const stats = fstatSync(descriptor)
  if (stats.isFile() || stats.isDirectory()) return descriptor // Of folders the system says so.
  closeSync(descriptor)
  throw new Error('it is no regular file')
}

/** Reads to the end of a file, whatever size it says it has. */
function readAll(descriptor: number, size_bytes: number, limit_bytes: number): string {
  const pieces: Buffer[] = []
  for (let left = limit_bytes + 1; ; ) {
    const piece = Buffer.allocUnsafe(Math.min(left, Math.max(size_bytes, least_bytes)))
    const read = readSync(descriptor, piece)
    if (read === 0) return Buffer.concat(pieces).toString('utf8')
    left -= read
    if (left === 0) throw new Error(`it has more than ${limit_bytes} bytes`)
    pieces.push(piece.subarray(0, read))
  }
}

/** Read at a time at least: files of the system say that they are empty. */
const least_bytes = 4096
