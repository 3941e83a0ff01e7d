/** Items of a chunk in a new list; a chunk that grows to twice as many is split. */
const chunk_items = 128

/** A run of items of a list. Lists that were made from one another share their chunks. */
class Chunk<Item> {
  readonly items: readonly Item[]
  /** The position in the chunk of the first item of each text; made on demand, and valid for as long as the chunk lives. */
  #positions: ReadonlyMap<string, number> | undefined
  #wasSearched = false

  /** @param positions when they are known */
  constructor(items: readonly Item[], positions?: ReadonlyMap<string, number>) {
    this.items = items
    this.#positions = positions
  }

  positions(textOf: (item: Item) => string): ReadonlyMap<string, number> {
    this.#positions ??= firstPositions(this.items, textOf)
    return this.#positions
  }

  /** The positions if they are known. */
  get known(): ReadonlyMap<string, number> | undefined {
    return this.#positions
  }

  /** Whether a search for so many texts reads each item: that is less than to find the positions for it. */
  reads(texts: number): boolean {
    return this.#positions === undefined && texts > this.items.length
  }

  /**
   * The texts among these that its items have. The first search reads the items: many lists are searched only once, and positions of
   * tens of thousands of items take longer than everything else that is done with them.
   */
  textsIn(
    texts: ReadonlySet<string> | ReadonlyMap<string, unknown>,
    textOf: (item: Item) => string,
  ): readonly string[] {
    if (this.reads(texts.size) || (this.#positions === undefined && !this.#wasSearched)) {
      this.#wasSearched = true
      return textsRead(this.items, texts, textOf)
    }
    return textsInBoth(this.positions(textOf), texts)
  }
}

function firstPositions<Item>(items: readonly Item[], textOf: (item: Item) => string): ReadonlyMap<string, number> {
  const positions = new Map<string, number>()
  for (let at = items.length - 1; at >= 0; at -= 1) {
    const item = items[at]
    if (item !== undefined) positions.set(textOf(item), at)
  }
  return positions
}

/**
 * A persistent list: a change gives another list and leaves this one as it is. It copies one chunk and the list of chunks, not
 * the items, so that thousands of changes to a long list cost little more than to a short one.
 */
export class ChunkedList<Item> {
  readonly length: number
  readonly #chunks: readonly Chunk<Item>[]

  private constructor(chunks: readonly Chunk<Item>[], length: number) {
    this.#chunks = chunks
    this.length = length
  }

  static of<Item>(items: readonly Item[]): ChunkedList<Item> {
    return new ChunkedList(chunksOf(items), items.length)
  }

  at(position: number): Item | undefined {
    const [chunk, offset] = this.#locate(position)
    return this.#chunks[chunk]?.items[offset]
  }

  /**
   * The position of the first item at or behind the place sought, in an ordered list: `compare` gives less than 0 for all items
   * before it.
   */
  firstFrom(compare: (item: Item) => number): number {
    const chunks = this.#chunks
    const isBehind = (at: number): boolean => {
      const last = chunks[at]?.items.at(-1)
      return last === undefined || compare(last) >= 0
    }
    const found = firstWhere(chunks.length, isBehind)
    const items = chunks[found]?.items ?? []
    let position = firstWhere(items.length, (at) => {
      const item = items[at]
      return item === undefined || compare(item) >= 0
    })
    for (let at = 0; at < found; at += 1) position += chunks[at]?.items.length ?? 0
    return position
  }

  /**
   * The texts among these that items have, in one look at each item however many texts there are. Every call has to pass the same
   * `textOf`.
   */
  textsOf(
    texts: ReadonlySet<string> | ReadonlyMap<string, unknown>,
    textOf: (item: Item) => string,
  ): ReadonlySet<string> {
    const found = new Set<string>()
    for (const chunk of this.#chunks) {
      if (found.size === texts.size) break
      for (const text of chunk.textsIn(texts, textOf)) found.add(text)
    }
    return found
  }

