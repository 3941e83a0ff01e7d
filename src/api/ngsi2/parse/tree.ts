import type { ApiResponse } from '../../../broker/operations/api.js'
import {
  type JsonMalformed,
  type JsonMembers,
  type JsonScalar,
  type JsonTree,
  levelsIn,
  maxValueLevels,
  objectOf,
  parseJson,
  readTree,
  scalarsByKind,
} from '../../../json-reader.js'
import { excessiveLength, hasForbidden, hasForbiddenInIdentifier, type Value } from '../../../model/context/entity.js'
import { parseDate } from '../../../model/context/value.js'
import { err, ok, type Result } from '../../../result.js'
import type { Steps } from '../../../slices.js'
import type { Milliseconds } from '../../../time.js'
import { badInput, errorOf } from '../errors.js'

/** A parsed payload: members in order, repeated ones included. */
export type Tree = JsonTree<JsonScalar>

export type TreeObject = JsonMembers<JsonScalar>

export function isTreeArray(tree: Tree | undefined): tree is readonly Tree[] {
  return Array.isArray(tree)
}

export function isTreeObject(tree: Tree | undefined): tree is TreeObject {
  return typeof tree === 'object' && tree !== null && !isTreeArray(tree)
}

/** The payload is not JSON, or not of the expected kind [NGSIv2 context 15]. */
export const malformedPayload = errorOf('ParseError', 'Errors found in incoming JSON buffer')

/** The refusal of a value, or of a payload, that is nested deeper than it may be [NGSIv2 context 3.1]. */
export const tooDeepText = `attribute or metadata value has overpassed maximum nesting limit: ${maxValueLevels}`

/** A value is nested deeper than values may be [NGSIv2 context 3.1]. */
export const tooDeep = errorOf('ParseError', tooDeepText)

/** Reads a payload of any kind. */
export function* readPayload(body: string): Steps<Result<Tree, ApiResponse>> {
  const tree = yield* readTree(body, scalarsByKind)
  if (tree.ok) return tree
  return err(tree.error.isTooDeep ? tooDeep : malformedPayload)
}

/** Reads a payload whose top level is an object. */
export function* readObject(body: string): Steps<Result<TreeObject, ApiResponse>> {
  const tree = yield* readPayload(body)
  if (!tree.ok) return tree
  return isTreeObject(tree.value) ? ok(tree.value) : err(malformedPayload)
}

/** The response to an unknown member. */
export function unrecognized(member: string): ApiResponse {
  return badInput(`Unrecognized field in JSON payload: /${member}/`)
}

export const emptyPayload = badInput('empty payload')

/** What an identifier names, in the words of the errors [NGSIv2 context 4.1]. */
export type Identified =
  | 'entity id'
  | 'entity type'
  | 'attribute name'
  | 'attribute type'
  | 'metadata name'
  | 'metadata type'

/**
 * The mistake in an identifier: first its length in bytes, then its characters [NGSIv2 context 4.1].
 *
 * @param isIllegal whether a text holds a character that it may not have
 */
export function identifierMistake(
  what: Identified,
  text: string,
  isIllegal: (text: string) => boolean = hasForbiddenInIdentifier,
): string | undefined {
  if (text === '') return `${what} length: 0, min length supported: 1`
  const excess = excessiveLength(text)
  if (excess !== undefined) return `${what} length: ${excess}, max length supported: 256`
  return isIllegal(text) ? `Invalid characters in ${what}` : undefined
}

/** The response to an invalid identifier; undefined for a valid one [NGSIv2 context 4.1]. */
export function wrongIdentifier(what: Identified, text: string): ApiResponse | undefined {
  const mistake = identifierMistake(what, text)
  return mistake === undefined ? undefined : badInput(mistake)
}

/** The errors that a payload may have [NGSIv2 context 1.2]. */
type PayloadError = 'BadRequest' | 'ParseError' | 'NotImplemented'

/** Why a payload is refused. */
export interface BodyRefusal {
  readonly error: PayloadError
  readonly description: string
}

