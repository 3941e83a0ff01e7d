import { fnv1a } from '../../hash.js'

/** Counts that threads share, each in a cell of shared memory. */
export class SharedCounts {
  readonly #cells: Int32Array

  /** Memory with all counts at zero. */
  static memory(cells = 1): SharedArrayBuffer {
    return new SharedArrayBuffer(cells * Int32Array.BYTES_PER_ELEMENT)
  }

  constructor(memory: SharedArrayBuffer) {
    this.#cells = new Int32Array(memory)
  }

  taken(cell = 0): number {
    return Atomics.load(this.#cells, cell)
  }

  /** Adds to a count if the sum stays within the limit. */
  take(count: number, limit: number, cell = 0): boolean {
    if (Atomics.add(this.#cells, cell, count) + count <= limit) return true
    Atomics.sub(this.#cells, cell, count)
    return false
  }

  /** Adds to a count if the sum stays within the limit, or if the count is zero: a single user may exceed it. */
  takeOrAlone(count: number, limit: number): boolean {
    for (;;) {
      const taken = Atomics.load(this.#cells, 0)
      if (taken > 0 && taken + count > limit) return false
      if (Atomics.compareExchange(this.#cells, 0, taken, taken + count) === taken) return true
    }
  }

  /** Adds to a count without a limit. */
  force(count: number): void {
    Atomics.add(this.#cells, 0, count)
  }

  release(count: number, cell = 0): void {
    Atomics.sub(this.#cells, cell, count)
  }

  /** Sets a cell that holds a limit. */
  set(cell: number, value: number): void {
    Atomics.store(this.#cells, cell, value)
  }
}

const open = 0
const connectionLimit = 1
const streams = 2

/** The part of the connections that streams of subscriptions may take: they stay open, and no connection that works is closed for another. */
const streamedPart = 3 / 4

/**
 * Limits the open connections over all front ends, since the operating system gives a connection to any of them [management
 * 11.8].
 */
export class ConnectionLimit {
  readonly #counts: SharedCounts

  static memory(maxConnections: number): SharedArrayBuffer {
    const memory = SharedCounts.memory(3)
    new SharedCounts(memory).set(connectionLimit, maxConnections)
    return memory
  }

  constructor(memory: SharedArrayBuffer) {
    this.#counts = new SharedCounts(memory)
  }

  get limit(): number {
    return this.#counts.taken(connectionLimit)
  }

  /** The number of open connections beyond the limit. */
  get excess(): number {
    return Math.max(0, this.#counts.taken(open) - this.limit)
  }

  /** Counts a connection, which has to be released; false when `beyond` more than the limit are open already. */
  take(beyond = 0): boolean {
    return this.#counts.take(1, this.limit + beyond, open)
  }

  release(): void {
    this.#counts.release(1, open)
  }

  /** Counts a stream of a subscription, which has to be released; false when the others take all connections that streams may take. */
  takeStream(): boolean {
    const most = Math.floor((this.limit - viewerKinds.length * mostViewers) * streamedPart)
    return this.#counts.take(1, Math.max(1, most), streams)
  }

  releaseStream(): void {
    this.#counts.release(1, streams)
  }
}

/** The cell for requests that wait for any provider; the cells behind it are for origins, by their hash. */
const allForwards = 0
const firstOrigin = 1

/** Origins with the same cell share a limit: there are many more cells than hanging providers. */
const originCells = 4096

/** Why a request may not wait. */
export type ForwardRefusal =
  /** The limit of requests that wait for providers is reached. */
  | { readonly kind: 'forwardsFull' }
  /** The limit of requests that wait for this provider is reached. */
  | { readonly kind: 'providerFull'; readonly origin: string }

/**
 * Limits the requests of clients that wait for providers, over all threads that share the memory: in all, and per origin, so that
 * a hanging provider does not use up the limit of all others.
 */
export class ForwardLimit {
  readonly #all: number
  readonly #each: number
  readonly #waiting: SharedCounts

  static memory(): SharedArrayBuffer {
    return SharedCounts.memory(firstOrigin + originCells)
  }

  /** At most `all` in all, and `each` per origin. */
  constructor(all: number, each: number, memory: SharedArrayBuffer = ForwardLimit.memory()) {
    this.#all = all
    this.#each = each
    this.#waiting = new SharedCounts(memory)
  }

  /** Counts a request that waits for these origins, each once; nothing is counted on a refusal. */
  take(origins: Iterable<string>): ForwardRefusal | undefined {
    if (!this.#waiting.take(1, this.#all, allForwards)) return { kind: 'forwardsFull' }
    const entered: string[] = []
    for (const origin of origins) {
      if (this.#waiting.take(1, this.#each, cellOf(origin))) {
        entered.push(origin)
        continue
      }
      for (const other of entered) this.answered(other)
      this.release()
      return { kind: 'providerFull', origin }
    }
    return undefined
  }

  /** The request no longer waits for this origin. */
  answered(origin: string): void {
    this.#waiting.release(1, cellOf(origin))
  }

  /** The request no longer waits; `answered` was called for all of its origins. */
  release(): void {
    this.#waiting.release(1, allForwards)
  }
}

/** The cell of an origin, the same in all threads. */
function cellOf(origin: string): number {
  return firstOrigin + ((fnv1a(origin) >>> 0) % originCells)
}

/**
 * The room for commands before one partition: one limit over all front ends, in shared memory. All commands of a request get room
 * at once, or none does.
 */
export class MailboxCapacity {
  readonly #limit: number
  readonly #commands: SharedCounts

  static memory(): SharedArrayBuffer {
    return SharedCounts.memory()
  }

  constructor(limit: number, memory: SharedArrayBuffer = MailboxCapacity.memory()) {
    this.#limit = limit
    this.#commands = new SharedCounts(memory)
  }

  /** The number of commands with room, of all front ends. */
  get taken(): number {
    return this.#commands.taken()
  }

  /**
   * Reserves room for this many commands, which has to be released; false when they do not fit. A request larger than the whole
   * mailbox fits while the mailbox is empty: the limit of a body bounds its size.
   */
  take(commands: number): boolean {
    return this.#commands.takeOrAlone(commands, this.#limit)
  }

  /** Reserves room beyond the limit, for commands that must never be refused. */
  force(commands: number): void {
    this.#commands.force(commands)
  }

  release(commands: number): void {
    this.#commands.release(commands)
  }
}

/** The feeds that clients may watch without a time limit. */
const viewerKinds = ['live', 'log'] as const
type ViewerKind = (typeof viewerKinds)[number]

/** Each viewer costs memory, and time of the main thread. */
export const mostViewers = 16

/** Limits the concurrent viewers of each feed over all front ends. */
export class ViewerLimit {
  readonly #viewers: SharedCounts
  readonly #cell: number

  static memory(): SharedArrayBuffer {
    return SharedCounts.memory(viewerKinds.length)
  }

  constructor(memory: SharedArrayBuffer, kind: ViewerKind) {
    this.#viewers = new SharedCounts(memory)
    this.#cell = viewerKinds.indexOf(kind)
  }

  get isReached(): boolean {
    return this.#viewers.taken(this.#cell) >= mostViewers
  }

  /** Counts a viewer, which has to be released; false when the limit is reached. */
  take(): boolean {
    return this.#viewers.take(1, mostViewers, this.#cell)
  }

  release(): void {
    this.#viewers.release(1, this.#cell)
  }
}
