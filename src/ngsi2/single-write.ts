import type { ApiResponse } from '../api.js'
import type { EntityId, EntityType, ServicePath } from '../context/entity.js'
import type { GivenAttribute, UpdateAction, UpdateReply, UpdateTerms } from '../context/update.js'
import type { RawTarget } from '../partition/commands.js'
import { ok, type Result } from '../result.js'
import type { Steps } from '../slices.js'
import { batchResponse } from './batch-response.js'
import { attributeUnknown, badInput } from './ngsi2-errors.js'
import { parseOneAttribute, parseValueBody } from './parse/attribute-body.js'
import { parseBatch } from './parse/batch-body.js'
import { parseAttributeMembers, parseEntity } from './parse/given-entity.js'
import { defaultEntityType, updateTerms, type WriteOptions } from './update-terms.js'
import { respondTo, tooMuch, type WriteOutcome, writeOutcome } from './write-outcome.js'

/**
 * What a request that writes one entity says beside its payload. The front end and the partition read and answer it by the
 * same functions, which are here: they look at nothing else of the request.
 */
export interface SingleWrite extends WriteOptions {
  readonly operation: WriteOperation
  /** What is done with the attributes; that of a batch stands in its payload. */
  readonly action: UpdateAction
  /** Whether an entity that is to be created may be there. */
  readonly isUpsert: boolean
  /** Whether the payload is plain text. */
  readonly isText: boolean
  /** What the path names; nothing where the payload names the entity. */
  readonly target: RawTarget | undefined
}

/** Each reads its payload in its own way. */
export const writeOperations = ['create', 'attributes', 'attribute', 'value', 'batch'] as const
type WriteOperation = (typeof writeOperations)[number]

/** What is to be done to one entity. */
export interface AskedWrite {
  readonly id: EntityId
  readonly type: EntityType | undefined
  readonly action: UpdateAction
  readonly attributes: readonly GivenAttribute[]
  readonly terms: UpdateTerms
}

type Read = Steps<Result<AskedWrite, ApiResponse>>

/** Reads the payload of a write of one entity; a batch has to have exactly one. */
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

/** A write of the entity that the path names, which has to be there. */
function named(
  write: Pick<SingleWrite, 'action' | 'target' | 'overridesMetadata' | 'forced'>,
  attributes: readonly GivenAttribute[],
  valueOnly?: UpdateTerms['valueOnly'],
): AskedWrite {
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

/** The response to a write that nobody needs to be asked about; nothing when it is to be sent. */
export function unsent(
  { operation }: Pick<SingleWrite, 'operation'>,
  { id, type = defaultEntityType, attributes }: AskedWrite,
  path: ServicePath,
): ApiResponse | undefined {
  const isLong = Buffer.byteLength(id) + Buffer.byteLength(type) + Buffer.byteLength(path) > maxKey_bytes
  if (operation === 'create' && isLong) return badInput('Too long entity id/type/servicePath combination')
  return tooMuch(attributes)
}

/** The response to a write that was carried out, or was tried to be. */
export function respondToWrite(
  write: Pick<SingleWrite, 'operation' | 'isUpsert' | 'target'>,
  entity: AskedWrite,
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

/** Everything was done. */
export const noContent: ApiResponse = { status: 204 }

function created(
  { isUpsert }: Pick<SingleWrite, 'isUpsert'>,
  { id, type = defaultEntityType }: AskedWrite,
): ApiResponse {
  // What clients follow is decoded again: without this `a%2fb` would lead nowhere, and `a%62` to `ab`.
  const query = encodeURI(type).replaceAll('+', '%2B')
  return { status: isUpsert ? 204 : 201, headers: { Location: `/v2/entities/${encodeURI(id)}?type=${query}` } }
}

/** The entity as errors name it: with its type where the request has one [NGSIv2 context 8.5]. */
function shownEntity({ id, type }: RawTarget): string {
  return type === undefined ? id : `${id}/${type}`
}

/** An attribute that is not there is not found, where the path names it [NGSIv2 context 9.2]. */
function respondToOne(outcome: WriteOutcome): ApiResponse {
  return outcome.kind === 'missing' ? attributeUnknown : respondTo(outcome, '', noContent)
}
