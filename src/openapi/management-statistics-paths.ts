import { type DescribedTag, queryParameter, textSchema } from './description.js'
import { emptyResponses, managementOperation } from './management-operation.js'

const tag = 'Statistics'
const reset = { message: 'All statistics counter reset' }
const onOff = (part: string, example?: string) => queryParameter(part, '`true` or `false`.', textSchema(), example)

/** Counters, waits, semaphores and metrics [management 4 to 7]. */
export const managementStatisticsPaths: DescribedTag = {
  name: tag,
  description: 'What was counted and measured. These requests never wait for updates or queries.',
  paths: [
    {
      path: '/statistics',
      aliases: ['/v1/admin/statistics'],
      operations: {
        get: managementOperation({
          operationId: 'showStatistics',
          tags: [tag],
          summary: 'Counters and waits',
          parameters: [queryParameter('options', '`fullCounters`: also counters that are 0.', textSchema())],
          answer: 'Statistics',
          example: { statisticsRequests: 1, uptime_in_secs: 5321, measuring_interval_in_secs: 61 },
        }),
        delete: managementOperation({
          operationId: 'resetStatistics',
          tags: [tag],
          summary: 'Reset them',
          answer: 'Message',
          example: reset,
        }),
      },
    },
    {
      path: '/admin/stats',
      operations: {
        get: managementOperation({
          operationId: 'showStatisticsParts',
          tags: [tag],
          summary: 'Which parts of the statistics are gathered',
          answer: 'StatisticsParts',
          example: { counters: false, semWait: true, timing: false, notifQueue: false },
        }),
        put: managementOperation({
          operationId: 'switchStatisticsParts',
          tags: [tag],
          isProtected: true,
          summary: 'Switch them on and off',
          parameters: [onOff('counters'), onOff('semWait', 'true'), onOff('timing'), onOff('notifQueue')],
          responses: emptyResponses,
        }),
      },
    },
    {
      path: '/admin/waits',
      operations: {
        get: managementOperation({
          operationId: 'showWaits',
          tags: [tag],
          summary: 'Waits by partition, with percentiles',
          parameters: [
            queryParameter(
              'details',
              '`on`: with the distribution of each wait and the exact length of the interval, so that two answers can be subtracted.',
              { enum: ['on', 'off'] },
            ),
          ],
          answer: 'Waits',
          example: { enabled: false },
        }),
      },
    },
    {
      path: '/admin/sem',
      operations: {
        get: managementOperation({
          operationId: 'showSemaphores',
          tags: [tag],
          summary: 'Which semaphores are taken',
          answer: 'Semaphores',
          example: { request: { status: 'free' }, transaction: { status: 'taken' } },
        }),
      },
    },
    {
      path: '/cache/statistics',
      aliases: ['/v1/admin/cache/statistics'],
      operations: {
        get: managementOperation({
          operationId: 'showCacheStatistics',
          tags: [tag],
          summary: 'The index of subscriptions',
          answer: 'CacheStatistics',
          example: { ids: '', refresh: 1, inserts: 0, removes: 0, updates: 0, items: 0 },
        }),
        delete: managementOperation({
          operationId: 'resetCacheStatistics',
          tags: [tag],
          summary: 'Reset its counters',
          answer: 'Message',
          example: reset,
        }),
      },
    },
    {
      path: '/admin/metrics',
      operations: {
        get: managementOperation({
          operationId: 'showServiceMetrics',
          tags: [tag],
          isProtected: true,
          summary: 'Requests by service and service path',
          description:
            'With `reset=true` it needs what DELETE needs; what a front end tells too late for the response is in the next one.',
          parameters: [queryParameter('reset', '`true`: and reset them.', textSchema())],
          answer: 'Metrics',
          example: { services: {}, sum: { subservs: {}, sum: {} } },
        }),
        delete: managementOperation({
          operationId: 'resetServiceMetrics',
          tags: [tag],
          isProtected: true,
          summary: 'Reset them',
          responses: { 204: { description: 'Done.' } },
        }),
      },
    },
    {
      path: '/metrics',
      operations: {
        get: managementOperation({
          operationId: 'showMetrics',
          tags: [tag],
          summary: 'Metrics for Prometheus',
          isForEverySite: true,
          responses: { 200: { description: 'As text.', content: { 'text/plain': { schema: textSchema() } } } },
        }),
      },
    },
  ],
}
