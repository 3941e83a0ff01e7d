import type { EntityId } from '../context/entity.js'
import type { Interpretation } from '../partition/interpreter.js'
import type { RawUpdateCommand } from '../partition/message.js'
import { atOnce } from '../slices.js'
import { refusedResponse, responsesOf, toSend, type UpdateFlags } from './carry-out.js'
import type { PayloadRefusal } from './parse/payload-refusal.js'
import { isUsual } from './parse/shape.js'
import { parseUpdate } from './parse/update-payload.js'
import { detailsOfPayload } from './render/payload-errors.js'
import { wrapped } from './render/responses.js'
import { statusOf } from './render/status.js'
import { renderUpdate } from './render/update-response.js'

/** How the request means its update, beside the payload: what its URI parameters and the options of the broker say. */
export interface RawUpdateFlags extends UpdateFlags {
  readonly asObject: boolean
}

/** The flags as a number, for a command. */
export function encodeFlags({ untyped, autocast, asObject }: RawUpdateFlags): number {
  return (untyped ? 1 : 0) | (autocast ? 2 : 0) | (asObject ? 4 : 0)
}

function decodeFlags(number: number): RawUpdateFlags {
  return { untyped: (number & 1) !== 0, autocast: (number & 2) !== 0, asObject: (number & 4) !== 0 }
}

const idMember = /"id"[ \t\r\n]*:[ \t\r\n]*"([^"]+)"/

/**
 * The id in a payload of updateContext that says it once: if there is anything to update at all, it is one element of
 * that id, since every element has to have one. Nothing for bodies of another kind, which have to be read to know.
 */
export function onlyId(body: string): EntityId | undefined {
  const at = body.indexOf('"id"')
  if (at === -1 || body.indexOf('"id"', at + 4) !== -1 || !isUsual(body)) return undefined
  return idMember.exec(body)?.[1] as EntityId | undefined
}

/**
 * Reads a payload of updateContext with one element, and words the answer; the partition does the rest. What it gives
 * is what the general way gives for the same payload [context 6, 10.3].
 */
export function interpretUpdate({ tenant, path, body, flags: number, origin }: RawUpdateCommand): Interpretation {
  const payload = atOnce(parseUpdate(body, false))
  if (!payload.ok) return { kind: 'answered', accepted: false, text: refusalText(payload.error) }
  const { action, elements } = payload.value
  const [element] = elements
  if (element === undefined || elements.length > 1) throw new Error('an update in words has one element')
  const flags = decodeFlags(number)
  const asked = { tenant, path, action, untyped: flags.untyped, autocast: flags.autocast, origin }
  const refusal = refusedResponse(element, asked)
  if (refusal) return { kind: 'answered', accepted: true, text: renderUpdate([refusal], flags) }
  return {
    kind: 'understood',
    element: toSend(element, asked),
    answer: (reply) => renderUpdate(responsesOf(elements, [reply], action), flags),
  }
}

/** updateContext reports what is wrong with its payload in one shape, whoever found it [context 10.3]. */
function refusalText(refusal: PayloadRefusal): string {
  return JSON.stringify(wrapped('errorCode', statusOf(400, detailsOfPayload(refusal))))
}
