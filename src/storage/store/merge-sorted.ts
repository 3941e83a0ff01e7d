/** What is left of a sequence, with its next item. */
interface Head<Item> {
  readonly rest: Iterator<Item>
  /** Its index among the sequences. */
  readonly at: number
  item: Item
}

/**
 * Merges sorted sequences into one, reading each only as far as needed; of equal items, that of the earlier sequence comes first.
 * All sequences are closed when the merged one is, so that their cursors are given back. The next items are a heap: a query of a thousand
 * types has as many sequences, or more.
 */
export function* mergeSorted<Item>(
  sequences: readonly Iterator<Item>[],
  compare: (a: Item, b: Item) => number,
): Generator<Item> {
  const isBefore = (a: Head<Item>, b: Head<Item>): boolean => (compare(a.item, b.item) || a.at - b.at) < 0
  const heap: Head<Item>[] = []
  try {
    for (const [at, rest] of sequences.entries()) {
      const first = rest.next()
      if (!first.done) heap.push({ rest, at, item: first.value })
    }
    for (let at = (heap.length >> 1) - 1; at >= 0; at -= 1) sink(heap, at, isBefore)
    for (let [least] = heap; least !== undefined; [least] = heap) {
      yield least.item
      const next = least.rest.next()
      if (!next.done) least.item = next.value
      else {
        const end = heap.pop()
        if (end !== undefined && end !== least) heap[0] = end
      }
      sink(heap, 0, isBefore)
    }
  } finally {
    for (const rest of sequences) rest.return?.()
  }
}

/** Moves a head of the heap down to where all below it come after it. */
function sink<Item>(heap: Head<Item>[], from: number, isBefore: (a: Head<Item>, b: Head<Item>) => boolean): void {
  const head = heap[from]
  if (head === undefined) return
  let at = from
  for (;;) {
    let [below, least] = [2 * at + 1, heap[2 * at + 1]]
    const other = heap[below + 1]
    if (least !== undefined && other !== undefined && isBefore(other, least)) [below, least] = [below + 1, other]
    if (least === undefined || !isBefore(least, head)) break
    heap[at] = least
    at = below
  }
  heap[at] = head
}
