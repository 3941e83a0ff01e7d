import {
  arraySchema,
  closedSchema,
  type DescribedResponse,
  type DescribedTag,
  type JsonSchema,
  queryParameter,
  responseRef,
  textSchema,
} from './description.js'
import { managementOperation } from './management-operation.js'

const tag = 'What the broker does'

const whole: JsonSchema = { type: 'integer' }
const text = textSchema()

const slowRequests = closedSchema({
  above: whole,
  requests: arraySchema(
    closedSchema(
      {
        ...{ time_ms: whole, method: text, route: text, status: whole, request_bytes: whole, response_bytes: whole },
        duration_ms: { type: 'number' },
        stages_ms: { type: 'object', additionalProperties: { type: 'number' } },
        partitions: whole,
        ...{ tenant: text, path: text, correlator: text },
      },
      { partition: whole, log_ms: { type: 'number' } },
    ),
  ),
})

const configuration = closedSchema({
  version: text,
  gitHash: text,
  libraries: { type: 'object', additionalProperties: text },
  dataFolder: closedSchema({ path: text, format: whole, partitions: whole, used_bytes: whole }),
  traceAreas: { type: 'object', additionalProperties: whole },
  settings: arraySchema({ type: 'object' }),
})

/** Streams of what the broker does as it does it [console: data]. */
export const managementLivePaths: DescribedTag = {
  name: tag,
  description: 'What the broker does, as it does it, for operators and the console.',
  paths: [
    {
      path: '/admin/slow',
      operations: {
        get: managementOperation({
          operationId: 'listSlowRequests',
          tags: [tag],
          isProtected: true,
          summary: 'The last 256 requests that took longer than so many milliseconds, the latest first',
          description:
            '`stages_ms` has the stages in their order: `read`, `permit`, `parse`, `mailbox`, `decide`, `commit`, `handle`, `operation`, ' +
            '`render`, as far as the request came. Those from `mailbox` to `handle` are of `partition`, the slowest of the `partitions` that ' +
            'it asked; `log_ms` is how much of `commit` the log took.',
          answer: slowRequests,
        }),
        put: managementOperation({
          operationId: 'setSlow',
          tags: [tag],
          isProtected: true,
          summary: 'Which requests are slow',
          parameters: [
            {
              ...queryParameter(
                'above',
                'Milliseconds; 0: none is kept.',
                { type: 'integer', minimum: 0, maximum: 3_600_000 },
                50,
              ),
              required: true,
            },
          ],
          answer: closedSchema({ above: { type: 'integer' } }),
        }),
      },
    },
    {
      path: '/admin/config',
      operations: {
        get: managementOperation({
          operationId: 'showConfig',
          tags: [tag],
          isProtected: true,
          summary: 'Every setting, its value, where it came from, and what it means; secrets as `***`',
          answer: configuration,
        }),
      },
    },
    {
      path: '/admin/live',
      operations: {
        get: managementOperation({
          operationId: 'watchBroker',
          tags: [tag],
          summary: 'A frame every second: requests, waits, partitions, threads, deliveries, memory',
          description:
            'An event `hello` with the names of what is numbered later, then an event `frame` every second. All counts are since the ' +
            'start of the process. At most 16 viewers; one that reads too slowly misses frames. `deliveries.failing` names receivers only for ' +
            'those who may read `/admin/receivers`; for others it is `null`.',
          responses: eventResponses('Events, until the client goes or the broker ends.'),
          errors: { 503: responseRef('Unavailable') },
        }),
      },
    },
    {
      path: '/admin/log/tail',
      operations: {
        get: managementOperation({
          operationId: 'watchLog',
          tags: [tag],
          isProtected: true,
          summary: 'Lines of the log, as they are written',
          description:
            'An event `line` for each, as JSON, and events `skipped` that say how many more there were than the 200 that a viewer gets ' +
            'in a second. A line has to fit all that is given. At most 16 viewers.',
          parameters: [
            queryParameter('levels', 'Levels, separated by commas.', textSchema(), 'WARN,ERROR'),
            queryParameter('areas', 'Trace areas, by name or number, separated by commas.', textSchema(), 'notify'),
            queryParameter('text', 'What the message or a fact has in it.', textSchema()),
            queryParameter('correlator', 'Of the request.', textSchema()),
            queryParameter('tenant', 'Of the request.', textSchema()),
          ],
          responses: eventResponses('Events, until the client goes or the broker ends.'),
          errors: { 503: responseRef('Unavailable') },
        }),
      },
    },
  ],
}

function eventResponses(description: string): Readonly<Record<string, DescribedResponse>> {
  const content = { 'text/event-stream': { schema: textSchema('Server-Sent Events, with JSON as their data.') } }
  return { 200: { description, content } }
}
