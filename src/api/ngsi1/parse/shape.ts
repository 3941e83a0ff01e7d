import {
  type JsonLeaves,
  type JsonMalformed,
  type JsonMembers,
  type JsonScalar,
  type JsonTree,
  objectOf,
  readTree,
} from '../../../json-reader.js'
import { hasForbidden, hasForbiddenInId, type Value } from '../../../model/context/entity.js'
import { maxValues } from '../../../model/context/entity-size.js'
import { writeInSteps, writtenFrom_parts } from '../../../model/context/large/written-value.js'
import { err, ok, type Result } from '../../../result.js'
import type { Steps } from '../../../slices.js'

/** A mistake that the parser finds, before the content is checked [context 10.3]. */
export type ParserRefusal =
  | JsonMalformed
  | { readonly kind: 'fieldUnknown'; readonly path: string }
  | { readonly kind: 'charactersForbidden' }

/** How a part of a payload is read; shapes are made of other shapes. */
type Shape<Read> = Short<Read> | Long<Read>

interface Fitting<Read> {
  /** Whether `JSON.parse` has given exactly what reading would give, provided that no text has forbidden characters. */
  readonly fits: (parsed: unknown) => parsed is Read
}

/** A part that is read at once; mistakes go to the walk. */
interface Short<Read> extends Fitting<Read> {
  readonly read: (json: Json, path: string, walk: Walk) => Read
}

/** A part with possibly many parts, which is read in steps. */
export interface Long<Read> extends Fitting<Read> {
  readonly steps: (json: Json, path: string, walk: Walk) => Steps<Read>
}

/** The result of a shape. */
export type ReadBy<S> = S extends Shape<infer Read> ? Read : never

/** The value of a scope, unchecked. */
interface Compound {
  readonly compound: Json
}

/** A compound value in its stored form: its leaves are checked already. */
export interface CompoundValue {
  readonly stored: Value
  readonly refusal: KeyTwice | ValuesTooMany | undefined
}

/** The first key, in the order of the document, that an object of a compound value has twice. */
interface KeyTwice {
  readonly kind: 'keyTwice'
  readonly key: string
  readonly path: string
}

/** The compound values of a payload exceed the limit of members and items of an entity. */
interface ValuesTooMany {
  readonly kind: 'tooMany'
  readonly of: 'values'
  readonly number: number
  readonly max: number
}

/** A text: any scalar is taken by its characters [context 3.1]. */
export const text: Short<string> = { read: readText, fits: isText }

/** A text that `-strictNgsiv1Ids` checks. */
export const identifier: Short<string> = {
  read: (json, path, walk) => {
    const read = readText(json, path, walk)
    if (walk.strictIds && hasForbiddenInId(read)) walk.refuse({ kind: 'charactersForbidden' })
    return read
  },
  fits: isText,
}

/** The value of an attribute: a scalar as text, or a compound value. */
export const value: Long<string | CompoundValue> = {
  *steps(json, _path, walk) {
    if (typeof json !== 'string') return yield* new CompoundReader(walk, maxValues).read(json)
    if (hasForbidden(json)) walk.refuse({ kind: 'charactersForbidden' })
    return json
  },
  fits: isText,
}

/** Any value, checked by its user: the value of a scope [context 7.4]. */
export const anything: Short<Compound> = {
  read: (compound) => ({ compound }),
  fits: (_parsed): _parsed is Compound => false,
}

/** An object with these members, each of which may be absent. Of repeated members the last one counts. */
export function record<Fields extends { readonly [key: string]: Shape<unknown> }>(
  fields: Fields,
): Long<{ readonly [Key in keyof Fields]?: ReadBy<Fields[Key]> }> {
  type Draft = { readonly [Key in keyof Fields]?: ReadBy<Fields[Key]> }
  // A name from this table is an internalized key of the engine, not a substring of the body.
  const known = new Map(Object.entries(fields).map(([name, shape]) => [name, { name, shape }]))
  return {
    *steps(json, path, walk) {
      if (typeof json === 'string') return {}
      if (isJsonArray(json)) {
        walk.refuse({ kind: 'fieldUnknown', path: `${path}/` })
        return {}
      }
      const draft: { [key: string]: unknown } = {}
      for (const [key, member] of json.members.length < 2 ? json.members : new Map(json.members)) {
        const field = known.get(key)
        if (field === undefined) walk.refuse({ kind: 'fieldUnknown', path: `${path}/${key}` })
        else {
          const { name, shape } = field
          const below = `${path}/${name}`
          draft[name] = 'read' in shape ? shape.read(member, below, walk) : yield* shape.steps(member, below, walk)
        }
        if (walk.refusal) break
      }
      // The members have just been read by the shapes of their keys.
      return draft as Draft
    },
    fits: (parsed): parsed is Draft => {
      if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return false
      const members = parsed as { readonly [key: string]: unknown }
      for (const key in members) if (known.get(key)?.shape.fits(members[key]) !== true) return false
      return true
    },
  }
}

