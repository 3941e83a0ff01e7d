import type { ApiRequest, ApiResponse, Verb } from '../api.js'
import type { EntityType, ServicePath } from '../context/entity.js'
import { onePath } from '../context/service-path.js'
import type { UpdateTerms } from '../context/update.js'
import { err, type Result } from '../result.js'
import { badInput } from './ngsi2-errors.js'
import type { AttributeForm } from './parse/given-attributes.js'
import { optionsOf } from './uri-parameters.js'

/** The type of an entity that is created without one [NGSIv2 context 2.1]. */
export const defaultEntityType = 'Thing' as EntityType

/** What the options of a request say of what it writes [NGSIv2 context 1.6]. */
export interface WriteOptions {
  /** How the attributes of its payload are given [NGSIv2 context 7.2]. */
  readonly form: AttributeForm
  readonly overridesMetadata: boolean
  readonly forced: boolean
}

/** Reads the options of a request that writes. */
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

/** The one service path that an update works in, or the response to several or a wildcard [NGSIv2 context 5]. */
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
