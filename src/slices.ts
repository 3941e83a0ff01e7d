import { InTurn } from './in-turn.js'

/** Other work of a thread waits for long work no longer than this, however much of it is under way. */
const slice_ms = 5

/** Work goes on for this long whatever else is under way, so that small requests never wait for a turn. */
const short_ms = 0.5

/**
 * Shares the turns of the event loop of this thread among all long work in it: together it has one slice in each turn. Work
 * that gave way goes on in that order, and several share the slice of a turn when the first ones end before it does. It costs nothing
 * while all work is short.
 */
class SliceTurns {
  /** When the slice of this turn began; undefined as long as there was no long work in it. */
  #since: number | undefined
  #waiting: (() => void)[] = []
  /** How many of them have gone on in this turn. */
  #resumed = 0

  /** Whether work that began or went on at this time has to wait for a later turn. */
  isOver(began: number): boolean {
    const now = performance.now()
    if (now - began < short_ms) return false
    return now - (this.#since ?? this.#begin(began)) > slice_ms
  }

  /** Resolves when the caller may go on. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      if (this.#since === undefined) this.#begin(performance.now())
    })
  }

  #begin(since: number): number {
    this.#since = since
    setImmediate(this.#turn)
    return since
  }

  readonly #turn = (): void => {
    this.#since = undefined
    if (this.#waiting.length === 0) return
    this.#begin(performance.now())
    this.#resume()
  }

  readonly #resume = (): void => {
    const resume = this.#waiting[this.#resumed]
    if (resume === undefined || performance.now() - (this.#since ?? 0) > slice_ms) {
      this.#waiting.splice(0, this.#resumed)
      this.#resumed = 0
      return
    }
    this.#resumed += 1
    resume()
    // Node calls this in the same turn, after all that follows from what was resumed.
    queueMicrotask(() => process.nextTick(this.#resume))
  }
}

const turns = new SliceTurns()

/** Long work of a thread in slices: between two of them the thread does what else there is to do. */
export class Slices {
  readonly #giveWay: (() => Promise<unknown>) | undefined
  #began = performance.now()

  /**
   * All work in slices of a thread takes turns, but for that with a `giveWay` of its own: it is called between slices, and what it throws
   * ends the work.
   */
  constructor(giveWay?: () => Promise<unknown>) {
    this.#giveWay = giveWay
  }

  /** Whether the slice under way has taken long enough. */
  get isOver(): boolean {
    return this.#giveWay === undefined ? turns.isOver(this.#began) : performance.now() - this.#began > slice_ms
  }

  /** Lets others work, then begins the next slice. */
  async next(): Promise<void> {
    await (this.#giveWay?.() ?? turns.next())
    this.#began = performance.now()
  }
}

/** Long work as a generator: it may be interrupted wherever it yields. What may be short or long is written once. */
export type Steps<Result> = Generator<void, Result, void>

/** What is known at once, where work in steps is asked for. */
// biome-ignore lint/correctness/useYield: there is no step.
export function* noSteps<Result>(result: Result): Steps<Result> {
  return result
}

/** Work in steps that is short: done before this returns. */
export function atOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}

/** Work in steps that is long, in slices. */
export async function inSlices<Result>(steps: Steps<Result>, slices = new Slices()): Promise<Result> {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
    if (slices.isOver) await slices.next()
  }
}

/** Work in steps that is long, in slices; nothing when `isLate` says between two of them that it took too long. */
export async function inSlicesUntil<Result>(
  steps: Steps<Result>,
  isLate: () => boolean,
  slices = new Slices(),
): Promise<Result | undefined> {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
    if (!slices.isOver) continue
    await slices.next()
    if (isLate()) return undefined
  }
}

/** Work in steps that is mostly short: done before this returns if one slice is enough for it, else in slices. */
export function atOnceOrInSlices<Result>(steps: Steps<Result>): Result | Promise<Result> {
  const slices = new Slices()
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
    if (slices.isOver) return slices.next().then(() => inSlices(steps, slices))
  }
}

/** A list as text that grows item by item: what has come is joined now and then, not all of it at the end. */
export class LongText {
  readonly #joined: string[] = []
  #items: string[] = []
  #characters = 0

  push(item: string): void {
    this.#items.push(item)
    this.#characters += item.length
    if (this.#characters > joined_characters) this.#join()
  }

  /** All items, with commas between them. */
  get joined(): string {
    if (this.#items.length > 0) this.#join()
    return this.#joined.join(',')
  }

  #join(): void {
    this.#joined.push(this.#items.join(','))
    this.#items = []
    this.#characters = 0
  }
}

const joined_characters = 64 * 1024

/** An array of JSON with what each item is rendered as, in steps: each may be as long as a payload. */
export function* listText<Item>(items: Iterable<Item>, render: (item: Item) => string): Steps<string> {
  const texts = new LongText()
  for (const item of items) {
    texts.push(render(item))
    yield
  }
  return `[${texts.joined}]`
}

/** At most this many are sorted, or merged, in one step. */
const sorted_atOnce = 1024

/** A copy of a list in order, where equal items keep theirs. */
export function* sortedInSteps<Item extends {}>(
  items: readonly Item[],
  compare: (a: Item, b: Item) => number,
): Steps<readonly Item[]> {
  let runs: (readonly Item[])[] = []
  for (let at = 0; at < items.length; at += sorted_atOnce) {
    runs.push(items.slice(at, at + sorted_atOnce).sort(compare))
    yield
  }
  while (runs.length > 1) {
    const merged: (readonly Item[])[] = []
    for (let at = 0; at < runs.length; at += 2)
      merged.push(yield* mergedInSteps(runs[at] ?? [], runs[at + 1] ?? [], compare))
    runs = merged
  }
  return runs[0] ?? []
}

function* mergedInSteps<Item extends {}>(
  one: readonly Item[],
  other: readonly Item[],
  compare: (a: Item, b: Item) => number,
): Steps<readonly Item[]> {
  const [last, first] = [one.at(-1), other[0]]
  // Much of what is sorted comes in order.
  if (last === undefined || first === undefined || compare(last, first) <= 0) return one.concat(other)
  const merged: Item[] = []
  let [left, right] = [0, 0]
  for (;;) {
    const [a, b] = [one[left], other[right]]
    const isLeft = b === undefined || (a !== undefined && compare(a, b) <= 0)
    const least = isLeft ? a : b
    if (least === undefined) return merged
    merged.push(least)
    if (isLeft) left += 1
    else right += 1
    if (merged.length % sorted_atOnce === 0) yield
  }
}

/** At most this many are done between two looks at the clock. */
const fewItems = 256

/**
 * Does the same with each of many things, in slices. Few are done before this returns, so that what comes of one request
 * keeps its place before what arrives after it.
 */
export function mapInSlices<Item, Result>(
  items: readonly Item[],
  map: (item: Item, at: number) => Result,
): readonly Result[] | Promise<readonly Result[]> {
  return items.length <= fewItems ? items.map(map) : mappedInSlices(items, map)
}

async function mappedInSlices<Item, Result>(
  items: readonly Item[],
  map: (item: Item, at: number) => Result,
): Promise<readonly Result[]> {
  const slices = new Slices()
  const results: Result[] = []
  for (const [at, item] of items.entries()) {
    results.push(map(item, at))
    if (slices.isOver) await slices.next()
  }
  return results
}

/** Reads long payloads one after the other: while one is read it takes many times its bytes. */
export class LongPayloads {
  readonly #turns = new InTurn()

  read<Read>(steps: Steps<Read>): Promise<Read> {
    return this.#turns.run(() => inSlices(steps))
  }
}
