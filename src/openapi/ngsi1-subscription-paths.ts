import {
  type DescribedOperation,
  type DescribedResponse,
  type DescribedTag,
  type ExampleValue,
  jsonResponse,
  pathParameter,
  schemaRef,
} from './description.js'
import { describedConfirming, describedListening, eventsResponse } from './event-paths.js'
import { ngsi1Operation, okExample } from './ngsi1-operation.js'

const tag = 'NGSIv1 subscriptions'
const subscriptionId = '5718a2f1c0de00112233aabb'
const idParameter = pathParameter('id', 'The id of the subscription.', subscriptionId)
const given: ExampleValue = {
  entities: [{ type: 'Barn', isPattern: 'true', id: '.*' }],
  reference: 'http://alerts.example:8080/inbox',
  duration: 'P1M',
  notifyConditions: [{ type: 'ONCHANGE', condValues: ['humidity'] }],
}
const change: ExampleValue = { subscriptionId, duration: 'P2M', throttling: 'PT5S' }

/** Subscriptions of NGSIv1, and notifications that come in [subscriptions 2, 6]. */
export const ngsi1SubscriptionPaths: DescribedTag = {
  name: tag,
  description: 'The receiver gets the current state at once, then every change: at least once, and in order.',
  paths: [
    {
      path: '/v1/subscribeContext',
      aliases: ['/ngsi10/subscribeContext'],
      operations: { post: subscribe('subscribeContext', 'Ngsi1Subscribed') },
    },
    {
      path: '/v1/updateContextSubscription',
      aliases: ['/ngsi10/updateContextSubscription'],
      operations: { post: changed('updateContextSubscription', [], 'Ngsi1Subscribed') },
    },
    {
      path: '/v1/unsubscribeContext',
      aliases: ['/ngsi10/unsubscribeContext'],
      operations: {
        post: ngsi1Operation({
          operationId: 'unsubscribeContext',
          tags: [tag],
          summary: 'Cancel a subscription',
          use: 'write',
          body: ['Ngsi1SubscriptionId', { subscriptionId: '000000000000000000000001' }],
          answer: 'Ngsi1Unsubscribed',
          example: { subscriptionId: '000000000000000000000001', statusCode: okExample },
          wrapped: 'Ngsi1Unsubscribed',
        }),
      },
    },
    {
      path: '/v1/contextSubscriptions',
      aliases: ['/ngsi10/contextSubscriptions'],
      operations: { post: subscribe('postContextSubscription') },
    },
    {
      path: '/v1/contextSubscriptions/{id}',
      aliases: ['/ngsi10/contextSubscriptions/{id}'],
      operations: {
        put: changed('putContextSubscription', [idParameter]),
        delete: ngsi1Operation({
          operationId: 'deleteContextSubscription',
          tags: [tag],
          summary: 'Cancel a subscription',
          use: 'write',
          parameters: [idParameter],
          answer: 'Ngsi1Unsubscribed',
          example: { subscriptionId, statusCode: okExample },
        }),
      },
    },
    {
      path: '/v1/subscriptions/{id}/events',
      operations: {
        get: ofEvents('listenToContextSubscription', describedListening, 200, eventsResponse),
        post: ofEvents('confirmContextNotifications', describedConfirming, 204, { description: 'Done.' }),
      },
    },
    {
      path: '/v1/notifyContext',
      aliases: ['/ngsi10/notifyContext'],
      operations: {
        post: ngsi1Operation({
          operationId: 'notifyContext',
          tags: [tag],
          summary: "Store the entities of another broker's notification",
          use: 'write',
          body: [
            'Ngsi1Notification',
            {
              subscriptionId,
              originator: 'localhost',
              contextResponses: [
                {
                  contextElement: { type: 'Barn', isPattern: 'false', id: 'Barn4', attributes: [] },
                  statusCode: okExample,
                },
              ],
            },
          ],
          answer: 'Ngsi1Taken',
          example: { responseCode: okExample },
          wrapped: 'Ngsi1Taken',
        }),
      },
    },
  ],
}

function subscribe(operationId: string, wrapped?: string): DescribedOperation {
  return ngsi1Operation({
    operationId,
    tags: [tag],
    summary: 'Subscribe to changes of entities, or to their state at intervals',
    use: 'write',
    body: ['Ngsi1Subscription', given],
    answer: 'Ngsi1Subscribed',
    example: { subscribeResponse: { subscriptionId, duration: 'P1M' } },
    ...(wrapped !== undefined && { wrapped }),
  })
}

/** An operation that has a status of HTTP for everything but a malformed header. */
function ofEvents(
  operationId: string,
  { parameters, ...said }: typeof describedListening,
  status: 200 | 204,
  success: DescribedResponse,
): DescribedOperation {
  const named = { operationId, tags: [tag] as const, ...said, parameters: [idParameter, ...parameters] }
  const { responses, ...operation } = ngsi1Operation({ ...named, use: 'read', answer: 'OrionError' })
  const malformed = jsonResponse('A malformed header has an orionError here.', schemaRef('OrionError'))
  const content = { ...malformed.content, ...success.content }
  const done = status === 200 ? { 200: { ...success, content } } : { 200: malformed, [status]: success }
  const unknown = jsonResponse('There is no such subscription.', schemaRef('OrionError'))
  return { ...operation, responses: { ...responses, ...done, 404: unknown } }
}

function changed(
  operationId: string,
  parameters: NonNullable<DescribedOperation['parameters']>,
  wrapped?: string,
): DescribedOperation {
  return ngsi1Operation({
    operationId,
    tags: [tag],
    summary: 'Change duration, throttling or conditions of a subscription',
    description: 'The body names the subscription, also where the path does.',
    use: 'write',
    parameters,
    body: ['Ngsi1SubscriptionChange', change],
    answer: 'Ngsi1Subscribed',
    example: { subscribeResponse: { subscriptionId, duration: 'P2M', throttling: 'PT5S' } },
    ...(wrapped !== undefined && { wrapped }),
  })
}
