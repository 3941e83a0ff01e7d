import { SharedCounts } from './limits.js'

const block_bytes = 256 * 1024

/** The cell for blocks that are taken; behind it the one that counts requests for memory that were refused. */
const [taken, refusals] = [0, 1]

/** The memory of a request beside the texts of its head and body: Node's objects and ours. */
const request_bytes = 3072

/**
 * Limits the bytes of requests that are being read, wait or are worked on, over all front ends; another instance limits those of
 * large responses until they have been sent. Each front end takes its part in blocks, so that not every request touches the
 * shared count.
 */
export class RequestMemory {
  readonly #limit: number
  readonly #blocks: SharedCounts
  #reserved_bytes = 0
  #held_bytes = 0

  static memory(): SharedArrayBuffer {
    return SharedCounts.memory(2)
  }

  constructor(limit_MiB: number, memory: SharedArrayBuffer) {
    this.#limit = (limit_MiB * 2 ** 20) / block_bytes
    this.#blocks = new SharedCounts(memory)
  }

  get held_bytes(): number {
    return this.#held_bytes
  }

  /** How often any front end was refused memory, as a number that wraps around. */
  get refusals(): number {
    return this.#blocks.taken(refusals)
  }

  /** Takes bytes that have to be given back; false when fewer are left. */
  take(bytes: number): boolean {
    const held = this.#held_bytes + bytes
    if (held > this.#reserved_bytes) {
      const blocks = Math.ceil((held - this.#reserved_bytes) / block_bytes)
      if (!this.#blocks.take(blocks, this.#limit, taken)) {
        this.#blocks.take(1, Number.POSITIVE_INFINITY, refusals)
        return false
      }
      this.#reserved_bytes += blocks * block_bytes
    }
    this.#held_bytes = held
    return true
  }

  /** A spare block is kept, so that requests one by one do not touch the shared count. */
  give(bytes: number): void {
    this.#held_bytes -= bytes
    const spare = Math.floor((this.#reserved_bytes - this.#held_bytes) / block_bytes) - 1
    if (spare <= 0) return
    this.#reserved_bytes -= spare * block_bytes
    this.#blocks.release(spare, taken)
  }
}

/** The bytes that one request holds; they are given back once. */
export class HeldMemory {
  readonly #memory: RequestMemory
  #bytes = 0

  constructor(memory: RequestMemory) {
    this.#memory = memory
  }

  take(bytes: number): boolean {
    if (!this.#memory.take(bytes)) return false
    this.#bytes += bytes
    return true
  }

  /** Gives back what it holds beyond a number of bytes. */
  keep(bytes: number): void {
    if (this.#bytes <= bytes) return
    this.#memory.give(this.#bytes - bytes)
    this.#bytes = bytes
  }

  get isTaken(): boolean {
    return this.#bytes > 0
  }

  giveAll(): void {
    if (this.#bytes > 0) this.#memory.give(this.#bytes)
    this.#bytes = 0
  }
}

/** The memory for the head of a request. */
export function headCost_bytes(url: string, rawHeaders: readonly string[]): number {
  let bytes = request_bytes + url.length
  for (const text of rawHeaders) bytes += text.length
  return bytes
}
