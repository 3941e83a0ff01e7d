import { isLong, shortBody } from './api.js'

/** The number of elements of a payload that a scan finds between two pauses. */
export const scannedAtOnce = 16

/** The part of a body in which a scan looks for an element, and where the element begins in it. */
interface ElementWindow {
  readonly text: string
  readonly from: number
}

/**
 * The window for the element that begins at an offset of a body. An element that is longer than a short body does not fit in it: its
 * partition would parse it at once.
 */
export function windowAt(body: string, at: number): ElementWindow {
  return isLong(body) ? { text: body.slice(at, at + shortBody), from: 0 } : { text: body, from: at }
}

/** The groups of a sticky expression that matches at an offset. */
export function matchAt(expression: RegExp, text: string, at: number): readonly (string | undefined)[] | undefined {
  expression.lastIndex = at
  return expression.exec(text) ?? undefined
}
