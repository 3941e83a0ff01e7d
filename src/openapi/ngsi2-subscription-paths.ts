import {
  arraySchema,
  type DescribedTag,
  type ExampleValue,
  jsonResponse,
  pathParameter,
  schemaRef,
} from './description.js'
import { describedConfirming, describedListening, eventsResponse } from './event-paths.js'
import {
  countHeader,
  createdResponses,
  doneResponses,
  ngsi2Body,
  ngsi2Operation,
  optionsParameter,
  pageParameters,
} from './ngsi2-operation.js'

const tag = 'NGSIv2 subscriptions'
const id = '65a1f2f1c0de00112233aabb'
const idParameter = pathParameter('id', 'The id of the subscription.', id)

const given = {
  description: 'vats that run hot',
  subject: {
    entities: [{ idPattern: '^Vat', type: 'Vat' }],
    condition: { attrs: ['heat'], expression: { q: 'heat>70' } },
  },
  notification: { http: { url: 'http://alerts.example:8080/inbox' }, attrs: ['heat', 'level'] },
  expires: '2099-04-05T14:00:00.000Z',
  throttling: 5,
} as const

const shown: ExampleValue = {
  id,
  ...given,
  status: 'active',
  subject: { ...given.subject, condition: { ...given.subject.condition, notifyOnMetadataChange: true } },
  notification: { ...given.notification, attrsFormat: 'normalized', onlyChangedAttrs: false, covered: false },
}

/** Subscriptions of NGSIv2 [NGSIv2 subscriptions 3]. */
export const ngsi2SubscriptionPaths: DescribedTag = {
  name: tag,
  description:
    'Who is told of which changes. There is no initial notification. Delivery is at least once, and in order.',
  paths: [
    {
      path: '/v2/subscriptions',
      operations: {
        post: ngsi2Operation({
          operationId: 'createSubscription',
          tags: [tag],
          summary: 'Subscribe to changes of entities',
          use: 'write',
          body: ngsi2Body(schemaRef('Ngsi2Subscription'), given),
          success: createdResponses(`/v2/subscriptions/${id}`),
          errors: [501],
        }),
        get: ngsi2Operation({
          operationId: 'listSubscriptions',
          tags: [tag],
          summary: 'Subscriptions of the tenant, in pages',
          use: 'read',
          parameters: [...pageParameters, optionsParameter('count')],
          success: {
            200: {
              ...jsonResponse('By creation.', arraySchema(schemaRef('Ngsi2ShownSubscription')), [shown]),
              headers: countHeader,
            },
          },
        }),
      },
    },
    {
      path: '/v2/subscriptions/{id}',
      operations: {
        get: ngsi2Operation({
          operationId: 'showSubscription',
          tags: [tag],
          summary: 'One subscription',
          use: 'read',
          parameters: [idParameter],
          success: { 200: jsonResponse('The subscription.', schemaRef('Ngsi2ShownSubscription'), shown) },
          errors: [404],
        }),
        patch: ngsi2Operation({
          operationId: 'patchSubscription',
          tags: [tag],
          summary: 'Change the members that are given',
          use: 'write',
          parameters: [idParameter],
          body: ngsi2Body(schemaRef('Ngsi2SubscriptionPatch'), { status: 'inactive' }),
          success: doneResponses,
          errors: [404, 501],
        }),
        delete: ngsi2Operation({
          operationId: 'deleteSubscription',
          tags: [tag],
          summary: 'End a subscription',
          description: 'Notifications that wait go with it.',
          use: 'write',
          parameters: [idParameter],
          success: doneResponses,
          errors: [404],
        }),
      },
    },
    {
      path: '/v2/subscriptions/{id}/events',
      operations: {
        get: ngsi2Operation({
          operationId: 'listenToSubscription',
          tags: [tag],
          ...describedListening,
          use: 'read',
          parameters: [idParameter, ...describedListening.parameters],
          success: { 200: eventsResponse },
          errors: [404],
        }),
        post: ngsi2Operation({
          operationId: 'confirmNotifications',
          tags: [tag],
          ...describedConfirming,
          use: 'read',
          parameters: [idParameter, ...describedConfirming.parameters],
          success: doneResponses,
          errors: [404],
        }),
      },
    },
  ],
}
