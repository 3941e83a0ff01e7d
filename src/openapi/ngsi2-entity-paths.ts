import { arraySchema, type DescribedTag, jsonResponse, queryParameter, schemaRef, textSchema } from './description.js'
import {
  countHeader,
  createdResponses,
  doneResponses,
  entityParameters,
  ngsi2Body,
  ngsi2Operation,
  optionsParameter,
  pageParameters,
} from './ngsi2-operation.js'

const tag = 'NGSIv2 entities'
const { id, type, attrs, metadata } = entityParameters
const forms = optionsParameter('keyValues', 'values', 'unique', 'dateCreated', 'dateModified', 'skipForwarding')
const shownForms = [schemaRef('Ngsi2ShownEntity'), schemaRef('Ngsi2SimpleEntity'), schemaRef('Ngsi2Values')]
const heat = { value: 61.5, type: 'Number', metadata: { accuracy: { value: 0.5, type: 'Number' } } }
const shownVat = { id: 'Vat1', type: 'Vat', heat }
const withHeat = ngsi2Body(schemaRef('Ngsi2Attributes'), { heat: { value: 63, type: 'Number' } })

const listParameters = [
  queryParameter('id', 'Ids, separated by commas.', textSchema()),
  queryParameter('idPattern', 'A regular expression that is searched in ids; not with `id`.', textSchema()),
  queryParameter('type', 'Types, separated by commas.', textSchema(), 'Vat'),
  queryParameter('typePattern', 'A regular expression that is searched in types; not with `type`.', textSchema()),
  queryParameter('q', 'Conditions on values, separated by `;`.', textSchema(), 'heat>60'),
  queryParameter('mq', 'Conditions on values of metadata: `heat.accuracy<1`.', textSchema()),
  queryParameter(
    'georel',
    'How entities lie to the shape: `near;maxDistance:M`, `near;minDistance:M`, `coveredBy`, `intersects`, `disjoint`, `equals`.',
    textSchema(),
  ),
  queryParameter('geometry', 'What the shape is.', { type: 'string', enum: ['point', 'line', 'box', 'polygon'] }),
  queryParameter('coords', '`latitude,longitude` of its points, separated by `;`.', textSchema()),
  queryParameter(
    'orderBy',
    'Names of attributes, `id`, `type`, builtin attributes, or `geo:distance`; `!` before a name reverses. By creation without it.',
    textSchema(),
  ),
]

