import { type DescribedResponse, type DescribedTag, responseRef, textSchema } from './description.js'
import { managementOperation } from './management-operation.js'

const tag = 'What the broker does'

/** Streams of what the broker does as it does it [console: data]. */
export const managementLivePaths: DescribedTag = {
  name: tag,
  description: 'What the broker does, as it does it, for operators and the console.',
  paths: [
    {
      path: '/admin/live',
      operations: {
        get: managementOperation({
          operationId: 'watchBroker',
          tags: [tag],
          summary: 'A frame every second: requests, waits, partitions, threads, deliveries, memory',
          description:
            'An event `hello` with the names of what is numbered later, then an event `frame` every second. All counts are since the ' +
            'start of the process. At most 16 viewers; one that reads too slowly misses frames.',
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
