import {
  arraySchema,
  closedSchema,
  type DescribedParameter,
  type DescribedPath,
  type DescribedTag,
  type ExampleValue,
  pathParameter,
  queryParameter,
  responseRef,
  schemaRef,
  textSchema,
} from './description.js'
import { managementOperation } from './management-operation.js'

const tag = 'What is stored'
const subscription = '5718a2f1c0de00112233aabb'
const registration = '5718a3b2c0de00112233aabc'

const service = queryParameter('service', 'Those of this tenant; empty: those without a tenant.', textSchema())
const details = queryParameter('details', '`on`: with all that is asked for.', { enum: ['on', 'off'] })
const id = pathParameter('id', 'The id of the subscription.', subscription)

function pageOf(most: number): readonly DescribedParameter[] {
  return [
    queryParameter('limit', 'As many at most.', { type: 'integer', minimum: 1, maximum: most }),
    queryParameter('offset', 'As many are passed over.', { type: 'integer', minimum: 0 }),
  ]
}

const state: ExampleValue = {
  id: subscription,
  servicePath: '/#',
  reference: 'http://alerts.example:8080/inbox',
  status: 'active',
  timesSent: 18,
  failsCounter: 0,
  queueDepth: 0,
  queueBytes: 0,
  discarded: 0,
}

const path = queryParameter('path', 'A service path, `/a/#` for all under it; everywhere without it.', textSchema())
const type = queryParameter('type', 'Those of this type.', textSchema())
const tenant = queryParameter('service', 'The tenant; the one without name without it.', textSchema())
const area = queryParameter('area', 'West, south, east and north in degrees, such as `-10,35,30,60`.', textSchema())
const unavailable = { 413: responseRef('TooLarge'), 503: responseRef('Unavailable') }

function limitOf(most: number): DescribedParameter {
  return queryParameter('limit', 'As many at most.', { type: 'integer', minimum: 1, maximum: most })
}

const entityPaths: readonly DescribedPath[] = [
  {
    path: '/admin/tenants',
    operations: {
      get: managementOperation({
        operationId: 'listTenants',
        tags: [tag],
        isProtected: true,
        summary: 'Tenants that have entities, those with most first',
        parameters: pageOf(1000),
        answer: 'Tenants',
        errors: unavailable,
      }),
    },
  },
  {
    path: '/admin/types',
    operations: {
      get: managementOperation({
        operationId: 'listTypeCounts',
        tags: [tag],
        isProtected: true,
        summary: 'Types with the number of their entities, by tenant and path',
        parameters: [
          service,
          path,
          queryParameter('text', 'Those whose name has this.', textSchema()),
          ...pageOf(1000),
        ],
        answer: 'TypeCounts',
        errors: unavailable,
      }),
    },
  },
  {
    path: '/admin/entities',
    operations: {
      get: managementOperation({
        operationId: 'browseEntities',
        tags: [tag],
        isProtected: true,
        summary: 'Entities of a tenant, page by page',
        description:
          'Each page is read from the index that has all results and fewest others, and ends after a tenth of a second at the latest: it may be short, or empty, and yet there is more, which `next` says.',
        parameters: [
          tenant,
          type,
          path,
          area,
          limitOf(1000),
          queryParameter('prefix', 'Those whose id begins so.', textSchema()),
          queryParameter('pattern', 'Those whose id matches this regular expression.', textSchema()),
          queryParameter('attribute', 'Those that have this attribute.', textSchema()),
          queryParameter('total', 'Of `off` the first page does not say how many there are in all.', {
            enum: ['on', 'off'],
          }),
          queryParameter('after', 'The `next` of the page before.', textSchema()),
        ],
        answer: 'EntityRows',
        errors: unavailable,
      }),
    },
  },
  {
    path: '/admin/entities/points',
    operations: {
      get: managementOperation({
        operationId: 'locateEntities',
        tags: [tag],
        isProtected: true,
        summary: 'Where entities are, for a map: at most 10,000 points',
        parameters: [tenant, type, path, area, limitOf(10_000)],
        answer: 'EntityPoints',
        errors: unavailable,
      }),
    },
  },
  {
    path: '/admin/entities/{id}',
    operations: {
      get: managementOperation({
        operationId: 'showWholeEntity',
        tags: [tag],
        isProtected: true,
        summary: 'An entity with every instance, metadata and date, and whom it concerns',
        parameters: [pathParameter('id', 'The id of the entity.', 'Barn2'), tenant, type, path],
        answer: 'WholeEntities',
        errors: { ...unavailable, 404: responseRef('NotFound') },
      }),
    },
  },
]

