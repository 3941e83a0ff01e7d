import { fitting, many, type Sent } from './given.js'

/** One number, or length, that a client chooses, of one operation, up to where a limit ends it. */
export interface Dimension {
  readonly name: string
  /** The largest that is let in, or that a body holds. */
  readonly most: number
  /** What has to be there for a request of this size; it is not measured. */
  readonly before?: ((size: number) => readonly Sent[]) | undefined
  /** The request of this size. */
  readonly sent: (size: number) => Sent
  /** What status and text of a reply have to be: a request that does not get to where it is costly measures nothing. */
  readonly expects: RegExp
  /** Where the work is to be done once, and would grow in proportion also if it was done each time: the most processor time of the whole. */
  readonly work_ms?: number
}

/** A dimension that is the number of items of a list in a body or target. */
export interface OfList extends Omit<Dimension, 'most' | 'sent'> {
  readonly item: (at: number) => string
  /** The most items that are let in, where a body holds more. */
  readonly limit?: number
  readonly sent: (items: string) => Sent
}

/** A list that grows up to its limit, or up to what a body holds. */
export function ofList({ item, limit, sent, ...dimension }: OfList): Dimension {
  return { ...dimension, most: fitting(item, limit), sent: (size) => sent(many(size, item)) }
}

/** A place in a request for a text of any length. */
export interface Place extends Omit<Dimension, 'sent'> {
  /** The request with this text, which is raw in a header, and otherwise as JSON or a target writes it. */
  readonly sent: (text: string) => Sent
  /** How the place writes a text. */
  readonly written: (text: string) => string
  /** Kinds of characters that cannot stand there at all. */
  readonly without?: RegExp
}

/** Of each of these something reads, splits, escapes or counts a run in its own way. */
export const kindsOfCharacters: Readonly<Record<string, string>> = {
  letters: 'x',
  digits: '7',
  spaces: ' ',
  backslashes: '\\',
  quotes: '"',
  apostrophes: "'",
  'open brackets': '(',
  'open square brackets': '[',
  braces: '${',
  commas: ',',
  dots: '.',
  semicolons: ';',
  colons: ':',
  slashes: '/',
  'equals signs': '==',
  'percent signs': '%',
  emoji: '😀',
}

/** The runs of each kind of character in a place. */
export function ofRuns({ name, most, sent, written, without = /(?!)/, ...rest }: Place): readonly Dimension[] {
  return Object.entries(kindsOfCharacters)
    .filter(([kind]) => !without.test(kind))
    .map(([kind, piece]) => ({
      ...rest,
      name: `a run of ${kind} in ${name}`,
      most: Math.floor(most / Buffer.byteLength(written(piece))),
      sent: (size) => sent(written(piece.repeat(size))),
    }))
}

/** How a text stands between the quotes of a JSON string. */
export function asJson(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

/** How a text stands in a target: all of it percent-encoded that a URL would encode by itself, too. */
export function asTarget(text: string): string {
  return encodeURIComponent(text).replaceAll("'", '%27')
}
