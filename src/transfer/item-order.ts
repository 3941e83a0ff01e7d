/** Joins sequences that are each in order into one that is, reading each no further than it has to. */
export function* byOrder<Item>(sequences: readonly Iterable<Item>[], orderOf: (item: Item) => number): Generator<Item> {
  const heads: { item: Item; readonly rest: Iterator<Item> }[] = []
  for (const sequence of sequences) {
    const rest = sequence[Symbol.iterator]()
    const first = rest.next()
    if (!first.done) heads.push({ item: first.value, rest })
  }
  for (;;) {
    let [least] = heads
    if (least === undefined) return
    for (const head of heads) if (orderOf(head.item) < orderOf(least.item)) least = head
    yield least.item
    const next = least.rest.next()
    if (next.done) heads.splice(heads.indexOf(least), 1)
    else least.item = next.value
  }
}
