import {
  type DescribedOperation,
  type DescribedParameter,
  type DescribedResponse,
  queryParameter,
  textSchema,
} from './description.js'

/** What is said of an operation in both interfaces. */
type EventOperation = Pick<DescribedOperation, 'summary' | 'description'> & {
  readonly parameters: readonly DescribedParameter[]
}

const confirmText =
  'What was sent up to an event has arrived, and is not kept any longer. A client of a group confirms what was sent to it.'

/** How a client listens, and what it is told of that. */
export const describedListening: EventOperation = {
  summary: 'The notifications of a subscription as server-sent events',
  description:
    'Of a subscription whose URL is `sse:`. `id` is the number of the notification and says how far the stream has come; the ' +
    'headers of the notification are fields, its body is the data. What the client has not got waits, for `-notifRetention` at ' +
    'most. The last event has the name `end` and says why. A comment comes every 15 s.',
  parameters: [
    lastEventId('Goes on behind this event; what was sent up to it has arrived.'),
    queryParameter(
      'lastEventId',
      'The same, for clients that send no such header. The header counts if both are there.',
      textSchema(),
    ),
    queryParameter('group', 'Listeners that name the same group share the notifications, by entity.', textSchema()),
    queryParameter('confirm', '`explicit`: nothing counts as arrived that was not confirmed.', textSchema()),
  ],
}

/** How a client says what has arrived. */
export const describedConfirming: EventOperation = {
  summary: 'Say up to which event notifications have arrived',
  description: confirmText,
  parameters: [lastEventId('The event.'), queryParameter('lastEventId', 'The same.', textSchema())],
}

/** The stream. */
export const eventsResponse: DescribedResponse = {
  description: 'Events, for as long as the client listens.',
  content: { 'text/event-stream': { schema: textSchema('Server-sent events.') } },
}

function lastEventId(description: string): DescribedParameter {
  return { name: 'Last-Event-ID', in: 'header', description, schema: textSchema() }
}
