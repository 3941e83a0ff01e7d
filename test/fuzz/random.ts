/** A number that stands in JSON as it is spelled here. */
export class Spelled {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** Random choices that are the same for the same seed. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** From 0 to below 1; the generator is mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** A whole number from 0 to below the limit. */
  below(limit: number): number {
    return Math.floor(this.next() * limit)
  }

  /** Whether something happens whose probability is one in this number. */
  once(inTimes: number): boolean {
    return this.below(inTimes) === 0
  }

  pick<Thing>(things: readonly [Thing, ...Thing[]]): Thing {
    return things[this.below(things.length)] ?? things[0]
  }

  /** Any of them, if there are any. */
  any<Thing>(things: readonly Thing[]): Thing | undefined {
    return things[this.below(things.length)]
  }

  list<Thing>(most: number, made: () => Thing): Thing[] {
    return Array.from({ length: this.below(most + 1) }, made)
  }
}

/** JSON text of a value, in which numbers may be spelled as nobody but a client would. */
export function jsonOf(value: unknown): string {
  if (value instanceof Spelled) return value.text
  if (Array.isArray(value)) return `[${value.map(jsonOf).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const members = Object.entries(value).filter(([, each]) => each !== undefined)
  return `{${members.map(([name, each]) => `${JSON.stringify(name)}:${jsonOf(each)}`).join(',')}}`
}
