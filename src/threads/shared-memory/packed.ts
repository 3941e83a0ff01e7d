/** Values for other threads: as JSON in shared memory, at most 2048 values to a text. */
export interface Packed<Value> {
  readonly texts: readonly SharedArrayBuffer[]
  readonly count: number
  /** Phantom member; carries the type of the elements. */
  readonly values?: Value
}

const together = 2048

/**
 * Packs many values for other threads. Posting a graph of objects would clone it member by member, for every thread and while the
 * sender waits; texts are written once and parsed where they are needed.
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

/** The values that `packed` wrote, in order. Both ends are this program, so the JSON is not checked. */
export function* unpacked<Value>({ texts }: Packed<Value>): Generator<Value> {
  for (const text of texts) yield* JSON.parse(Buffer.from(text).toString()) as readonly Value[]
}
