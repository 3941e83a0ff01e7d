import { fnv1a } from '../../hash.js'

/** Counts that threads share, each in a cell of their memory. */
export class SharedCounts {
  readonly #cells: Int32Array

  /** Memory of counts of which nothing is taken. */
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

  /** Adds to a count if the sum stays within the limit, or if nothing is taken: a single user may exceed it. */
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

/**
 * The number of open connections, limited over all front ends: the operating system gives a connection to any of them
 * [management 11.8].
 */
export class ConnectionLimit {
  readonly #counts: SharedCounts

  /** The memory of a process in which no connection is open. */
  static memory(maxConnections: number): SharedArrayBuffer {
    const memory = SharedCounts.memory(2)
    new SharedCounts(memory).set(connectionLimit, maxConnections)
    return memory
  }

  constructor(memory: SharedArrayBuffer) {
    this.#counts = new SharedCounts(memory)
  }

  get limit(): number {
    return this.#counts.taken(connectionLimit)
  }

  /** How many connections are open beyond the limit. */
  get excess(): number {
    return Math.max(0, this.#counts.taken(open) - this.limit)
  }

  /** Lowers the limit for all threads, where the operating system allows fewer connections than were asked for. */
  lower(to: number): void {
    this.#counts.set(connectionLimit, to)
  }

  /** Counts a connection, which has to be released; false when the limit and `beyond` more are open already. */
  take(beyond = 0): boolean {
    return this.#counts.take(1, this.limit + beyond, open)
  }

  release(): void {
    this.#counts.release(1, open)
  }
}

/** Requests that wait for any provider, and from the next cell on those that wait for the origins of a cell. */
const allForwards = 0
const firstOrigin = 1

/** Origins that fall into one cell share a limit: there are many more cells than providers that hang. */
const originCells = 4096

/** Why a request may not wait. */
export type ForwardRefusal =
  /** As many requests wait for providers as may. */
  | { readonly kind: 'forwardsFull' }
  /** As many wait for this one as may. */
  | { readonly kind: 'providerFull'; readonly origin: string }

/**
 * How many requests of clients wait for providers, over all threads that share the memory: in all, and for each origin, so
 * that a provider which hangs does not take the room of all others.
 */
export class ForwardLimit {
  readonly #all: number
  readonly #each: number
  readonly #waiting: SharedCounts

  /** The memory of a limit of which nothing is taken. */
  static memory(): SharedArrayBuffer {
    return SharedCounts.memory(firstOrigin + originCells)
  }

  /** At most this many in all, and for each origin. */
  constructor(all: number, each: number, memory: SharedArrayBuffer = ForwardLimit.memory()) {
    this.#all = all
    this.#each = each
    this.#waiting = new SharedCounts(memory)
  }

  /** Takes room for a request that waits for these origins, each once; none of it on an error. */
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

  /** The request does not wait for this origin any more. */
  answered(origin: string): void {
    this.#waiting.release(1, cellOf(origin))
  }

  /** The request does not wait any more; it waits for none of its origins by now. */
  release(): void {
    this.#waiting.release(1, allForwards)
  }
}

/** The cell of an origin, which is the same in all threads. */
function cellOf(origin: string): number {
  return firstOrigin + ((fnv1a(origin) >>> 0) % originCells)
}

/**
 * The room for commands before one partition, one limit over all front ends, in memory that they share. All commands of a
 * request get their room at once, or none does.
 */
export class MailboxCapacity {
  readonly #limit: number
  readonly #commands: SharedCounts

  /** The memory of an empty mailbox. */
  static memory(): SharedArrayBuffer {
    return SharedCounts.memory()
  }

  constructor(limit: number, memory: SharedArrayBuffer = MailboxCapacity.memory()) {
    this.#limit = limit
    this.#commands = new SharedCounts(memory)
  }

  /** Commands that have room now, from all front ends. */
  get taken(): number {
    return this.#commands.taken()
  }

  /**
   * Takes room for this many commands, which has to be given back; false when they do not fit. A request that is larger than the
   * whole mailbox has room while the mailbox is empty: the limit of a body says how large a request may be.
   */
  take(commands: number): boolean {
    return this.#commands.takeOrAlone(commands, this.#limit)
  }

  /** Takes room beyond the limit, for what must never be refused. */
  force(commands: number): void {
    this.#commands.force(commands)
  }

  release(commands: number): void {
    this.#commands.release(commands)
  }
}

/** What clients look at for as long as they like. */
const viewerKinds = ['live', 'log'] as const
type ViewerKind = (typeof viewerKinds)[number]

/** Each viewer costs memory, and time of the main thread. */
export const mostViewers = 16

/** How many clients look at something at the same time, over all front ends: more than 16 are refused. */
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

  /** Counts one more, which has to be released; false when there are as many as may be. */
  take(): boolean {
    return this.#viewers.take(1, mostViewers, this.#cell)
  }

  release(): void {
    this.#viewers.release(1, this.#cell)
  }
}
