import { type Milliseconds, now } from '../time.js'

/** What is handed to a thread so that its numbers continue those of the others. */
export interface TransactionMemory {
  readonly start: Milliseconds
  readonly last: SharedArrayBuffer
}

/** The memory of a process that starts now. */
export function newTransactions(): TransactionMemory {
  return { start: now(), last: new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT) }
}

/** Makes the numbers by which the log tells requests and notifications apart, unique in the process [management 10.3]. */
export function transactions({ start, last }: TransactionMemory): () => string {
  const cell = new BigInt64Array(last)
  const prefix = `${Math.floor(start / 1000)}-${String(start % 1000).padStart(3, '0')}-`
  return () => prefix + String(Atomics.add(cell, 0, 1n) + 1n).padStart(11, '0')
}