  /**
   * The list with other items in place of those with the same texts, for a list that has each text once: at most one look at each item,
   * however many others there are. Every call has to pass the same `textOf`.
   *
   * @param replaced called with each item that goes; it may take the one in its place out of `others`
   */
  withReplaced(
    others: ReadonlyMap<string, Item>,
    textOf: (item: Item) => string,
    replaced: (item: Item) => void,
  ): ChunkedList<Item> {
    let left = others.size
    const chunks = this.#chunks.map((chunk) => {
      if (left === 0) return chunk
      const items = chunk.reads(others.size)
        ? replacedByReading(chunk.items, others, textOf, replaced)
        : replacedAtPositions(chunk, others, textOf, replaced)
      if (items === undefined) return chunk
      left -= items.replaced
      return new Chunk(items.after, chunk.known)
    })
    return new ChunkedList(chunks, this.length)
  }

  replaced(position: number, item: Item): ChunkedList<Item> {
    const [at, offset] = this.#locate(position)
    const items = this.#chunks[at]?.items
    if (items === undefined) throw new RangeError(`there is no item ${position}`)
    return this.#with(at, [items.with(offset, item)], 0)
  }

  /** The list with these items before the one at a position, or at the end. */
  inserted(position: number, added: readonly Item[]): ChunkedList<Item> {
    if (added.length === 0) return this
    if (this.length === 0) return ChunkedList.of(added)
    const [at, offset] = this.#locateGap(position)
    const items = this.#chunks[at]?.items ?? []
    const after = [...items.slice(0, offset), ...added, ...items.slice(offset)]
    return this.#with(at, inChunks(after), added.length)
  }

  /**
   * The list without the items of these texts. Every call has to pass the same `textOf`.
   *
   * @param dropped called with each item that goes
   */
  without(
    texts: ReadonlySet<string>,
    textOf: (item: Item) => string,
    dropped: (item: Item) => void = () => {},
  ): ChunkedList<Item> {
    const stays = (item: Item): boolean => {
      if (!texts.has(textOf(item))) return true
      dropped(item)
      return false
    }
    let length = this.length
    const chunks: Chunk<Item>[] = []
    for (const chunk of this.#chunks) {
      const mayHave = chunk.reads(texts.size) || chunk.textsIn(texts, textOf).length > 0
      const items = mayHave ? chunk.items.filter(stays) : chunk.items
      const left = items.length < chunk.items.length ? new Chunk(items) : chunk
      length -= chunk.items.length - left.items.length
      if (left.items.length > 0) chunks.push(left)
    }
    return length === this.length ? this : new ChunkedList(chunks, length)
  }

  withoutPositions(positions: ReadonlySet<number>): ChunkedList<Item> {
    if (positions.size * chunk_items > this.length) {
      return ChunkedList.of(this.toArray().filter((_, at) => !positions.has(at)))
    }
    return [...positions]
      .sort((a, b) => b - a)
      .reduce<ChunkedList<Item>>((list, position) => list.#removed(position), this)
  }

  /** Whether both lists have the same items. Only chunks that the lists do not share are compared. */
  isSame(other: ChunkedList<Item>, same: (a: Item, b: Item) => boolean): boolean {
    if (this.length !== other.length) return false
    const chunks = other.#chunks
    if (!this.#chunks.every(({ items }, at) => items.length === chunks[at]?.items.length)) {
      return areSame(this.toArray(), other.toArray(), same)
    }
    return this.#chunks.every(
      (chunk, at) => chunk === chunks[at] || areSame(chunk.items, chunks[at]?.items ?? [], same),
    )
  }

  toArray(): Item[] {
    const all: Item[] = []
    for (const { items } of this.#chunks) for (const item of items) all.push(item)
    return all
  }

  #removed(position: number): ChunkedList<Item> {
    const [at, offset] = this.#locate(position)
    const items = this.#chunks[at]?.items
    if (items === undefined) throw new RangeError(`there is no item ${position}`)
    return this.#with(at, items.length === 1 ? [] : [items.toSpliced(offset, 1)], -1)
  }

  #with(at: number, runs: readonly (readonly Item[])[], growth: number): ChunkedList<Item> {
    const chunks = this.#chunks.slice()
    const [only] = runs
    if (only !== undefined && runs.length === 1) chunks[at] = new Chunk(only)
    else chunks.splice(at, 1, ...runs.map((items) => new Chunk(items)))
    return new ChunkedList(chunks, this.length + growth)
  }

  /** The chunk of a position, and the offset in it. */
  #locate(position: number): readonly [chunk: number, offset: number] {
    const chunks = this.#chunks
    let before = 0
    for (let at = 0; at < chunks.length; at += 1) {
      const { length } = chunks[at]?.items ?? []
      if (position < before + length) return [at, position - before]
      before += length
    }
    return [chunks.length, 0]
  }

  /** Where items are inserted; at the end, that is behind the last chunk's items. */
  #locateGap(position: number): readonly [chunk: number, offset: number] {
    if (position < this.length) return this.#locate(position)
    const last = this.#chunks.length - 1
    return [last, this.#chunks[last]?.items.length ?? 0]
  }
}

