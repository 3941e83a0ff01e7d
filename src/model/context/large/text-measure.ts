import { item_frame, member_frame, scalar_size, type ValueMeasure } from '../entity-size.js'

/** The measure of an array or object by its JSON text. */
export interface TextMeasure extends ValueMeasure {
  /** Where the text ends. */
  readonly end: number
}

const [quote, backslash, comma, colon, letterU] = [0x22, 0x5c, 0x2c, 0x3a, 0x75]
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d]

/**
 * Measures an array or object as `valueMeasure` does, by its text alone: materialising a value of 50,000 members takes ten times
 * as long. The text is as `JSON.stringify` has written it; throws when it ends before the value does.
 */
export function measureText(text: string, from: number): TextMeasure {
  let [size, values, at] = [0, 0, from]
  /** The open brackets, the innermost last: whether each is an array. */
  const isArray: boolean[] = []
  do {
    switch (text.charCodeAt(at)) {
      case quote: {
        const { end, length } = stringAt(text, at)
        if (isArray.at(-1) === false && text.charCodeAt(end) === colon) {
          size += member_frame + length
          values += 1
          at = end + 1
        } else {
          size += length + 2
          at = end
        }
        break
      }
      case openBracket:
        isArray.push(true)
        size += 2
        at += 1
        if (text.charCodeAt(at) !== closeBracket) {
          size += item_frame
          values += 1
        }
        break
      case openBrace:
        isArray.push(false)
        size += 2
        at += 1
        break
      case closeBracket:
      case closeBrace:
        isArray.pop()
        at += 1
        break
      case comma:
        at += 1
        if (isArray.at(-1) === true) {
          size += item_frame
          values += 1
        }
        break
      default:
        size += scalar_size
        at = scalarEnd(text, at)
    }
  } while (isArray.length > 0)
  return { end: at, size, values }
}

/** The end of the value that begins at this position of a JSON text without spaces. */
export function valueEnd(text: string, from: number): number {
  const first = text.charCodeAt(from)
  if (first === quote) return stringAt(text, from).end
  return first === openBracket || first === openBrace ? measureText(text, from).end : scalarEnd(text, from)
}

/** A member of an object, or an item of an array, in its text. */
export interface TextPiece {
  /** For members only. */
  readonly key: string | undefined
  readonly from: number
  /** Where its value begins, behind the key of a member. */
  readonly value: number
  readonly to: number
}

/** The number of members or items of an object or array, by its text: those of a large object are listed ten times as slowly. */
export function piecesIn(text: string): number {
  let pieces = 0
  for (const reader = new PieceReader(text); reader.next(); ) pieces += 1
  return pieces
}

/** The members or items of an object or array, by its text, which has to be measured already. */
export function piecesOf(text: string): readonly TextPiece[] {
  const pieces: TextPiece[] = []
  const isObject = text.charCodeAt(0) === openBrace
  const reader = new PieceReader(text)
  while (reader.next()) {
    const { from, value, to } = reader
    pieces.push({ key: isObject ? reader.key : undefined, from, value, to })
  }
  return pieces
}

/** Goes through the members of an object, or the items of an array, by its text, which has to be measured already; makes nothing for one of them. */
export class PieceReader {
  readonly text: string
  readonly #isObject: boolean
  from = 0
  /** Where its key ends with its quotation mark; of an item, where all of it ends. */
  keyEnd = 0
  to = 0
  #keyLength = 0
  /** What it adds to the measure of its object or array. */
  size = 0
  values = 0

  constructor(text: string) {
    this.text = text
    this.#isObject = text.charCodeAt(0) === openBrace
  }

  /** Goes to the next one; false behind the last. */
  next(): boolean {
    const from = this.to + 1
    if (from >= this.text.length - 1) return false
    this.from = from
    this.size = item_frame
    this.values = 1
    if (!this.#isObject) {
      this.#readValue(from)
      this.keyEnd = this.to
      return true
    }
    const { end, length } = stringAt(this.text, from)
    this.keyEnd = end
    this.#keyLength = length
    this.size = member_frame + length
    this.#readValue(end + 1)
    return true
  }

  /** Where its value begins, behind the key of a member. */
  get value(): number {
    return this.#isObject ? this.keyEnd + 1 : this.from
  }

  /** The key of a member. */
  get key(): string {
    const [from, end] = [this.from + 1, this.keyEnd - 1]
    const isPlain = this.#keyLength === end - from
    return isPlain ? this.text.slice(from, end) : String(JSON.parse(this.text.slice(from - 1, end + 1)))
  }

  /** The member or item as it is written. */
  get written(): string {
    return this.text.slice(this.from, this.to)
  }

  #readValue(from: number): void {
    const { text } = this
    const first = text.charCodeAt(from)
    if (first === quote) {
      const { end, length } = stringAt(text, from)
      this.to = end
      this.size += length + 2
    } else if (first === openBracket || first === openBrace) {
      const { end, size, values } = measureText(text, from)
      this.to = end
      this.size += size
      this.values += values
    } else {
      this.to = scalarEnd(text, from)
      this.size += scalar_size
    }
  }
}

/** The end of a quoted text, and its number of characters. */
function stringAt(text: string, from: number): { readonly end: number; readonly length: number } {
  let dropped = 0
  for (let at = from + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === quote) return { end: at + 1, length: at - from - 1 - dropped }
    if (code !== backslash) continue
    const more = text.charCodeAt(at + 1) === letterU ? 5 : 1
    dropped += more
    at += more
  }
  throw new Error('a text in quotes does not end')
}

function scalarEnd(text: string, from: number): number {
  for (let at = from; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === comma || code === closeBracket || code === closeBrace) return at
  }
  throw new Error('a value does not end')
}
