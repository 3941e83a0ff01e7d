import { type Given, type GivenObject, isGivenObject, refuse } from '../../api/ngsi2/parse/tree.js'
import { maxNesting } from '../../json-reader.js'
import { excessiveLength, hasForbidden, type ServicePath, type Tenant, type Value } from '../../model/context/entity.js'
import type { PathRange } from '../../model/context/query.js'
import { parseServicePaths, parseTenant } from '../../model/context/scope-headers.js'
import { isArray, isObject, parseDate } from '../../model/context/value.js'
import { parseGivenId } from '../../model/subscription/subscription.js'
import type { Milliseconds } from '../../time.js'
import type { ItemKind } from './items.js'

/**
 * The members of an object in a line of an export, each checked when it is read; a wrong one is refused with a text that names it.
 * Only within `checked`.
 */
export class LineFields {
  readonly #members: GivenObject
  readonly #where: string

  /** `where` names the object in refusals; empty for the line itself. */
  constructor(given: Given, where: string) {
    if (!isGivenObject(given)) refuse(`${where === '' ? 'the line' : where} is not an object`)
    this.#members = given
    this.#where = where
  }

  /** Refuses unknown members: a mistyped one would be lost silently. */
  only(names: ReadonlySet<string>): this {
    for (const name in this.#members) {
      if (!names.has(name)) refuse(`${this.named(name)} means nothing here`)
    }
    return this
  }

  /** The name of a member in refusals. */
  named(name: string): string {
    return this.#where === '' ? name : `${this.#where}.${name}`
  }

