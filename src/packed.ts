/** Values that cross to other threads: as JSON, in memory that all of them share, so many to a text. */
export interface Packed<Value> {
  readonly texts: readonly SharedArrayBuffer[]
  /** Never there: tells what the texts hold. */
  readonly values?: Value
}

const together = 2048

/**
 * Packs many values for other threads. A message with a graph of objects is cloned member by member, for every thread
 * anew and while the sender waits; texts are written once and read where they are needed.
 */
export function packed<Value>(values: readonly Value[]): Packed<Value> {
  const texts: SharedArrayBuffer[] = []
  for (let at = 0; at < values.length; at += together) {
    const text = JSON.stringify(values.slice(at, at + together))
    const memory = new SharedArrayBuffer(Buffer.byteLength(text))
    Buffer.from(memory).write(text)
    texts.push(memory)
  }
  return { texts }
}

/** The values that `packed` wrote, in order. Both ends are this program, so what arrives is what was sent. */
export function* unpacked<Value>({ texts }: Packed<Value>): Generator<Value> {
  for (const text of texts) yield* JSON.parse(Buffer.from(text).toString()) as readonly Value[]
}
