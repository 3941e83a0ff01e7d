import {
  type DescribedOperation,
  type DescribedParameter,
  type DescribedResponse,
  type ExampleValue,
  type JsonSchema,
  jsonContent,
  jsonResponse,
  parameterRef,
  pathParameter,
  queryParameter,
  type Reference,
  responseRef,
  schemaRef,
  textSchema,
} from './description.js'
import { clientSecurity } from './shared-components.js'

/** An operation of NGSIv1, without what all of them have in common. */
interface Ngsi1Operation extends Omit<DescribedOperation, 'requestBody' | 'responses'> {
  readonly use: 'read' | 'write'
  readonly body?: readonly [schema: string, example: ExampleValue]
  /** The schema of the response, whatever its code says. */
  readonly answer: string
  readonly example?: ExampleValue
  /** How 411 and 413 are reported, where the operation has a place of its own for errors [management 11.3]. */
  readonly wrapped?: string
}

/** An operation of NGSIv1 with the headers that it takes, and the errors that HTTP knows [context 1, 10.1]. */
export function ngsi1Operation({
  use,
  body,
  answer,
  example,
  wrapped,
  parameters = [],
  ...operation
}: Ngsi1Operation): DescribedOperation {
  const path = use === 'read' ? 'readPaths' : 'updatePath'
  const success = 'Done, found, or refused: the code inside says which. A malformed header has an orionError here.'
  const shapes =
    wrapped === undefined ? schemaRef('OrionError') : { anyOf: [schemaRef(wrapped), schemaRef('OrionError')] }
  const ofSize = jsonResponse('The body is missing.', shapes)
  return {
    ...operation,
    security: clientSecurity,
    parameters: [...parameters, ...['service', path, 'correlator'].map(parameterRef)],
    ...(body !== undefined && { requestBody: { required: true, content: jsonContent(schemaRef(body[0]), body[1]) } }),
    responses: {
      200: jsonResponse(success, { anyOf: [schemaRef(answer), schemaRef('OrionError')] }, example),
      400: responseRef('Ngsi1BadRequest'),
      401: responseRef('Ngsi1Unauthorized'),
      403: responseRef('Ngsi1Forbidden'),
      406: responseRef('Ngsi1NotAcceptable'),
      ...(body !== undefined && { 411: ofSize }),
      413: { ...ofSize, description: 'The body, or what is read, is too large.' },
      414: responseRef('Ngsi1UriTooLong'),
      ...(body !== undefined && { 415: responseRef('Ngsi1UnsupportedMediaType') }),
      429: responseRef('Ngsi1TooManyRequests'),
      500: responseRef('Ngsi1InternalError'),
      503: responseRef('Ngsi1Unavailable'),
    },
  }
}

/** Errors of NGSIv1 that HTTP knows, by status [context 10.1], [management 11.3]. */
export const ngsi1Errors: Readonly<Record<string, DescribedResponse>> = {
  Ngsi1BadRequest: orionError('The path or a parameter is wrong, or the body of a convenience operation is no JSON.'),
  Ngsi1Unauthorized: {
    ...orionError('Clients need a key (`-apiKeys`), and the request has none or another one.'),
    headers: { 'WWW-Authenticate': { description: 'How to authenticate.', schema: textSchema() } },
  },
  Ngsi1Forbidden: orionError('The key is for other tenants, or for reading.'),
  Ngsi1TooManyRequests: {
    ...orionError('The tenant sends more requests than `-rateLimit` allows; nothing of it was done.'),
    headers: { 'Retry-After': { description: 'Seconds.', schema: textSchema() } },
  },
  Ngsi1NotAcceptable: orionError('The client does not accept JSON.'),
  Ngsi1UriTooLong: orionError('The target is longer than half of `-connectionMemory`.'),
  Ngsi1UnsupportedMediaType: orionError('The body is not `application/json`.'),
  Ngsi1InternalError: orionError('The broker failed inside.'),
  Ngsi1Unavailable: {
    ...orionError('The request cannot be taken now; nothing of it was done.'),
    headers: { 'Retry-After': { description: 'Seconds.', schema: { type: 'string' } } },
  },
}

function orionError(description: string): DescribedResponse {
  return jsonResponse(description, schemaRef('OrionError'))
}

/** A status object that says that all went well. */
export const okExample = { code: '200', reasonPhrase: 'OK' } as const

const details: JsonSchema = { type: 'string', enum: ['on', 'off'], default: 'off' }

/** Parameters of reads of entities. */
export const ngsi1ReadParameters: readonly (DescribedParameter | Reference)[] = [
  parameterRef('limit'),
  parameterRef('offset'),
  queryParameter('details', '`on`: the number of all results, in the details of the status.', details),
  queryParameter(
    'orderBy',
    'Names of attributes, `id`, `type`, `dateCreated`, `dateModified`, separated by commas; `!` before a name reverses.',
    textSchema(),
  ),
]

/** Parameters of pages of other things than entities. */
export const ngsi1PageParameters = ngsi1ReadParameters.slice(0, 3)

/** How attributes are shown. */
export const formatParameter: DescribedParameter = queryParameter(
  'attributesFormat',
  '`object`: attributes as an object keyed by name.',
  textSchema(),
)

/** Which of the entities of an id are meant. */
export const typeParameters: readonly DescribedParameter[] = [
  queryParameter('entity::type', 'The type of the entity.', textSchema()),
  queryParameter('exist', '`entity::type`: only entities with a type.', textSchema()),
  queryParameter('!exist', '`entity::type`: only entities without a type.', textSchema()),
]

/** Placeholders of paths, with what stands for them in examples. */
export const ngsi1PathParameters = {
  id: pathParameter('id', 'The id of the entity.', 'Barn2'),
  type: pathParameter('type', 'The type of the entity.', 'Barn'),
  name: pathParameter('name', 'The name of the attribute.', 'humidity'),
  metaID: pathParameter('metaID', 'The metadata `ID` of the instance.', 'north'),
} as const
