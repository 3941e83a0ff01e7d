import {
  closedSchema,
  type DescribedOperation,
  type DescribedParameter,
  type DescribedResponse,
  type ExampleValue,
  type JsonSchema,
  jsonResponse,
  queryParameter,
  schemaRef,
  textSchema,
} from './description.js'

/** Schemas that all interfaces use. */
export const sharedSchemas: Readonly<Record<string, JsonSchema>> = {
  Error: {
    ...closedSchema({
      error: textSchema('The name of the error, such as NotFound.'),
      description: textSchema('What is wrong, for people.'),
    }),
    description: 'An error of NGSIv2 and of the management.',
  },
  Date: textSchema('ISO 8601 in UTC with milliseconds.', {
    pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$',
  }),
  Seconds: textSchema('Seconds with nine digits of a fraction.', { pattern: '^\\d+\\.\\d{9}$' }),
  Id: textSchema('Given by the broker.', { pattern: '^[0-9a-f]{24}$' }),
}

/** Parameters that many operations take. */
export const sharedParameters: Readonly<Record<string, DescribedParameter>> = {
  service: {
    name: 'Fiware-Service',
    in: 'header',
    description:
      'The tenant, when the broker runs with `-multiservice`. Without it, it is only passed on: in notifications and to providers.',
    schema: textSchema(undefined, { maxLength: 50, pattern: '^[A-Za-z0-9_]+$' }),
  },
  updatePath: {
    name: 'Fiware-ServicePath',
    in: 'header',
    description: 'Where the entity lives, such as `/city/north`; `/` without it. One path.',
    schema: textSchema(),
  },
  readPaths: {
    name: 'Fiware-ServicePath',
    in: 'header',
    description: 'Up to ten paths, separated by commas; `/city/#` is a path and all below it. Without it, all paths.',
    schema: textSchema(),
  },
  correlator: {
    name: 'Fiware-Correlator',
    in: 'header',
    description: 'Comes back in the response, and goes on with notifications and forwarded requests.',
    schema: textSchema(),
  },
  limit: queryParameter('limit', 'How many results the response has at most.', {
    type: 'integer',
    minimum: 0,
    maximum: 1000,
    default: 20,
  }),
  offset: queryParameter('offset', 'How many results are skipped.', { type: 'integer', minimum: 0, default: 0 }),
}

/** How clients show who they are, where `-apiKeys` needs it. */
export const clientSecurity: NonNullable<DescribedOperation['security']> = [{}, { clientKey: [] }, { clientToken: [] }]

/** How requests may authenticate. */
export const securitySchemes = {
  managementToken: { type: 'http', scheme: 'bearer', description: 'With `-adminToken`.' },
  clientKey: { type: 'apiKey', in: 'header', name: 'X-Auth-Token', description: 'With `-apiKeys`.' },
  clientToken: { type: 'http', scheme: 'bearer', description: 'With `-apiKeys`.' },
} as const

/** Whom the management serves in no case [management 13]. */
const foreignSite =
  'a page of another web site has caused the request; or a broker has sent it (`Rigel-Notification-Id`, or a `Via` that names one); or, without a token, its `Host` is a name that the broker does not know: see `-adminHosts`'

/** Errors in the short form, by status [management 1, 11.4]. */
export const sharedResponses: Readonly<Record<string, DescribedResponse>> = {
  BadRequest: shortError('The request is wrong in itself: a parameter, a header, the body.'),
  Unauthorized: {
    ...shortError(
      'The management has a token, or clients need a key (`-apiKeys`), and the request has none or another one.',
    ),
    headers: { 'WWW-Authenticate': { description: 'How to authenticate.', schema: textSchema() } },
  },
  ForeignSite: shortError(`Refused: ${foreignSite}.`),
  NotFromHere: shortError(
    `Refused: without a token the request is not from the broker's own machine, and \`-adminOpen\` is off; or ${foreignSite}.`,
    {
      error: 'Forbidden',
      description:
        "without a token this is for requests from the broker's own machine: start the broker with -adminToken and send it as Authorization: Bearer <token>, or with -adminOpen",
    },
  ),
  Forbidden: shortError('The key is for other tenants, or for reading.'),
  TooManyRequests: {
    ...shortError('The tenant sends more requests than `-rateLimit` allows; nothing of it was done.'),
    headers: { 'Retry-After': { description: 'Seconds.', schema: textSchema() } },
  },
  NotFound: shortError(
    'There is no such thing; `PartialUpdate` when providers did a part of what was passed on to them.',
  ),
  NotAcceptable: shortError('The client accepts nothing that the broker has.'),
  TooManyResults: shortError('The request means one entity, and several match: say the type.'),
  LengthRequired: shortError('A body is missing.'),
  TooLarge: shortError('The body, or what it asks for, is too large.'),
  UriTooLong: shortError('The target is longer than half of `-connectionMemory`.'),
  UnsupportedMediaType: shortError('The media type of the body is not one that the operation takes.'),
  Unprocessable: shortError('Wrong because of what is stored; `PartialUpdate` when a part was done.'),
  InternalError: shortError('The broker failed inside, or an update operator does not fit the stored value.'),
  NotImplemented: shortError('The broker does not do that.'),
  Unavailable: {
    ...shortError('The request cannot be taken now; nothing of it was done.'),
    headers: { 'Retry-After': { description: 'Seconds.', schema: { type: 'string' } } },
  },
}

function shortError(description: string, example?: ExampleValue): DescribedResponse {
  return jsonResponse(description, schemaRef('Error'), example)
}
