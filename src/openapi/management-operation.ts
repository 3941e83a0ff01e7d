import {
  type DescribedOperation,
  type DescribedResponse,
  type ExampleValue,
  type JsonSchema,
  jsonResponse,
  type Reference,
  responseRef,
  schemaRef,
} from './description.js'

/** An operation of the management, without what all of them have in common. */
interface ManagementOperation extends Omit<DescribedOperation, 'requestBody' | 'responses'> {
  /** Instead of 200 with the schema that the caller names. */
  readonly responses?: Readonly<Record<string, DescribedResponse>>
  readonly answer?: string | JsonSchema
  readonly example?: ExampleValue
  readonly errors?: Readonly<Record<string, Reference>>
  /** Never needs a token. */
  readonly isOpen?: true
  /** Without a token for requests from the broker's own machine: it shows what is stored, or changes something. */
  readonly isProtected?: true
  /** Answered whatever web site has caused the request. */
  readonly isForEverySite?: true
}

/** An operation of the management, which may have a token and takes no body [management 1, 13]. */
export function managementOperation({
  responses,
  answer = '',
  example,
  errors = {},
  isOpen,
  isProtected,
  isForEverySite = isOpen,
  ...operation
}: ManagementOperation): DescribedOperation {
  const schema = typeof answer === 'string' ? schemaRef(answer) : answer
  return {
    ...operation,
    ...(isOpen === undefined && { security: [{}, { managementToken: [] }] }),
    responses: {
      ...(responses ?? { 200: jsonResponse('As it is.', schema, example) }),
      400: responseRef('BadRequest'),
      ...(isOpen === undefined && { 401: responseRef('Unauthorized') }),
      ...(isForEverySite === undefined && { 403: responseRef(isProtected ? 'NotFromHere' : 'ForeignSite') }),
      406: responseRef('NotAcceptable'),
      413: responseRef('TooLarge'),
      414: responseRef('UriTooLong'),
      500: responseRef('InternalError'),
      ...errors,
    },
  }
}

/** Done, with 200 and no body. */
export const emptyResponses: Readonly<Record<string, DescribedResponse>> = { 200: { description: 'Done.' } }
