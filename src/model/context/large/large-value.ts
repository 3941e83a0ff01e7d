import type { Value } from '../entity.js'
import { item_frame, member_frame, type ValueMeasure, valueMeasure } from '../entity-size.js'
import { canonical, isArray, quote, sameValue } from '../value.js'
import { ChunkedList } from './chunked-list.js'
import { piecesOf, type TextPiece } from './text-measure.js'

/** A member of an object under its key, or an item of an array under its canonical text. */
interface Member {
  readonly text: string
  readonly value: Value
  /** Its JSON in the object or array. */
  readonly written: string
  /** The measure of its value. */
  readonly measure: ValueMeasure
}

/** Most items never need their canonical text. */
class Item implements Member {
  readonly value: Value
  #text: string | undefined

  constructor(value: Value) {
    this.value = value
  }

  get text(): string {
    this.#text ??= canonical(this.value)
    return this.#text
  }

  get written(): string {
    return writtenText(this.value)
  }

  get measure(): ValueMeasure {
    return measureOf(this.value)
  }
}

class Property implements Member {
  readonly text: string
  readonly value: Value

  constructor(key: string, value: Value) {
    this.text = key
    this.value = value
  }

  get written(): string {
    return `${quote(this.text)}:${writtenText(this.value)}`
  }

  get measure(): ValueMeasure {
    return measureOf(this.value)
  }
}

/** A member or item of a value that was read from a record. Most of them are only written again. */
class Written implements Member {
  readonly written: string
  readonly #key: string | undefined
  /** Where its value begins. */
  readonly #from: number
  #text: string | undefined

  constructor(written: string, key: string | undefined, from: number) {
    this.written = written
    this.#key = key
    this.#from = from
  }

  get text(): string {
    this.#text ??= this.#key ?? (isScalar(this.written, 0) ? this.written : canonical(this.value))
    return this.#text
  }

  get measure(): ValueMeasure {
    const isPlain = isScalar(this.written, this.#from) && this.written.charCodeAt(this.#from) !== quotationMark
    return isPlain ? plainMeasure : valueMeasure(this.value)
  }

  get value(): Value {
    return JSON.parse(this.written.slice(this.#from)) as Value
  }
}

/** Whether the value that begins there in a text is no array or object: its canonical text is then its JSON. */
function isScalar(text: string, from: number): boolean {
  const first = text.charCodeAt(from)
  return first !== openBracket && first !== openBrace
}

const [openBracket, openBrace, quotationMark] = [0x5b, 0x7b, 0x22]

/** The measure of numbers, `true`, `false` and `null`. */
const plainMeasure = valueMeasure(null)

function measureOf(value: Value): ValueMeasure {
  const isPlain = value === null || (typeof value !== 'object' && typeof value !== 'string')
  return isPlain ? plainMeasure : valueMeasure(value)
}

/** As `JSON.stringify` writes it, which takes several times as long for a short text or a number. */
function writtenText(value: Value): string {
  if (typeof value === 'string') return quote(value)
  return typeof value === 'number' ? String(value) : JSON.stringify(value)
}

/** Objects list keys that are numbers before all others, so these have no position of their own. */
function isPlaced({ text }: Member): boolean {
  const first = text.charCodeAt(0)
  return !(first >= zero && first <= nine)
}

const [zero, nine] = [0x30, 0x39]

type Members = { readonly [key: string]: Value }

/**
 * A large array or object to which a turn applies many operators. Versions share what they have in common: an operator costs what
 * it changes, a search in an array one look into each chunk. The value itself is made when it is first read.
 */
export class LargeValue {
  readonly kind: 'array' | 'object'
  #value: Value | undefined
  /** Its JSON; undefined if it is unknown or was not asked for yet. */
  #text: string | undefined
  /** Materialises a value that was read from a record. */
  readonly #made: (() => Value) | undefined
  /** Whether the concatenated texts of its members are its text. */
  #isWritten = false
  #members: ChunkedList<Member> | undefined
  #measure: ValueMeasure | undefined

  private constructor(kind: LargeValue['kind'], value: Value | undefined, text?: string, made?: () => Value) {
    this.kind = kind
    this.#value = value
    this.#text = text
    this.#made = made
  }

  static of(value: readonly Value[] | Members): LargeValue {
    return new LargeValue(isArray(value) ? 'array' : 'object', value)
  }

  /** A value from its text as `JSON.stringify` has written it, and its measure; materialised when it is first read. */
  static written(text: string, measure: ValueMeasure, make: () => Value): LargeValue {
    const written = new LargeValue(text.startsWith('[') ? 'array' : 'object', undefined, text, make)
    written.#measure = measure
    return written
  }

  /** The text that `JSON.stringify` gives; undefined when it is not cheaper than that. */
  get text(): string | undefined {
    if (this.#text === undefined && this.#isWritten) {
      const pieces = this.#list.toArray().map(({ written }) => written)
      this.#text = this.kind === 'array' ? `[${pieces.join(',')}]` : `{${pieces.join(',')}}`
    }
    return this.#text
  }

  /** The text that `JSON.stringify` gives, written if need be. */
  get json(): string {
    return this.text ?? JSON.stringify(this.value)
  }

  get value(): Value {
    this.#value ??= this.#made === undefined ? this.#joined() : this.#made()
    return this.#value
  }

  /** Counted once; later only changes are counted. */
  get measure(): ValueMeasure {
    this.#measure ??= valueMeasure(this.value)
    return this.#measure
  }

  /** Whether it equals a value. Of two texts only those members are materialised that are arrays or objects and not written alike. */
  isSame(other: Value | LargeValue): boolean {
    const { size, values } = other instanceof LargeValue ? other.measure : valueMeasure(other)
    if (size !== this.measure.size || values !== this.measure.values) return false
    if (!(other instanceof LargeValue)) return sameValue(this.value, other)
    const [text, others] = [this.text, other.text]
    return text === undefined || others === undefined ? sameValue(this.value, other.value) : isSameText(text, others)
  }

  /** The number of its items or members. */
  get length(): number {
    return this.#list.length
  }

  /** The array with items before the one at a position, or at the end. */
  inserted(position: number, items: readonly Value[]): LargeValue {
    const added = items.map((value) => new Item(value))
    return this.#with(this.#list.inserted(position, added), added, [])
  }

  /** The array with those of the items that it lacks, each once, at the end. */
  extended(items: readonly Value[]): LargeValue {
    const given = new Map<string, Item>()
    for (const value of items) {
      const item = new Item(value)
      if (!given.has(item.text)) given.set(item.text, item)
    }
    const held = this.#list.textsOf(given, textOf)
    const all = [...given.values()].filter(({ text }) => !held.has(text))
    return this.#with(this.#list.inserted(this.length, all), all, [])
  }

  /** The array without the items that equal one of these. */
  reduced(items: readonly Value[]): LargeValue {
    return this.#without(new Set(items.map(canonical)))
  }

  /** The object with members set, and others removed. */
  changed(set: Members, unset: Members): LargeValue {
    return this.#withSet(set).#without(new Set(Object.keys(unset)))
  }

  #withSet(set: Members): LargeValue {
    const given = new Map<string, Property>()
    for (const key of Object.keys(set)) given.set(key, new Property(key, set[key] ?? null))
    if (given.size === 0) return this
    const written = [...given.values()]
    const dropped: Member[] = []
    const list = this.#list.withReplaced(given, textOf, (held) => {
      dropped.push(held)
      given.delete(held.text)
    })
    const added = [...given.values()]
    return this.#with(list.inserted(list.length, added), written, dropped)
  }

