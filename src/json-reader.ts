import { err, ok, type Result } from './result.js'
import type { Steps } from './slices.js'

/**
 * A JSON text as it stands: members keep their order, and doubled ones stay. What a scalar becomes is said by whoever reads
 * it.
 */
export type JsonTree<Leaf> = Leaf | readonly JsonTree<Leaf>[] | JsonMembers<Leaf>

export interface JsonMembers<Leaf> {
  readonly members: readonly (readonly [key: string, value: JsonTree<Leaf>])[]
}

export interface JsonMalformed {
  readonly kind: 'jsonMalformed'
  /** It is nested deeper than anything that is read. */
  readonly isTooDeep?: true
}

/** What scalars become; nothing where one is not taken. */
export interface JsonLeaves<Leaf> {
  /** A string, its escapes decoded. */
  readonly text: (text: string) => Leaf
  /** A number or a literal, as it is written. */
  readonly other: (characters: string) => Leaf | undefined
}

/** A scalar with its kind. */
export type JsonScalar = string | number | boolean | null

/** Scalars by their kind; a number beyond what a double can hold is none. */
export const scalarsByKind: JsonLeaves<JsonScalar> = { text: (text) => text, other: scalarOf }

function scalarOf(characters: string): JsonScalar | undefined {
  switch (characters) {
    case 'true':
      return true
    case 'false':
      return false
    case 'null':
      return null
    default: {
      const number = Number(characters)
      return Number.isFinite(number) ? number : undefined
    }
  }
}

/** Deeper bodies are not read: reading, cloning and answering them would need a stack as deep. */
export const maxNesting = 200

/** How many levels of arrays and objects a value of NGSIv2 may have, and a template of a notification [NGSIv2 context 3.1]. */
export const maxValueLevels = 50

/** How many arrays and objects stand in each other, in a text that is JSON. */
export function levelsIn(text: string): number {
  let [levels, open] = [0, 0]
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at)
    if (unit === 0x22) at = stringEnd(text, at)
    else if (unit === 0x5b || unit === 0x7b) {
      open += 1
      if (open > levels) levels = open
    } else if (unit === 0x5d || unit === 0x7d) open -= 1
  }
  return levels
}

/** The position of the quotation mark that closes a string. */
function stringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const unit = text.charCodeAt(at)
    if (unit === 0x22) return at
    if (unit === 0x5c) at += 1
  }
  return text.length
}

/** Reads a text that is JSON, of at most this many levels, by what the engine does fastest: of doubled members the last one stays. */
export function parseJson(text: string, levels = maxNesting): Result<unknown, JsonMalformed> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return err({ kind: 'jsonMalformed' })
  }
  return levelsIn(text) > levels ? err({ kind: 'jsonMalformed', isTooDeep: true }) : ok(value)
}

/**
 * Reads a text that is JSON by RFC 8259, to the letter, in steps: it may be so long that others are to have their turn
 * meanwhile. A scalar at the top is for the caller to judge.
 */
export function* readTree<Leaf>(text: string, leaves: JsonLeaves<Leaf>): Steps<Result<JsonTree<Leaf>, JsonMalformed>> {
  const reader = new JsonReader(text, leaves)
  while (!reader.read()) yield
  return reader.result
}

/** Where a text is no JSON. */
export interface JsonFault {
  /** Its place, in UTF-16 units. */
  readonly at: number
  /** What should stand there. */
  readonly expected: string
}

const anyValue: JsonLeaves<true> = {
  text: () => true,
  other: (characters) => scalarOf(characters) !== undefined || undefined,
}

/** Where a text is no JSON; nothing for one that is. */
export function findJsonFault(text: string): JsonFault | undefined {
  const reader = new JsonReader(text, anyValue)
  for (let isOver = false; !isOver; ) isOver = reader.read()
  return reader.result.ok ? undefined : reader.fault
}

const scalar = /(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null)/y
/** A string with an escape or a control character: all others stand for themselves. */
const needsCare = /[^ -[\]-\uffff]/

/** An array or an object of which not all is read yet. */
type Open<Leaf> =
  | { readonly items: JsonTree<Leaf>[] }
  | { readonly members: (readonly [string, JsonTree<Leaf>])[]; key: string }

/** Values that are read before somebody may look at the clock. */
const valuesAtOnce = 1000

/** Goes through a text, without a stack of calls: it can stop between any two values. What reads gives nothing where the text is no JSON. */
class JsonReader<Leaf> {
  readonly #text: string
  readonly #leaves: JsonLeaves<Leaf>
  readonly #open: Open<Leaf>[] = []
  #at = 0
  #isTooDeep = false
  #expected = 'a value'
  #whole: JsonTree<Leaf> | undefined

  constructor(text: string, leaves: JsonLeaves<Leaf>) {
    this.#text = text
    this.#leaves = leaves
  }

