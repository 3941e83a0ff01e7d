import { timedReply } from '../../broker/front-end/raw-replies.js'
import type { ApiResponse } from '../../broker/operations/api.js'
import type { EntityId, EntityType, ServicePath } from '../../model/context/entity.js'
import {
  type GivenAttribute,
  type UpdateAction,
  type UpdateReply,
  type UpdateTerms,
  updateActions,
} from '../../model/context/update.js'
import type { Interpreter, RawTarget, RawUpdateReply } from '../../partition/turn/commands.js'
import { ok, type Result } from '../../result.js'
import { atOnce, type Steps } from '../../slices.js'
import { attributeUnknown, badInput } from './errors.js'
import { defaultEntityType, updateTerms, type WriteOptions } from './parameters.js'
import { parseAttributeMembers, parseBatch, parseEntity, parseOneAttribute, parseValueBody } from './parse/entities.js'
import { batchResponse, respondTo, tooMuch, type WriteOutcome, writeOutcome } from './update-errors.js'

/**
 * A request that writes one entity, without its payload. Front end and partition parse and answer it by the functions of this
 * file, which use nothing else of the request.
 */
export interface SingleWrite extends WriteOptions {
  readonly operation: WriteOperation
  /** The action on the attributes; that of a batch is in its payload. */
  readonly action: UpdateAction
  /** Whether the entity to create may exist. */
  readonly isUpsert: boolean
  /** Whether the payload is plain text. */
  readonly isText: boolean
  /** The target in the path; undefined where the payload names the entity. */
  readonly target: RawTarget | undefined
}

export const writeOperations = ['create', 'attributes', 'attribute', 'value', 'batch'] as const
type WriteOperation = (typeof writeOperations)[number]

/** An update of one entity, as its payload asks for it. */
export interface RequestedWrite {
  readonly id: EntityId
  readonly type: EntityType | undefined
  readonly action: UpdateAction
  readonly attributes: readonly GivenAttribute[]
  readonly terms: UpdateTerms
}

type Read = Steps<Result<RequestedWrite, ApiResponse>>

/** Parses the payload of a write of one entity; a batch has to have exactly one. */
export function readWrite(write: SingleWrite, body: string): Read {
  return readers[write.operation](write, body)
}

const readers: { readonly [Operation in WriteOperation]: (write: SingleWrite, body: string) => Read } = {
  *create(write, body) {
    const entity = yield* parseEntity(body, write.form)
    if (!entity.ok) return entity
    const { id, type = defaultEntityType, attributes } = entity.value
    const terms = updateTerms(write, write.isUpsert ? 'either' : 'absent')
    return ok({ id, type, action: write.action, attributes, terms })
  },
  *attributes(write, body) {
    const attributes = yield* parseAttributeMembers(body, write.form)
    return attributes.ok ? ok(named(write, attributes.value)) : attributes
  },
  *attribute(write, body) {
    const attribute = yield* parseOneAttribute(body, attributeName(write))
    return attribute.ok ? ok(named(write, [attribute.value])) : attribute
  },
  *value(write, body) {
    const read = yield* parseValueBody(body, write.isText)
    if (!read.ok) return read
    const { value, isForbidden } = read.value
    const attribute = { name: attributeName(write), instance: '', type: '', value, metadata: [] }
    return ok(named(write, [attribute], isForbidden ? 'forbiddenCharacters' : 'plain'))
  },
  *batch(write, body) {
    const batch = yield* parseBatch(body, write.form)
    if (!batch.ok) return batch
    const { action, entities } = batch.value
    const [entity] = entities
    if (entity === undefined || entities.length > 1) throw new Error('a write of one entity has one')
    const { id, type, attributes } = entity
    return ok({ id, type, action, attributes, terms: updateTerms(write, 'either') })
  },
}

/** A write of the entity in the path, which has to exist. */
function named(
  write: Pick<SingleWrite, 'action' | 'target' | 'overridesMetadata' | 'forced'>,
  attributes: readonly GivenAttribute[],
  valueOnly?: UpdateTerms['valueOnly'],
): RequestedWrite {
  const { id, type } = targetOf(write)
  return { id, type, action: write.action, attributes, terms: updateTerms(write, 'present', valueOnly) }
}

function attributeName(write: SingleWrite): string {
  const { name } = targetOf(write)
  if (name === undefined) throw new Error('the path names no attribute')
  return name
}

function targetOf({ target }: Pick<SingleWrite, 'target'>): RawTarget {
  if (target === undefined) throw new Error('the path names no entity')
  return target
}

const maxKey_bytes = 1013