/** An array; `item` is the name of its items in paths. */
export function list<Item>(item: string, shape: Shape<Item>): Long<readonly Item[]> {
  return {
    *steps(json, path, walk) {
      if (typeof json === 'string') return []
      if (!isJsonArray(json)) {
        walk.refuse({ kind: 'jsonMalformed' })
        return []
      }
      const below = `${path}/${item}`
      const items: Item[] = []
      for (const entry of json) {
        items.push('read' in shape ? shape.read(entry, below, walk) : yield* shape.steps(entry, below, walk))
        if (walk.refusal) break
        if (walk.mayPause()) yield
      }
      return items
    },
    fits: (parsed): parsed is readonly Item[] => Array.isArray(parsed) && parsed.every(shape.fits),
  }
}

/** The mistakes of a payload in the order of the document: the first one counts [context 1.5]. */
class Walk {
  readonly strictIds: boolean
  #refusal: ParserRefusal | undefined
  /** The number of members and items of compound values. */
  values = 0
  #parts = 0

  constructor(strictIds: boolean) {
    this.strictIds = strictIds
  }

  get refusal(): ParserRefusal | undefined {
    return this.#refusal
  }

  refuse(refusal: ParserRefusal): void {
    this.#refusal ??= refusal
  }

  /** Counts a part that has been read; says whether the caller should check the clock. */
  mayPause(): boolean {
    this.#parts += 1
    return this.#parts % partsAtOnce === 0
  }
}

const partsAtOnce = 256

/** Longer bodies are never read in one piece, however fast that is: it takes up to 100 ms per MiB. */
const quickMost = 256 * 1024

/** Reads a body of a known shape: quickly if it is a usual one, otherwise thoroughly [context 10.3]. */
export function* parseBody<Read>(
  body: string,
  shape: Long<Read>,
  strictIds: boolean,
): Steps<Result<Read, ParserRefusal>> {
  const quick = strictIds || body.length > quickMost ? undefined : readQuickly(body, shape)
  return quick === undefined ? yield* readThoroughly(body, shape, strictIds) : ok(quick)
}

/** As in the brackets of a regular expression. Escapes can stand for forbidden characters. */
export const unusualCharacters = "\\\\<>'=;()"

/** A usual body has no numbers and literals either; `fits` finds those. */
const unusual = new RegExp(`[${unusualCharacters}]`)

/** Whether a body has neither escapes nor forbidden characters. */
export function isUsual(body: string): boolean {
  return !unusual.test(body)
}

/**
 * Reads a body in which all scalars are texts without escapes and forbidden characters, as in most, in the fastest way. Undefined
 * for any other body, without a reason.
 */
export function readQuickly<Read>(body: string, shape: Shape<Read>): Read | undefined {
  return isUsual(body) ? readUsual(body, shape) : undefined
}

