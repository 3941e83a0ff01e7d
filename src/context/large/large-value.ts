import type { Value } from '../entity.js'
import { item_frame, member_frame, type ValueMeasure, valueMeasure } from '../entity-size.js'
import { canonical, isArray } from '../value.js'
import { ChunkedList } from './chunked-list.js'

/** A member of an object under its key, or an item of an array under the text that items share which are equal to it. */
interface Member {
  readonly text: string
  readonly value: Value
}

/** The text of most items is never asked for. */
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
}

type Members = { readonly [key: string]: Value }

/**
 * A large array or object to which a turn applies many operators, in a form whose versions share what is alike in them: an
 * operator costs what it changes, a search in an array a look into each chunk. The value itself is made when it is first read.
 */
export class LargeValue {
  readonly kind: 'array' | 'object'
  #value: Value | undefined
  #members: ChunkedList<Member> | undefined
  #measure: ValueMeasure | undefined

  private constructor(kind: LargeValue['kind'], value: Value | undefined) {
    this.kind = kind
    this.#value = value
  }

  static of(value: readonly Value[] | Members): LargeValue {
    return new LargeValue(isArray(value) ? 'array' : 'object', value)
  }

  get value(): Value {
    this.#value ??= this.#made()
    return this.#value
  }

  /** How much it has of what is limited. It is counted once; after that only what changes. */
  get measure(): ValueMeasure {
    this.#measure ??= valueMeasure(this.value)
    return this.#measure
  }

  /** How many items or members it has. */
  get length(): number {
    return this.#list.length
  }

  /** With items before the one at a position, or at the end. */
  inserted(position: number, items: readonly Value[]): LargeValue {
    const added = items.map((value) => new Item(value))
    return this.#with(this.#list.inserted(position, added), added, [])
  }

  /** With those of the items that it does not have, each once, at the end. */
  extended(items: readonly Value[]): LargeValue {
    const given = new Map<string, Item>()
    for (const value of items) {
      const item = new Item(value)
      if (!given.has(item.text)) given.set(item.text, item)
    }
    const held = this.#list.textsOf(new Set(given.keys()), textOf)
    const all = [...given.values()].filter(({ text }) => !held.has(text))
    return this.#with(this.#list.inserted(this.length, all), all, [])
  }

  /** Without the items that equal one of these. */
  reduced(items: readonly Value[]): LargeValue {
    return this.#without(new Set(items.map(canonical)))
  }

  /** With members set, and others removed. */
  changed(set: Members, unset: Members): LargeValue {
    const given = new Map(Object.entries(set).map(([text, value]) => [text, { text, value }]))
    const dropped: Member[] = []
    const list = this.#list.exchanged(given, textOf, (held) => dropped.push(held))
    const held = new Set(dropped.map(textOf))
    const written = [...given.values()]
    const added = written.filter(({ text }) => !held.has(text))
    return this.#with(list.inserted(list.length, added), written, dropped).#without(new Set(Object.keys(unset)))
  }

  get #list(): ChunkedList<Member> {
    this.#members ??= ChunkedList.of(membersOf(this.value))
    return this.#members
  }

  #without(texts: ReadonlySet<string>): LargeValue {
    const dropped: Member[] = []
    const left = this.#list.without(texts, textOf, (member) => dropped.push(member))
    return this.#with(left, [], dropped)
  }

  #with(list: ChunkedList<Member>, added: readonly Member[], dropped: readonly Member[]): LargeValue {
    const after = new LargeValue(this.kind, undefined)
    after.#members = list
    if (this.#measure !== undefined) {
      let { size, values } = this.#measure
      for (const [members, sign] of [[added, 1] as const, [dropped, -1] as const]) {
        for (const { text, value } of members) {
          const measure = valueMeasure(value)
          size += sign * (measure.size + (this.kind === 'array' ? item_frame : member_frame + text.length))
          values += sign * (measure.values + 1)
        }
      }
      after.#measure = { size, values }
    }
    return after
  }

  #made(): Value {
    const members = this.#list.toArray()
    if (this.kind === 'array') return members.map(({ value }) => value)
    return Object.fromEntries(members.map(({ text, value }) => [text, value]))
  }
}

function textOf({ text }: Member): string {
  return text
}

function membersOf(value: Value): readonly Member[] {
  if (typeof value !== 'object' || value === null) return []
  if (isArray(value)) return value.map((item) => new Item(item))
  return Object.entries(value).map(([text, member]) => ({ text, value: member }))
}
