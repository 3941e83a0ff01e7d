import { closeSync, constants, fstatSync, openSync, writeSync } from 'node:fs'
import sonicBoom, { type SonicBoom } from 'sonic-boom'

/** Events of a destination, to be logged. */
interface DestinationEvents {
  /** Everything is written again, after this number of dropped lines. */
  caughtUp(dropped: number): void
  /** The file could not be reopened; lines go to the one that was open. */
  notReopened(fault: NodeJS.ErrnoException): void
}

/** sonic-boom's type lacks that it takes bytes when its content mode is `buffer`. */
type ByteDestination = Omit<SonicBoom, 'write'> & { write(line: string | Uint8Array): boolean }

/** How many bytes may wait for a slow reader before lines below ERROR are dropped, and before all are [management 10.2]. */
const usual_bytes = 1 << 20
const most_bytes = 8 << 20

/** The most bytes of a write of gathered lines. */
const write_bytes = 64 * 1024

/** How long the next try waits after a full pipe or disk. */
const pause_ms = 20

/**
 * A destination of log lines: pino's, sonic-boom, which writes without blocking the thread and drops what exceeds its
 * `maxLength`. Around it stands only what sonic-boom does not do: lines below ERROR have a lower limit, dropped lines are
 * counted, a failed write is repeated without a new line, and a flush ends at a time limit.
 *
 * It is not made by `pino.destination`, which calls `flushSync` when the process exits. `flushSync` repeats a write without
 * end when it fails with anything but EAGAIN, for example because the reader has gone: the process would never end. So
 * nothing calls `flushSync` here; the process ends after `flush`.
 */
export class LineDestination {
  /** Undefined once its reader is gone. */
  #sonic: ByteDestination | undefined
  #waiting_bytes = 0
  #dropped = 0
  #lost = 0
  #retrying = false
  #flushed: (() => void)[] = []

  /** `to`: a descriptor, or the path of a file that is appended to. */
  constructor(to: number | string, events: DestinationEvents) {
    const sonic: ByteDestination = new sonicBoom.SonicBoom({
      dest: to,
      contentMode: 'buffer', // Otherwise it measures the whole gathered text again with every line.
      maxLength: most_bytes,
      maxWrite: write_bytes,
      append: true,
      retryEAGAIN: () => false, // Its own pause of 100 ms is not cut short by new lines and lets a pipe run empty.
    })
    sonic.on('write', (size: number) => {
      this.#waiting_bytes -= size
    })
    sonic.on('drop', (line: Uint8Array) => {
      this.#waiting_bytes -= line.length
      this.#dropped += 1
      this.#lost += 1
    })
    sonic.on('drain', () => this.#drained(events))
    sonic.on('error', (fault: NodeJS.ErrnoException) => this.#failed(fault, events))
    this.#sonic = sonic
  }

  /**
   * Takes a line with its line end; false if the line is dropped. Lines that matter are dropped only at the upper limit. After a
   * dropped line all others are dropped too until the reader has caught up.
   */
  put(line: string, matters: boolean): boolean {
    if (this.#sonic === undefined) {
      this.#lost += 1
      return false
    }
    const bytes = Buffer.from(line)
    const dropped = this.#dropped
    const full = this.#waiting_bytes > 0 && (dropped > 0 || this.#waiting_bytes + bytes.length > usual_bytes)
    if (full && !matters) {
      this.#dropped += 1
      this.#lost += 1
      return false
    }
    this.#waiting_bytes += bytes.length
    this.#sonic.write(bytes)
    return this.#dropped === dropped
  }

  /** The number of lines dropped since the start, also because the reader was gone. */
  get lost(): number {
    return this.#lost
  }

  /** Reopens the file at its path; the write under way completes in the old file. */
  reopen(): void {
    this.#sonic?.reopen()
  }

  /** Resolves when everything is written, or after the limit; says whether everything is written. */
  async flush(limit_ms: number): Promise<boolean> {
    if (this.#waiting_bytes > 0 && this.#sonic !== undefined) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, limit_ms)
        this.#flushed.push(() => {
          clearTimeout(timer)
          resolve()
        })
      })
    }
    return this.#waiting_bytes === 0 && this.#sonic !== undefined
  }

  #drained({ caughtUp }: DestinationEvents): void {
    const dropped = this.#dropped
    this.#dropped = 0
    if (dropped > 0) caughtUp(dropped)
    if (this.#waiting_bytes === 0) this.#resolveFlushes()
  }

  /** sonic-boom keeps what it could not write and continues with it at the next write. */
  #failed(fault: NodeJS.ErrnoException, { notReopened }: DestinationEvents): void {
    if (fault.code === 'EPIPE' || fault.code === 'EBADF') {
      // The reader is gone and does not come back.
      this.#sonic = undefined
      this.#waiting_bytes = 0
      this.#resolveFlushes()
      return
    }
    if (fault.syscall === 'open') {
      // After a failed reopening these listeners would close the old descriptor twice at the next successful one.
      this.#sonic?.removeAllListeners('ready')
      notReopened(fault)
    }
    if (this.#retrying) return
    this.#retrying = true
    setTimeout(() => {
      this.#retrying = false
      this.#sonic?.write(new Uint8Array())
    }, pause_ms).unref()
  }

  #resolveFlushes(): void {
    for (const resolve of this.#flushed.splice(0)) resolve()
  }
}

/**
 * A descriptor to write to instead of an inherited one, so that a stuck reader leaves no write hanging, which would keep the
 * process from ending. A pipe is reopened where the system allows it, so that only this end becomes non-blocking. A socket cannot
 * be reopened; Node makes standard output non-blocking until it exits, when it opens its stream.
 */
export function unblocked(descriptor: number): number {
  try {
    const stats = fstatSync(descriptor)
    if (stats.isFIFO()) return openSync(`/proc/self/fd/${descriptor}`, constants.O_WRONLY | constants.O_NONBLOCK)
    if (stats.isSocket() && descriptor === 1) process.stdout.on('error', () => {})
  } catch {
    // Not on this system, or not for this user: the descriptor is used as it is.
  }
  return descriptor
}

/** Throws unless lines can be appended to this file; it exists afterwards. */
export function checkAppendable(path: string): void {
  closeSync(openSync(path, 'a'))
}

/** Writes before the call returns, trying for a short while against a full pipe; the rest is lost. */
export function writeNow(descriptor: number, text: string): void {
  let rest: Uint8Array = Buffer.from(text)
  for (let tries = 0; rest.length > 0 && tries < 10; ) {
    try {
      rest = rest.subarray(writeSync(descriptor, rest))
    } catch (fault) {
      const full = fault instanceof Error && 'code' in fault && fault.code === 'EAGAIN'
      if (!full) return
      tries += 1
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pause_ms)
    }
  }
}
