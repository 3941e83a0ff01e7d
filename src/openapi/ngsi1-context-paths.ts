import {
  type DescribedOperation,
  type DescribedPath,
  type DescribedTag,
  queryParameter,
  textSchema,
} from './description.js'
import {
  formatParameter,
  ngsi1Operation,
  ngsi1PageParameters,
  ngsi1PathParameters,
  ngsi1ReadParameters,
  okExample,
  typeParameters,
} from './ngsi1-operation.js'

const tag = 'NGSIv1 entities'
const north = [{ name: 'ID', type: 'string', value: 'north' }]
const humidity = { name: 'humidity', type: 'percent', value: '64', metadatas: north }
const barn = { type: 'Barn', isPattern: 'false', id: 'Barn2' } as const
const shownBarn = { contextElement: { ...barn, attributes: [humidity] }, statusCode: okExample }

/** The standard operations on entities and types, and those on all entities [context 6, 7, 8.3, 8.6, 9]. */
export const ngsi1ContextPaths: DescribedTag = {
  name: tag,
  description:
    'Updates and queries of NGSIv1. The HTTP status is 200 for nearly everything; the code inside says what happened.',
  paths: [
    {
      path: '/v1/updateContext',
      aliases: ['/ngsi10/updateContext'],
      operations: {
        post: ngsi1Operation({
          operationId: 'updateContext',
          tags: [tag],
          summary: 'Update entities',
          description: 'Each element is applied whole or not at all, in order, and has its own status.',
          use: 'write',
          parameters: [formatParameter],
          body: ['Ngsi1Update', { updateAction: 'APPEND', contextElements: [{ ...barn, attributes: [humidity] }] }],
          answer: 'Ngsi1Responses',
          example: { contextResponses: [shownBarn] },
          wrapped: 'Ngsi1Responses',
        }),
      },
    },
    {
      path: '/v1/queryContext',
      aliases: ['/ngsi10/queryContext'],
      operations: {
        post: ngsi1Operation({
          operationId: 'queryContext',
          tags: [tag],
          summary: 'Query entities',
          use: 'read',
          parameters: [...ngsi1ReadParameters, formatParameter],
          body: ['Ngsi1Query', { entities: [{ type: 'Barn', isPattern: 'true', id: '^Barn[0-9]$' }] }],
          answer: 'Ngsi1Responses',
          example: { contextResponses: [shownBarn] },
          wrapped: 'Ngsi1Responses',
        }),
      },
    },
    {
      path: '/v1/contextEntities',
      operations: {
        get: listOperation('listContextEntities', 'All entities', []),
        post: ngsi1Operation({
          operationId: 'appendContextEntity',
          tags: [tag],
          summary: 'Append an entity that the body names',
          use: 'write',
          parameters: [...typeParameters, formatParameter],
          body: ['Ngsi1AppendEntity', { id: 'Barn3', type: 'Barn', attributes: [{ name: 'light', value: 'on' }] }],
          answer: 'Ngsi1WrittenEntity',
        }),
      },
    },
    ...entitiesOfType('', 'listOfType', 'Entities of a type'),
    ...entitiesOfType('/attributes', 'listOfTypeWithAttributes', 'The same'),
    ...entitiesOfType('/attributes/{name}', 'listAttributeOfType', 'One attribute of the entities of a type'),
    {
      path: '/v1/contextTypes',
      operations: {
        get: ngsi1Operation({
          operationId: 'listContextTypes',
          tags: [tag],
          summary: 'Types, and the names of their attributes',
          use: 'read',
          parameters: [
            ...ngsi1PageParameters,
            queryParameter('collapse', '`true`: without the names of attributes.', textSchema()),
          ],
          answer: 'Ngsi1Types',
          example: { types: [{ name: 'Barn', attributes: ['humidity'] }], statusCode: okExample },
        }),
      },
    },
    {
      path: '/v1/contextTypes/{type}',
      operations: {
        get: ngsi1Operation({
          operationId: 'showContextType',
          tags: [tag],
          summary: 'The names of the attributes of a type',
          use: 'read',
          parameters: [ngsi1PathParameters.type, ...ngsi1PageParameters],
          answer: 'Ngsi1Type',
          example: { name: 'Barn', attributes: ['humidity'], statusCode: okExample },
        }),
      },
    },
  ],
}

function entitiesOfType(rest: string, operationId: string, summary: string): readonly DescribedPath[] {
  const { type, name } = ngsi1PathParameters
  const placeholders = rest.endsWith('{name}') ? [type, name] : [type]
  const path = `contextEntityTypes/{type}${rest}`
  const operations = { get: listOperation(operationId, summary, placeholders) }
  return [{ path: `/v1/${path}`, aliases: [`/ngsi10/${path}`], operations }]
}

function listOperation(
  operationId: string,
  summary: string,
  placeholders: NonNullable<DescribedOperation['parameters']>,
): DescribedOperation {
  return ngsi1Operation({
    operationId,
    tags: [tag],
    summary,
    use: 'read',
    parameters: [...placeholders, ...typeParameters, ...ngsi1ReadParameters, formatParameter],
    answer: 'Ngsi1Responses',
    example: { contextResponses: [shownBarn] },
  })
}
