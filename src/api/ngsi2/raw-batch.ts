import type { RawElements } from '../../broker/front-end/broker.js'
import { timedReply } from '../../broker/front-end/raw-replies.js'
import { failedReply, refusalOfWhole } from '../../broker/front-end/updates.js'
import type { ApiRequest, ApiResponse, Work } from '../../broker/operations/api.js'
import { requestOrigin } from '../../broker/operations/api.js'
import { tenantOf } from '../../broker/operations/operation.js'
import { mayPassOnAny } from '../../broker/providers/forwarder.js'
import type { EntityId } from '../../model/context/entity.js'
import type { ElementFailure } from '../../model/context/update.js'
import type { Interpreter, RawUpdateReply } from '../../partition/turn/commands.js'
import { mapInSlices, type Steps } from '../../slices.js'
import { unavailable } from './errors.js'
import type { Ngsi2Services } from './operation.js'
import { pathOfWrite, updateTerms, writeOptionsOf } from './parameters.js'
import { parseScannedEntity, scanEntities } from './parse/entity-scan.js'
import { decodeWrite, encodeWrite, noContent } from './single-write.js'
import { type BatchItem, batchResponse, writeOutcome } from './update-errors.js'

/**
 * The work on a batch whose entities their partitions parse. Undefined when the payload has to be parsed here: something in it is
 * unusual, an entity may have to be forwarded, or the headers are wrong, which is reported after mistakes in the payload.
 */
export function* rawBatch(services: Ngsi2Services, request: ApiRequest): Steps<Work | undefined> {
  const { options, brokerId = '' } = services
  const write = writeOptionsOf(request)
  const tenant = tenantOf(request, options)
  const path = pathOfWrite(request)
  if (write.form !== 'normalized' || !tenant.ok || !path.ok) return undefined
  const scanned = yield* scanEntities(request.body)
  if (scanned === undefined) return undefined
  const { action, entities } = scanned
  if (yield* mayPassOnAny(services, tenant.value, entities, 'ngsi2')) return undefined
  const flags = encodeWrite({ ...write, operation: 'batch', action, isUpsert: false, isText: false })
  const origin = requestOrigin(request, brokerId)
  const raw = { tenant: tenant.value, path: path.value, flags, target: 'element', origin, elements: entities } as const
  return () => updateRawBatch(services, request, raw)
}

async function updateRawBatch(
  { broker }: Ngsi2Services,
  { client }: ApiRequest,
  raw: RawElements,
): Promise<ApiResponse> {
  const replies = await broker.rawElements(raw, client)
  if (!replies.ok) return unavailable(replies.error)
  const failures: ElementFailure[] = []
  const items = await mapInSlices(replies.value, (reply, at): BatchItem => {
    const id = raw.elements[at]?.id
    if (id === undefined) throw new Error('there are more replies than entities')
    if (typeof reply === 'object') return itemOf(id, reply)
    failures.push(reply)
    return { entity: { id, type: undefined }, outcome: writeOutcome([], failedReply({ id }, reply)) }
  })
  const whole = refusalOfWhole(failures, items.length)
  return whole.ok ? batchResponse(items, noContent) : unavailable(whole.error)
}

function itemOf(id: EntityId, { text }: RawUpdateReply): BatchItem {
  if (text === '') return { entity: { id, type: undefined }, outcome: { kind: 'done' } }
  const { type, outcome }: FailedItem = JSON.parse(text)
  return { entity: { id, type }, outcome }
}

/** An item that was not done, as its partition tells it: the text of its reply, which is empty for one that was done. */
interface FailedItem extends Pick<BatchItem, 'outcome'> {
  readonly type: BatchItem['entity']['type']
}

/** Parses the entities of batches in their partitions. While `isTimed`, replies carry the times of parsing and rendering. */
export function rawBatchInterpreter(isTimed: () => boolean): Interpreter {
  return ({ tenant, path, body, flags, origin }) => {
    const write = decodeWrite(flags, undefined)
    const since = isTimed() ? process.hrtime.bigint() : undefined
    const { id, type, attributes } = parseScannedEntity(body)
    const parse_ns = since === undefined ? undefined : Number(process.hrtime.bigint() - since)
    const terms = updateTerms(write, 'either')
    return {
      kind: 'update',
      element: { tenant, path, id, type, action: write.action, attributes, terms, origin },
      render: (reply) =>
        timedReply(parse_ns, () => {
          const outcome = writeOutcome(attributes, reply)
          const text = outcome.kind === 'done' ? '' : JSON.stringify({ type, outcome } satisfies FailedItem)
          return { kind: 'rawUpdate', accepted: true, text }
        }),
    }
  }
}
