import type { ApiResponse } from '../api.js'
import type { EntityId } from '../context/entity.js'
import { updateActions } from '../context/update.js'
import type { Interpreter, RawTarget, RawUpdateReply } from '../partition/commands.js'
import { atOnce } from '../slices.js'
import { readWrite, respondToWrite, type SingleWrite, unsent, writeOperations } from './single-write.js'

/** What a write says beside its payload and its target, as a number, for a command. */
export function encodeWrite(write: Omit<SingleWrite, 'target'>): number {
  const { operation, action, form, overridesMetadata, forced, isUpsert, isText } = write
  const options = (form === 'keyValues' ? 1 : 0) | (overridesMetadata ? 2 : 0) | (forced ? 4 : 0)
  const bits = options | (isUpsert ? 8 : 0) | (isText ? 16 : 0)
  return bits | (updateActions.indexOf(action) << 5) | (writeOperations.indexOf(operation) << 8)
}

/** The write whose number `encodeWrite` made. */
export function decodeWrite(number: number, target: RawTarget): SingleWrite {
  const action = updateActions[(number >> 5) & 7]
  const operation = writeOperations[number >> 8]
  if (action === undefined || operation === undefined) throw new Error(`no write is encoded as ${number}`)
  return {
    operation,
    action,
    form: (number & 1) === 0 ? 'normalized' : 'keyValues',
    overridesMetadata: (number & 2) !== 0,
    forced: (number & 4) !== 0,
    isUpsert: (number & 8) !== 0,
    isText: (number & 16) !== 0,
    target,
  }
}

const idMember = /"id"[ \t\r\n]*:[ \t\r\n]*"([^"]+)"/

/**
 * The id in a payload that says it once: if there is anything to write at all, it is one entity of that id, since every
 * entity has to have one. Nothing for bodies of another kind, which have to be read to know.
 */
export function onlyWrittenId(body: string): EntityId | undefined {
  const at = body.indexOf('"id"')
  if (at === -1 || body.indexOf('"id"', at + 4) !== -1) return undefined
  // A key may be written with escapes, and then it is not seen; in a text, a quotation mark may be.
  if (body.includes('\\')) return undefined
  return idMember.exec(body)?.[1] as EntityId | undefined
}

/**
 * What a partition reads and answers raw writes of NGSIv2 with. Its responses are those of the front end to the same request
 * [NGSIv2 context 1.4, 8, 9, 11.1]. While `isTimed`, its replies say how long it took.
 */
export function rawWriteInterpreter(isTimed: () => boolean): Interpreter {
  return ({ tenant, path, body, flags, target, origin }) => {
    if (target === undefined) throw new Error('a raw write has no target')
    const write = decodeWrite(flags, target)
    const since = isTimed() ? process.hrtime.bigint() : undefined
    const read = atOnce(readWrite(write, body))
    const parse_ns = since === undefined ? undefined : Number(process.hrtime.bigint() - since)
    if (!read.ok) return { kind: 'reply', reply: replyOf(false, () => read.error, parse_ns) }
    const entity = read.value
    const refused = unsent(write, entity, path)
    if (refused) return { kind: 'reply', reply: replyOf(true, () => refused, parse_ns) }
    const { id, type, action, attributes, terms } = entity
    if (id !== target.id) throw new Error('a raw write has come to the partition of another id')
    return {
      kind: 'update',
      element: { tenant, path, id, type, action, attributes, terms, origin },
      render: (reply) => replyOf(true, () => respondToWrite(write, entity, reply), parse_ns),
    }
  }
}

/** Rendering is timed where reading was. */
function replyOf(accepted: boolean, respond: () => ApiResponse, parse_ns: number | undefined): RawUpdateReply {
  if (parse_ns === undefined) return rawReply(accepted, respond())
  const since = process.hrtime.bigint()
  const reply = rawReply(accepted, respond())
  const render_ns = Number(process.hrtime.bigint() - since)
  return { ...reply, spent: { parse_ns, render_ns } }
}

function rawReply(accepted: boolean, { status, body = '', headers }: ApiResponse): RawUpdateReply {
  const text = typeof body === 'string' ? body : body()
  return { kind: 'rawUpdate', accepted, status, text, headers }
}

/** The response that a partition has rendered. */
export function partitionResponse({ status = 200, text, headers }: RawUpdateReply): ApiResponse {
  return { status, ...(text !== '' && { body: text }), ...(headers && { headers }) }
}
