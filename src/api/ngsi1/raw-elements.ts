import type { RawElements } from '../../broker/front-end/broker.js'
import { failedReply, refusalOfWhole } from '../../broker/front-end/updates.js'
import type { ApiResponse } from '../../broker/operations/api.js'
import { mayPassOnAny } from '../../broker/providers/forwarder.js'
import type { ElementFailure } from '../../model/context/update.js'
import type { RawUpdateReply } from '../../partition/turn/commands.js'
import { LongText, mapInSlices, type Steps } from '../../slices.js'
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
export function* rawElementsOf(
  services: Ngsi1Services,
  body: string,
  { tenant, path, origin, flags }: RawRequest,
): Steps<RawElements | undefined> {
  if (flags.strictIds || isParseTraced(services.log)) return undefined
  const scanned = yield* scanElements(body)
  if (scanned === undefined) return undefined
  const { action, elements } = scanned
  if (yield* mayPassOnAny(services, tenant, elements, 'ngsi1')) return undefined
  return { tenant, path, origin, flags: encodeFlags({ ...flags, action }), elements }
}

/**
 * Carries out an update element by element, and joins the responses that the partitions have rendered. Where nothing could be
 * sent, `readHere` carries it out from the payload, which `parse` gives.
 */
export async function updateRawElements(
  call: Ngsi1Call,
  raw: RawElements,
  flags: RawUpdateFlags,
  parse: ParseScanned,
  readHere: (call: Ngsi1Call, payload: UpdatePayload) => Promise<ApiResponse>,
): Promise<ApiResponse> {
  const { body, client } = call.request
  const replies = await call.services.broker.rawElements(raw, client)
  // Elements that are refused whatever is stored need no partition: without them there may be room.
  if (!replies.ok) return readHere(call, await payloadOf(body, parse))
  if (replies.value.every(isReply)) return joined(replies.value)
  const { action, elements } = await payloadOf(body, parse)
  const failures: ElementFailure[] = []
  let sent = 0
  const outcomes = await mapInSlices(replies.value, (reply, at): Rendered => {
    const element = elements[at]
    if (element === undefined) throw new Error('there are more replies than elements')
    const render = (responses: ElementResponses): Rendered => renderElementReply(responses, flags)
    const response = responseOfRefused(element, { action, path: raw.path, untyped: flags.untyped })
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

/** Takes the steps of parsing a payload: at once where it is short, otherwise in its turn among the long ones. */
export type ParseScanned = <Read>(steps: Steps<Read>) => Read | Promise<Read>

async function payloadOf(body: string, parse: ParseScanned): Promise<UpdatePayload> {
  const payload = await parse(parseUpdate(body, false))
  if (!payload.ok) throw new Error('a payload whose elements were found is refused')
  return payload.value
}

/** In slices where there are many. */
async function joined(rendered: readonly Rendered[]): Promise<ApiResponse> {
  const items = new LongText()
  const errors: string[] = []
  await mapInSlices(rendered, (one) => {
    items.push(one.text)
    if (one.errors !== undefined) errors.push(...one.errors)
  })
  await mapInSlices(rendered, ({ missing }) => missing !== undefined && items.push(missing))
  return reporting({ status: 200, body: wrapResponses(items.joined) }, errors)
}
