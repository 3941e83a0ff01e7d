import type { ApiResponse } from '../../broker/operations/api.js'
import { mayPassOn } from '../../broker/providers/forwarder.js'
import type { RawElements } from '../../broker/services/broker.js'
import { failedReply, refusalOfWhole } from '../../broker/services/updates.js'
import type { ElementFailure } from '../../model/context/update.js'
import type { RawUpdateReply } from '../../partition/turn/commands.js'
import { atOnce, mapInSlices } from '../../slices.js'
import { type ElementResponses, responseOfRefused, responsesTo } from './element-results.js'
import type { Ngsi1Call, Ngsi1Services } from './operation.js'
import { scanElements } from './parse/element-scan.js'
import { isParseTraced } from './parse/payload-errors.js'
import { parseUpdate, type UpdatePayload } from './parse/update-payload.js'
import { encodeFlags, type RawUpdateFlags, type Rendered, renderElementReply } from './raw-update.js'
import { wrapResponses } from './render/elements.js'
import { reporting, unavailableResponse } from './render/status.js'

/** The head of a raw update. */
export interface RawRequest extends Pick<RawElements, 'tenant' | 'path' | 'origin'> {
  readonly flags: RawUpdateFlags
}

/**
 * An update whose elements their partitions parse and answer. Undefined when the payload has to be parsed here: something in it
 * is unusual, an element may have to be forwarded, or parsing is traced.
 */
export function rawElementsOf(
  services: Ngsi1Services,
  body: string,
  { tenant, path, origin, flags }: RawRequest,
): RawElements | undefined {
  if (flags.strictIds || isParseTraced(services.log)) return undefined
  const scanned = scanElements(body)
  if (scanned === undefined) return undefined
  const { action, elements } = scanned
  if (elements.some(({ id }) => mayPassOn(services, tenant, id, 'ngsi1'))) return undefined
  return { tenant, path, origin, flags: encodeFlags({ ...flags, action }), elements }
}

/**
 * Carries out an update element by element, and joins the responses that the partitions have rendered. Where nothing could be
 * sent, `readHere` carries it out from the parsed payload.
 */
export async function updateRawElements(
  call: Ngsi1Call,
  raw: RawElements,
  flags: RawUpdateFlags,
  readHere: (call: Ngsi1Call, payload: UpdatePayload) => Promise<ApiResponse>,
): Promise<ApiResponse> {
  const { body, client } = call.request
  const replies = await call.services.broker.rawElements(raw, client)
  // Elements that are refused whatever is stored need no partition: without them there may be room.
  if (!replies.ok) return readHere(call, payloadOf(body))
  if (replies.value.every(isReply)) return joined(replies.value)
  const { action, elements } = payloadOf(body)
  const failures: ElementFailure[] = []
  let sent = 0
  const outcomes = await mapInSlices(replies.value, (reply, at): Rendered => {
    const element = elements[at]
    if (element === undefined) throw new Error('there are more replies than elements')
    const render = (responses: ElementResponses): Rendered => renderElementReply(responses, flags)
    const response = responseOfRefused(element, { action, path: raw.path })
    if (response) return render({ inPlace: [response], missing: [] })
    sent += 1
    if (isReply(reply)) return reply
    failures.push(reply)
    return render(responsesTo(element, failedReply(element, reply), action))
  })
  const whole = refusalOfWhole(failures, sent)
  return whole.ok ? joined(outcomes) : unavailableResponse(whole.error)
}

function isReply(reply: RawUpdateReply | ElementFailure): reply is RawUpdateReply {
  return typeof reply === 'object'
}

function payloadOf(body: string): UpdatePayload {
  const payload = atOnce(parseUpdate(body, false))
  if (!payload.ok) throw new Error('a payload whose elements were found is refused')
  return payload.value
}

function joined(rendered: readonly Rendered[]): ApiResponse {
  const missing = rendered.flatMap((one) => one.missing ?? [])
  const items = [...rendered.map(({ text }) => text), ...missing].join(',')
  return reporting(
    { status: 200, body: wrapResponses(items) },
    rendered.flatMap(({ errors = [] }) => errors),
  )
}