  /** Reads on for a while; whether it has come to the end, or to something that is no JSON. */
  read(): boolean {
    for (let left = valuesAtOnce; left > 0; left -= 1) if (!this.#value()) return true
    return false
  }

  get result(): Result<JsonTree<Leaf>, JsonMalformed> {
    if (this.#whole !== undefined) return ok(this.#whole)
    return err(this.#isTooDeep ? { kind: 'jsonMalformed', isTooDeep: true } : { kind: 'jsonMalformed' })
  }

  /** Where it has stopped, after it has come to something that is no JSON. */
  get fault(): JsonFault {
    return { at: this.#at, expected: this.#isTooDeep ? `no more than ${maxNesting} levels` : this.#expected }
  }

  /** Reads a scalar, or the beginning of what others are in; whether there is more to come. */
  #value(): boolean {
    this.#skipBlanks()
    this.#expected = 'a value'
    switch (this.#text[this.#at]) {
      case '{':
        return this.#object()
      case '[':
        return this.#array()
      case '"':
        return this.#put(this.#textLeaf())
      default:
        return this.#put(this.#otherLeaf())
    }
  }

  #textLeaf(): Leaf | undefined {
    const text = this.#string()
    return text === undefined ? undefined : this.#leaves.text(text)
  }

  #otherLeaf(): Leaf | undefined {
    const characters = this.#matched(scalar)
    return characters === undefined ? undefined : this.#leaves.other(characters)
  }

  #object(): boolean {
    if (this.#isFull()) return false
    this.#at += 1
    if (this.#taken('}')) return this.#put({ members: [] })
    const key = this.#key()
    if (key !== undefined) this.#open.push({ members: [], key })
    return key !== undefined
  }

  #array(): boolean {
    if (this.#isFull()) return false
    this.#at += 1
    if (this.#taken(']')) return this.#put([])
    this.#open.push({ items: [] })
    return true
  }

  #isFull(): boolean {
    this.#isTooDeep = this.#open.length === maxNesting
    return this.#isTooDeep
  }

  /** Puts a value where it belongs, and closes what ends with it. */
  #put(value: JsonTree<Leaf> | undefined): boolean {
    for (let json = value; json !== undefined; ) {
      const open = this.#open.at(-1)
      if (open === undefined) return this.#end(json)
      if ('items' in open) {
        open.items.push(json)
        this.#expected = '"," or "]"'
        if (this.#taken(',')) return true
        json = this.#taken(']') ? open.items : undefined
      } else {
        open.members.push([open.key, json])
        this.#expected = '"," or "}"'
        if (this.#taken(',')) return this.#member(open)
        json = this.#taken('}') ? { members: open.members } : undefined
      }
      this.#open.pop()
    }
    return false
  }

  #member(open: { key: string }): boolean {
    const key = this.#key()
    if (key !== undefined) open.key = key
    return key !== undefined
  }

  #key(): string | undefined {
    this.#skipBlanks()
    this.#expected = 'a key in double quotes'
    const key = this.#text[this.#at] === '"' ? this.#string() : undefined
    if (key !== undefined) this.#expected = '":"'
    return key !== undefined && this.#taken(':') ? key : undefined
  }

  #end(whole: JsonTree<Leaf>): false {
    this.#skipBlanks()
    this.#expected = 'the end'
    if (this.#at === this.#text.length) this.#whole = whole
    return false
  }

  #string(): string | undefined {
    const start = this.#at + 1
    const end = this.#text.indexOf('"', start)
    if (end === -1) return this.#badString()
    const raw = this.#text.slice(start, end)
    if (needsCare.test(raw)) return this.#stringWithEscapes(start)
    this.#at = end + 1
    return raw
  }

  #stringWithEscapes(start: number): string | undefined {
    let end = this.#text.indexOf('"', start)
    while (end !== -1 && this.#isEscaped(end)) end = this.#text.indexOf('"', end + 1)
    const text = end === -1 ? undefined : unescaped(this.#text.slice(start, end))
    if (text === undefined) return this.#badString()
    this.#at = end + 1
    return text
  }

  #badString(): undefined {
    this.#expected = 'a string that is closed, without control characters and with valid escapes,'
  }

  /** Whether a character follows an odd number of backslashes. */
  #isEscaped(at: number): boolean {
    let first = at
    while (this.#text.charCodeAt(first - 1) === 0x5c) first -= 1
    return (at - first) % 2 === 1
  }

  #matched(expression: RegExp): string | undefined {
    expression.lastIndex = this.#at
    if (!expression.test(this.#text)) return undefined
    const start = this.#at
    this.#at = expression.lastIndex
    return this.#text.slice(start, this.#at)
  }

  #taken(character: string): boolean {
    this.#skipBlanks()
    if (this.#text[this.#at] !== character) return false
    this.#at += 1
    return true
  }

  #skipBlanks(): void {
    for (; this.#at < this.#text.length; this.#at += 1) {
      const unit = this.#text.charCodeAt(this.#at)
      if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) return
    }
  }
}

/**
 * Nothing where an escape or a character is none of JSON. Half of a surrogate pair is no character: as U+FFFD it is the
 * same text in memory, on disk and in responses.
 */
function unescaped(raw: string): string | undefined {
  try {
    const text: unknown = JSON.parse(`"${raw}"`)
    return String(text).toWellFormed()
  } catch {
    return undefined
  }
}

/** The number of members and items that a value has at all depths, in steps; counting ends soon when it is more than `most`. */
export function* partsOf(tree: JsonTree<JsonScalar>, most: number): Steps<number> {
  const open = hasParts(tree) ? [tree] : []
  let parts = 0
  for (let json = open.pop(); json !== undefined && parts <= most; json = open.pop()) {
    parts += 'members' in json ? json.members.length : json.length
    if (parts > most) break
    const below = 'members' in json ? json.members.map(([, member]) => member) : json
    for (const each of below) if (hasParts(each)) open.push(each)
    yield
  }
  return parts
}

function hasParts(tree: JsonTree<JsonScalar>): tree is Exclude<JsonTree<JsonScalar>, JsonScalar> {
  return typeof tree === 'object' && tree !== null
}

/** More members are given to an object one by one: all at once they would take too long. */
const membersAtOnce = 256

/** An object with these members, in steps: whatever the keys are, `__proto__` is one like others. */
export function* objectOf<Item>(members: ReadonlyMap<string, Item>): Steps<{ readonly [key: string]: Item }> {
  if (members.size < membersAtOnce) return Object.fromEntries(members)
  const object: Record<string, Item> = {}
  let given = 0
  for (const [key, value] of members) {
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
    given += 1
    if (given % membersAtOnce === 0) yield
  }
  return object
}
