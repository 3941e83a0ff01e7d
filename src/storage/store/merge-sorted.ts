/**
 * Merges sorted sequences into one, reading each only as far as needed; of equal items, that of the earlier sequence comes first.
 * All sequences are closed when the merged one is, so that their cursors are given back.
 */
export function* mergeSorted<Item>(
  sequences: readonly Iterator<Item>[],
  compare: (a: Item, b: Item) => number,
): Generator<Item> {
  const heads: { readonly rest: Iterator<Item>; item: Item }[] = []
  try {
    for (const rest of sequences) {
      const first = rest.next()
      if (!first.done) heads.push({ rest, item: first.value })
    }
    for (let [least] = heads; least !== undefined; [least] = heads) {
      for (const head of heads) if (compare(head.item, least.item) < 0) least = head
      yield least.item
      const next = least.rest.next()
      if (next.done) heads.splice(heads.indexOf(least), 1)
      else least.item = next.value
    }
  } finally {
    for (const rest of sequences) rest.return?.()
  }
}
