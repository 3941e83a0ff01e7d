import type { ApiResponse } from '../../../broker/operations/api.js'
import { maxValueLevels, objectOf } from '../../../json-reader.js'
import { hasForbidden, type Metadata, type Value } from '../../../model/context/entity.js'
import { lacksGeoJson } from '../../../model/context/geo/shape-parse.js'
import { writeInSteps, writtenFrom_parts } from '../../../model/context/large/written-value.js'
import { isOperator, mayStandTogether } from '../../../model/context/operators.js'
import type { GivenAttribute } from '../../../model/context/update.js'
import {
  dateValue,
  isDateType,
  isExpiration,
  isUnrestricted,
  parseDate,
  shownType,
} from '../../../model/context/value.js'
import { err, ok, type Result } from '../../../result.js'
import type { Steps } from '../../../slices.js'
import { badInput } from '../errors.js'
import { isTreeArray, isTreeObject, type Tree, type TreeObject, tooDeep, wrongIdentifier } from './tree.js'

/** The characters of a value are not allowed by its type [NGSIv2 context 4.1]. */
export const valueForbidden = badInput('Invalid characters in attribute value')

/** The value of an attribute with a date's type is not a date [NGSIv2 context 3.2]. */
export const dateMalformed = badInput('date has invalid format in attribute value')

/** The value of a geo:json is neither an object nor null [NGSIv2 context 3.5]. */
export const geoJsonMissing = badInput('geo:json needs an object or null as value')

/** The form of attributes: objects, or their values alone [NGSIv2 context 7.2]. */
export type AttributeForm = 'normalized' | 'keyValues'

/** The number of attributes without parts that are read between two pauses. */
const attributesAtOnce = 64

/** Gathers the attributes of an entity in the order of the payload; refuses a repeated one. */
export class AttributeGatherer {
  readonly #form: AttributeForm
  readonly #areRemoved: boolean
  readonly #names = new Set<string>()
  readonly attributes: GivenAttribute[] = []

  /** @param areRemoved whether the attributes are to be removed, whatever their values [NGSIv2 context 11.1] */
  constructor(form: AttributeForm, areRemoved = false) {
    this.#form = form
    this.#areRemoved = areRemoved
  }

