import type { Value } from '../entity.js'
import { canonical, isArray, sameValue } from '../value.js'

/** From more values of one kind and length on, one look at a text costs less than comparing each. */
const comparedMost = 4

/** Arrays or objects of one length. */
interface Alike {
  /** The first of them. */
  readonly values: Value[]
  /** The canonical texts of all; undefined while they are few. */
  texts: Set<string> | undefined
}

/**
 * A set of values, in which equal ones are one. The canonical text of an object takes long, since its keys are sorted: it is made only where several
 * values have the same number of members.
 */
export class ValueSet {
  readonly #scalars = new Set<string>()
  readonly #compounds = new Map<string, Alike>()

  constructor(values: readonly Value[]) {
    for (const value of values) this.add(value)
  }

  has(value: Value): boolean {
    const form = formOf(value)
    if (form === undefined) return this.#scalars.has(canonical(value))
    const alike = this.#compounds.get(form)
    return alike !== undefined && isAmong(value, alike)
  }

  /** False if the set has it already. */
  add(value: Value): boolean {
    const form = formOf(value)
    if (form === undefined) {
      const { size } = this.#scalars
      return this.#scalars.add(canonical(value)).size > size
    }
    const alike = this.#compounds.get(form)
    if (alike === undefined) {
      this.#compounds.set(form, { values: [value], texts: undefined })
      return true
    }
    if (isAmong(value, alike)) return false
    if (alike.texts !== undefined) alike.texts.add(canonical(value))
    else {
      alike.values.push(value)
      if (alike.values.length > comparedMost) alike.texts = new Set(alike.values.map(canonical))
    }
    return true
  }
}

/** The kind and length of an array or object; equal ones have the same. Undefined for scalars. */
function formOf(value: Value): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  return isArray(value) ? `[${value.length}` : `{${Object.keys(value).length}`
}

function isAmong(value: Value, { values, texts }: Alike): boolean {
  return texts === undefined ? values.some((held) => sameValue(held, value)) : texts.has(canonical(value))
}
