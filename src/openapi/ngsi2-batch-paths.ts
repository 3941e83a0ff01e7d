import { type DescribedTag, jsonResponse, queryParameter, schemaRef, textSchema } from './description.js'
import {
  countHeader,
  doneResponses,
  ngsi2Body,
  ngsi2Operation,
  optionsParameter,
  pageParameters,
} from './ngsi2-operation.js'

const tag = 'NGSIv2 batches'
const tub = { id: 'Tub1', type: 'Tub', level: { value: 40, type: 'Number' } }

/** Operations of NGSIv2 on many entities, and its entry point [NGSIv2 context 1.1, 11]. */
export const ngsi2BatchPaths: DescribedTag = {
  name: tag,
  description: 'Many entities in one request.',
  paths: [
    {
      path: '/v2',
      operations: {
        get: ngsi2Operation({
          operationId: 'showEntryPoint',
          tags: [tag],
          summary: 'The paths of the collections',
          use: 'read',
          success: {
            200: jsonResponse(
              'Paths by name.',
              { type: 'object', additionalProperties: textSchema() },
              { entities_url: '/v2/entities' },
            ),
          },
        }),
      },
    },
    {
      path: '/v2/op/update',
      operations: {
        post: ngsi2Operation({
          operationId: 'updateBatch',
          tags: [tag],
          summary: 'Append, update, replace or delete entities or attributes of them',
          description:
            'In order, each entity whole. What fails is named in the error, the others are done all the same.',
          use: 'write',
          parameters: [optionsParameter('keyValues', 'overrideMetadata', 'forcedUpdate')],
          body: ngsi2Body(schemaRef('Ngsi2Update'), { actionType: 'append', entities: [tub] }),
          success: doneResponses,
          errors: [404, 409, 422, 501],
        }),
      },
    },
    {
      path: '/v2/op/query',
      operations: {
        post: ngsi2Operation({
          operationId: 'queryBatch',
          tags: [tag],
          summary: 'Entities by a payload, in pages',
          use: 'read',
          parameters: [
            ...pageParameters,
            queryParameter('orderBy', 'As for `GET /v2/entities`.', textSchema()),
            optionsParameter('count', 'keyValues', 'values', 'unique', 'skipForwarding'),
          ],
          body: ngsi2Body(schemaRef('Ngsi2Query'), {
            entities: [{ idPattern: '^Tub', type: 'Tub' }],
            attrs: ['level'],
            expression: { q: 'level>10' },
          }),
          success: {
            200: {
              ...jsonResponse('The entities.', schemaRef('Ngsi2EntityList'), [
                { ...tub, level: { ...tub.level, metadata: {} } },
              ]),
              headers: countHeader,
            },
          },
        }),
      },
    },
    {
      path: '/v2/op/notify',
      operations: {
        post: ngsi2Operation({
          operationId: 'takeNotification',
          tags: [tag],
          summary: 'Append what a notification of NGSIv2 holds',
          description: 'So that a broker can be the receiver of another one.',
          use: 'write',
          body: ngsi2Body(schemaRef('Ngsi2Notification'), { subscriptionId: '65a1f2f1c0de00112233aabb', data: [tub] }),
          success: { 200: { description: 'Stored.' } },
          errors: [409, 422],
        }),
      },
    },
  ],
}
