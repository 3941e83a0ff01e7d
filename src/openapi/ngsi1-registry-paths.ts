import {
  type DescribedParameter,
  type DescribedPath,
  type DescribedTag,
  type ExampleValue,
  pathParameter,
} from './description.js'
import { ngsi1Operation, ngsi1PageParameters, okExample } from './ngsi1-operation.js'

const tag = 'NGSIv1 registry'
const registrationId = '5718a3b2c0de00112233aabc'
const street = { type: 'Street', isPattern: 'false', id: 'Street4' } as const
const registered = {
  entities: [street],
  attributes: [{ name: 'noise', type: 'dB', isDomain: 'false' }],
  providingApplication: 'http://sensors.example:9000/v1',
} as const
const found: ExampleValue = { contextRegistrationResponses: [{ contextRegistration: registered }] }
const pathBody: ExampleValue = { providingApplication: 'http://sensors.example:9000/v1', duration: 'P1M' }
const id = pathParameter('id', 'The id of the entity.', 'Street4')
const type = pathParameter('type', 'The type of the entity.', 'Street')
const name = pathParameter('name', 'The name of the attribute.', 'noise')

/** Registrations of context providers [subscriptions 7.1, 7.2, 7.5, 7.6]. */
export const ngsi1RegistryPaths: DescribedTag = {
  name: tag,
  description: 'Which provider answers for which entities and attributes. What is not held here is asked from them.',
  paths: [
    {
      path: '/v1/registry/registerContext',
      aliases: ['/ngsi9/registerContext'],
      operations: {
        post: ngsi1Operation({
          operationId: 'registerContext',
          tags: [tag],
          summary: 'Register a provider; with a registrationId, replace a registration',
          description: 'The duration `PT0S` ends a registration.',
          use: 'write',
          body: ['Ngsi1Registration', { contextRegistrations: [registered], duration: 'P1M' }],
          answer: 'Ngsi1Registered',
          example: { duration: 'P1M', registrationId },
          wrapped: 'Ngsi1Registered',
        }),
      },
    },
    {
      path: '/v1/registry/discoverContextAvailability',
      aliases: ['/ngsi9/discoverContextAvailability'],
      operations: {
        post: ngsi1Operation({
          operationId: 'discoverContextAvailability',
          tags: [tag],
          summary: 'Find registrations',
          use: 'read',
          parameters: ngsi1PageParameters,
          body: ['Ngsi1Discovery', { entities: [{ type: 'Street', isPattern: 'true', id: '.*' }] }],
          answer: 'Ngsi1Discovered',
          example: found,
          wrapped: 'Ngsi1Discovered',
        }),
      },
    },
    {
      path: '/v1/registry/notifyContextAvailability',
      aliases: ['/ngsi9/notifyContextAvailability'],
      operations: {
        post: ngsi1Operation({
          operationId: 'notifyContextAvailability',
          tags: [tag],
          summary: "Store the registrations of another registry's notification",
          use: 'write',
          body: [
            'Ngsi1AvailabilityNotification',
            {
              subscriptionId: '5718a4c3c0de00112233aabe',
              contextRegistrationResponses: [{ contextRegistration: registered }],
            },
          ],
          answer: 'Ngsi1Taken',
          example: { responseCode: okExample },
          wrapped: 'Ngsi1Taken',
        }),
      },
    },
    byPath('contextEntities/{id}', 'Entity', [id]),
    byPath('contextEntities/{id}/attributes', 'EntityWithAttributes', [id]),
    byPath('contextEntities/{id}/attributes/{name}', 'AttributeOfEntity', [id, name]),
    byPath('contextEntities/type/{type}/id/{id}', 'EntityOfType', [type, id]),
    byPath('contextEntities/type/{type}/id/{id}/attributes/{name}', 'AttributeOfTypedEntity', [type, id, name]),
    byPath('contextEntityTypes/{type}', 'Type', [type]),
    byPath('contextEntityTypes/{type}/attributes', 'TypeWithAttributes', [type]),
    byPath('contextEntityTypes/{type}/attributes/{name}', 'AttributeOfType', [type, name]),
  ],
}

function byPath(path: string, what: string, placeholders: readonly DescribedParameter[]): DescribedPath {
  const isTyped = path.includes('/id/')
  return {
    path: `/v1/registry/${path}`,
    ...(!isTyped && { aliases: [`/ngsi9/${path}`] }),
    operations: {
      post: ngsi1Operation({
        operationId: `register${what}`,
        tags: [tag],
        summary: 'Register a provider for what the path names',
        use: 'write',
        parameters: placeholders,
        body: ['Ngsi1PathRegistration', pathBody],
        answer: 'Ngsi1Registered',
        example: { duration: 'P1M', registrationId },
      }),
      get: ngsi1Operation({
        operationId: `discover${what}`,
        tags: [tag],
        summary: 'Find registrations of what the path names',
        use: 'read',
        parameters: [...placeholders, ...ngsi1PageParameters],
        answer: 'Ngsi1Discovered',
        example: found,
      }),
    },
  }
}
