import type { Brand } from '../../result.js'
import type { Steps } from '../../slices.js'
import type { Value } from '../context/entity.js'
import { textWritten } from '../context/large/written-value.js'
import { quote } from '../context/value.js'
import { macrosOf, onlyMacro, withoutMacros } from './macros.js'

/**
 * The JSON of a template, as `JSON.stringify` writes it. Templates are stored and sent between threads as text: one of 60,000 members
 * takes a hundred times as long as an object.
 */
export type TemplateText = Brand<string, 'TemplateText'>

/** The text of a value; one that was written in steps before is not written again. */
export function templateText(value: Exclude<Value, string | number | boolean | null>): TemplateText {
  return (textWritten(value) ?? JSON.stringify(value)) as TemplateText
}

/** A text in a template in which macros are filled in. */
interface Hole {
  /** The JSON between the hole before, or the beginning, and this one. */
  readonly before: string
  /** The text with its macros. */
  readonly template: string
}

/** A JSON template, ready to be filled in: its JSON in pieces, and the texts with macros between them. */
export interface JsonTemplate {
  readonly holes: readonly Hole[]
  /** The JSON after the last hole. */
  readonly rest: string
  /** The bytes of all its JSON beside the holes. */
  readonly json_bytes: number
}

/** Texts with macros that are read between two pauses. */
const holesAtOnce = 256

/** Finds the texts with macros, in steps, but not in the names of members, which are not filled in [NGSIv2 subscriptions 6.2]. */
export function* readJsonTemplate(text: TemplateText): Steps<JsonTemplate> {
  const holes: Hole[] = []
  let from = 0
  let hole_bytes = 0
  for (let at = text.indexOf('${'); at !== -1; ) {
    const start = text.lastIndexOf('"', at)
    const [first, end] = [isEscaped(text, start) ? textStart(text, start) : start, textEnd(text, at)]
    if (text[end] !== ':') {
      holes.push({ before: text.slice(from, first), template: unquoted(text.slice(first, end)) })
      hole_bytes += Buffer.byteLength(text.slice(first, end))
      from = end
      if (holes.length % holesAtOnce === 0) yield
    }
    at = text.indexOf('${', end)
  }
  return { holes, rest: text.slice(from), json_bytes: Buffer.byteLength(text) - hole_bytes }
}

/** The expressions of all macros, in order. */
export function* macrosIn({ holes }: JsonTemplate): Generator<string> {
  for (const { template } of holes) yield* macrosOf(template)
}

/** The least bytes of the JSON, whatever the macros become: a text that is one macro may become a value of one character. */
export function shortestJson({ holes, json_bytes }: JsonTemplate): number {
  let bytes = json_bytes
  for (const { template } of holes) {
    bytes += onlyMacro(template) === undefined ? Buffer.byteLength(quote(withoutMacros(template))) : 1
  }
  return bytes
}

/** The opening quotation mark of a text, from an escaped one inside it. */
function textStart(text: string, inside: number): number {
  let at = inside
  while (isEscaped(text, at)) at = text.lastIndexOf('"', at - 1)
  return at
}

/** The position after the closing quotation mark of a text, from a position inside it. */
function textEnd(text: string, inside: number): number {
  let at = text.indexOf('"', inside)
  while (isEscaped(text, at)) at = text.indexOf('"', at + 1)
  return at + 1
}

/** Whether a character follows an odd number of backslashes. */
function isEscaped(text: string, at: number): boolean {
  let first = at
  while (text.charCodeAt(first - 1) === backslash) first -= 1
  return (at - first) % 2 === 1
}

const backslash = 0x5c

function unquoted(json: string): string {
  return json.includes('\\') ? String(JSON.parse(json)) : json.slice(1, -1)
}