/** Reads a body that is known to be usual; undefined when it does not have the shape. */
export function readUsual<Read>(body: string, shape: Shape<Read>): Read | undefined {
  try {
    const parsed: unknown = JSON.parse(body)
    return shape.fits(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}

/** Reads any body; only this function reports mistakes. */
export function* readThoroughly<Read>(
  body: string,
  shape: Long<Read>,
  strictIds: boolean,
): Steps<Result<Read, ParserRefusal>> {
  const json = yield* readJson(body)
  if (!json.ok) return json
  if (typeof json.value === 'string') return err({ kind: 'jsonMalformed' })
  const walk = new Walk(strictIds)
  const read = yield* shape.steps(json.value, '', walk)
  return walk.refusal === undefined ? ok(read) : err(walk.refusal)
}

/** Makes the stored form of a compound value, and looks for what is not allowed in one. */
class CompoundReader {
  readonly #walk: Walk
  readonly #most: number
  #doubled: KeyTwice | undefined

  /** `most`: of a payload with more members and items, objects are not made any more. */
  constructor(walk: Walk, most: number) {
    this.#walk = walk
    this.#most = most
  }

  /** Refuses what a request may not give. A large value is written as well, for its partition. */
  *read(json: JsonArray | JsonObject): Steps<CompoundValue> {
    const before = this.#walk.values
    const stored = yield* this.stored(json)
    const { values: number } = this.#walk
    if (number > this.#most) return { stored: '', refusal: { kind: 'tooMany', of: 'values', number, max: this.#most } }
    if (number - before >= writtenFrom_parts) yield* writeInSteps(stored)
    return { stored, refusal: this.#doubled }
  }

  *stored(json: JsonTrees<JsonScalar>, path = ''): Steps<Value> {
    const { length } = isJsonArray(json) ? json : json.members
    this.#walk.values += length
    if (isJsonArray(json)) {
      const items: Value[] = []
      for (const item of json) {
        items.push(isLeaf(item) ? this.#leaf(item) : yield* this.stored(item, `${path}/item`))
        if (this.#walk.mayPause()) yield
      }
      return items
    }
    const members = new Map<string, Value>()
    for (const [key, member] of json.members) {
      if (members.has(key)) this.#doubled ??= { kind: 'keyTwice', key, path: path === '' ? '/' : path }
      members.set(key, isLeaf(member) ? this.#leaf(member) : yield* this.stored(member, `${path}/${key}`))
      if (this.#walk.mayPause()) yield
    }
    return this.#walk.values > this.#most ? '' : yield* objectOf(members)
  }

  #leaf(leaf: JsonScalar): JsonScalar {
    if (typeof leaf === 'string' && hasForbidden(leaf)) this.#walk.refuse({ kind: 'charactersForbidden' })
    return leaf
  }
}

/** Whether a predicate holds for one of the texts of a value, keys excluded. */
export function hasLeaf(json: Json, isSuch: (text: string) => boolean): boolean {
  if (typeof json === 'string') return isSuch(json)
  if (isJsonArray(json)) return json.some((item) => hasLeaf(item, isSuch))
  return json.members.some(([, member]) => hasLeaf(member, isSuch))
}

/** The stored form of a value that was read with or without the kinds of its scalars, as it is: nothing in it is refused. */
export function* storedValue(json: JsonTree<JsonScalar>): Steps<Value> {
  return isLeaf(json) ? json : yield* new CompoundReader(new Walk(false), Number.POSITIVE_INFINITY).stored(json)
}

type JsonTrees<Leaf> = Exclude<JsonTree<Leaf>, Leaf>

function isLeaf(json: JsonTree<JsonScalar>): json is JsonScalar {
  return typeof json !== 'object' || json === null
}

function readText(json: Json, path: string, walk: Walk): string {
  if (typeof json !== 'string') {
    walk.refuse({ kind: 'fieldUnknown', path: firstMember(json, path) })
    return ''
  }
  if (hasForbidden(json)) walk.refuse({ kind: 'charactersForbidden' })
  return json
}

function firstMember(json: Exclude<Json, string>, path: string): string {
  if (isJsonArray(json)) return `${path}/`
  return json.members[0] === undefined ? path : `${path}/${json.members[0][0]}`
}

function isText(parsed: unknown): parsed is string {
  return typeof parsed === 'string'
}

/** A JSON document as NGSIv1 reads it: a scalar is its characters, so that `21.50` stays `21.50` [context 3.1]. */
export type Json = JsonTree<string>

type JsonArray = readonly Json[]

type JsonObject = JsonMembers<string>

const asWritten: JsonLeaves<string> = { text: (text) => text, other: (characters) => characters }

/** Parses JSON in steps. A scalar at the top is accepted. */
export function readJson(text: string): Steps<Result<Json, JsonMalformed>> {
  return readTree(text, asWritten)
}

export function isJsonArray<Leaf extends JsonScalar>(json: JsonTree<Leaf>): json is readonly JsonTree<Leaf>[] {
  return Array.isArray(json)
}
