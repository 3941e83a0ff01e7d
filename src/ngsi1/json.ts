import { granted, type Outcome, refused } from '../outcome.js'

/**
 * A JSON text as NGSIv1 reads it: a scalar is its characters, so that `21.50` stays `21.50` [context 3.1]; members keep
 * their order, and doubled ones stay, because a compound value may not have them [context 10.3].
 */
export type Json = string | JsonVector | JsonObject

export type JsonVector = readonly Json[]

export interface JsonObject {
  readonly members: readonly (readonly [key: string, value: Json])[]
}

export interface JsonMalformed {
  readonly kind: 'jsonMalformed'
}

/** Deeper bodies are not read: reading and answering them would need a stack as deep. */
export const maxNesting = 200

/** Reads a text that is JSON by RFC 8259, to the letter. A scalar at the top is for the caller to judge. */
export function parseJson(text: string): Outcome<Json, JsonMalformed> {
  const value = new JsonReader(text).whole()
  return value === undefined ? refused({ kind: 'jsonMalformed' }) : granted(value)
}

export function isJsonVector(json: Json): json is JsonVector {
  return Array.isArray(json)
}

const scalar = /(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null)/y
/** A string with an escape or a control character: all others stand for themselves. */
const needsCare = /[^ -[\]-\uffff]/
/** What may follow a backslash. */
const escaped = /["\\/bfnrt]|u[0-9a-fA-F]{4}/y

/** Descends through a text. Every method that reads gives nothing where the text is no JSON. */
class JsonReader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  whole(): Json | undefined {
    const value = this.#value(0)
    this.#skipBlanks()
    return this.#at === this.#text.length ? value : undefined
  }

  #value(depth: number): Json | undefined {
    this.#skipBlanks()
    switch (this.#text[this.#at]) {
      case '{':
        return depth < maxNesting ? this.#object(depth + 1) : undefined
      case '[':
        return depth < maxNesting ? this.#vector(depth + 1) : undefined
      case '"':
        return this.#string()
      default:
        return this.#matched(scalar)
    }
  }

  #object(depth: number): JsonObject | undefined {
    const members: (readonly [string, Json])[] = []
    this.#at += 1
    if (this.#taken('}')) return { members }
    do {
      this.#skipBlanks()
      const key = this.#text[this.#at] === '"' ? this.#string() : undefined
      if (key === undefined || !this.#taken(':')) return undefined
      const value = this.#value(depth)
      if (value === undefined) return undefined
      members.push([key, value])
    } while (this.#taken(','))
    return this.#taken('}') ? { members } : undefined
  }

  #vector(depth: number): JsonVector | undefined {
    const items: Json[] = []
    this.#at += 1
    if (this.#taken(']')) return items
    do {
      const value = this.#value(depth)
      if (value === undefined) return undefined
      items.push(value)
    } while (this.#taken(','))
    return this.#taken(']') ? items : undefined
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
    for (let at = start; at < this.#text.length; at += 1) {
      const unit = this.#text.charCodeAt(at)
      if (unit === 0x22) {
        this.#at = at + 1
        return unescaped(this.#text.slice(start, at))
      }
      if (unit < 0x20) return undefined
      if (unit !== 0x5c) continue
      escaped.lastIndex = at + 1
      if (!escaped.test(this.#text)) return undefined
      at = escaped.lastIndex - 1
    }
    return undefined
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

/** Half of a surrogate pair is no character: as U+FFFD it is the same text in memory, on disk and in answers. */
function unescaped(raw: string): string {
  const text: unknown = JSON.parse(`"${raw}"`)
  return String(text).toWellFormed()
}
