/** Values that cross to other threads: as JSON, in memory that all of them share, at most 2048 to a text. */
export interface Packed<Value> {
  readonly texts: readonly SharedArrayBuffer[]
  /** How many values there are. */
  readonly count: number
  /** Phantom member; carries the type of the elements. */
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
    texts.push(shared(JSON.stringify(values.slice(at, at + together))))
  }
  return { texts, count: values.length }
}

/** Packs values that are JSON texts already, one for each; the texts are not checked. */
export function packedTexts<Value>(values: Iterable<string>): Packed<Value> {
  const texts: SharedArrayBuffer[] = []
  let count = 0
  let next: string[] = []
  const close = (): void => {
    if (next.length > 0) texts.push(shared(`[${next.join()}]`))
    next = []
  }
  for (const value of values) {
    next.push(value)
    count += 1
    if (next.length === together) close()
  }
  close()
  return { texts, count }
}

function shared(text: string): SharedArrayBuffer {
  const memory = new SharedArrayBuffer(Buffer.byteLength(text))
  Buffer.from(memory).write(text)
  return memory
}

/** The values that `packed` wrote, in order. Both ends are this program, so what arrives is what was sent. */
export function* unpacked<Value>({ texts }: Packed<Value>): Generator<Value> {
  for (const text of texts) yield* JSON.parse(Buffer.from(text).toString()) as readonly Value[]
}
