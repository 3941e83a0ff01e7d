import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'

/** Far more than keys, certificates, tokens and passwords take. */
const usualLimit_bytes = 2 ** 22

/**
 * The text of a file that somebody names, at most so many bytes of it: a longer file, and what is no regular file, is refused. Devices
 * and pipes have no end, or one that keeps the process waiting, and their size says nothing. Throws what the system says, or an error
 * whose message is for an operator.
 */
export function readTextFile(file: string, limit_bytes = usualLimit_bytes): string {
  // Without waiting for somebody to write to it, which opening a pipe does.
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const stats = fstatSync(descriptor)
    if (!stats.isFile() && !stats.isDirectory()) throw new Error('it is no regular file') // Of folders the system says so.
    return readAll(descriptor, stats.size, limit_bytes)
  } finally {
    closeSync(descriptor)
  }
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
