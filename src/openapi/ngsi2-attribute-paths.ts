import { type ContentByType, type DescribedTag, jsonResponse, schemaRef, textSchema } from './description.js'
import { doneResponses, entityParameters, ngsi2Body, ngsi2Operation, optionsParameter } from './ngsi2-operation.js'

const tag = 'NGSIv2 attributes'
const { id, name, type, metadata } = entityParameters
const compound = { description: 'An object or an array.', type: ['object', 'array'] } as const
const newValue: ContentByType = {
  'text/plain': {
    schema: textSchema('A number, `true`, `false`, `null`, or a text between quotation marks.'),
    example: '64.5',
  },
  'application/json': { schema: compound },
}

/** Single attributes of NGSIv2 and their values [NGSIv2 context 9]. */
export const ngsi2AttributePaths: DescribedTag = {
  name: tag,
  description: 'One attribute of one entity. None of these creates an attribute.',
  paths: [
    {
      path: '/v2/entities/{id}/attrs/{name}',
      operations: {
        get: ngsi2Operation({
          operationId: 'showAttribute',
          tags: [tag],
          summary: 'One attribute',
          use: 'read',
          parameters: [id, name, type, metadata, optionsParameter('keyValues', 'skipForwarding')],
          success: {
            200: jsonResponse(
              'The attribute; with `keyValues` its value by its name.',
              { anyOf: [schemaRef('Ngsi2ShownAttribute'), { type: 'object' }] },
              { type: 'Number', value: 61.5, metadata: {} },
            ),
          },
          errors: [404, 409],
        }),
        put: ngsi2Operation({
          operationId: 'updateAttribute',
          tags: [tag],
          summary: 'Update an attribute',
          use: 'write',
          parameters: [id, name, type, optionsParameter('overrideMetadata', 'forcedUpdate')],
          body: ngsi2Body(schemaRef('Ngsi2Attribute'), {
            value: 62,
            type: 'Number',
            metadata: { unit: { value: 'C' } },
          }),
          success: doneResponses,
          errors: [404, 409, 422],
        }),
        delete: ngsi2Operation({
          operationId: 'removeAttribute',
          tags: [tag],
          summary: 'Remove an attribute',
          use: 'write',
          parameters: [id, name, type],
          success: doneResponses,
          errors: [404, 409],
        }),
      },
    },
    {
      path: '/v2/entities/{id}/attrs/{name}/value',
      operations: {
        get: ngsi2Operation({
          operationId: 'showValue',
          tags: [tag],
          summary: 'The value of an attribute',
          description: 'Objects and arrays are JSON. All else is plain text: the client has to accept it.',
          use: 'read',
          parameters: [id, name, type, optionsParameter('skipForwarding')],
          success: {
            200: {
              description: 'The value.',
              content: {
                'text/plain': { schema: textSchema('Texts stand between quotation marks.'), example: '61.5' },
                'application/json': { schema: compound },
              },
            },
          },
          errors: [404, 409],
        }),
        put: ngsi2Operation({
          operationId: 'updateValue',
          tags: [tag],
          summary: 'Update the value, and leave type and metadata alone',
          use: 'write',
          parameters: [id, name, type, optionsParameter('forcedUpdate')],
          body: newValue,
          success: doneResponses,
          errors: [404, 409, 422],
        }),
      },
    },
  ],
}