/** The first mistake, thrown by the check that finds it and caught by `checked`. */
class ParseRefusal extends Error {
  readonly refusal: BodyRefusal

  constructor(refusal: BodyRefusal) {
    super(refusal.description)
    this.refusal = refusal
  }
}

/** Ends the checks of a payload; only within `checked`. */
export function refuse(description: string, error: PayloadError = 'BadRequest'): never {
  throw new ParseRefusal({ error, description })
}

/** The result of the checks of a payload, made one after another in the order of the interface's tables, or the first refusal. */
export function checked<Read>(read: () => Read): Result<Read, BodyRefusal> {
  try {
    return ok(read())
  } catch (fault) {
    if (fault instanceof ParseRefusal) return err(fault.refusal)
    throw fault
  }
}

/** The value of a result, or a refusal with the text of its error. Only within `checked`. */
export function accepted<Value>(parsed: Result<Value, string>): Value {
  return parsed.ok ? parsed.value : refuse(parsed.error)
}

/** A part of parsed JSON. */
export type Given = unknown

/** A parsed JSON object. */
export type GivenObject = { readonly [name: string]: Given }

export function isGivenObject(given: Given): given is GivenObject {
  return typeof given === 'object' && given !== null && !Array.isArray(given)
}

/** A member of an object; undefined if the object itself has none of the name. */
export function member(given: GivenObject, name: string): Given {
  return Object.hasOwn(given, name) ? given[name] : undefined
}

/** Refuses JSON that is nested deeper than values may be; values stand in it at a level. */
export function refuseTooDeep(json: string, level = 0): void {
  if (levelsIn(json) > level + maxValueLevels) refuse(tooDeepText)
}

/** Reads a payload as plain values, in steps; of doubled members the last one stays. */
export function* readGiven(body: string): Steps<Result<Given, JsonMalformed>> {
  const tree = yield* readTree(body, scalarsByKind)
  return tree.ok ? ok(yield* plainOf(tree.value)) : tree
}

/** Parts of an array or object that are made plain between two pauses. */
const partsAtOnce = 256

function* plainOf(tree: Tree): Steps<Value> {
  if (isTreeArray(tree)) {
    const items: Value[] = []
    for (const item of tree) {
      items.push(isScalar(item) ? item : yield* plainOf(item))
      if (items.length % partsAtOnce === 0) yield
    }
    return items
  }
  if (isScalar(tree)) return tree
  const members = new Map<string, Value>()
  for (const [key, value] of tree.members) {
    members.set(key, isScalar(value) ? value : yield* plainOf(value))
    if (members.size % partsAtOnce === 0) yield
  }
  return yield* objectOf(members)
}

function isScalar(tree: Tree): tree is JsonScalar {
  return typeof tree !== 'object' || tree === null
}

/** Parses a payload. Only within `checked`: refuses one that is nested too deep. */
export function parsedJson(body: string): Result<Given, JsonMalformed> {
  const parsed = parseJson(body)
  if (!parsed.ok && parsed.error.isTooDeep) refuse(tooDeepText)
  return parsed
}

const maxDescription_bytes = 1024

/** Reads a description, undefined without one. `noText` refuses one that is not a string [NGSIv2 subscriptions 2.2, 10]. */
export function readDescription(given: Given, noText: string): string | undefined {
  if (given === undefined) return undefined
  if (typeof given !== 'string') refuse(noText)
  if (Buffer.byteLength(given) > maxDescription_bytes) refuse('max description length exceeded')
  if (hasForbidden(given)) refuse('forbidden characters in description')
  return given
}

/** Reads a date. `noText` refuses one that is not a string, `malformed` one that is not a date [NGSIv2 subscriptions 1.3]. */
export function readDate(given: Given, noText: string, malformed: string): Milliseconds {
  if (typeof given !== 'string') refuse(noText)
  const seconds = parseDate(given)
  if (seconds === undefined) refuse(malformed)
  return Math.round(seconds * 1000) as Milliseconds
}