  given(name: string): Given {
    return Object.hasOwn(this.#members, name) ? this.#members[name] : undefined
  }

  text(name: string, missing?: string): string {
    const given = this.given(name) ?? missing
    if (typeof given !== 'string') refuse(`${this.named(name)} is ${given === undefined ? 'missing' : 'not a string'}`)
    if (!given.isWellFormed()) refuse(`${this.named(name)} holds half a surrogate pair`)
    return given
  }

  optionalText(name: string): string | undefined {
    return this.given(name) === undefined ? undefined : this.text(name)
  }

  /** A text that becomes part of a key: an id, a name, a type. */
  storedName(name: string, missing?: string): string {
    return storedName(this.text(name, missing), this.named(name))
  }

  /** A finite number, not below `least`. */
  number(name: string, least = Number.NEGATIVE_INFINITY): number {
    const given = this.given(name)
    if (typeof given !== 'number' || !Number.isFinite(given)) refuse(`${this.named(name)} is not a number`)
    if (given < least) refuse(`${this.named(name)} is below ${least}`)
    return given
  }

  optionalNumber(name: string, least?: number): number | undefined {
    return this.given(name) === undefined ? undefined : this.number(name, least)
  }

  /** False when it is missing. */
  flag(name: string): boolean {
    const given = this.given(name)
    if (given !== undefined && typeof given !== 'boolean') refuse(`${this.named(name)} is not a boolean`)
    return given === true
  }

  one<Name extends string>(name: string, names: readonly Name[], missing?: Name): Name {
    const given = this.given(name) ?? missing
    return names.find((each) => each === given) ?? refuse(`${this.named(name)} is none of ${names.join(', ')}`)
  }

  /** An array; empty when it is missing. */
  list<Read>(name: string, read: (given: Given, where: string) => Read): readonly Read[] {
    const given = this.given(name)
    if (given === undefined) return []
    if (!Array.isArray(given)) refuse(`${this.named(name)} is not an array`)
    return given.map((item, at) => read(item, `${this.named(name)}[${at}]`))
  }

  texts(name: string): readonly string[] {
    return this.list(name, (given, where) => {
      if (typeof given !== 'string') refuse(`${where} is not a string`)
      return given
    })
  }

  /** An ISO 8601 date, or a number of milliseconds since 1970. */
  date(name: string, missing?: Milliseconds): Milliseconds {
    return this.optionalDate(name) ?? missing ?? refuse(`${this.named(name)} is missing`)
  }

  optionalDate(name: string): Milliseconds | undefined {
    const given = this.given(name)
    if (given === undefined) return undefined
    const moment = typeof given === 'string' ? momentOf(given) : given
    if (typeof moment !== 'number' || !Number.isSafeInteger(moment)) refuse(`${this.named(name)} is not a date`)
    return moment as Milliseconds
  }

  tenant(): Tenant {
    const text = this.text('tenant', '')
    const known = tenants.get(text)
    if (known !== undefined) return known
    const parsed = parseTenant(text, true)
    if (!parsed.ok || parsed.value !== text) {
      refuse(`tenant is not the name of one: up to 50 lower-case letters, digits and underscores`)
    }
    return remembered(tenants, text, parsed.value)
  }

  path(): ServicePath {
    const range = this.pathRange()
    return range.below ? refuse('servicePath has a wildcard') : range.path
  }

  /** A service path, alone or with all below it. */
  pathRange(): PathRange {
    const text = this.text('servicePath', '/')
    const known = paths.get(text)
    if (known !== undefined) return known
    const parsed = parseServicePaths(text, 'one')
    const [range] = parsed.ok ? parsed.value : []
    if (!parsed.ok) refuse(`servicePath: ${parsed.error}`)
    if (range === undefined || parsed.value.length > 1) refuse('servicePath is not one path')
    return remembered(paths, text, range)
  }

  /** The id of a subscription or registration. */
  hexId(): string {
    const parsed = parseGivenId(this.text('id'))
    return parsed.ok ? parsed.value : refuse(`id: ${parsed.error}`)
  }

  /** Any value that can be stored. */
  value(name: string): Value {
    const given = this.given(name)
    return given === undefined ? null : storable(given, this.named(name))
  }
}

/** Recently checked names, which are not checked again for each line. */
const tenants = new Map<string, Tenant>()
const paths = new Map<string, PathRange>()
const remembered_max = 10_000

function remembered<Parsed>(known: Map<string, Parsed>, text: string, parsed: Parsed): Parsed {
  if (known.size >= remembered_max) known.clear()
  known.set(text, parsed)
  return parsed
}

/** A text that may be an id, a name or a type; refuses others. */
export function storedName(text: string, what: string): string {
  const long = excessiveLength(text)
  if (long !== undefined) refuse(`${what} is ${long} bytes long, 256 are allowed`)
  if (hasForbidden(text)) refuse(`${what} holds one of the characters < > " ' = ; ( )`)
  if (!text.isWellFormed()) refuse(`${what} holds half a surrogate pair`)
  return text
}

/** A value that can be stored: finite numbers, well-formed texts, not nested too deep. */
function storable(given: Given, what: string, depth = 0): Value {
  if (depth > maxNesting) refuse(`${what} is nested deeper than ${maxNesting} levels`)
  if (typeof given === 'number' && !Number.isFinite(given)) refuse(`${what} has a number beyond what a double can hold`)
  if (typeof given === 'string' && !given.isWellFormed()) refuse(`${what} holds half a surrogate pair`)
  const value = given as Value // It was parsed as JSON.
  if (typeof value !== 'object' || value === null) return value
  if (isArray(value)) for (const item of value) storable(item, what, depth + 1)
  else if (isObject(value)) for (const key in value) storable(value[key], what, depth + 1)
  return value
}

const usualDate = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

function momentOf(text: string): number | undefined {
  const usual = usualDate.test(text) ? Date.parse(text) : Number.NaN
  if (!Number.isNaN(usual)) return usual
  const seconds = parseDate(text)
  return seconds === undefined ? undefined : Math.round(seconds * 1000)
}

/** The line of an item of a tenant; members without a value are left out. */
export function lineText(kind: ItemKind, tenant: Tenant, members: object): string {
  return JSON.stringify({ kind, tenant: tenant === '' ? undefined : tenant, ...members })
}

/** A date in a line: text if its year has four digits, otherwise milliseconds. */
export function lineDate(moment: Milliseconds): string | number {
  return moment >= firstYear && moment < lastYear ? new Date(moment).toISOString() : moment
}

const firstYear = Date.UTC(1900, 0)
const lastYear = Date.UTC(10_000, 0)