/** Entities of NGSIv2 [NGSIv2 context 8]. */
export const ngsi2EntityPaths: DescribedTag = {
  name: tag,
  description:
    'Entities with their attributes. Without `type` a request about one id means the one entity of that id, of whatever type.',
  paths: [
    {
      path: '/v2/entities',
      operations: {
        get: ngsi2Operation({
          operationId: 'listEntities',
          tags: [tag],
          summary: 'Entities, in pages',
          use: 'read',
          parameters: [
            ...listParameters,
            attrs,
            metadata,
            ...pageParameters,
            optionsParameter('count', 'keyValues', 'values', 'unique', 'dateCreated', 'dateModified', 'skipForwarding'),
          ],
          success: {
            200: {
              ...jsonResponse('The entities that match all criteria.', schemaRef('Ngsi2EntityList'), [shownVat]),
              headers: countHeader,
            },
          },
        }),
        post: ngsi2Operation({
          operationId: 'createEntity',
          tags: [tag],
          summary: 'Create an entity, or with upsert also update it',
          use: 'write',
          parameters: [optionsParameter('keyValues', 'upsert', 'overrideMetadata', 'forcedUpdate')],
          body: ngsi2Body(schemaRef('Ngsi2Entity'), { ...shownVat, lid: { value: 'open' } }),
          success: {
            ...createdResponses('/v2/entities/Vat1?type=Vat'),
            204: {
              description: 'Created or updated, with `upsert`.',
              headers: { Location: { description: 'Where the entity is.', schema: textSchema() } },
            },
          },
          errors: [409, 422],
        }),
      },
    },
    {
      path: '/v2/entities/{id}',
      operations: {
        get: ngsi2Operation({
          operationId: 'showEntity',
          tags: [tag],
          summary: 'One entity',
          use: 'read',
          parameters: [id, type, attrs, metadata, forms],
          success: { 200: jsonResponse('The entity.', { anyOf: shownForms }, shownVat) },
          errors: [404, 409],
        }),
        delete: ngsi2Operation({
          operationId: 'removeEntity',
          tags: [tag],
          summary: 'Remove an entity',
          use: 'write',
          parameters: [id, type],
          success: doneResponses,
          errors: [404, 409],
        }),
      },
    },
    {
      path: '/v2/entities/{id}/attrs',
      operations: {
        get: ngsi2Operation({
          operationId: 'showAttributes',
          tags: [tag],
          summary: 'All attributes of an entity',
          use: 'read',
          parameters: [id, type, attrs, metadata, forms],
          success: {
            200: jsonResponse(
              'The attributes by name.',
              {
                anyOf: [
                  { type: 'object', additionalProperties: schemaRef('Ngsi2ShownAttribute') },
                  { type: 'object', description: 'Values by name, with `keyValues`.' },
                  schemaRef('Ngsi2Values'),
                ],
              },
              { heat },
            ),
          },
          errors: [404, 409],
        }),
        patch: ngsi2Operation({
          operationId: 'updateAttributes',
          tags: [tag],
          summary: 'Update attributes that exist',
          use: 'write',
          parameters: [id, type, optionsParameter('keyValues', 'overrideMetadata', 'forcedUpdate')],
          body: withHeat,
          success: doneResponses,
          errors: [404, 409, 422],
        }),
        post: ngsi2Operation({
          operationId: 'appendAttributes',
          tags: [tag],
          summary: 'Update attributes, and add those that do not exist',
          description: 'With `append` attributes that exist are refused.',
          use: 'write',
          parameters: [id, type, optionsParameter('keyValues', 'append', 'overrideMetadata', 'forcedUpdate')],
          body: ngsi2Body(schemaRef('Ngsi2Attributes'), { level: { value: 40 }, heat: { value: { $inc: 1.5 } } }),
          success: doneResponses,
          errors: [404, 409, 422],
        }),
        put: ngsi2Operation({
          operationId: 'replaceAttributes',
          tags: [tag],
          summary: 'Replace all attributes',
          use: 'write',
          parameters: [id, type, optionsParameter('keyValues', 'forcedUpdate')],
          body: ngsi2Body(schemaRef('Ngsi2Attributes'), { heat, parts: { value: ['lid', 'valve'] } }),
          success: doneResponses,
          errors: [404, 409, 422],
        }),
      },
    },
    {
      path: '/v2/types',
      operations: {
        get: ngsi2Operation({
          operationId: 'listEntityTypes',
          tags: [tag],
          summary: 'Types of entities, with the types of their attributes',
          use: 'read',
          parameters: [...pageParameters, optionsParameter('count', 'values', 'noAttrDetail')],
          success: {
            200: {
              ...jsonResponse(
                'Types in ascending order; with `values` their names alone.',
                { anyOf: [arraySchema(schemaRef('Ngsi2Type')), arraySchema(textSchema())] },
                [{ type: 'Vat', attrs: { heat: { types: ['Number'] } }, count: 2 }],
              ),
              headers: countHeader,
            },
          },
        }),
      },
    },
    {
      path: '/v2/types/{type}',
      operations: {
        get: ngsi2Operation({
          operationId: 'showEntityType',
          tags: [tag],
          summary: 'One type of entities',
          use: 'read',
          parameters: [
            {
              name: 'type',
              in: 'path',
              description: 'The type.',
              required: true,
              schema: textSchema(),
              example: 'Vat',
            },
            optionsParameter('noAttrDetail'),
          ],
          success: {
            200: jsonResponse('The type.', schemaRef('Ngsi2Type'), {
              attrs: { heat: { types: ['Number'] } },
              count: 2,
            }),
          },
          errors: [404],
        }),
      },
    },
  ],
}
