import type { ApiRequest, ApiResponse, Verb } from '../../broker/operations/api.js'
import {
  excessiveLimit,
  freeValues,
  isDecimal,
  type OptionWord,
  optionForms,
  pageGiven,
  wrongOffset,
  wrongOptions,
} from '../../broker/operations/parameters.js'
import { type EntityType, hasForbidden, type ServicePath } from '../../model/context/entity.js'
import { onePath } from '../../model/context/scope-headers.js'
import type { UpdateTerms } from '../../model/context/update.js'
import { err, type Result } from '../../result.js'
import { badInput } from './errors.js'
import type { AttributeForm } from './parse/attributes.js'
import type { Representation } from './render/entity-text.js'

type Parameters = ReadonlyMap<string, string>

/** The characters that parameters with a syntax of their own may have, although they are forbidden elsewhere. */
const separators: ReadonlyMap<string, RegExp> = new Map([
  ['georel', /[;=]/g],
  ['geometry', /[;=]/g],
  ['coords', /;/g],
])

/** Checks the URI parameters of every path under `/v2`, known or not, one after another [NGSIv2 context 1.5]. */
export function checkUriParameters(parameters: Parameters): ApiResponse | undefined {
  for (const [name, value] of parameters) {
    const wrong = wrongParameter(name, value)
    if (wrong !== undefined) return badInput(wrong)
  }
  return undefined
}

function wrongParameter(name: string, value: string): string | undefined {
  if (value === '') return `Empty right-hand-side for URI param /${name}/`
  if (hasForbidden(name) || hasForbiddenValue(name, value)) return 'invalid character in URI parameter'
  switch (name) {
    case 'offset':
      return wrongOffset(value)
    case 'limit':
      return wrongLimit(value)
    case 'options':
      return wrongOptions(value)
    default:
      return undefined
  }
}

function hasForbiddenValue(name: string, value: string): boolean {
  if (freeValues.has(name)) return false
  const separator = separators.get(name)
  return hasForbidden(separator === undefined ? value : value.replace(separator, ''))
}

function wrongLimit(limit: string): string | undefined {
  if (!isDecimal(limit)) return `Bad pagination limit: /${limit}/ [must be a positive integer number]`
  return excessiveLimit(limit)
}

interface RequestedOptions {
  has(word: OptionWord): boolean
}

const noOptions: RequestedOptions = new Set()

/** The words of `options`, checked by `checkUriParameters` [NGSIv2 context 1.5]. */
export function optionsOf(parameters: Parameters): RequestedOptions {
  const options = parameters.get('options')
  return options === undefined ? noOptions : new Set(options.split(','))
}

/** The items of a list of names, such as `attrs`; empty without the parameter. */
export function listOf(parameters: Parameters, name: string): readonly string[] {
  return parameters.get(name)?.split(',') ?? []
}

/**
 * The form of the entities of a read. The older options for dates add names to the attributes, which are those of `attrs` unless
 * the payload has them [NGSIv2 context 6, 7].
 */
export function representationOf(parameters: Parameters, names = listOf(parameters, 'attrs')): Representation {
  if (parameters.size === 0 && names.length === 0) return plain
  const options = optionsOf(parameters)
  const dates = (['dateCreated', 'dateModified'] as const).filter((date) => options.has(date))
  return {
    form: optionForms.find((form) => options.has(form)) ?? 'normalized',
    attributes: dates.length > 0 && names.length === 0 ? [...dates, '*'] : [...new Set([...names, ...dates])],
    metadata: listOf(parameters, 'metadata'),
  }
}

const plain: Representation = { form: 'normalized', attributes: [], metadata: [] }

/** The requested page, and whether the number of results is requested [NGSIv2 context 7.5]. */
interface RequestedListPage {
  readonly offset: number
  readonly limit: number
  readonly counted: boolean
}

/** Reads the checked parameters `limit`, `offset` and `options=count`. */
export function pageOf(parameters: Parameters): RequestedListPage {
  return { ...pageGiven(parameters), counted: optionsOf(parameters).has('count') }
}

/** A page of a list, and the length of the whole list if it is requested [NGSIv2 context 7.5]. */
export function listed(body: string, count: number | undefined): ApiResponse {
  return { status: 200, body, ...(count !== undefined && { headers: { 'Fiware-Total-Count': String(count) } }) }
}

/** The type of an entity that is created without one [NGSIv2 context 2.1]. */
export const defaultEntityType = 'Thing' as EntityType

export interface WriteOptions {
  /** The form of the attributes in its payload [NGSIv2 context 7.2]. */
  readonly form: AttributeForm
  readonly overridesMetadata: boolean
  readonly forced: boolean
}

export function writeOptionsOf({ parameters }: Pick<ApiRequest, 'parameters'>): WriteOptions {
  const options = optionsOf(parameters)
  return {
    form: options.has('keyValues') ? 'keyValues' : 'normalized',
    overridesMetadata: options.has('overrideMetadata'),
    forced: options.has('forcedUpdate'),
  }
}

/** The terms of an update [NGSIv2 context 1.6]. */
export function updateTerms(
  { overridesMetadata, forced }: Pick<WriteOptions, 'overridesMetadata' | 'forced'>,
  entity: UpdateTerms['entity'],
  valueOnly?: UpdateTerms['valueOnly'],
): UpdateTerms {
  return { entity, typeOfNew: defaultEntityType, overridesMetadata, forced, valueOnly }
}

/** The single service path of an update, or the response to several paths or a wildcard [NGSIv2 context 5]. */
export function pathOfWrite({ paths, verb }: Pick<ApiRequest, 'paths' | 'verb'>): Result<ServicePath, ApiResponse> {
  const path = onePath(paths)
  return path.ok ? path : err(badInput(textsOf(verb)[path.error]))
}

function textsOf(verb: Verb): { readonly several: string; readonly wildcard: string } {
  if (verb === 'PATCH') {
    return {
      several: 'more than one servicepath in patch update request is not allowed',
      wildcard: 'servicepath with wildcard # is not allowed in patch update request',
    }
  }
  if (verb === 'DELETE') {
    return {
      several: 'more than one servicepath is not allowed in DELETE operation',
      wildcard: 'servicepath with wildcard # is not allowed in DELETE operation',
    }
  }
  return {
    several: 'more than one service path in context update request',
    wildcard: 'Bad Character in Service-Path',
  }
}
