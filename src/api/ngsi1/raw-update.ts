import { timedReply } from '../../broker/front-end/raw-replies.js'
import { type UpdateAction, updateActions } from '../../model/context/update.js'
import type { Log } from '../../observe/log/log.js'
import type { Interpreter, RawUpdateReply } from '../../partition/turn/commands.js'
import { ok, type Result } from '../../result.js'
import { atOnce } from '../../slices.js'
import {
  type ElementResponse,
  type ElementResponses,
  responseOfRefused,
  responsesTo,
  toSend,
  type UpdateFlags,
} from './element-results.js'
import { detailsOfPayload, type PayloadRefusal, parseTraced } from './parse/payload-errors.js'
import { type GivenElement, parseScannedElement, parseUpdate } from './parse/update-payload.js'
import { renderResponses, wrapResponses } from './render/elements.js'
import { errorsOf, statusOf, wrapped } from './render/status.js'

/** The effect of URI parameters and of the broker's options on an update. */
export interface RawUpdateFlags extends UpdateFlags {
  readonly asObject: boolean
  /** `-strictNgsiv1Ids` [context 4.1]. */
  readonly strictIds: boolean
  /** The action of the payload that an element is from; absent for a whole payload. */
  readonly action?: UpdateAction | undefined
}

/** The flags as a number, for a command. */
export function encodeFlags({ untyped, autocast, asObject, strictIds, action }: RawUpdateFlags): number {
  const bits = (untyped ? 1 : 0) | (autocast ? 2 : 0) | (asObject ? 4 : 0) | (strictIds ? 8 : 0)
  return action === undefined ? bits : bits | ((updateActions.indexOf(action) + 1) << 4)
}

function decodeFlags(number: number): RawUpdateFlags {
  return {
    untyped: (number & 1) !== 0,
    autocast: (number & 2) !== 0,
    asObject: (number & 4) !== 0,
    strictIds: (number & 8) !== 0,
    action: updateActions[(number >> 4) - 1],
  }
}

/**
 * Parses and answers raw updates in their partition, with the responses that the front end would give [context 6, 10.3]. While
 * `isTimed`, replies carry the times of parsing and rendering.
 */
export function rawUpdateInterpreter(log: Log | undefined, isTimed: () => boolean): Interpreter {
  return ({ tenant, path, body, flags: number, origin }) => {
    const flags = decodeFlags(number)
    const since = isTimed() ? process.hrtime.bigint() : undefined
    const parsed = parse(log, body, flags)
    const parse_ns = since === undefined ? undefined : Number(process.hrtime.bigint() - since)
    if (!parsed.ok)
      return { kind: 'reply', reply: timedReply(parse_ns, () => rawReply(false, refusalText(parsed.error))) }
    const { action, element } = parsed.value
    const update = { tenant, path, action, untyped: flags.untyped, autocast: flags.autocast, origin }
    const render = flags.action === undefined ? renderPayload : renderElementReply
    const response = responseOfRefused(element, update)
    if (response) {
      const responses = { inPlace: [response], missing: [] }
      return { kind: 'reply', reply: timedReply(parse_ns, () => rawReply(true, render(responses, flags))) }
    }
    return {
      kind: 'update',
      element: toSend(element, update),
      render: (reply) => timedReply(parse_ns, () => rawReply(true, render(responsesTo(element, reply, action), flags))),
    }
  }
}

interface ParsedElement {
  readonly action: UpdateAction
  readonly element: GivenElement
}

function parse(
  log: Log | undefined,
  body: string,
  { strictIds, action }: RawUpdateFlags,
): Result<ParsedElement, PayloadRefusal> {
  return action === undefined ? parsePayload(log, body, strictIds) : ok({ action, element: parseScannedElement(body) })
}

function parsePayload(log: Log | undefined, body: string, strictIds: boolean): Result<ParsedElement, PayloadRefusal> {
  const payload = atOnce(parseTraced(log, body, parseUpdate(body, strictIds)))
  if (!payload.ok) return payload
  const { action, elements } = payload.value
  const [element] = elements
  if (element === undefined || elements.length > 1) throw new Error('a raw update has one element')
  return ok({ action, element })
}

/** The response to an element, or to a whole payload. */
export type Rendered = Pick<RawUpdateReply, 'text' | 'missing' | 'errors'>

function renderPayload({ inPlace, missing }: ElementResponses, flags: RawUpdateFlags): Rendered {
  const responses = [...inPlace, ...missing]
  return withErrors({ text: wrapResponses(renderResponses(responses, flags)) }, responses)
}

/** Renders the response to an element as its partition does. */
export function renderElementReply({ inPlace, missing }: ElementResponses, flags: RawUpdateFlags): Rendered {
  const text = renderResponses(inPlace, flags)
  if (missing.length === 0) return withErrors({ text }, inPlace)
  return withErrors({ text, missing: renderResponses(missing, flags) }, [...inPlace, ...missing])
}

function withErrors(rendered: Rendered, responses: readonly ElementResponse[]): Rendered {
  const errors = errorsOf(responses)
  return errors.length === 0 ? rendered : { ...rendered, errors }
}

function rawReply(accepted: boolean, { text, missing, errors }: Rendered): RawUpdateReply {
  return { kind: 'rawUpdate', accepted, text, missing, errors }
}

/** updateContext reports all mistakes in its payload in one shape [context 10.3]. */
function refusalText(refusal: PayloadRefusal): Rendered {
  const status = statusOf(400, detailsOfPayload(refusal))
  return { text: JSON.stringify(wrapped('errorCode', status)), errors: [status.code] }
}
