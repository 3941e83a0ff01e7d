import type { Brand } from '../../result.js'
import { type Milliseconds, now } from '../../time.js'

/** The sequence number of an entity's creation, unique in the broker and ascending over all partitions [context 2.7]. */
export type Sequence = Brand<number, 'Sequence'>

/** In a cluster a sequence consists of the milliseconds since 2020, the slot of the node and a counter. */
const begun_ms = Date.UTC(2020)
const slotBits = 4n
const counterBits = 8n
const counterMask = (1n << counterBits) - 1n
const slotMask = (1n << slotBits) - 1n

const counterCell = 0
const slotCell = 1

/**
 * Gives every command its sequence: one counter in memory that all front ends share, so that the order is exact over partitions
 * and within a millisecond [context 2.7]. It continues above the highest sequence on disk. In a cluster each node's sequences
 * contain its slot: they are unique, and in the order of time as far as the nodes' clocks agree.
 */
export class SequenceCounter {
  readonly memory: SharedArrayBuffer
  readonly #cells: BigUint64Array
  /** Undefined without a cluster. */
  readonly #slot: bigint | undefined

  /** A counter that continues after the highest sequence given so far; in a cluster with the slot of the node, 0 to 15. */
  static after(highest: number, slot?: number): SequenceCounter {
    const memory = new SharedArrayBuffer(2 * BigUint64Array.BYTES_PER_ELEMENT)
    const cells = new BigUint64Array(memory)
    cells[counterCell] = BigInt(highest) + (slot === undefined ? 1n : 0n)
    if (slot !== undefined) cells[slotCell] = BigInt(slot) + 1n
    return new SequenceCounter(memory)
  }

  constructor(memory: SharedArrayBuffer) {
    this.memory = memory
    this.#cells = new BigUint64Array(memory)
    const slot = this.#cells[slotCell] ?? 0n
    this.#slot = slot === 0n ? undefined : slot - 1n
  }

  next(): Sequence {
    if (this.#slot !== undefined) return this.#nextOfSlot(this.#slot)
    return Number(Atomics.add(this.#cells, counterCell, 1n)) as Sequence
  }

  #nextOfSlot(slot: bigint): Sequence {
    for (;;) {
      const last = Atomics.load(this.#cells, counterCell)
      const next = following(last, slot, BigInt(Date.now() - begun_ms))
      if (Atomics.compareExchange(this.#cells, counterCell, last, next) === last) return Number(next) as Sequence
    }
  }
}

/** The sequence of a slot that follows another one of any slot, also when the clock is behind. */
function following(last: bigint, slot: bigint, now_ms: bigint): bigint {
  const last_ms = last >> (slotBits + counterBits)
  if (now_ms > last_ms) return sequence(now_ms, slot, 0n)
  const counter = last & counterMask
  const isOwn = ((last >> counterBits) & slotMask) === slot
  return isOwn && counter < counterMask ? last + 1n : sequence(last_ms + 1n, slot, 0n)
}

function sequence(time_ms: bigint, slot: bigint, counter: bigint): bigint {
  return (((time_ms << slotBits) | slot) << counterBits) | counter
}

/** The memory from which all threads draw their numbers. */
export interface TransactionMemory {
  readonly start: Milliseconds
  readonly last: SharedArrayBuffer
}

/** The memory of a process that starts now. */
export function newTransactions(): TransactionMemory {
  return { start: now(), last: new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT) }
}

/** Makes the numbers of requests and notifications in the log, unique in the process [management 10.3]. */
export function transactions({ start, last }: TransactionMemory): () => string {
  const cell = new BigInt64Array(last)
  const prefix = `${Math.floor(start / 1000)}-${String(start % 1000).padStart(3, '0')}-`
  return () => prefix + String(Atomics.add(cell, 0, 1n) + 1n).padStart(11, '0')
}
