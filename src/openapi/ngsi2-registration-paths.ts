import {
  arraySchema,
  closedSchema,
  type DescribedTag,
  type ExampleValue,
  type JsonSchema,
  jsonResponse,
  namesSchema,
  openSchema,
  pathParameter,
  schemaRef,
  textSchema,
} from './description.js'
import {
  countHeader,
  createdResponses,
  doneResponses,
  ngsi2Body,
  ngsi2Operation,
  optionsParameter,
  pageParameters,
} from './ngsi2-operation.js'

const tag = 'NGSIv2 registrations'
const id = '65a1f3b2c0de00112233aabc'
const idParameter = pathParameter('id', 'The id of the registration.', id)

const given = {
  description: 'noise meters',
  dataProvided: { entities: [{ id: 'Street5', type: 'Street' }], attrs: ['noise'] },
  provider: { http: { url: 'http://sensors.example:9000/v2' } },
} as const
const shown: ExampleValue = {
  id,
  ...given,
  provider: { ...given.provider, supportedForwardingMode: 'all', legacyForwarding: false },
  status: 'active',
}

const entities = arraySchema(
  openSchema(
    {},
    {
      id: textSchema('The id, or `idPattern`.'),
      idPattern: textSchema('`.*`: every id. There is no other one.'),
      type: textSchema('Without it, entities of every type.'),
    },
  ),
)
const http = openSchema({
  url: textSchema('`/op/query` and `/op/update` are appended; without a path, `//op/query` and `//op/update`.'),
})
const mode: JsonSchema = { type: 'string', enum: ['all', 'query', 'update', 'none'], default: 'all' }
const legacy: JsonSchema = { type: 'boolean', default: false, description: 'Ask the provider in the form of NGSIv1.' }
const status: JsonSchema = { type: 'string', enum: ['active', 'inactive'], default: 'active' }
const attrs = namesSchema('What is provided; without it, whole entities.')

/** Registrations of NGSIv2, as they are given and as they are shown [NGSIv2 subscriptions 10]. */
export const ngsi2RegistrationSchemas: Readonly<Record<string, JsonSchema>> = {
  Ngsi2Registration: openSchema(
    {
      dataProvided: openSchema({}, { entities, attrs }),
      provider: openSchema({ http }, { supportedForwardingMode: mode, legacyForwarding: legacy }),
    },
    {
      description: textSchema(undefined, { maxLength: 1024 }),
      expires: textSchema('ISO 8601; never without it.'),
      status: { ...status, description: 'The provider of an inactive one is not asked.' },
    },
  ),
  Ngsi2ShownRegistration: closedSchema(
    {
      id: schemaRef('Id'),
      dataProvided: closedSchema({ entities, attrs }),
      provider: closedSchema({ http, supportedForwardingMode: mode, legacyForwarding: legacy }),
      status,
    },
    { description: textSchema(), expires: schemaRef('Date') },
  ),
}

/** Registrations of NGSIv2 [NGSIv2 subscriptions 10]. */
export const ngsi2RegistrationPaths: DescribedTag = {
  name: tag,
  description:
    'Which provider answers for which entities and attributes. Registrations of both interfaces are one thing.',
  paths: [
    {
      path: '/v2/registrations',
      operations: {
        post: ngsi2Operation({
          operationId: 'createRegistration',
          tags: [tag],
          summary: 'Register a provider',
          use: 'write',
          body: ngsi2Body(schemaRef('Ngsi2Registration'), given),
          success: createdResponses(`/v2/registrations/${id}`),
          errors: [501],
        }),
        get: ngsi2Operation({
          operationId: 'listRegistrations',
          tags: [tag],
          summary: 'Registrations of the tenant, in pages',
          use: 'read',
          parameters: [...pageParameters, optionsParameter('count')],
          success: {
            200: {
              ...jsonResponse('By creation.', arraySchema(schemaRef('Ngsi2ShownRegistration')), [shown]),
              headers: countHeader,
            },
          },
        }),
      },
    },
    {
      path: '/v2/registrations/{id}',
      operations: {
        get: ngsi2Operation({
          operationId: 'showRegistration',
          tags: [tag],
          summary: 'One registration',
          use: 'read',
          parameters: [idParameter],
          success: { 200: jsonResponse('The registration.', schemaRef('Ngsi2ShownRegistration'), shown) },
          errors: [404],
        }),
        delete: ngsi2Operation({
          operationId: 'deleteRegistration',
          tags: [tag],
          summary: 'End a registration',
          use: 'write',
          parameters: [idParameter],
          success: doneResponses,
          errors: [404],
        }),
      },
    },
  ],
}
