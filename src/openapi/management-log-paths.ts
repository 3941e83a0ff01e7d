import { type DescribedTag, pathParameter, queryParameter, textSchema } from './description.js'
import { emptyResponses, managementOperation } from './management-operation.js'

const tag = 'Logs and traces'
const level = pathParameter('level', 'Numbers and ranges, separated by commas.', '21,180-181')
const verbosity = pathParameter('level', '0 to 5, or `off`.', '1')

/** Trace levels, verbosity and the settings of the log [management 2, 3]. */
export const managementLogPaths: DescribedTag = {
  name: tag,
  description: 'What is logged. The settings are those of all threads, and end with the process.',
  paths: [
    {
      path: '/log/trace',
      aliases: ['/log/traceLevel', '/v1/admin/log/trace', '/v1/admin/log/traceLevel'],
      operations: {
        get: managementOperation({
          operationId: 'showTraceLevels',
          tags: [tag],
          summary: 'The trace levels that are on',
          answer: 'TraceLevels',
          example: { tracelevels: '21, 180-181' },
        }),
        delete: managementOperation({
          operationId: 'clearTraceLevels',
          tags: [tag],
          summary: 'All trace levels off',
          answer: 'TraceLevels',
          example: { tracelevels: 'all trace levels off' },
        }),
      },
    },
    {
      path: '/log/trace/{level}',
      aliases: ['/log/traceLevel/{level}', '/v1/admin/log/trace/{level}', '/v1/admin/log/traceLevel/{level}'],
      operations: {
        put: managementOperation({
          operationId: 'setTraceLevels',
          tags: [tag],
          summary: 'Exactly these trace levels on',
          parameters: [
            level,
            queryParameter('for', 'Seconds after which all levels are again as they were.', {
              type: 'integer',
              minimum: 1,
              maximum: 3600,
            }),
          ],
          answer: 'TraceLevels',
          example: { tracelevels: '21,180-181' },
        }),
        delete: managementOperation({
          operationId: 'removeTraceLevels',
          tags: [tag],
          summary: 'These trace levels off',
          parameters: [level],
          answer: 'TraceLevels',
          example: { tracelevels_removed: '21,180-181' },
        }),
      },
    },
    {
      path: '/log/verbose',
      aliases: ['/v1/admin/log/verbose'],
      operations: {
        get: managementOperation({
          operationId: 'showVerbosity',
          tags: [tag],
          summary: 'The verbosity',
          answer: 'Verbosity',
          example: { verboseLevel: '0' },
        }),
        delete: managementOperation({
          operationId: 'resetVerbosity',
          tags: [tag],
          summary: 'Verbosity back to 0',
          answer: 'Verbosity',
          example: { verboseLevel: 'all verbose levels reset' },
        }),
      },
    },
    {
      path: '/log/verbose/{level}',
      aliases: ['/v1/admin/log/verbose/{level}'],
      operations: {
        put: managementOperation({
          operationId: 'setVerbosity',
          tags: [tag],
          summary: 'Set the verbosity',
          parameters: [verbosity],
          answer: 'Verbosity',
          example: { verboseLevel: 'verbose level set to 1' },
        }),
      },
    },
    {
      path: '/admin/log',
      operations: {
        get: managementOperation({
          operationId: 'showLogSettings',
          tags: [tag],
          summary: 'Log level, sizes of lines and payloads, warnings of deprecated use',
          answer: 'LogSettings',
          example: { level: 'WARN', infoPayloadMaxSize: 5120, lineMaxSize: 32768, deprecate: false },
        }),
        put: managementOperation({
          operationId: 'changeLogSettings',
          tags: [tag],
          isProtected: true,
          summary: 'Change one or several of them',
          parameters: [
            queryParameter('level', 'NONE, FATAL, ERROR, WARN, INFO or DEBUG, in any case.', textSchema(), 'WARN'),
            queryParameter('infoPayloadMaxSize', 'Bytes, over 0.', { type: 'integer', minimum: 1 }),
            queryParameter('lineMaxSize', 'Bytes, over 0.', { type: 'integer', minimum: 1 }),
            queryParameter('deprecate', '`true` or `false`.', textSchema()),
          ],
          responses: emptyResponses,
        }),
      },
    },
  ],
}
