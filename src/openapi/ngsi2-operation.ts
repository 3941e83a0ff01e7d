import {
  type ContentByType,
  type DescribedOperation,
  type DescribedParameter,
  type DescribedResponse,
  type ExampleValue,
  type JsonSchema,
  jsonContent,
  parameterRef,
  pathParameter,
  queryParameter,
  type Reference,
  responseRef,
  textSchema,
} from './description.js'
import { clientSecurity } from './shared-components.js'

/** An operation of NGSIv2, without what all of them have in common. */
interface Ngsi2Operation extends Omit<DescribedOperation, 'requestBody' | 'responses'> {
  readonly use: 'read' | 'write'
  readonly body?: ContentByType
  readonly success: Readonly<Record<string, DescribedResponse>>
  /** Statuses that only some operations have. */
  readonly errors?: readonly (keyof typeof ownErrors)[]
}

const ownErrors = { 404: 'NotFound', 409: 'TooManyResults', 422: 'Unprocessable', 501: 'NotImplemented' } as const

/** An operation of NGSIv2 with the headers that it takes, and the errors that any of them may give [NGSIv2 context 1.2]. */
export function ngsi2Operation({
  use,
  body,
  success,
  errors = [],
  parameters = [],
  ...operation
}: Ngsi2Operation): DescribedOperation {
  const path = use === 'read' ? 'readPaths' : 'updatePath'
  const ofBody = { 411: responseRef('LengthRequired'), 415: responseRef('UnsupportedMediaType') }
  return {
    ...operation,
    security: clientSecurity,
    parameters: [...parameters, ...['service', path, 'correlator'].map(parameterRef)],
    ...(body !== undefined && { requestBody: { required: true, content: body } }),
    responses: {
      ...success,
      400: responseRef('BadRequest'),
      401: responseRef('Unauthorized'),
      403: responseRef('Forbidden'),
      406: responseRef('NotAcceptable'),
      413: responseRef('TooLarge'),
      414: responseRef('UriTooLong'),
      ...(body === undefined ? {} : ofBody),
      ...Object.fromEntries(errors.map((status) => [status, responseRef(ownErrors[status])])),
      429: responseRef('TooManyRequests'),
      500: responseRef('InternalError'),
      503: responseRef('Unavailable'),
    },
  }
}

/** A body in JSON with an example that works. */
export function ngsi2Body(schema: JsonSchema, example: ExampleValue): ContentByType {
  return jsonContent(schema, example)
}

/** Done, and nothing to say. */
export const doneResponses: Readonly<Record<string, DescribedResponse>> = { 204: { description: 'Done.' } }

/** A resource was created, and is there. */
export function createdResponses(location: string): Readonly<Record<string, DescribedResponse>> {
  return {
    201: {
      description: 'Created.',
      headers: { Location: { description: `Where it is: \`${location}\`.`, schema: textSchema() } },
    },
  }
}

/** The header of `options=count`. */
export const countHeader: NonNullable<DescribedResponse['headers']> = {
  'Fiware-Total-Count': { description: 'The number of all results, with `options=count`.', schema: textSchema() },
}

/** The words of `options` that an operation knows. */
export function optionsParameter(...words: readonly string[]): DescribedParameter {
  return queryParameter(
    'options',
    `Separated by commas: ${words.map((word) => `\`${word}\``).join(', ')}.`,
    textSchema(),
  )
}

/** Parameters of single entities and attributes. */
export const entityParameters = {
  id: pathParameter('id', 'The id of the entity.', 'Vat1'),
  name: pathParameter('name', 'The name of the attribute.', 'heat'),
  type: queryParameter('type', 'The type of the entity. Without it, the one entity of the id.', textSchema()),
  attrs: queryParameter(
    'attrs',
    'The attributes that are shown, separated by commas; `*` is all. dateCreated, dateModified, dateExpires and servicePath show only when named.',
    textSchema(),
  ),
  metadata: queryParameter('metadata', 'The metadata that are shown, separated by commas; `*` is all.', textSchema()),
} as const

/** Pages of results. */
export const pageParameters: readonly Reference[] = ['limit', 'offset'].map(parameterRef)
