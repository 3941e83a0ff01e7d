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

const shownCluster: ExampleValue = {
  cluster: 'trial',
  prefix: '/rigel/trial',
  format: 1,
  node: 'broker-1',
  coordinator: 'broker-1',
  copies: 3,
  reads: 'confirmed',
  nodes: [
    {
      name: 'broker-1',
      slot: 0,
      folder: '0b0c7f0e-6a3f-4c5e-9d59-0f6f1f4f7b11',
      isMember: true,
      leaseLeft_s: 5,
      isLeaving: false,
      isFull: false,
      address: 'broker-1:1027',
      formats: [1],
      unreachable: [],
      owns: [0],
    },
    { name: 'broker-2', slot: 1, folder: '5e0c2c4e-8f14-4b2b-9c3a-7a5f3c2f9d22', isMember: false, owns: [] },
  ],
  partitions: [
    {
      partition: 0,
      owner: 'broker-1',
      since: 17,
      last: 1234,
      copies: [
        { node: 'broker-1', checkpoint: 1230, behind: 4 },
        { node: 'broker-2', checkpoint: 400, behind: 834 },
      ],
    },
  ],
}

const sums = {
  counters: { notificationsSent: 812, updates: 4210 },
  notifQueue: { in: 815, out: 812, reject: 0, sentOk: 812, sentError: 2, timeInQueue: 9.31, size: 3 },
  turns: { count: 988, operations: 4210, logged_bytes: 1835008 },
  throughput: { operations_per_sec: 1.17, notifications_per_sec: 0.226 },
  partitions: { owned: 4, handedOver: 4, takenOver: 0, lost: 0, copyLag_records: 1 },
}
const shownClusterStatistics: ExampleValue = {
  node: 'broker-1',
  nodes: [
    { name: 'broker-1', statistics: { uptime_in_secs: 3600, measuring_interval_in_secs: 3600, ...sums } },
    { name: 'broker-2', reason: 'it is no member of the cluster' },
  ],
  all: sums,
}

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
          isProtected: true,
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
      path: '/admin/cluster',
      operations: {
        get: managementOperation({
          operationId: 'showCluster',
          tags: [tag],
          summary: 'The cluster of the broker: its nodes, who owns which partition, and how far the copies are',
          description: 'As it stands in etcd now. Of a broker that is of no cluster: 404.',
          answer: 'Cluster',
          example: shownCluster,
          errors: { 404: responseRef('NotFound'), 503: responseRef('Unavailable') },
        }),
      },
    },
    {
      path: '/admin/cluster/statistics',
      operations: {
        get: managementOperation({
          operationId: 'showClusterStatistics',
          tags: [tag],
          summary: 'What the nodes of the cluster have counted and measured, by node and in all',
          description:
            'Each node is asked for what its own statistics say, and is named with the reason when it does not answer within ' +
            'two seconds. Counters are since the last reset of a node, which does not reset others. Of a broker that is of no cluster: 404.',
          answer: 'ClusterStatistics',
          example: shownClusterStatistics,
          errors: { 404: responseRef('NotFound') },
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
          isProtected: true,
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
          isProtected: true,
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
