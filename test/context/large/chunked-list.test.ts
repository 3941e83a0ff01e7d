import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import { ChunkedList } from '../../../src/model/context/large/chunked-list.js'

const number = fc.integer({ min: 0, max: 400 })
const change = fc.oneof(
  fc.record({ kind: fc.constant('replace' as const), at: fc.nat(2000), item: number }),
  fc.record({ kind: fc.constant('insert' as const), at: fc.nat(2000), items: fc.array(number, { maxLength: 300 }) }),
  fc.record({ kind: fc.constant('remove' as const), at: fc.array(fc.nat(2000), { maxLength: 8 }) }),
  fc.record({ kind: fc.constant('pull' as const), items: fc.array(number, { maxLength: 200 }) }),
)
type Change = typeof change extends fc.Arbitrary<infer Made> ? Made : never

function positionsIn(length: number, at: readonly number[]): ReadonlySet<number> {
  return new Set(length === 0 ? [] : at.map((each) => each % length))
}

function changedArray(items: readonly number[], made: Change): readonly number[] {
  switch (made.kind) {
    case 'replace':
      return items.length === 0 ? items : items.with(made.at % items.length, made.item)
    case 'insert':
      return items.toSpliced(made.at % (items.length + 1), 0, ...made.items)
    case 'remove': {
      const gone = positionsIn(items.length, made.at)
      return items.filter((_, at) => !gone.has(at))
    }
    case 'pull':
      return items.filter((item) => !made.items.includes(item))
  }
}

function changedList(list: ChunkedList<number>, made: Change): ChunkedList<number> {
  switch (made.kind) {
    case 'replace':
      return list.length === 0 ? list : list.replaced(made.at % list.length, made.item)
    case 'insert':
      return list.inserted(made.at % (list.length + 1), made.items)
    case 'remove':
      return list.withoutPositions(positionsIn(list.length, made.at))
    case 'pull':
      return list.without(new Set(made.items.map(String)), String)
  }
}

test('a chunked list changes as an array does, and each version stays as it was', async () => {
  fc.assert(
    fc.property(fc.array(number, { maxLength: 500 }), fc.array(change, { maxLength: 30 }), (first, changes) => {
      const versions = [{ items: first as readonly number[], list: ChunkedList.of(first) }]
      for (const made of changes) {
        const { items, list } = versions.at(-1) ?? { items: [], list: ChunkedList.of<number>([]) }
        versions.push({ items: changedArray(items, made), list: changedList(list, made) })
      }
      for (const { items, list } of versions) {
        assert.deepEqual(list.toArray(), items)
        assert.equal(list.length, items.length)
        assert.deepEqual(
          [list.at(0), list.at(items.length - 1), list.at(items.length)],
          [items[0], items.at(-1), undefined],
        )
        const held = list.textsOf(new Set(['0', '7', '400']), String)
        for (const item of [0, 7, 400]) assert.equal(held.has(String(item)), items.includes(item))
      }
    }),
    { numRuns: 60 },
  )
})

test('in a list in order, the first item is found that does not stand before what is looked for', async () => {
  fc.assert(
    fc.property(fc.array(number, { maxLength: 600 }), number, (items, sought) => {
      const sorted = items.toSorted((a, b) => a - b)
      const list = sorted.reduce(
        (made, item) =>
          made.inserted(
            made.firstFrom((held) => held - item),
            [item],
          ),
        ChunkedList.of<number>([]),
      )
      assert.deepEqual(list.toArray(), sorted)
      const found = sorted.findIndex((item) => item >= sought)
      assert.equal(
        list.firstFrom((item) => item - sought),
        found === -1 ? sorted.length : found,
      )
    }),
    { numRuns: 60 },
  )
})

interface Entry {
  readonly text: string
  readonly version: number
}

class CountedMap<Key, Value> extends Map<Key, Value> {
  looks = 0

  override has(key: Key): boolean {
    this.looks += 1
    return super.has(key)
  }

  override get(key: Key): Value | undefined {
    this.looks += 1
    return super.get(key)
  }
}

const textOf = ({ text }: Entry): string => text
const entries = (texts: readonly number[], version: number): readonly Entry[] =>
  texts.map((text) => ({ text: `${text}`, version }))

test('others take the place of the items with the same texts, and whoever was there is told', async () => {
  const texts = fc.uniqueArray(fc.nat(600), { maxLength: 500 })
  fc.assert(
    fc.property(texts, texts, (first, given) => {
      const list = ChunkedList.of(entries(first, 1))
      const others = new Map(entries(given, 2).map((entry) => [entry.text, entry]))
      const replaced: Entry[] = []
      const after = list.withReplaced(others, textOf, (entry) => replaced.push(entry))
      const both = new Set(first.filter((text) => given.includes(text)))
      assert.deepEqual(
        after.toArray(),
        first.map((text) => ({ text: `${text}`, version: both.has(text) ? 2 : 1 })),
      )
      assert.deepEqual(new Set(replaced), new Set(entries([...both], 1)))
      assert.deepEqual(list.toArray(), entries(first, 1))
      assert.deepEqual(after.textsOf(new Set(others.keys()), textOf), new Set(entries([...both], 1).map(textOf)))
    }),
    { numRuns: 60 },
  )
})

test('thousands of others cost a look at each item, not one at each chunk for each of them', async (t) => {
  const numbers = Array.from({ length: 20_000 }, (_, at) => at)
  const others = new CountedMap(entries(numbers, 2).map((entry) => [entry.text, entry]))
  const after = ChunkedList.of(entries(numbers, 1)).withReplaced(others, textOf, () => {})
  t.equal(after.at(19_999)?.version, 2)
  t.ok(others.looks <= numbers.length, `${others.looks}`)
})

test('to replace or remove tens of thousands of items reads the text of each item once', async (t) => {
  const numbers = Array.from({ length: 20_000 }, (_, at) => at)
  let reads = 0
  const counted = (entry: Entry): string => {
    reads += 1
    return textOf(entry)
  }
  const others = new Map(entries(numbers, 2).map((entry) => [entry.text, entry]))
  const list = ChunkedList.of(entries(numbers, 1))
  t.equal(list.withReplaced(others, counted, () => {}).at(19_999)?.version, 2)
  t.ok(reads <= numbers.length, `${reads} to replace them`)
  reads = 0
  const even = new Set(numbers.filter((number) => number % 2 === 0).map(String))
  t.equal(list.without(even, counted).length, 10_000)
  t.ok(reads <= numbers.length, `${reads} to remove them`)
})

test('what takes the place of an item may be taken out of the others meanwhile', async (t) => {
  const numbers = Array.from({ length: 1000 }, (_, at) => at)
  for (const most of [1500, 50]) {
    const others = new Map(
      entries(
        Array.from({ length: most }, (_, at) => 900 + at),
        2,
      ).map((each) => [each.text, each]),
    )
    const number = Math.min(100, most)
    const after = ChunkedList.of(entries(numbers, 1)).withReplaced(others, textOf, ({ text }) => others.delete(text))
    t.equal(after.toArray().filter(({ version }) => version === 2).length, number)
    t.equal(others.size, most - number)
  }
})
