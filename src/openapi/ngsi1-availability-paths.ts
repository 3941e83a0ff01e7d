import { type DescribedOperation, type DescribedTag, type ExampleValue, pathParameter } from './description.js'
import { ngsi1Operation, okExample } from './ngsi1-operation.js'

const tag = 'NGSIv1 subscriptions to registrations'
const subscriptionId = '5718a4c3c0de00112233aabd'
const idParameter = pathParameter('id', 'The id of the subscription.', subscriptionId)
const entities: ExampleValue = [{ type: 'Street', isPattern: 'true', id: '.*' }]
const answer = 'Ngsi1AvailabilitySubscribed'

/** Subscriptions to registrations [subscriptions 7.4, 7.6]. */
export const ngsi1AvailabilityPaths: DescribedTag = {
  name: tag,
  description: 'Who is told when registrations of entities are made or changed.',
  paths: [
    {
      path: '/v1/registry/subscribeContextAvailability',
      aliases: ['/ngsi9/subscribeContextAvailability'],
      operations: { post: subscribe('subscribeContextAvailability', answer) },
    },
    {
      path: '/v1/registry/updateContextAvailabilitySubscription',
      aliases: ['/ngsi9/updateContextAvailabilitySubscription'],
      operations: { post: changed('updateContextAvailabilitySubscription', [], answer) },
    },
    {
      path: '/v1/registry/unsubscribeContextAvailability',
      aliases: ['/ngsi9/unsubscribeContextAvailability'],
      operations: {
        post: ngsi1Operation({
          operationId: 'unsubscribeContextAvailability',
          tags: [tag],
          summary: 'End a subscription',
          use: 'write',
          body: ['Ngsi1SubscriptionId', { subscriptionId: '000000000000000000000001' }],
          answer: 'Ngsi1Unsubscribed',
          example: { subscriptionId: '000000000000000000000001', statusCode: okExample },
          wrapped: 'Ngsi1Unsubscribed',
        }),
      },
    },
    {
      path: '/v1/registry/contextAvailabilitySubscriptions',
      aliases: ['/ngsi9/contextAvailabilitySubscriptions'],
      operations: { post: subscribe('postAvailabilitySubscription') },
    },
    {
      path: '/v1/registry/contextAvailabilitySubscriptions/{id}',
      aliases: ['/ngsi9/contextAvailabilitySubscriptions/{id}'],
      operations: {
        put: changed('putAvailabilitySubscription', [idParameter]),
        delete: ngsi1Operation({
          operationId: 'deleteAvailabilitySubscription',
          tags: [tag],
          summary: 'End a subscription',
          use: 'write',
          parameters: [idParameter],
          answer: 'Ngsi1Unsubscribed',
          example: { subscriptionId, statusCode: okExample },
        }),
      },
    },
  ],
}

function subscribe(operationId: string, wrapped?: string): DescribedOperation {
  return ngsi1Operation({
    operationId,
    tags: [tag],
    summary: 'Subscribe to registrations',
    use: 'write',
    body: [
      'Ngsi1AvailabilitySubscription',
      { entities, reference: 'http://maps.example:8080/sources', duration: 'P1M' },
    ],
    answer,
    example: { subscriptionId, duration: 'P1M' },
    ...(wrapped !== undefined && { wrapped }),
  })
}

function changed(
  operationId: string,
  parameters: NonNullable<DescribedOperation['parameters']>,
  wrapped?: string,
): DescribedOperation {
  return ngsi1Operation({
    operationId,
    tags: [tag],
    summary: 'Change a subscription to registrations',
    description: 'The body names the subscription, also where the path does.',
    use: 'write',
    parameters,
    body: ['Ngsi1AvailabilityChange', { subscriptionId, entities, duration: 'P2M' }],
    answer,
    example: { subscriptionId, duration: 'P2M' },
    ...(wrapped !== undefined && { wrapped }),
  })
}
