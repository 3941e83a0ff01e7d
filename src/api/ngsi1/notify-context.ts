import type { Broker, Unavailable } from '../../broker/front-end/broker.js'
import type { ApiRequest, ApiResponse, Client } from '../../broker/operations/api.js'
import type { ServicePath, Tenant } from '../../model/context/entity.js'
import { pathsOfRead } from '../../model/context/scope-headers.js'
import type { ElementFailure, UpdateElement, UpdateReply } from '../../model/context/update.js'
import { ok, type Result } from '../../result.js'
import { mapInSlices } from '../../slices.js'
import { toSend } from './element-results.js'
import { type Ngsi1Call, originOf, payloadOperation } from './operation.js'
import { checkElement } from './parse/check-element.js'
import { detailsOfPayload } from './parse/payload-errors.js'
import { type GivenElement, type NotifiedElements, parseNotification } from './parse/update-payload.js'
import { notificationResponse, okStatus, statusOf, unavailableResponse } from './render/status.js'

/**
 * `POST /v1/notifyContext`: the broker receives a notification and appends its elements. An element that updateContext would
 * refuse is left out, since a repetition could not succeed [subscriptions 6.1].
 */
export const notifyContext = payloadOperation({
  use: 'write',
  wrapStatus: (responseCode) => ({ responseCode }),
  parse: parseNotification,
  refusalResponse: (refusal) => notificationResponse(statusOf(400, detailsOfPayload(refusal))),
  work: store,
})

async function store({ services, request, tenant }: Ngsi1Call, elements: NotifiedElements): Promise<ApiResponse> {
  const { broker, options } = services
  if (request.paths.some(({ below }) => below))
    return notificationResponse(statusOf(400, 'Bad Character in Service-Path'))
  const placed = await place(broker, tenant, request, elements)
  if (!placed.ok) return unavailableResponse(placed.error)
  const flags = { tenant, action: 'APPEND', untyped: false, autocast: options.ngsiv1Autocast } as const
  const origin = originOf(services, request)
  const mapped = await mapInSlices(placed.value, ({ element, paths }): readonly UpdateElement[] =>
    paths
      .filter((path) => checkElement(element, 'APPEND', path) === undefined)
      .map((path) => toSend(element, { ...flags, path, origin })),
  )
  const sent = mapped.flat()
  const replies = sent.length === 0 ? ok([]) : await broker.update(sent, request.client)
  if (!replies.ok) return unavailableResponse(replies.error)
  const failure = failureOf(replies.value)
  return failure === undefined ? notificationResponse(okStatus) : unavailableResponse(failure)
}

/** Unless all valid elements were stored, the notifier has to send everything again. */
function failureOf(replies: readonly UpdateReply[]): Unavailable | undefined {
  const failures = new Set<ElementFailure>()
  for (const { items } of replies) {
    for (const { refusal } of items) if (refusal?.kind === 'unavailable') failures.add(refusal.why)
  }
  if (failures.size === 0) return undefined
  if (failures.has('fault')) throw new Error('a partition failed at a part of a notification; its log says why')
  return failures.has('storageFull') ? { kind: 'partlyStored' } : { kind: 'outcomeUnknown' }
}

interface PlacedElement {
  readonly element: GivenElement
  readonly paths: readonly ServicePath[]
}

/**
 * The path of each element: with as many paths as elements the path at its position, otherwise the first path. Without paths an
 * element belongs to the existing entities, wherever they are [subscriptions 6.1].
 */
async function place(
  broker: Broker,
  tenant: Tenant,
  { paths, client }: Pick<ApiRequest, 'paths' | 'client'>,
  elements: NotifiedElements,
): Promise<Result<readonly PlacedElement[], Unavailable>> {
  const [first] = paths
  const given = elements.flatMap((element, at) => {
    const range = paths.length === elements.length ? paths[at] : first
    return element === undefined ? [] : [{ element, range }]
  })
  const homeless = given.filter(({ range }) => range === undefined).map(({ element }) => element)
  const found = homeless.length === 0 ? ok([]) : await pathsHeld(broker, tenant, homeless, client)
  if (!found.ok) return found
  const held = found.value.values()
  return ok(
    given.map(({ element, range }) => ({ element, paths: range ? [range.path] : (held.next().value ?? [root]) })),
  )
}

const root = '/' as ServicePath

/** The paths in which the entities of elements are stored; the root for a new one. */
async function pathsHeld(
  broker: Broker,
  tenant: Tenant,
  elements: readonly GivenElement[],
  client: Client,
): Promise<Result<readonly (readonly ServicePath[])[], Unavailable>> {
  const named = elements.map(({ id, type }) => ({ id, type: type === '' ? undefined : type }))
  const held = await broker.pathsOf(tenant, pathsOfRead([]), named, client)
  return held.ok ? ok(held.value.map((paths) => (paths.length === 0 ? [root] : paths))) : held
}
