/**
 * The room for commands before one partition, one limit over all front ends, in memory that they share. All commands of a
 * request get their room at once, or none does.
 */
export class MailboxCapacity {
  readonly #limit: number
  readonly #taken: Int32Array

  /** The memory of a mailbox in which nothing stands. */
  static memory(): SharedArrayBuffer {
    return new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
  }

  constructor(limit: number, memory: SharedArrayBuffer = MailboxCapacity.memory()) {
    this.#limit = limit
    this.#taken = new Int32Array(memory)
  }

  /** Commands that have room now, from all front ends. */
  get taken(): number {
    return Atomics.load(this.#taken, 0)
  }

  /**
   * Takes room for this many commands, which has to be given back; false when they do not fit. What is larger than the
   * whole mailbox has room when nothing else stands there: how large a request may be is the limit of its body.
   */
  take(commands: number): boolean {
    for (;;) {
      const { taken } = this
      if (taken > 0 && taken + commands > this.#limit) return false
      if (Atomics.compareExchange(this.#taken, 0, taken, taken + commands) === taken) return true
    }
  }

  /** Takes room beyond the limit, for what must never be refused. */
  force(commands: number): void {
    Atomics.add(this.#taken, 0, commands)
  }

  release(commands: number): void {
    Atomics.sub(this.#taken, 0, commands)
  }
}