  get #list(): ChunkedList<Member> {
    if (this.#members === undefined) {
      const written = this.#value === undefined && this.#text !== undefined ? writtenIn(this.#text) : undefined
      this.#isWritten = written !== undefined
      this.#members = ChunkedList.of(written ?? membersOf(this.value))
    }
    return this.#members
  }

  #without(texts: ReadonlySet<string>): LargeValue {
    if (texts.size === 0) return this
    const dropped: Member[] = []
    const left = this.#list.without(texts, textOf, (member) => dropped.push(member))
    return this.#with(left, [], dropped)
  }

  #with(list: ChunkedList<Member>, added: readonly Member[], dropped: readonly Member[]): LargeValue {
    const after = new LargeValue(this.kind, undefined)
    after.#members = list
    after.#isWritten = this.#isWritten && (this.kind === 'array' || added.every(isPlaced))
    if (this.#measure !== undefined) {
      let { size, values } = this.#measure
      for (const [members, sign] of [[added, 1] as const, [dropped, -1] as const]) {
        for (const { text, measure } of members) {
          size += sign * (measure.size + (this.kind === 'array' ? item_frame : member_frame + text.length))
          values += sign * (measure.values + 1)
        }
      }
      after.#measure = { size, values }
    }
    return after
  }

  #joined(): Value {
    const members = this.#list.toArray()
    if (this.kind === 'array') return members.map(({ value }) => value)
    return Object.fromEntries(members.map(({ text, value }) => [text, value]))
  }
}

function textOf({ text }: Member): string {
  return text
}

/** The members of a value by its text, none of them materialised; undefined for an object with keys that are numbers. */
function writtenIn(text: string): readonly Member[] | undefined {
  const members = piecesOf(text).map(({ key, from, value, to }) => new Written(text.slice(from, to), key, value - from))
  return text.startsWith('[') || members.every(isPlaced) ? members : undefined
}

/** Whether two values are equal, by what `JSON.stringify` has written of them: the order of members is free. */
function isSameText(one: string, other: string): boolean {
  if (one === other) return true
  if (one.length !== other.length || one[0] !== other[0]) return false
  const [pieces, others] = [piecesOf(one), piecesOf(other)]
  if (pieces.length !== others.length) return false
  const textOfOther = others.every(({ key }, at) => key === pieces[at]?.key)
    ? (_: TextPiece, at: number) => valueText(other, others[at])
    : ofKeys(other, others)
  return pieces.every((piece, at) => isSamePiece(valueText(one, piece), textOfOther(piece, at)))
}

function ofKeys(text: string, pieces: readonly TextPiece[]): (piece: TextPiece) => string | undefined {
  const byKey = new Map(pieces.map((piece) => [piece.key, piece]))
  return ({ key }) => valueText(text, byKey.get(key))
}

function valueText(text: string, piece: TextPiece | undefined): string | undefined {
  return piece && text.slice(piece.value, piece.to)
}

/** Equal scalars are written alike. */
function isSamePiece(one: string | undefined, other: string | undefined): boolean {
  if (one === other) return one !== undefined
  if (one === undefined || other === undefined || one.length !== other.length) return false
  if (one[0] !== other[0] || (one[0] !== '{' && one[0] !== '[')) return false
  return sameValue(JSON.parse(one) as Value, JSON.parse(other) as Value)
}

function membersOf(value: Value): readonly Member[] {
  if (typeof value !== 'object' || value === null) return []
  if (isArray(value)) return value.map((item) => new Item(item))
  return Object.entries(value).map(([key, member]) => new Property(key, member))
}
