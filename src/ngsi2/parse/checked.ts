import { hasMoreLevels, maxValueLevels } from '../../json-reader.js'
import { err, ok, type Result } from '../../result.js'

/** The errors that a payload may have [NGSIv2 context 1.2]. */
export type PayloadError = 'BadRequest' | 'ParseError' | 'NotImplemented'

/** Why a payload is refused. */
export interface BodyRefusal {
  readonly error: PayloadError
  readonly description: string
}

/** The first thing that is wrong, on its way from the check that found it to `checked`; nobody else sees it. */
class Refused extends Error {
  readonly refusal: BodyRefusal

  constructor(refusal: BodyRefusal) {
    super(refusal.description)
    this.refusal = refusal
  }
}

/** Ends the checks of a payload; only within `checked`. */
export function refuse(description: string, error: PayloadError = 'BadRequest'): never {
  throw new Refused({ error, description })
}

/** What the checks of a payload give, one after another as the tables of the interface have them, or the first refusal. */
export function checked<Read>(read: () => Read): Result<Read, BodyRefusal> {
  try {
    return ok(read())
  } catch (fault) {
    if (fault instanceof Refused) return err(fault.refusal)
    throw fault
  }
}

/** A member of a JSON object as it was read. */
export type Given = unknown

/** A JSON object as it was read. */
export type GivenObject = { readonly [name: string]: Given }

/** Whether something read is a JSON object. */
export function isGivenObject(given: Given): given is GivenObject {
  return typeof given === 'object' && given !== null && !Array.isArray(given)
}

/** The member of an object, unless it has none of its own. */
export function member(given: GivenObject, name: string): Given {
  return Object.hasOwn(given, name) ? given[name] : undefined
}

/** What is said of a value, or of a payload, that is nested deeper than it may be [NGSIv2 context 3.1]. */
export const tooDeepText = `attribute or metadata value has overpassed maximum nesting limit: ${maxValueLevels}`

/** Refuses a value that is nested deeper than values may be. */
export function refuseTooDeep(given: Given): void {
  if (hasMoreLevels(given, maxValueLevels)) refuse(tooDeepText)
}
