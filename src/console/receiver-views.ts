import type { Resource } from '../api/api.js'
import { json } from '../api/response.js'
import type { ReceiverState } from '../delivery/message.js'
import { dateText, type Milliseconds } from '../time.js'
import type { ConsoleParts } from './console-parts.js'
import { GivenParameters } from './given-parameters.js'
import type { ReceiverList, ShownReceiver } from './shapes.js'

/** Who is delivered to, by scheme, host and port, or MQTT broker [console: data]. */
export function receiverViews({ broker }: Pick<ConsoleParts, 'broker'>): readonly Resource[] {
  return [
    {
      pattern: '/admin/receivers',
      anyCase: false,
      polled: true,
      operations: {
        GET: {
          use: 'read',
          prepare: (request) => {
            const given = new GivenParameters(request, ['limit', 'offset', 'text'])
            const text = given.folded('text')
            const offset = given.whole('offset', 0, 0, 10_000_000)
            const limit = given.whole('limit', 100, 1, 1000)
            return given.prepared(async () => {
              const { count, receivers } = await broker.subscriptions.receivers({ text, offset, limit })
              const list: ReceiverList = { count, receivers: receivers.map(receiverShown) }
              return json(list)
            })
          },
        },
      },
    },
  ]
}

function receiverShown({
  oldestQueued,
  nextAttempt,
  lastSuccess,
  lastFailure,
  ...state
}: ReceiverState): ShownReceiver {
  return {
    ...state,
    oldestQueued: optionalDate(oldestQueued),
    nextAttempt: optionalDate(nextAttempt),
    lastSuccess: optionalDate(lastSuccess),
    lastFailure: optionalDate(lastFailure),
  }
}

/** A date as responses have it, if there is one. */
export function optionalDate(date: Milliseconds | undefined): string | undefined {
  return date === undefined ? undefined : dateText(date)
}