function chunksOf<Item>(items: readonly Item[]): readonly Chunk<Item>[] {
  const chunks: Chunk<Item>[] = []
  for (let at = 0; at < items.length; at += chunk_items) chunks.push(new Chunk(items.slice(at, at + chunk_items)))
  return chunks
}

function areSame<Item>(a: readonly Item[], b: readonly Item[], same: (a: Item, b: Item) => boolean): boolean {
  return a.every((item, at) => {
    const other = b[at]
    return item === other || (item !== undefined && other !== undefined && same(item, other))
  })
}

/** The items as one chunk, or as several if it would be too long. */
function inChunks<Item>(items: readonly Item[]): readonly (readonly Item[])[] {
  if (items.length < 2 * chunk_items) return [items]
  return chunksOf(items).map((chunk) => chunk.items)
}

/** The items of a chunk of which some were replaced. */
interface ReplacedItems<Item> {
  readonly after: readonly Item[]
  readonly replaced: number
}

/** Reads the text of each item once. Undefined when none is replaced. */
function replacedByReading<Item>(
  items: readonly Item[],
  others: ReadonlyMap<string, Item>,
  textOf: (item: Item) => string,
  replaced: (item: Item) => void,
): ReplacedItems<Item> | undefined {
  let after: Item[] | undefined
  let count = 0
  for (let at = 0; at < items.length; at += 1) {
    const held = items[at]
    const other = held && others.get(textOf(held))
    if (held === undefined || other === undefined) continue
    after ??= items.slice()
    after[at] = other
    count += 1
    replaced(held)
  }
  return after && { after, replaced: count }
}

/** Looks at those items only that are replaced. Undefined when none is. */
function replacedAtPositions<Item>(
  chunk: Chunk<Item>,
  others: ReadonlyMap<string, Item>,
  textOf: (item: Item) => string,
  replaced: (item: Item) => void,
): ReplacedItems<Item> | undefined {
  const texts = chunk.textsIn(others, textOf)
  if (texts.length === 0) return undefined
  const positions = chunk.positions(textOf)
  const after = chunk.items.slice()
  for (const text of texts) {
    const [at, other] = [positions.get(text), others.get(text)]
    const held = at === undefined ? undefined : after[at]
    if (at === undefined || held === undefined || other === undefined) continue
    replaced(held)
    after[at] = other
  }
  return { after, replaced: texts.length }
}

function textsRead<Item>(
  items: readonly Item[],
  texts: ReadonlySet<string> | ReadonlyMap<string, unknown>,
  textOf: (item: Item) => string,
): readonly string[] {
  let found: string[] | undefined
  for (const item of items) {
    const text = textOf(item)
    if (!texts.has(text)) continue
    found ??= []
    found.push(text)
  }
  return found ?? noTexts
}

/** The texts that are in both, by a look at each of the fewer ones. */
function textsInBoth(
  positions: ReadonlyMap<string, number>,
  texts: ReadonlySet<string> | ReadonlyMap<string, unknown>,
): readonly string[] {
  const [fewer, more] = texts.size > positions.size ? [positions, texts] : [texts, positions]
  let found: string[] | undefined
  for (const text of fewer.keys()) {
    if (!more.has(text)) continue
    found ??= []
    found.push(text)
  }
  return found ?? noTexts
}

const noTexts: readonly string[] = []

/**
 * The first of `count` indexes for which `holds` is true, given that it is then true for all behind; `count` if there is none.
 */
function firstWhere(count: number, holds: (at: number) => boolean): number {
  let low = 0
  let high = count
  while (low < high) {
    const middle = (low + high) >>> 1
    if (holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}