/** What operators see of all that is stored, whatever its tenant [console: data]. */
export const managementViewPaths: DescribedTag = {
  name: tag,
  description: 'What is stored, of whichever tenant, for operators and the console.',
  paths: [
    ...entityPaths,
    {
      path: '/admin/subscriptions',
      operations: {
        get: managementOperation({
          operationId: 'listSubscriptionStates',
          tags: [tag],
          isProtected: true,
          summary: 'Subscriptions and their delivery stats',
          parameters: [
            service,
            ...pageOf(1000),
            details,
            queryParameter('status', 'Those of this status.', {
              enum: ['active', 'inactive', 'oneshot', 'failed', 'expired'],
            }),
            queryParameter('receiver', 'Those whose receiver has this in its URL.', textSchema()),
            queryParameter('text', 'Those that say this anywhere.', textSchema()),
          ],
          answer: {
            anyOf: [
              arraySchema(schemaRef('DeliveryState')),
              closedSchema({
                count: { type: 'integer', minimum: 0, description: 'Of all that fit, on whatever page.' },
                subscriptions: arraySchema(schemaRef('SubscriptionDetails')),
              }),
            ],
          },
          example: [state],
        }),
      },
    },
    {
      path: '/admin/subscriptions/{id}',
      operations: {
        get: managementOperation({
          operationId: 'showSubscriptionState',
          tags: [tag],
          isProtected: true,
          summary: 'The same of one',
          parameters: [id, details],
          answer: { anyOf: [schemaRef('DeliveryState'), schemaRef('SubscriptionDetails')] },
          example: state,
          errors: { 404: responseRef('NotFound') },
        }),
        delete: managementOperation({
          operationId: 'endSubscription',
          tags: [tag],
          isProtected: true,
          summary: 'Ends a subscription of any tenant; what waits for it is dropped',
          parameters: [id],
          answer: closedSchema({
            id: schemaRef('Id'),
            dropped: { type: 'integer', minimum: 0, description: 'Notifications that waited.' },
            droppedBytes: { type: 'integer', minimum: 0 },
          }),
          example: { id: subscription, dropped: 0, droppedBytes: 0 },
          errors: { 404: responseRef('NotFound'), 503: responseRef('Unavailable') },
        }),
      },
    },
    {
      path: '/admin/subscriptions/{id}/explain',
      operations: {
        get: managementOperation({
          operationId: 'explainSubscription',
          tags: [tag],
          isProtected: true,
          summary: 'Why is nothing sent? Each condition of a subscription, compared with an entity',
          description:
            'A change of the entity is tried with the matcher of the partitions, on the subscription and on each of its conditions alone. Nothing is changed or sent.',
          parameters: [
            id,
            queryParameter('entity', 'The id of an entity.', textSchema(), 'Barn2'),
            queryParameter('type', 'Its type; all without it.', textSchema()),
            queryParameter('service', 'Its tenant; that of the subscription without it.', textSchema()),
            queryParameter('attributes', 'Names, separated by commas, that change; all without it.', textSchema()),
            queryParameter('change', 'What happens to the entity; `entityChange` without it.', {
              enum: ['entityCreate', 'entityChange', 'entityUpdate', 'entityDelete'],
            }),
          ],
          answer: 'Explanation',
          errors: { 404: responseRef('NotFound'), 503: responseRef('Unavailable') },
        }),
      },
    },
    {
      path: '/admin/registrations',
      operations: {
        get: managementOperation({
          operationId: 'listStoredRegistrations',
          tags: [tag],
          isProtected: true,
          summary: 'Registrations as they are stored, and how the calls of their providers went',
          parameters: [
            service,
            ...pageOf(1000),
            queryParameter('status', 'Those of this status.', { enum: ['active', 'inactive', 'expired'] }),
            queryParameter('text', 'Those that say this anywhere.', textSchema()),
          ],
          answer: 'Registrations',
        }),
      },
    },
    {
      path: '/admin/registrations/{id}',
      operations: {
        get: managementOperation({
          operationId: 'showStoredRegistration',
          tags: [tag],
          isProtected: true,
          summary: 'The same of one',
          parameters: [pathParameter('id', 'The id of the registration.', registration)],
          answer: 'StoredRegistration',
          errors: { 404: responseRef('NotFound') },
        }),
      },
    },
    {
      path: '/admin/receivers',
      operations: {
        get: managementOperation({
          operationId: 'listReceivers',
          tags: [tag],
          isProtected: true,
          summary: 'Who is delivered to: by scheme, host and port, those for which most waits first',
          parameters: [...pageOf(1000), queryParameter('text', 'Those whose name has this.', textSchema())],
          answer: 'Receivers',
        }),
      },
    },
    {
      path: '/admin/alarms',
      operations: {
        get: managementOperation({
          operationId: 'listAlarms',
          tags: [tag],
          isProtected: true,
          summary: 'What is wrong, since when, how often',
          parameters: [
            queryParameter('limit', 'As many at most.', { type: 'integer', minimum: 1, maximum: 1000 }),
            queryParameter('kind', 'Those of this kind.', {
              enum: ['BadInput', 'NotificationError', 'ForwardingError', 'MqttConnectionError', 'DatabaseError'],
            }),
          ],
          answer: 'Alarms',
        }),
      },
    },
  ],
}