/** The response to a write that is refused whatever is stored; undefined for one that has to be sent to its partition. */
export function refusalBeforeSending(
  { operation }: Pick<SingleWrite, 'operation'>,
  { id, type = defaultEntityType, attributes }: RequestedWrite,
  path: ServicePath,
): ApiResponse | undefined {
  const isLong = Buffer.byteLength(id) + Buffer.byteLength(type) + Buffer.byteLength(path) > maxKey_bytes
  if (operation === 'create' && isLong) return badInput('Too long entity id/type/servicePath combination')
  return tooMuch(attributes)
}

/** The response to a write that its partition has carried out or refused. */
export function respondToWrite(
  write: Pick<SingleWrite, 'operation' | 'isUpsert' | 'target'>,
  entity: RequestedWrite,
  reply: UpdateReply,
): ApiResponse {
  const outcome = writeOutcome(entity.attributes, reply)
  switch (write.operation) {
    case 'create':
      return respondTo(outcome, entity.id, created(write, entity))
    case 'batch':
      return batchResponse([{ entity, outcome }], noContent)
    case 'attributes':
      return respondTo(outcome, shownEntity(targetOf(write)), noContent)
    default:
      return respondToOne(outcome)
  }
}

export const noContent: ApiResponse = { status: 204 }

/**
 * The response to a created entity, with its `Location`. Ids and types are ASCII and stand as they are [NGSIv2 context 8.2], but for
 * what would lead elsewhere: `%` is decoded, clients take `\` in a path for a slash, and `+` in a query is a blank.
 */
function created(
  { isUpsert }: Pick<SingleWrite, 'isUpsert'>,
  { id, type = defaultEntityType }: RequestedWrite,
): ApiResponse {
  const path = id.replaceAll('%', '%25').replaceAll('\\', '%5C')
  const query = type.replaceAll('%', '%25').replaceAll('+', '%2B')
  return { status: isUpsert ? 204 : 201, headers: { Location: `/v2/entities/${path}?type=${query}` } }
}

/** The entity in error texts: with its type where the request has one [NGSIv2 context 8.5]. */
function shownEntity({ id, type }: RawTarget): string {
  return type === undefined ? id : `${id}/${type}`
}

/** An attribute that the path names and that does not exist is `not found` [NGSIv2 context 9.2]. */
function respondToOne(outcome: WriteOutcome): ApiResponse {
  return outcome.kind === 'missing' ? attributeUnknown : respondTo(outcome, '', noContent)
}

/** Encodes a write without its payload and target as a number, for a command. */
export function encodeWrite(write: Omit<SingleWrite, 'target'>): number {
  const { operation, action, form, overridesMetadata, forced, isUpsert, isText } = write
  const options = (form === 'keyValues' ? 1 : 0) | (overridesMetadata ? 2 : 0) | (forced ? 4 : 0)
  const bits = options | (isUpsert ? 8 : 0) | (isText ? 16 : 0)
  return bits | (updateActions.indexOf(action) << 5) | (writeOperations.indexOf(operation) << 8)
}

/** Decodes the number of `encodeWrite`. */
export function decodeWrite(number: number, target: SingleWrite['target']): SingleWrite {
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

/**
 * Parses and answers raw writes of NGSIv2 in their partition, with the responses that the front end would give [NGSIv2 context
 * 1.4, 8, 9, 11.1]. While `isTimed`, replies carry the times of parsing and rendering.
 */
export function rawWriteInterpreter(isTimed: () => boolean): Interpreter {
  return ({ tenant, path, body, flags, target, origin }) => {
    if (typeof target !== 'object') throw new Error('a raw write has no target')
    const write = decodeWrite(flags, target)
    const since = isTimed() ? process.hrtime.bigint() : undefined
    const read = atOnce(readWrite(write, body))
    const parse_ns = since === undefined ? undefined : Number(process.hrtime.bigint() - since)
    if (!read.ok) return { kind: 'reply', reply: timedReply(parse_ns, () => rawReply(false, read.error)) }
    const entity = read.value
    const refusal = refusalBeforeSending(write, entity, path)
    if (refusal) return { kind: 'reply', reply: timedReply(parse_ns, () => rawReply(true, refusal)) }
    const { id, type, action, attributes, terms } = entity
    if (id !== target.id) throw new Error('a raw write has come to the partition of another id')
    return {
      kind: 'update',
      element: { tenant, path, id, type, action, attributes, terms, origin },
      render: (reply) => timedReply(parse_ns, () => rawReply(true, respondToWrite(write, entity, reply))),
    }
  }
}

function rawReply(accepted: boolean, { status, body = '', headers }: ApiResponse): RawUpdateReply {
  const text = typeof body === 'string' ? body : body()
  return { kind: 'rawUpdate', accepted, status, text, headers }
}

export function partitionResponse({ status = 200, text, headers }: RawUpdateReply): ApiResponse {
  return { status, ...(text !== '' && { body: text }), ...(headers && { headers }) }
}
