import { closeSync, constants, fstatSync, openSync, write, writeSync } from 'node:fs'

/** How many bytes may wait for a slow reader: lines below ERROR, and any [management 10.2]. */
export interface SinkLimits {
  readonly usual_bytes: number
  readonly most_bytes: number
}

interface Chunk {
  rest: Buffer
  readonly lines: number
  readonly descriptor: number
  /** Whether the system has it in its hands. */
  writing: boolean
}

const defaultLimits: SinkLimits = { usual_bytes: 1 << 20, most_bytes: 8 << 20 }

/** Lines are gathered into writes of about this size. */
const chunk_bytes = 64 * 1024
/** How long a full pipe or disk is left alone before the next try. */
const pause_ms = 20

/**
 * Writes lines to a file descriptor without ever blocking the thread. What can not be written at once waits, within
 * limits; beyond them lines are dropped and counted, and the number is reported when the reader has caught up.
 *
 * pino's own destination is not used, because it waits without end for a stuck reader when the process exits.
 */
export class LineSink {
  #descriptor: number
  /** Descriptors that this sink has opened, and closes. */
  #owned: boolean
  readonly #limits: SinkLimits
  readonly #recovered: (dropped: number) => void
  #waiting: Buffer[] = []
  #waiting_bytes = 0
  /** What is being written now, and where to: a chunk is finished on the descriptor that it was begun on. */
  #underWay: Chunk | undefined
  #retired: number | undefined
  #scheduled = false
  #dropped = 0
  #broken = false
  #drained: (() => void)[] = []

  constructor(descriptor: number, owned: boolean, recovered: (dropped: number) => void, limits = defaultLimits) {
    this.#descriptor = descriptor
    this.#owned = owned
    this.#recovered = recovered
    this.#limits = limits
  }

  /** Whether lines wait that nobody takes, or nobody can take any. */
  get stuck(): boolean {
    return this.#broken || this.#dropped > 0
  }

  /** Takes a line with its line end. Lines that matter are only dropped at the outermost limit. */
  put(line: string, matters: boolean): void {
    if (this.#broken) return
    const bytes = Buffer.from(line)
    const limit = matters ? this.#limits.most_bytes : this.#dropped > 0 ? 0 : this.#limits.usual_bytes
    if (this.#waiting_bytes + bytes.length > limit) {
      this.#dropped += 1
      return
    }
    this.#waiting.push(bytes)
    this.#waiting_bytes += bytes.length
    if (this.#scheduled || this.#underWay !== undefined) return
    // The lines of one turn of the event loop go out together.
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.#next()
    })
  }

  /** Goes on with another descriptor, which is owned from now on. */
  replace(descriptor: number): void {
    if (this.#owned) {
      if (this.#underWay?.descriptor === this.#descriptor) this.#retired = this.#descriptor
      else closeSync(this.#descriptor)
    }
    this.#descriptor = descriptor
    this.#owned = true
  }

  /** Resolves when everything is written, or after this time with whatever is. */
  async flush(limit_ms: number): Promise<void> {
    if (this.#broken || (this.#waiting.length === 0 && this.#underWay === undefined)) return
    let timer: NodeJS.Timeout | undefined
    await Promise.race([
      new Promise<void>((resolve) => this.#drained.push(resolve)),
      new Promise<void>((resolve) => {
        timer = setTimeout(resolve, limit_ms)
      }),
    ])
    clearTimeout(timer)
  }

  /** Writes what waits before this call returns, as far as the reader takes it at once: for the end of the process. */
  putNow(line: string): boolean {
    if (this.#broken) return false
    const writing = this.#underWay?.writing === true
    // What is in the hands of the system can not be called back. It is done in a moment, or the reader is stuck.
    if (writing) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100)
    if (writing && this.stuck) return false
    const rest = writing ? [] : [this.#underWay?.rest ?? Buffer.alloc(0)]
    const all = Buffer.concat([...rest, ...this.#waiting, Buffer.from(line)])
    this.#waiting = []
    this.#waiting_bytes = 0
    if (!writing) this.#underWay = undefined
    return writtenNow(this.#descriptor, all)
  }

  #next(): void {
    if (this.#underWay !== undefined || this.#broken) return
    if (this.#waiting.length === 0) {
      this.#settle()
      return
    }
    let count = 0
    let size = 0
    while (count < this.#waiting.length && (count === 0 || size < chunk_bytes)) {
      size += this.#waiting[count]?.length ?? 0
      count += 1
    }
    this.#waiting_bytes -= size
    const rest = Buffer.concat(this.#waiting.splice(0, count), size)
    this.#underWay = { rest, lines: count, descriptor: this.#descriptor, writing: false }
    this.#write()
  }

  #write(): void {
    const chunk = this.#underWay
    if (chunk === undefined) return
    chunk.writing = true
    write(chunk.descriptor, chunk.rest, (fault, written) => {
      chunk.writing = false
      if (this.#underWay !== chunk) return
      if (fault === null) this.#written(chunk, written)
      else this.#failed(chunk, fault)
    })
  }

  #written(chunk: Chunk, bytes: number): void {
    chunk.rest = chunk.rest.subarray(bytes)
    if (chunk.rest.length > 0) {
      this.#write()
      return
    }
    this.#done(chunk)
    if (this.#dropped > 0 && this.#waiting_bytes === 0) this.#report()
    this.#next()
  }

  #failed(chunk: Chunk, fault: NodeJS.ErrnoException): void {
    if (fault.code === 'EAGAIN') {
      setTimeout(() => this.#write(), pause_ms).unref()
    } else if (fault.code === 'EPIPE' || fault.code === 'EBADF') {
      // The reader is gone and does not come back.
      this.#broken = true
      this.#waiting = []
      this.#done(chunk)
      this.#settle()
    } else {
      this.#dropped += chunk.lines
      this.#done(chunk)
      this.#next()
    }
  }

  #done({ descriptor }: Chunk): void {
    this.#underWay = undefined
    if (this.#retired !== descriptor) return
    closeSync(descriptor)
    this.#retired = undefined
  }

  #report(): void {
    const dropped = this.#dropped
    this.#dropped = 0
    this.#recovered(dropped)
  }

  #settle(): void {
    for (const resolve of this.#drained.splice(0)) resolve()
  }
}

/**
 * The descriptor to write to for one that the process has got. A pipe is opened anew where the system allows it, so that
 * only this end does not block: a stuck reader then leaves no write hanging, which would keep the process from ending.
 */
export function unblocked(descriptor: number): { readonly descriptor: number; readonly owned: boolean } {
  try {
    if (fstatSync(descriptor).isFIFO()) {
      const path = `/proc/self/fd/${descriptor}`
      return { descriptor: openSync(path, constants.O_WRONLY | constants.O_NONBLOCK), owned: true }
    }
  } catch {
    // Not on this system, or not by this user: the descriptor is used as it is.
  }
  return { descriptor, owned: false }
}

/** Writes at once, for a short while against a full pipe; false when not all of it was taken. */
export function writtenNow(descriptor: number, bytes: Uint8Array): boolean {
  let rest = bytes
  for (let tries = 0; rest.length > 0; ) {
    try {
      rest = rest.subarray(writeSync(descriptor, rest))
    } catch (fault) {
      tries += 1
      const full = fault instanceof Error && 'code' in fault && fault.code === 'EAGAIN'
      if (!full || tries > 10) return false
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pause_ms)
    }
  }
  return true
}
