import type { ApiRequest, ApiResponse } from '../api/api.js'
import type { Call, OperationParts } from '../api/operation.js'
import { isBoundTo } from '../context/scope-headers.js'
import type { StreamRefusal } from '../delivery/stream-message.js'
import { positionOfId, type StreamPosition } from '../delivery/stream-position.js'
import { eventStreamHeaders, eventStreamType } from '../event-stream.js'
import { err, ok, type Result } from '../result.js'
import type { Subscription, SubscriptionId } from '../subscription/subscription.js'
import { streamReference } from '../subscription/targets.js'
import type { StreamService } from './stream-service.js'
import type { Unavailable } from './unavailable.js'

/** How a client wants to listen to a subscription: what its request says beside the subscription. */
interface ListeningTerms {
  readonly after: StreamPosition | undefined
  readonly group: string | undefined
  readonly isExplicit: boolean
}

const groupForm = /^[\w.-]{1,64}$/

/** Reads how a client wants to listen; an error is the text of a refusal. */
function listeningTerms(request: ApiRequest): Result<ListeningTerms, string> {
  const { parameters } = request
  const after = givenPosition(request)
  if (!after.ok) return after
  const group = parameters.get('group') || undefined
  if (group !== undefined && !groupForm.test(group)) {
    return err('group is not a name of 1 to 64 letters, digits, dots, hyphens and underscores')
  }
  const confirm = parameters.get('confirm') || undefined
  if (confirm !== undefined && confirm !== 'explicit') return err('confirm is not explicit, the only value it can have')
  return ok({ after: after.value, group, isExplicit: confirm !== undefined })
}

/** The position that a client has reached; nothing when it names none. The header is newer than what stands in the URL of a client. */
function givenPosition({
  headers,
  parameters,
}: Pick<ApiRequest, 'headers' | 'parameters'>): Result<StreamPosition | undefined, string> {
  const header = headers['last-event-id']
  const text = (typeof header === 'string' ? header.trim() : '') || parameters.get('lastEventId') || ''
  if (text === '') return ok(undefined)
  const position = positionOfId(text)
  return position === undefined ? err('Last-Event-ID is no id of an event of this broker') : ok(position)
}

const notStreamed =
  'the notifications of this subscription go to its URL: only one whose URL is sse: can be listened to'
const nothingNamed = 'Last-Event-ID is missing: it says up to which event notifications have arrived'
const positionElsewhere = 'Last-Event-ID is of another subscription, or of another broker'
const hasExpired = 'the subscription has expired'

/** What listening needs to know of a subscription. */
type Listened = Pick<Subscription, 'id' | 'path' | 'reference'>

/** What an interface has ways of its own for: what it finds, and how it refuses. */
interface EventInterface<Services> {
  /** The subscription that the path names, whatever its service path. */
  readonly find: (call: Call<Services>) => Promise<Result<Listened | undefined, ApiResponse>>
  readonly unknown: (request: ApiRequest) => ApiResponse
  readonly refused: (reason: string) => ApiResponse
  readonly unavailable: (why: Unavailable) => ApiResponse
}

/** The notifications of a subscription as a stream of events, and how far a client has got: whoever may listen may say that. */
export function eventOperations<Services extends { readonly broker: { readonly listening: StreamService } }>({
  find,
  unknown,
  refused,
  unavailable,
}: EventInterface<Services>): {
  readonly listen: OperationParts<Services, ListeningTerms>
  readonly confirm: OperationParts<Services, StreamPosition>
} {
  const orRefused = <Value>(read: Result<Value, string>) => (read.ok ? read : err(refused(read.error)))
  const listenable = async (call: Call<Services>): Promise<Result<SubscriptionId, ApiResponse>> => {
    const { request } = call
    const found = await find(call)
    if (!found.ok) return found
    const { value: subscription } = found
    if (subscription === undefined || !isBoundTo(request.paths, subscription.path)) return err(unknown(request))
    return subscription.reference === streamReference ? ok(subscription.id) : err(refused(notStreamed))
  }
  const refusal = (why: StreamRefusal | 'away', request: ApiRequest): ApiResponse => {
    switch (why) {
      case 'unknown':
        return unknown(request)
      case 'notStreamed':
        return refused(notStreamed)
      case 'expired':
        return refused(hasExpired)
      case 'full':
        return unavailable({ kind: 'listenersFull' })
      case 'away':
        return unavailable({ kind: 'courierAway' })
    }
  }
  return {
    listen: {
      use: 'read',
      parse: (request) => orRefused(listeningTerms(request)),
      work: async (call, terms) => {
        const subscription = await listenable(call)
        if (!subscription.ok) return subscription.error
        const { services, request } = call
        const opened = await services.broker.listening.open(
          { subscription: subscription.value, ...terms },
          request.client,
        )
        if (!opened.ok) return refusal(opened.error, request)
        return { status: 200, stream: opened.value, contentType: eventStreamType, headers: eventStreamHeaders }
      },
    },
    confirm: {
      use: 'read',
      parse: (request) => {
        const position = orRefused(givenPosition(request))
        if (!position.ok) return position
        return position.value === undefined ? err(refused(nothingNamed)) : ok(position.value)
      },
      work: async (call, upTo) => {
        const subscription = await listenable(call)
        if (!subscription.ok) return subscription.error
        const confirmed = await call.services.broker.listening.confirm(subscription.value, upTo)
        if (!confirmed.ok) return refusal(confirmed.error, call.request)
        return confirmed.value ? { status: 204 } : refused(positionElsewhere)
      },
    },
  }
}
