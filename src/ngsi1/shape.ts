import type { Value } from '../context/entity.js'
import { granted, type Outcome, refused } from '../outcome.js'
import { isJsonVector, type Json, type JsonMalformed, parseJson } from './json.js'
import { hasForbidden, hasForbiddenInId } from './text-rules.js'

/** What the parser finds in a payload, before its content is looked at [context 10.3]. */
export type ParserRefusal =
  | JsonMalformed
  | { readonly kind: 'fieldUnknown'; readonly path: string }
  | { readonly kind: 'charactersForbidden' }

/** How a part of a payload is read; payloads are described by shapes made of shapes. */
export interface Shape<Read> {
  /** The part as it is meant; what is wrong with it is told to the walk. */
  readonly read: (json: Json, path: string, walk: Walk) => Read
  /** Whether `JSON.parse` has given exactly what `read` would, provided that all texts are without forbidden characters. */
  readonly fits: (parsed: unknown) => parsed is Read
}

type ReadBy<S> = S extends Shape<infer Read> ? Read : never

/** A compound value: its leaves are checked already, its keys are not. */
export interface Compound {
  readonly compound: Json
}

/** A text: any scalar is taken by its characters [context 3.1]. */
export const text: Shape<string> = { read: readText, fits: isText }

/** A text that `-strictNgsiv1Ids` looks at. */
export const identifier: Shape<string> = {
  read: (json, path, walk) => {
    const read = readText(json, path, walk)
    if (walk.strictIds && hasForbiddenInId(read)) walk.refuse({ kind: 'charactersForbidden' })
    return read
  },
  fits: isText,
}

/** The value of an attribute: a scalar as text, or a compound value. */
export const value: Shape<string | Compound> = {
  read: (json, _path, walk) => {
    const hasBad = typeof json === 'string' ? hasForbidden(json) : leaves(json).some(hasForbidden)
    if (hasBad) walk.refuse({ kind: 'charactersForbidden' })
    return typeof json === 'string' ? json : { compound: json }
  },
  fits: isText,
}

/** Anything at all, looked at by whoever asked for it: the value of a scope [context 7.4]. */
export const anything: Shape<Compound> = {
  read: (compound) => ({ compound }),
  fits: (_parsed): _parsed is Compound => false,
}

/** An object with these members, each of which may be absent. Of equal members the last one counts. */
export function record<Fields extends { readonly [key: string]: Shape<unknown> }>(
  fields: Fields,
): Shape<{ readonly [Key in keyof Fields]?: ReadBy<Fields[Key]> }> {
  type Draft = { readonly [Key in keyof Fields]?: ReadBy<Fields[Key]> }
  // A name from here is one that the engine knows as a key already, other than a piece of the body.
  const known = new Map(Object.entries(fields).map(([name, shape]) => [name, { name, shape }]))
  return {
    read: (json, path, walk) => {
      if (typeof json === 'string') return {}
      if (isJsonVector(json)) {
        walk.refuse({ kind: 'fieldUnknown', path: `${path}/` })
        return {}
      }
      const draft: { [key: string]: unknown } = {}
      for (const [key, member] of json.members.length < 2 ? json.members : new Map(json.members)) {
        const field = known.get(key)
        if (field) draft[field.name] = field.shape.read(member, `${path}/${field.name}`, walk)
        else walk.refuse({ kind: 'fieldUnknown', path: `${path}/${key}` })
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

/** A vector; `item` is what paths call its items. */
export function list<Item>(item: string, shape: Shape<Item>): Shape<readonly Item[]> {
  return {
    read: (json, path, walk) => {
      if (typeof json === 'string') return []
      if (isJsonVector(json)) return json.map((entry) => shape.read(entry, `${path}/${item}`, walk))
      walk.refuse({ kind: 'jsonMalformed' })
      return []
    },
    fits: (parsed): parsed is readonly Item[] => Array.isArray(parsed) && parsed.every(shape.fits),
  }
}

/** What is wrong with a payload, found in the order of the document: the first thing decides [context 1.5]. */
export class Walk {
  readonly strictIds: boolean
  #refusal: ParserRefusal | undefined

  constructor(strictIds: boolean) {
    this.strictIds = strictIds
  }

  get refusal(): ParserRefusal | undefined {
    return this.#refusal
  }

  refuse(refusal: ParserRefusal): void {
    this.#refusal ??= refusal
  }
}

/** Reads a body of a known shape: quickly if it is of the usual kind, else by the rules [context 10.3]. */
export function readBody<Read>(body: string, shape: Shape<Read>, strictIds: boolean): Outcome<Read, ParserRefusal> {
  const quick = strictIds ? undefined : readQuickly(body, shape)
  return quick === undefined ? readThoroughly(body, shape, strictIds) : granted(quick)
}

/** Escapes can stand for forbidden characters, and numbers and literals have no business in a body of the usual kind. */
const unusual = /[\\<>'=;()]/

/** Whether a body has neither escapes nor forbidden characters. */
export function isUsual(body: string): boolean {
  return !unusual.test(body)
}

/**
 * Reads a body in which all scalars are texts without escapes and forbidden characters, as most are, by what the engine
 * does fastest. Gives nothing for any other body, and never says why.
 */
export function readQuickly<Read>(body: string, shape: Shape<Read>): Read | undefined {
  if (!isUsual(body)) return undefined
  try {
    const parsed: unknown = JSON.parse(body)
    return shape.fits(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}

/** Reads any body; it alone says what is wrong with one. */
export function readThoroughly<Read>(
  body: string,
  shape: Shape<Read>,
  strictIds: boolean,
): Outcome<Read, ParserRefusal> {
  const json = parseJson(body)
  if (!json.ok) return json
  if (typeof json.value === 'string') return refused({ kind: 'jsonMalformed' })
  const walk = new Walk(strictIds)
  const read = shape.read(json.value, '', walk)
  return walk.refusal === undefined ? granted(read) : refused(walk.refusal)
}

/** The texts of a value, without the keys of its objects. */
export function leaves(json: Json): readonly string[] {
  if (typeof json === 'string') return [json]
  if (isJsonVector(json)) return json.flatMap(leaves)
  return json.members.flatMap(([, member]) => leaves(member))
}

/** A compound value as it is stored. */
export function storedValue(json: Json): Value {
  if (typeof json === 'string') return json
  if (isJsonVector(json)) return json.map(storedValue)
  return Object.fromEntries(json.members.map(([key, member]) => [key, storedValue(member)]))
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
  if (isJsonVector(json)) return `${path}/`
  return json.members[0] === undefined ? path : `${path}/${json.members[0][0]}`
}

function isText(parsed: unknown): parsed is string {
  return typeof parsed === 'string'
}
