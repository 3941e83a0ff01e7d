import type { EntityId } from '../../model/context/entity.js'
import type { RawUpdateReply } from '../../partition/turn/commands.js'
import { err, ok, type Result } from '../../result.js'
import type { ApiResponse } from '../operations/api.js'
import type { Unavailable } from './unavailable.js'

const idMember = /"id"[ \t\r\n]*:[ \t\r\n]*"([^"]+)"/

/**
 * The id in a payload that has the member once: if the payload is valid, it is about one entity of that id, since every entity has to
 * have one. Undefined for other payloads, which have to be parsed.
 * @param isPlain excludes escapes: with them, a key `id` may be written in another way, and a text may contain quotation marks
 */
export function onlyId(body: string, isPlain = hasNoEscapes): EntityId | undefined {
  const at = body.indexOf('"id"')
  if (at === -1 || body.indexOf('"id"', at + 4) !== -1 || !isPlain(body)) return undefined
  return idMember.exec(body)?.[1] as EntityId | undefined
}

function hasNoEscapes(body: string): boolean {
  return !body.includes('\\')
}

/** The id that a raw update means: of a payload for which `onlyId` gives one, or of an element that was scanned. */
export function rawId(body: string): EntityId {
  return (idMember.exec(body)?.[1] ?? '') as EntityId
}

/** Renders the reply to a raw update; it has the times of parsing and rendering if parsing was timed. */
export function timedReply(parse_ns: number | undefined, render: () => RawUpdateReply): RawUpdateReply {
  if (parse_ns === undefined) return render()
  const since = process.hrtime.bigint()
  const reply = render()
  return { ...reply, spent: { parse_ns, render_ns: Number(process.hrtime.bigint() - since) } }
}

/** The response to a raw update. One that the broker cannot take now is counted as accepted: nobody has parsed its payload. */
export function rawResponse(
  reply: Result<RawUpdateReply, Unavailable>,
  unavailable: (why: Unavailable) => ApiResponse,
  respond: (reply: RawUpdateReply) => ApiResponse,
): Result<ApiResponse, ApiResponse> {
  if (!reply.ok) return ok(unavailable(reply.error))
  const response = respond(reply.value)
  return reply.value.accepted ? ok(response) : err(response)
}
