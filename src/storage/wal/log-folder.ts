import {
  closeSync,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statfsSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { makeFolder } from '../../folder.js'

/** A file of a log. All of its operations throw what the system says. */
export interface LogFile {
  readonly size_bytes: number
  /** Reads the bytes from an offset on; returns how many, which are fewer than there is room for at the end of the file. */
  read(offset: number, into: Buffer): number
  /** Writes all of the bytes; beyond its end the file grows. Nothing of it has to be on disk before `flush`. */
  write(offset: number, bytes: Uint8Array): void
  /** Returns when everything that was written is on disk, and the size of the file too. A failed write is reported once. */
  flush(): void
  /**
   * Flushes in the pool without blocking the thread, one flush at a time. A failure that `flush` has reported is reported here as well,
   * and vice versa.
   */
  flushInPool(): Promise<void>
  /** Waits for flushes in progress first. */
  close(): void
}

/** The folder of a log: the only way in which the log touches a disk. */
export interface LogFolder {
  /** Its path, for messages. */
  readonly path: string
  /** What may still be written to its disk. */
  readonly free_bytes: number
  names(): readonly string[]
  /** Opens a file for reading and writing, and creates it if it is missing. Nothing that is done to it later takes another descriptor. */
  open(name: string): LogFile
  rename(from: string, to: string): void
  remove(name: string): void
  /** Returns when the names of its files are on disk. After the first time it takes no descriptor. */
  flush(): void
  /** Of the folder itself, not of its files. */
  close(): void
}

const fdatasyncInPool = promisify(fdatasync)

/** A folder of the file system, created if it is missing. */
export class DiskLogFolder implements LogFolder {
  readonly path: string
  readonly #opening: () => void
  /** Kept from the first flush on: a flush comes behind a change that nobody can take back. */
  #handle: number | undefined

  /** @param opening called each time before a file is opened, which a log that is read does as often as it is long */
  constructor(path: string, opening: () => void = () => {}) {
    this.path = path
    this.#opening = opening
    makeFolder(path)
  }

  get free_bytes(): number {
    const { bavail, bsize } = statfsSync(this.path)
    return bavail * bsize
  }

  names(): readonly string[] {
    return readdirSync(this.path)
  }

  open(name: string): LogFile {
    return new DiskLogFile(join(this.path, name), this.#opening)
  }

  rename(from: string, to: string): void {
    renameSync(join(this.path, from), join(this.path, to))
  }

  remove(name: string): void {
    rmSync(join(this.path, name))
  }

  flush(): void {
    this.#handle ??= openSync(this.path, 'r')
    fsyncSync(this.#handle)
  }

  close(): void {
    if (this.#handle !== undefined) closeSync(this.#handle)
    this.#handle = undefined
  }
}

class DiskLogFile implements LogFile {
  readonly #handle: number
  /**
   * A handle of its own for the pool: the system reports a failed write once to each handle, and a flush that ends meanwhile must not
   * miss it. It is opened with the file: by the first flush the process may have no descriptor left, and a record stands in the file.
   */
  readonly #poolHandle: number
  #flushing = 0
  #isClosed = false

  constructor(path: string, opening: () => void) {
    opening()
    this.#handle = openOrMake(path)
    try {
      opening()
      this.#poolHandle = openSync(path, 'r+')
    } catch (fault) {
      closeSync(this.#handle)
      throw fault
    }
  }

  get size_bytes(): number {
    return fstatSync(this.#handle).size
  }

  read(offset: number, into: Buffer): number {
    let read = 0
    while (read < into.length) {
      const count = readSync(this.#handle, into, read, into.length - read, offset + read)
      if (count === 0) break
      read += count
    }
    return read
  }

  write(offset: number, bytes: Uint8Array): void {
    let written = 0
    while (written < bytes.length) {
      written += writeSync(this.#handle, bytes, written, bytes.length - written, offset + written)
    }
  }

  flush(): void {
    fdatasyncSync(this.#handle)
  }

  async flushInPool(): Promise<void> {
    this.#flushing += 1
    try {
      await fdatasyncInPool(this.#poolHandle)
    } finally {
      this.#flushing -= 1
      if (this.#isClosed) this.close()
    }
  }

  close(): void {
    this.#isClosed = true
    if (this.#flushing > 0) return
    closeSync(this.#handle)
    closeSync(this.#poolHandle)
  }
}

function openOrMake(path: string): number {
  try {
    return openSync(path, 'r+')
  } catch (fault) {
    if (fault instanceof Error && 'code' in fault && fault.code === 'ENOENT') return openSync(path, 'wx+')
    throw fault
  }
}
