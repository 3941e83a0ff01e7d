import type { ApiResponse } from '../../api.js'
import type { Metadata, Value } from '../../context/entity.js'
import { isExpiration } from '../../context/expiration.js'
import { dateValue, isDateType, isUnrestricted } from '../../context/typed-value.js'
import type { GivenAttribute } from '../../context/update.js'
import { shownType } from '../../context/value.js'
import { err, ok, type Result } from '../../result.js'
import { noSteps, type Steps } from '../../slices.js'
import { badInput } from '../ngsi2-errors.js'
import { readMetadata } from './given-metadata.js'
import { type GivenValue, hasParts, readValue, scalarGiven, wrongOperation } from './given-value.js'
import { wrongIdentifier } from './identifiers.js'
import { isTreeObject, type Tree, type TreeObject } from './payload-tree.js'

/** The characters of a value do not fit its type [NGSIv2 context 4.1]. */
export const valueForbidden = badInput('Invalid characters in attribute value')

/** A value of a date's type is no date [NGSIv2 context 3.2]. */
export const dateMalformed = badInput('date has invalid format in attribute value')

/** How attributes are given: as objects, or as their values alone [NGSIv2 context 7.2]. */
export type AttributeForm = 'normalized' | 'keyValues'

/** Attributes without parts that are read before somebody may look at the clock. */
const attributesAtOnce = 64

/** Gathers the attributes of an entity, in the order of the payload, and refuses one that is there twice. */
export class AttributeGatherer {
  readonly #form: AttributeForm
  readonly #names = new Set<string>()
  readonly attributes: GivenAttribute[] = []

  constructor(form: AttributeForm) {
    this.#form = form
  }

  /** Reads one attribute; gives what is wrong with it. */
  *add(name: string, tree: Tree): Steps<ApiResponse | undefined> {
    const wrong = wrongIdentifier('attribute name', name)
    if (wrong) return wrong
    if (this.#names.has(name)) return badInput(`duplicated attribute /${name}/`)
    this.#names.add(name)
    const attribute = yield* this.#form === 'keyValues' ? readKeyValue(name, tree) : readAttribute(name, tree)
    if (!attribute.ok) return attribute.error
    this.attributes.push(attribute.value)
    if (hasParts(attribute.value) || this.attributes.length % attributesAtOnce === 0) yield
    return undefined
  }
}

function* readKeyValue(name: string, tree: Tree): Steps<Result<GivenAttribute, ApiResponse>> {
  const value = scalarGiven(tree) ?? (yield* readValue(tree))
  if (!value.ok) return value
  return checked({ name, type: undefined, value: value.value, given: tree, metadata: [] })
}

/** Reads an attribute with type, value and metadata, all of which may be missing [NGSIv2 context 2.2, 15]. */
export function readAttribute(name: string, tree: Tree): Steps<Result<GivenAttribute, ApiResponse>> {
  return isTreeObject(tree) ? readMembers(name, tree) : noSteps(err(noAttribute))
}

const noAttribute = badInput('attribute must be a JSON object, unless keyValues option is used')

interface AttributeMembers {
  readonly name: string
  readonly type: string | undefined
  readonly value: GivenValue
  /** The value as it stands in the payload; nothing without one. */
  readonly given: Tree | undefined
  readonly metadata: readonly Metadata[]
}

const nothing: GivenValue = { value: null, isForbidden: false }

function* readMembers(name: string, tree: TreeObject): Steps<Result<GivenAttribute, ApiResponse>> {
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
      const read = scalarGiven(member) ?? (yield* readValue(member))
      if (!read.ok) return read
      value = read.value
      given = member
    } else if (key === 'metadata') {
      const read = yield* readMetadata(member)
      if (!read.ok) return read
      metadata = read.value
    } else return err(badInput('unrecognized property for context attribute'))
  }
  return checked({ name, type, value, given, metadata })
}

/** What a value may be under its type, and what the metadata `ID` means [NGSIv2 context 3.2, 3.4, 4.1, 12.1, 14.3]. */
function checked({ name, type, value, given, metadata }: AttributeMembers): Result<GivenAttribute, ApiResponse> {
  const typed = shownType({ type: type ?? '', value: value.value })
  if (value.isForbidden && !isUnrestricted(typed, metadata)) return err(valueForbidden)
  // Whatever a date's type does not take is no date, also what no other type would take.
  const wrong = isDateType(typed) ? undefined : wrongOperation(given)
  if (wrong) return err(wrong)
  if (isExpiration(name) && !isDateType(typed)) {
    return err(badInput('error processing date expiration attribute, see log traces'))
  }
  const stored: Result<Value, unknown> = isDateType(typed) ? dateValue(value.value) : ok(value.value)
  if (!stored.ok) return err(dateMalformed)
  const id = metadata.findLast((element) => element.name === 'ID')?.value
  const instance = typeof id === 'string' ? id : ''
  const own = instance === '' ? metadata : metadata.filter((element) => element.name !== 'ID')
  return ok({ name, instance, type: typed, value: stored.value, metadata: own })
}
