import { err, ok, type Result } from '../../result.js'
import type { Steps } from '../../slices.js'

/**
 * A JSON text as NGSIv1 reads it: a scalar is its characters, so that `21.50` stays `21.50` [context 3.1]; members keep
 * their order, and doubled ones stay, because a compound value may not have them [context 10.3].
 */
export type Json = string | JsonArray | JsonObject

export type JsonArray = readonly Json[]

export interface JsonObject {
  readonly members: readonly (readonly [key: string, value: Json])[]
}

export interface JsonMalformed {
  readonly kind: 'jsonMalformed'
}

/** Deeper bodies are not read: reading and answering them would need a stack as deep. */
export const maxNesting = 200

/**
 * Reads a text that is JSON by RFC 8259, to the letter, in steps: it may be so long that others are to have their turn
 * meanwhile. A scalar at the top is for the caller to judge.
 */
export function* readJson(text: string): Steps<Result<Json, JsonMalformed>> {
  const reader = new JsonReader(text)
  while (!reader.read()) yield
  return reader.result
}

export function isJsonArray(json: Json): json is JsonArray {
  return Array.isArray(json)
}

const scalar = /(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null)/y
/** A string with an escape or a control character: all others stand for themselves. */
const needsCare = /[^ -[\]-\uffff]/

/** A array or an object of which not all is read yet. */
type Open = { readonly items: Json[] } | { readonly members: (readonly [string, Json])[]; key: string }

/** Values that are read before somebody may look at the clock. */
const valuesAtOnce = 1000

/** Goes through a text, without a stack of calls: it can stop between any two values. What reads gives nothing where the text is no JSON. */
class JsonReader {
  readonly #text: string
  readonly #open: Open[] = []
  #at = 0
  #whole: Json | undefined

  constructor(text: string) {
    this.#text = text
  }

  /** Reads on for a while; whether it has come to the end, or to something that is no JSON. */
  read(): boolean {
    for (let left = valuesAtOnce; left > 0; left -= 1) if (!this.#value()) return true
    return false
  }

  get result(): Result<Json, JsonMalformed> {
    return this.#whole === undefined ? err({ kind: 'jsonMalformed' }) : ok(this.#whole)
  }

  /** Reads a scalar, or the beginning of what others are in; whether there is more to come. */
  #value(): boolean {
    this.#skipBlanks()
    switch (this.#text[this.#at]) {
      case '{':
        return this.#object()
      case '[':
        return this.#array()
      case '"':
        return this.#put(this.#string())
      default:
        return this.#put(this.#matched(scalar))
    }
  }

  #object(): boolean {
    if (this.#open.length === maxNesting) return false
    this.#at += 1
    if (this.#taken('}')) return this.#put({ members: [] })
    const key = this.#key()
    if (key !== undefined) this.#open.push({ members: [], key })
    return key !== undefined
  }

  #array(): boolean {
    if (this.#open.length === maxNesting) return false
    this.#at += 1
    if (this.#taken(']')) return this.#put([])
    this.#open.push({ items: [] })
    return true
  }

  /** Puts a value where it belongs, and closes what ends with it. */
  #put(value: Json | undefined): boolean {
    for (let json = value; json !== undefined; ) {
      const open = this.#open.at(-1)
      if (open === undefined) return this.#end(json)
      if ('items' in open) {
        open.items.push(json)
        if (this.#taken(',')) return true
        json = this.#taken(']') ? open.items : undefined
      } else {
        open.members.push([open.key, json])
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
    const key = this.#text[this.#at] === '"' ? this.#string() : undefined
    return key !== undefined && this.#taken(':') ? key : undefined
  }

  #end(whole: Json): false {
    this.#skipBlanks()
    if (this.#at === this.#text.length) this.#whole = whole
    return false
  }

  #string(): string | undefined {
    const start = this.#at + 1
    const end = this.#text.indexOf('"', start)
    if (end === -1) return undefined
    const raw = this.#text.slice(start, end)
    if (needsCare.test(raw)) return this.#stringWithEscapes(start)
    this.#at = end + 1
    return raw
  }

  #stringWithEscapes(start: number): string | undefined {
    let end = this.#text.indexOf('"', start)
    while (end !== -1 && this.#isEscaped(end)) end = this.#text.indexOf('"', end + 1)
    if (end === -1) return undefined
    this.#at = end + 1
    return unescaped(this.#text.slice(start, end))
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
