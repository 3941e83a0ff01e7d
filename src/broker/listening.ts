import type { ApiRequest, ApiResponse, BodyStream } from '../api.js'
import { positionOfId, type StreamPosition } from '../delivery/stream-position.js'
import { eventStreamHeaders, eventStreamType } from '../event-stream.js'
import { err, ok, type Result } from '../result.js'

/** How a client wants to listen to a subscription: what its request says beside the subscription. */
export interface ListeningTerms {
  readonly after: StreamPosition | undefined
  readonly group: string | undefined
  readonly isExplicit: boolean
}

const groupForm = /^[\w.-]{1,64}$/

/** Reads how a client wants to listen; an error is the text of a refusal. */
export function listeningTerms(request: ApiRequest): Result<ListeningTerms, string> {
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
export function givenPosition({
  headers,
  parameters,
}: Pick<ApiRequest, 'headers' | 'parameters'>): Result<StreamPosition | undefined, string> {
  const header = headers['last-event-id']
  const text = (typeof header === 'string' ? header.trim() : '') || parameters.get('lastEventId') || ''
  if (text === '') return ok(undefined)
  const position = positionOfId(text)
  return position === undefined ? err('Last-Event-ID is no id of an event of this broker') : ok(position)
}

/** Why a subscription has no stream of events. */
export const notStreamed =
  'the notifications of this subscription go to its URL: only one whose URL is sse: can be listened to'
/** Why nothing was confirmed. */
export const nothingNamed = 'Last-Event-ID is missing: it says up to which event notifications have arrived'
export const positionElsewhere = 'Last-Event-ID is of another subscription, or of another broker'
export const hasExpired = 'the subscription has expired'

/** The response that is a stream of events. */
export function streamResponse(stream: BodyStream): ApiResponse {
  return { status: 200, stream, contentType: eventStreamType, headers: eventStreamHeaders }
}