  /** Reads one attribute; gives the refusal of a wrong one, otherwise undefined. */
  *add(name: string, tree: Tree): Steps<ApiResponse | undefined> {
    const wrong = wrongIdentifier('attribute name', name)
    if (wrong) return wrong
    if (this.#names.has(name)) return badInput(`duplicated attribute /${name}/`)
    this.#names.add(name)
    const read = yield* this.#form === 'keyValues' ? readKeyValue(name, tree) : readMembers(name, tree)
    if (!read.ok) return read.error
    const attribute = checkedAttribute(read.value, this.#areRemoved)
    if (!attribute.ok) return attribute.error
    this.attributes.push(attribute.value)
    if (hasParts(attribute.value) || this.attributes.length % attributesAtOnce === 0) yield
    return undefined
  }
}

function* readKeyValue(name: string, tree: Tree): Steps<Result<AttributeMembers, ApiResponse>> {
  const value = scalarGiven(tree) ?? (yield* readWritten(tree))
  return value.ok ? ok({ name, type: undefined, value: value.value, given: tree, metadata: [] }) : value
}

/** Reads an attribute with type, value and metadata, all of which may be missing [NGSIv2 context 2.2, 15]. */
export function* readAttribute(name: string, tree: Tree): Steps<Result<GivenAttribute, ApiResponse>> {
  const read = yield* readMembers(name, tree)
  return read.ok ? checkedAttribute(read.value) : read
}

const noAttribute = badInput('attribute must be a JSON object, unless keyValues option is used')

interface AttributeMembers {
  readonly name: string
  readonly type: string | undefined
  readonly value: GivenValue
  /** The value in the payload; undefined without one. */
  readonly given: Tree | undefined
  readonly metadata: readonly Metadata[]
}

const nothing: GivenValue = { value: null, isForbidden: false }

function* readMembers(name: string, tree: Tree): Steps<Result<AttributeMembers, ApiResponse>> {
  if (!isTreeObject(tree)) return err(noAttribute)
  let type: string | undefined
  let value: GivenValue = nothing
  let given: Tree | undefined
  let metadata: readonly Metadata[] = []
  for (const [key, member] of tree.members) {
    if (key === 'type') {
      if (typeof member !== 'string') return err(badInput('invalid JSON type for attribute type'))
      const wrong = wrongIdentifier('attribute type', member)
      if (wrong) return err(wrong)
      type = member
    } else if (key === 'value') {
      if (given !== undefined) return err(badInput('duplicated value key in attribute'))
      const read = scalarGiven(member) ?? (yield* readWritten(member))
      if (!read.ok) return read
      value = read.value
      given = member
    } else if (key === 'metadata') {
      const read = yield* readMetadata(member)
      if (!read.ok) return read
      metadata = read.value
    } else return err(badInput('unrecognized property for context attribute'))
  }
  return ok({ name, type, value, given, metadata })
}

/**
 * Checks the characters of the value and, unless it is removed, what it may be; applies the metadata `ID` [NGSIv2 context 4.1, 11.1,
 * 14.3].
 */
export function checkedAttribute(members: AttributeMembers, isRemoved = false): Result<GivenAttribute, ApiResponse> {
  const { name, value, metadata } = members
  const type = shownType({ type: members.type ?? '', value: value.value })
  if (value.isForbidden && !isUnrestricted(type, metadata)) return err(valueForbidden)
  const stored = storedValue(type, members)
  if (!stored.ok && !isRemoved) return stored
  const id = metadata.findLast((element) => element.name === 'ID')?.value
  const instance = typeof id === 'string' ? id : ''
  const own = instance === '' ? metadata : metadata.filter((element) => element.name !== 'ID')
  return ok({ name, instance, type, value: stored.ok ? stored.value : value.value, metadata: own })
}

/** The value as it is stored; refuses one that its type, its name or its operators do not allow [NGSIv2 context 3.2, 3.4, 3.5, 12.1]. */
function storedValue(type: string, { name, value: { value }, given }: AttributeMembers): Result<Value, ApiResponse> {
  // A date's type refuses everything that is not a date, wrong update operators included.
  if (isDateType(type)) {
    const date = dateValue(value)
    return date.ok ? date : err(dateMalformed)
  }
  const wrong = wrongOperation(given)
  if (wrong) return err(wrong)
  if (isExpiration(name)) return err(badInput('error processing date expiration attribute, see log traces'))
  return lacksGeoJson(type, value) ? err(geoJsonMissing) : ok(value)
}

/** The number of elements without parts that are read between two pauses. */
const elementsAtOnce = 64

/** Reads the metadata of an attribute; of elements with one name the last one counts [NGSIv2 context 2.3, 15]. */
function* readMetadata(tree: Tree): Steps<Result<readonly Metadata[], ApiResponse>> {
  if (!isTreeObject(tree)) return err(badInput('metadata not a JSON object'))
  const elements = new Map<string, Metadata>()
  let read = 0
  for (const [name, body] of tree.members) {
    const wrong = wrongIdentifier('metadata name', name)
    if (wrong) return err(wrong)
    const element = yield* readElement(name, body)
    if (!element.ok) return element
    elements.set(name, element.value)
    read += 1
    if (hasParts(element.value) || read % elementsAtOnce === 0) yield
  }
  return ok([...elements.values()])
}

function* readElement(name: string, tree: Tree): Steps<Result<Metadata, ApiResponse>> {
  if (!isTreeObject(tree)) return err(badInput('metadata must be a JSON object'))
  let type: string | undefined
  let value: Value = null
  for (const [key, member] of tree.members) {
    if (key === 'type') {
      if (typeof member !== 'string') return err(badInput('invalid JSON type for attribute metadata type'))
      const wrong = wrongIdentifier('metadata type', member)
      if (wrong) return err(wrong)
      type = member
    } else if (key === 'value') {
      const read = scalarGiven(member) ?? (yield* readValue(member))
      if (!read.ok) return read
      value = read.value.value
    } else return err(badInput('invalid JSON field for attribute metadata'))
  }
  return checkedMetadata(name, shownType({ type: type ?? '', value }), value)
}

/**
 * Dates are stored as instants; only a value that is a text itself is checked for forbidden characters [NGSIv2 context 3.2, 4.1].
 */
export function checkedMetadata(name: string, type: string, value: Value): Result<Metadata, ApiResponse> {
  if (typeof value === 'string' && hasForbidden(value) && !isUnrestricted(type, [])) {
    return err(badInput('Invalid characters in metadata value'))
  }
  if (!isDateType(type) || value === null) return ok({ name, type, value })
  const date = typeof value === 'string' ? parseDate(value) : undefined
  return date === undefined
    ? err(badInput('date has invalid format in metadata value'))
    : ok({ name, type, value: date })
}

/** A value in a payload. */
export interface GivenValue {
  readonly value: Value
  /** Whether one of its texts has characters that only unrestricted text may have; keys are not checked [NGSIv2 context 4.1]. */
  readonly isForbidden: boolean
}

/** The number of parts that are read between two pauses. */
const partsAtOnce = 256

/** A value without parts, which is always valid; undefined for one with parts. */
function scalarGiven(tree: Tree): Result<GivenValue, never> | undefined {
  if (typeof tree === 'string') return ok({ value: tree, isForbidden: hasForbidden(tree) })
  return typeof tree === 'object' && tree !== null ? undefined : ok({ value: tree, isForbidden: false })
}

/** Whether it has a value with parts, possibly many. */
function hasParts({ value }: { readonly value?: Value | undefined }): boolean {
  return typeof value === 'object' && value !== null
}

/** Reads a value; refuses one that is nested too deep, and an object with a repeated key [NGSIv2 context 3.1, 4.1]. */
export function readValue(tree: Tree): Steps<Result<GivenValue, ApiResponse>> {
  return new ValueReader().given(tree)
}

/** Reads the value of an attribute of a request; a large one is written as well, for its partition. */
export function* readWritten(tree: Tree): Steps<Result<GivenValue, ApiResponse>> {
  const reader = new ValueReader()
  const given = yield* reader.given(tree)
  if (given.ok && reader.parts >= writtenFrom_parts) yield* writeInSteps(given.value.value)
  return given
}

class ValueReader {
  #isForbidden = false
  #refusal: ApiResponse | undefined
  /** The members and items that were read. */
  parts = 0

  #mayPause(): boolean {
    this.parts += 1
    return this.parts % partsAtOnce === 0
  }

  *given(tree: Tree): Steps<Result<GivenValue, ApiResponse>> {
    const value = yield* this.#value(tree, 0, '')
    return this.#refusal === undefined ? ok({ value, isForbidden: this.#isForbidden }) : err(this.#refusal)
  }

  *#value(tree: Tree, level: number, path: string): Steps<Value> {
    if (typeof tree === 'string') {
      this.#isForbidden ||= hasForbidden(tree)
      return tree
    }
    if (typeof tree !== 'object' || tree === null) return tree
    if (level === maxValueLevels) {
      this.#refusal ??= tooDeep
      return null
    }
    return isTreeArray(tree) ? yield* this.#array(tree, level, path) : yield* this.#object(tree, level, path)
  }

  *#array(tree: readonly Tree[], level: number, path: string): Steps<Value> {
    const items: Value[] = []
    for (const item of tree) {
      items.push(yield* this.#value(item, level + 1, path))
      if (this.#refusal) return null
      if (this.#mayPause()) yield
    }
    return items
  }

  *#object(tree: TreeObject, level: number, path: string): Steps<Value> {
    const members = new Map<string, Value>()
    for (const [key, member] of tree.members) {
      if (members.has(key)) this.#refusal ??= badInput(`duplicated tag-name: /${key}/ in path: ${path}/`)
      if (this.#refusal) return null
      members.set(key, yield* this.#value(member, level + 1, `${path}/${key}`))
      if (this.#mayPause()) yield
    }
    return yield* objectOf(members)
  }
}

/** The refusal of an update operator with other members beside it [NGSIv2 context 12.1]. */
export function wrongOperation(tree: Tree | undefined): ApiResponse | undefined {
  if (typeof tree !== 'object' || tree === null || isTreeArray(tree)) return undefined
  const keys = tree.members.map(([key]) => key)
  if (!isOperator(keys[0]) || mayStandTogether(keys)) return undefined
  return badInput('invalid combination of update operators')
}
