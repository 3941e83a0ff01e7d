import type { Value } from '../entity.js'
import { item_frame, member_frame, type ValueMeasure, valueMeasure } from '../entity-size.js'
import { canonical, isArray, quote, sameValue } from '../value.js'
import { ChunkedList } from './chunked-list.js'
import { measureText, PieceReader, piecesOf, type TextPiece } from './text-measure.js'
import {
  indexes,
  indexIn,
  isFlat,
  type MeasuredText,
  mergedMembers,
  withoutScalars,
  withScalars,
} from './text-merge.js'
import { keepText } from './written-value.js'

/** Items or members that an operator is given: those of a text are not materialised. */
export type GivenItems = readonly (Value | LargeValue)[] | LargeValue
export type GivenMembers = Members | LargeValue

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
    this.#text ??= this.#key ?? (isCanonical(this.written) ? this.written : canonical(this.value))
    return this.#text
  }

  get measure(): ValueMeasure {
    const { written } = this
    const isPlain = isScalar(written, this.#from) && written.charCodeAt(this.#from) !== quotationMark
    return isPlain ? plainMeasure : measureText(written, this.#from)
  }

  get valueText(): string {
    return this.written.slice(this.#from)
  }

  get value(): Value {
    return JSON.parse(this.valueText) as Value
  }
}

/** Whether the value that begins there in a text is no array or object: its canonical text is then its JSON. */
function isScalar(text: string, from: number): boolean {
  const first = text.charCodeAt(from)
  return first !== openBracket && first !== openBrace
}

const [openBracket, openBrace, quotationMark] = [0x5b, 0x7b, 0x22]

/** Whether what `JSON.stringify` has written is certainly the canonical text: no object in it has two keys. */
function isCanonical(written: string): boolean {
  return isScalar(written, 0) || !written.includes('{') || !written.includes(',')
}

/** The measure of numbers, `true`, `false` and `null`. */
const plainMeasure = valueMeasure(null)

function measureOf(value: Value): ValueMeasure {
  const isPlain = value === null || (typeof value !== 'object' && typeof value !== 'string')
  return isPlain ? plainMeasure : valueMeasure(value)
}

function measureOfText(text: string): ValueMeasure {
  const { size, values } = measureText(text, 0)
  return { size, values }
}

/** As `JSON.stringify` writes it, which takes several times as long for a short text or a number. */
function writtenText(value: Value): string {
  if (typeof value === 'string') return quote(value)
  return typeof value === 'number' ? String(value) : JSON.stringify(value)
}

/** Members in the order in which an object lists its keys: indexes of arrays ascend before all other keys. */
function inOrderOfKeys(members: readonly Member[]): readonly Member[] {
  let last = -1
  const isInOrder = members.every(({ text }) => {
    const index = indexIn(text) ?? indexes
    const follows = index > last || index === indexes
    last = index
    return follows
  })
  if (isInOrder) return members
  const placed = members.map((member) => ({ index: indexIn(member.text) ?? indexes, member }))
  // The sort is stable: all other keys stay in their order.
  return placed.sort((one, other) => one.index - other.index).map(({ member }) => member)
}

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

  /** A value from its text as `JSON.stringify` has written it, and its measure if it is known; materialised when it is first read. */
  static written(text: string, measure: ValueMeasure | undefined, make: () => Value): LargeValue {
    const written = new LargeValue(text.startsWith('[') ? 'array' : 'object', undefined, text, make)
    written.#measure = measure
    return written
  }

  static #ofText({ text, size, values }: MeasuredText): LargeValue {
    return LargeValue.written(text, { size, values }, () => JSON.parse(text) as Value)
  }

  /** The items or members of a value; those of a text are not materialised. */
  static listedIn(value: GivenItems | GivenMembers): readonly Member[] {
    if (value instanceof LargeValue) return value.#all
    return isItems(value) ? value.map(itemOf) : membersOf(value)
  }

  /** The text that `JSON.stringify` gives; undefined when it is not cheaper than that. */
  get text(): string | undefined {
    if (this.#text === undefined && this.#isWritten) {
      const members = this.#list.toArray()
      const pieces = (this.kind === 'array' ? members : inOrderOfKeys(members)).map(({ written }) => written)
      this.#text = this.kind === 'array' ? `[${pieces.join(',')}]` : `{${pieces.join(',')}}`
    }
    return this.#text
  }

  /** The text that `JSON.stringify` gives, written if need be. */
  get json(): string {
    return this.text ?? JSON.stringify(this.value)
  }

  get value(): Value {
    this.#value ??= this.#materialised()
    return this.#value
  }

  /** The members and items, at all depths, that there are to make before the value can be read. */
  get unmade(): number {
    return this.#value === undefined ? this.measure.values : 0
  }

  /** Counted once; later only changes are counted. */
  get measure(): ValueMeasure {
    this.#measure ??= this.text === undefined ? valueMeasure(this.value) : measureOfText(this.text)
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
  inserted(position: number, items: GivenItems): LargeValue {
    const added = LargeValue.listedIn(items)
    return this.#with(this.#list.inserted(position, added), added, [])
  }

  /** The array with those of the items that it lacks, each once, at the end. */
  extended(items: GivenItems): LargeValue {
    const given = flatText(items)
    if (given !== undefined && this.#isReadFor(given.length))
      return LargeValue.#ofText(withScalars(this.#measured, given))
    const all = LargeValue.listedIn(items)
    const [only] = all
    const added = all.length === 1 && only !== undefined ? this.#lacking(only) : this.#lackingOf(all)
    return this.#with(this.#list.inserted(this.length, added), added, [])
  }

  /** The array without the items that equal one of these. */
  reduced(items: GivenItems): LargeValue {
    const given = flatText(items)
    if (given !== undefined && this.#isReadFor(given.length))
      return LargeValue.#ofText(withoutScalars(this.#measured, given))
    return this.#without(new Set(LargeValue.listedIn(items).map(textOf)))
  }

  /** The object with members set, and others removed; undefined when a key is among both. */
  changed(set: GivenMembers, unset: GivenMembers): LargeValue | undefined {
    const [setText, unsetText] = [textGiven(set), textGiven(unset)]
    if (setText !== undefined && unsetText !== undefined && this.#isReadFor(setText.length + unsetText.length)) {
      const after = mergedMembers(this.#measured, setText, unsetText)
      return after && LargeValue.#ofText(after)
    }
    const gone = new Set(LargeValue.listedIn(unset).map(textOf))
    const given = new Map<string, Member>()
    for (const member of LargeValue.listedIn(set)) given.set(member.text, member)
    if (gone.size > 0) for (const key of given.keys()) if (gone.has(key)) return undefined
    return this.#withSet(given).#without(gone)
  }

  /** The members of an object by their keys, arrays and objects as their texts. */
  get parts(): ReadonlyMap<string, Value | LargeValue> {
    const parts = new Map<string, Value | LargeValue>()
    for (const member of this.#all) parts.set(member.text, heldOf(member))
    return parts
  }

  /** The part under the only key of an object with a text, not read; undefined if it is no array or object. */
  onlyPart(key: string): LargeValue | undefined {
    const from = `{${quote(key)}:`.length
    if (this.#text === undefined || isScalar(this.#text, from)) return undefined
    const text = this.#text.slice(from, -1)
    return LargeValue.written(text, undefined, () => JSON.parse(text) as Value)
  }

  /** Whether it is held as a text, of which all may be read for an operator that is given a text of this length. */
  #isReadFor(given_characters: number): boolean {
    const isText = this.#text !== undefined || this.#isWritten
    return isText && this.measure.size <= readFor_times * given_characters
  }

  get #measured(): MeasuredText {
    const { size, values } = this.measure
    return { text: this.json, size, values }
  }

  #withSet(given: Map<string, Member>): LargeValue {
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

  /** A long item is compared with those of its length: its canonical text takes longer than all other work. */
  #lacking(item: Member): readonly Member[] {
    if (!(item instanceof Written) || item.written.length < comparedFrom_characters) return this.#lackingOf([item])
    return this.#all.some(({ written }) => isSameCompound(written, item.written)) ? [] : [item]
  }

  #lackingOf(items: readonly Member[]): readonly Member[] {
    const given = new Map<string, Member>()
    for (const item of items) if (!given.has(item.text)) given.set(item.text, item)
    const held = this.#list.textsOf(given, textOf)
    return held.size === 0 ? [...given.values()] : [...given.values()].filter(({ text }) => !held.has(text))
  }

  get #all(): readonly Member[] {
    return this.#members?.toArray() ?? this.#listed()
  }

  get #list(): ChunkedList<Member> {
    this.#members ??= ChunkedList.of(this.#listed())
    return this.#members
  }

  #listed(): readonly Member[] {
    this.#isWritten = this.#value === undefined && this.#text !== undefined
    return this.#isWritten && this.#text !== undefined ? writtenIn(this.#text) : membersOf(this.value)
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
    const isText = added[0] instanceof Written
    // Texts that were given are joined faster than materialised.
    after.#isWritten = this.#isWritten || (isText && added.length >= this.length)
    if (this.#measure !== undefined || isText) {
      let { size, values } = this.measure
      for (const [members, sign] of [[added, 1] as const, [dropped, -1] as const]) {
        for (const member of members) {
          const { measure } = member
          size += sign * (measure.size + (this.kind === 'array' ? item_frame : member_frame + member.text.length))
          values += sign * (measure.values + 1)
        }
      }
      after.#measure = { size, values }
    }
    return after
  }

  #materialised(): Value {
    const value = this.#made === undefined ? this.#joined() : this.#made()
    if (this.#text !== undefined && typeof value === 'object' && value !== null) keepText(value, this.#text)
    return value
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

/** A value up to this many times as long as the operand is read whole; for a longer one its members are made, for later operators. */
const readFor_times = 8

/** From this length on an item that is added to a set is compared with each that may equal it. */
const comparedFrom_characters = 2048

/** The members of a value by its text, none of them materialised. */
function writtenIn(text: string): readonly Member[] {
  return piecesOf(text).map(({ key, from, value, to }) => new Written(text.slice(from, to), key, value - from))
}

/** The text of an object of a request; undefined when it was not sent as a text. */
function textGiven(given: GivenMembers): string | undefined {
  if (given instanceof LargeValue) return given.text
  return Object.keys(given).length === 0 ? '{}' : undefined
}

/** The text of an array of a request that has scalars only. */
function flatText(items: GivenItems): string | undefined {
  const text = items instanceof LargeValue ? items.text : undefined
  return text !== undefined && isFlat(text) ? text : undefined
}

function isItems(given: GivenItems | GivenMembers): given is readonly (Value | LargeValue)[] {
  return Array.isArray(given)
}

function itemOf(item: Value | LargeValue): Member {
  return item instanceof LargeValue ? new Written(item.json, undefined, 0) : new Item(item)
}

/** Whether two values are equal, by what `JSON.stringify` has written of them: the order of members is free. */
function isSameText(one: string, other: string): boolean {
  if (one === other) return true
  if (one.length !== other.length || one[0] !== other[0]) return false
  const isObject = one[0] === '{'
  const [piece, opposite] = [new PieceReader(one), new PieceReader(other)]
  for (;;) {
    const [isPiece, isOpposite] = [piece.next(), opposite.next()]
    if (!isPiece || !isOpposite) return isPiece === isOpposite
    if (isObject && piece.key !== opposite.key) return isSameByKeys(one, other)
    if (!isSamePiece(valueText(one, piece), valueText(other, opposite))) return false
  }
}

/** As `isSameText`, of objects with their members in another order. */
function isSameByKeys(one: string, other: string): boolean {
  const [pieces, others] = [piecesOf(one), piecesOf(other)]
  const textOfOther = ofKeys(other, others)
  return (
    pieces.length === others.length && pieces.every((piece) => isSamePiece(valueText(one, piece), textOfOther(piece)))
  )
}

function ofKeys(text: string, pieces: readonly TextPiece[]): (piece: TextPiece) => string | undefined {
  const byKey = new Map(pieces.map((piece) => [piece.key, piece]))
  return ({ key }) => valueText(text, byKey.get(key))
}

function valueText(text: string, piece: Pick<TextPiece, 'value' | 'to'> | undefined): string | undefined {
  return piece && text.slice(piece.value, piece.to)
}

/** Whether two values are equal, of which one is an array or object. Equal values have texts of one length. */
function isSameCompound(one: string, other: string): boolean {
  return one === other || (one.length === other.length && !isScalar(one, 0) && isSameText(one, other))
}

/** Equal scalars are written alike. */
function isSamePiece(one: string | undefined, other: string | undefined): boolean {
  if (one === other) return one !== undefined
  if (one === undefined || other === undefined || one.length !== other.length) return false
  if (one[0] !== other[0] || (one[0] !== '{' && one[0] !== '[')) return false
  return sameValue(JSON.parse(one) as Value, JSON.parse(other) as Value)
}

/** An array or object that was read from a text stays one. */
function heldOf(member: Member): Value | LargeValue {
  if (!(member instanceof Written)) return member.value
  const text = member.valueText
  if (isScalar(text, 0)) return member.value
  return LargeValue.written(text, undefined, () => member.value)
}

function membersOf(value: Value): readonly Member[] {
  if (typeof value !== 'object' || value === null) return []
  if (isArray(value)) return value.map((item) => new Item(item))
  return Object.entries(value).map(([key, member]) => new Property(key, member))
}
