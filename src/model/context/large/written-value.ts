import { LongText, type Steps } from '../../../slices.js'
import type { Value } from '../entity.js'
import { isArray, quote } from '../value.js'

/** From this many members and items on, a value takes so long to write that it is done in steps. */
export const writtenFrom_parts = 4096

/** The texts of large values, until these are forgotten: of those that were written in steps, and of those that were read from a text. */
const texts = new WeakMap<object, string>()

/** Writes a large value of a request in steps, so that it can be sent to its partition at once. */
export function* writeInSteps(value: Value): Steps<void> {
  if (typeof value === 'object' && value !== null) texts.set(value, yield* writtenInSteps(value))
}

/** Keeps the text that `JSON.stringify` would give of a value, from which it was read. */
export function keepText(value: object, text: string): void {
  texts.set(value, text)
}

/** The text that `JSON.stringify` would give, if it was written in steps before, or the value was read from it. */
export function textWritten(value: object): string | undefined {
  return texts.get(value)
}

/** The number of members or items that are written between two pauses. */
const partsAtOnce = 256

function* writtenInSteps(value: Exclude<Value, string | number | boolean | null>): Steps<string> {
  const parts = new LongText()
  let number = 0
  if (isArray(value)) {
    for (const item of value) {
      parts.push(isCompound(item) ? yield* writtenInSteps(item) : scalarText(item))
      number += 1
      if (number % partsAtOnce === 0) yield
    }
    return `[${parts.joined}]`
  }
  for (const key of Object.keys(value)) {
    const member = value[key] ?? null
    const text = isCompound(member) ? yield* writtenInSteps(member) : scalarText(member)
    parts.push(`${quote(key)}:${text}`)
    number += 1
    if (number % partsAtOnce === 0) yield
  }
  return `{${parts.joined}}`
}

function isCompound(value: Value): value is Exclude<Value, string | number | boolean | null> {
  return typeof value === 'object' && value !== null
}

function scalarText(value: Value): string {
  return typeof value === 'string' ? quote(value) : JSON.stringify(value)
}
