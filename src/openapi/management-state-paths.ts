import {
  arraySchema,
  type DescribedPath,
  type DescribedTag,
  type ExampleValue,
  jsonResponse,
  pathParameter,
  queryParameter,
  responseRef,
  schemaRef,
  textSchema,
} from './description.js'
import { managementOperation } from './management-operation.js'

const tag = 'State of the broker'
const page = { 200: { description: 'The page.', content: { 'text/html': { schema: textSchema() } } } } as const

/** Deliveries, version, health, and this description [management 8], [subscriptions 5.7]. */
export const managementStatePaths: DescribedTag = {
  name: tag,
  description: 'How deliveries go, what the broker is, and whether it is well.',
  paths: [
    ...deliveries('/admin/availabilitySubscriptions', 'AvailabilitySubscription', '5718a4c3c0de00112233aabd'),
    {
      path: '/admin/backup',
      operations: {
        get: managementOperation({
          operationId: 'takeBackup',
          tags: [tag],
          summary: 'A backup of all data at one moment, as a tar archive',
          description:
            'What was answered before the moment is in it. The archive is made while it is sent; the last file, ' +
            '`manifest.json`, has the checksums of the others, and without it the backup is not whole. One is taken at a time.',
          responses: {
            200: {
              description: 'The archive.',
              content: { 'application/x-tar': { schema: textSchema('The bytes of a tar archive.') } },
            },
          },
          errors: { 503: responseRef('Unavailable') },
        }),
      },
    },
    {
      path: '/version',
      operations: {
        get: managementOperation({
          operationId: 'showVersion',
          isOpen: true,
          tags: [tag],
          summary: 'Version, uptime and commit',
          parameters: [queryParameter('options', '`libVersions`: also the versions of libraries.', textSchema())],
          answer: 'Version',
        }),
      },
    },
    {
      path: '/health/live',
      operations: {
        get: managementOperation({
          operationId: 'showLiveness',
          isOpen: true,
          tags: [tag],
          summary: 'Whether the main thread runs',
          answer: 'Health',
          example: { status: 'ok' },
        }),
      },
    },
    {
      path: '/health/ready',
      operations: {
        get: managementOperation({
          operationId: 'showReadiness',
          isOpen: true,
          tags: [tag],
          summary: 'Whether every partition responds and there is room on disk',
          responses: {
            200: jsonResponse('Ready.', schemaRef('Health'), { status: 'ok', partitions: { total: 4, ready: 4 } }),
            503: jsonResponse('Not ready, and why.', schemaRef('Health')),
          },
        }),
      },
    },
    {
      path: '/openapi.json',
      operations: {
        get: managementOperation({
          operationId: 'showDescription',
          isOpen: true,
          tags: [tag],
          summary: 'This description, in OpenAPI 3.1',
          answer: { type: 'object' },
        }),
      },
    },
    {
      path: '/docs',
      operations: {
        get: managementOperation({
          operationId: 'showReference',
          isOpen: true,
          tags: [tag],
          summary: 'This description as a page for people',
          responses: page,
        }),
      },
    },
    {
      path: '/docs/flags',
      operations: {
        get: managementOperation({
          operationId: 'showFlags',
          isOpen: true,
          tags: [tag],
          summary: 'The flags of the broker as a page for people, each under its name: `#port`',
          responses: page,
        }),
      },
    },
  ],
}

function deliveries(path: string, what: string, id: string): readonly DescribedPath[] {
  const state: ExampleValue = {
    id,
    servicePath: '/#',
    reference: 'http://alerts.example:8080/inbox',
    status: 'active',
    timesSent: 18,
    failsCounter: 0,
    queueDepth: 0,
    queueBytes: 0,
    discarded: 0,
  }
  return [
    {
      path,
      operations: {
        get: managementOperation({
          operationId: `list${what}States`,
          tags: [tag],
          summary: 'Subscriptions to registrations and their delivery stats',
          parameters: [queryParameter('service', 'Those of this tenant; empty: those without a tenant.', textSchema())],
          answer: arraySchema(schemaRef('DeliveryState')),
          example: [state],
        }),
      },
    },
    {
      path: `${path}/{id}`,
      operations: {
        get: managementOperation({
          operationId: `show${what}State`,
          tags: [tag],
          summary: 'The same of one',
          parameters: [pathParameter('id', 'The id of the subscription.', id)],
          answer: 'DeliveryState',
          example: state,
          errors: { 404: responseRef('NotFound') },
        }),
      },
    },
  ]
}
