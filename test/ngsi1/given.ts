import type { Ngsi1Services } from '../../src/api/ngsi1/operation.js'
import { rawUpdateInterpreter } from '../../src/api/ngsi1/raw-update.js'
import { ngsi1Resources } from '../../src/api/ngsi1/routes.js'
import type {
  Broker,
  RawElements,
  RawUpdate,
  SubscriptionService,
  Unavailable,
} from '../../src/broker/front-end/broker.js'
import type { RegistryService } from '../../src/broker/front-end/services.js'
import type { ApiRequest, ApiResponse, Operation, Prepared, Resource, Verb } from '../../src/broker/operations/api.js'
import type { Attribute, Entity, EntityId, EntityType, ServicePath } from '../../src/model/context/entity.js'
import type { GivenAttribute, UpdateElement, UpdateReply } from '../../src/model/context/update.js'
import type { RegistrationId } from '../../src/model/registration/registration.js'
import { RegistrationIndex } from '../../src/model/registration/registration-index.js'
import type { SubscriptionId } from '../../src/model/subscription/subscription.js'
import type { RawUpdateReply } from '../../src/partition/turn/commands.js'
import { err, ok, type Result } from '../../src/result.js'
import type { Sequence } from '../../src/threads/shared-memory/sequences.js'
import type { Milliseconds } from '../../src/time.js'
import { waiting } from '../given.js'

const time = 1_700_000_000_000 as Milliseconds

/** A stored attribute. */
export function attribute(name: string, value: Attribute['value'], more: Partial<Attribute> = {}): Attribute {
  return {
    name,
    instance: '',
    type: 'percent',
    value,
    isLocation: false,
    metadata: [],
    created: time,
    modified: time,
    ...more,
  }
}

/** A stored entity. */
export function entity(id: string, type: string, ...attributes: readonly Attribute[]): Entity {
  return {
    path: '/' as ServicePath,
    id: id as EntityId,
    type: type as EntityType,
    sequence: 1 as Sequence,
    created: time,
    modified: time,
    attributes,
  }
}

/** An attribute of a request. */
export function givenAttribute(name: string, more: Partial<GivenAttribute> = {}): GivenAttribute {
  return { name, instance: '', type: 'percent', value: '1', metadata: [], ...more }
}

/** The reply to an element of which everything was done to one entity, of the type of the request. */
export function done({ id, type = '' as EntityType }: UpdateElement): UpdateReply {
  return { items: [{ id, type }], missing: [] }
}

/** The subscription service of a broker without subscriptions. */
const noSubscriptions: SubscriptionService = {
  subscribe: async () => ok('5f0a1b2c3d4e5f6071829304' as SubscriptionId),
  add: async () => ok('5f0a1b2c3d4e5f6071829304' as SubscriptionId),
  change: async () => err({ kind: 'subscriptionUnknown' }),
  patch: async () => err({ kind: 'subscriptionUnknown' }),
  page: async () => ok({ count: 0, subscriptions: [] }),
  one: async () => ok(undefined),
  search: async () => ({ count: 0, subscriptions: [] }),
  inspected: async () => ({ state: 'idle', underWay: 0, attempts: [] }),
  receivers: async () => ({ count: 0, receivers: [] }),
  unsubscribe: async () => err({ kind: 'subscriptionUnknown' }),
  states: async () => [],
  index: async () => ({ count: 0, firstIds: [], changes: { refresh: 0, inserts: 0, removes: 0, updates: 0 } }),
}

/** The registry service of a broker without registrations. */
export const noRegistrations: RegistryService = {
  index: new RegistrationIndex(),
  register: async () => ok('5f0a1b2c3d4e5f6071829305' as RegistrationId),
  add: async () => ok('5f0a1b2c3d4e5f6071829305' as RegistrationId),
  remove: async () => err({ kind: 'registrationUnknown' }),
  notified: async () => ok(undefined),
  subscribe: async () => ok('5f0a1b2c3d4e5f6071829306' as SubscriptionId),
  change: async () => err({ kind: 'subscriptionUnknown' }),
  unsubscribe: async () => err({ kind: 'subscriptionUnknown' }),
  states: async () => [],
}

const interpret = rawUpdateInterpreter(undefined, () => false)

/** Parses a raw update and answers it, as its partition does. */
async function updateRaw(update: Broker['update'], raw: RawUpdate): ReturnType<Broker['rawUpdate']> {
  const replies = await updateRawElements(update, {
    ...raw,
    target: undefined,
    elements: [{ id: raw.id, text: raw.body }],
  })
  if (!replies.ok) return replies
  const [reply] = replies.value
  if (reply === undefined) throw new Error('an update without a reply')
  return ok(reply)
}

/** The same with elements of one request, of which the ones that are not refused are updated together. */
async function updateRawElements(
  update: Broker['update'],
  { elements, ...raw }: RawElements,
): Promise<Result<readonly RawUpdateReply[], Unavailable>> {
  const understood = elements.map(({ text }) =>
    interpret({ kind: 'rawUpdate', sequence: 0 as Sequence, time, ...raw, body: text }),
  )
  const sent = understood.flatMap((one) => (one.kind === 'update' ? [one.element] : []))
  const replies = sent.length === 0 ? ok([]) : await update(sent)
  if (!replies.ok) return replies
  const left = replies.value.values()
  return ok(
    understood.map((one) => {
      if (one.kind === 'reply') return one.reply
      const { value } = left.next()
      if (value === undefined) throw new Error('an update without a reply')
      return one.render(value)
    }),
  )
}

/** A broker that does what it is told, for what is not about storing; everything else finds nothing. */
export function scripted(script: Partial<Broker> = {}): Broker {
  const { update = async (elements) => ok(elements.map(done)), entities = async () => ok([]) } = script
  return {
    update,
    rawUpdate: (raw) => updateRaw(update, raw),
    rawElements: async (raw) => {
      const replies = await updateRawElements(update, raw)
      return replies.ok ? replies : err({ kind: 'mailboxFull' })
    },
    entities,
    reads: (tenant, paths, client) => ({
      prepare: async () => ok(undefined),
      of: ({ id, type }) => entities(tenant, paths, id, type, client),
    }),
    pathsOf: async (_tenant, _paths, named) => ok(named.map(() => [])),
    recentEntities: () => undefined,
    query: async ({ counted }) => ok({ entities: [], count: counted ? 0 : undefined }),
    types: async () => ok([]),
    view: async () => err({ kind: 'queriesFull' }),
    subscriptions: noSubscriptions,
    registry: noRegistrations,
    listening: { open: async () => err('away'), confirm: async () => err('away') },
    health: async () => ({ total: 1, ready: 1, storageFull: false }),
    ...script,
  }
}

/** A broker whose subscription service follows a script. */
export function withSubscriptions(script: Partial<SubscriptionService>): Broker {
  return scripted({ subscriptions: { ...noSubscriptions, ...script } })
}

/** A broker that keeps what it was asked to update. */
export function recording(): { readonly broker: Broker; readonly updates: UpdateElement[] } {
  const updates: UpdateElement[] = []
  const update: Broker['update'] = async (elements) => {
    updates.push(...elements)
    return ok(elements.map(done))
  }
  return { broker: scripted({ update }), updates }
}

export const plainOptions = {
  multiservice: false,
  strictNgsiv1Ids: false,
  ngsiv1Autocast: false,
  queryTimeout_ms: 30_000,
}

export interface Sent {
  readonly headers?: ApiRequest['headers']
  readonly paths?: ApiRequest['paths']
  readonly body?: unknown
  readonly options?: Partial<Ngsi1Services['options']>
  readonly forwarding?: Ngsi1Services['forwarding']
}

/** What a request is answered, as the HTTP layer would ask for it; `target` is a path of `/v1` with its parameters. */
export async function send(
  broker: Broker,
  verb: Verb,
  target: string,
  sent: Sent = {},
): Promise<{ readonly status: number; readonly body: unknown; readonly headers: ApiResponse['headers'] }> {
  const { text, ...response } = await sendText(broker, verb, target, sent)
  return { ...response, body: JSON.parse(text) }
}

/** The same with the body as it goes over the wire. */
export async function sendText(
  broker: Broker,
  verb: Verb,
  target: string,
  sent: Sent = {},
): Promise<{ readonly status: number; readonly text: string; readonly headers: ApiResponse['headers'] }> {
  const result = await perform(await prepare(broker, verb, target, sent))
  const response = result.ok ? result.value : result.error
  const text = typeof response.body === 'function' ? response.body() : (response.body ?? '')
  return { status: response.status, text, headers: response.headers }
}

/** Whether a request passes the checks of its payload, so that it counts [management 4.3]. */
export async function counts(broker: Broker, verb: Verb, target: string, sent: Sent = {}): Promise<boolean> {
  return (await perform(await prepare(broker, verb, target, sent))).ok
}

/** What a request is answered; an error when its payload is refused. */
async function perform(prepared: Prepared): Promise<Result<ApiResponse, ApiResponse>> {
  if (!prepared.ok) return prepared
  const work = prepared.value
  return typeof work === 'object' ? work.run() : ok(await work())
}

function prepare(
  broker: Broker,
  verb: Verb,
  target: string,
  { headers = {}, paths = [], body = '', options = {}, forwarding }: Sent,
): ReturnType<Operation['prepare']> {
  const { pathname, searchParams } = new URL(target, 'http://broker/v1/')
  const environment = { broker, options: { ...plainOptions, ...options }, ...(forwarding && { forwarding }) }
  const { resource, segments } = found(ngsi1Resources(environment), pathname)
  const operation = resource.operations[verb]
  if (operation === undefined) throw new Error(`${resource.pattern} has no ${verb}`)
  return operation.prepare({
    verb,
    segments,
    parameters: new Map(searchParams),
    headers,
    paths,
    body: typeof body === 'string' ? body : JSON.stringify(body),
    correlator: 'c',
    client: waiting,
  })
}

function found(resources: readonly Resource[], pathname: string) {
  const parts = pathname.split('/')
  for (const resource of resources) {
    const pattern = resource.pattern.split('/')
    const fits = pattern.length === parts.length && pattern.every((part, at) => part[0] === '{' || part === parts[at])
    if (!fits) continue
    const named = pattern.flatMap((part, at) =>
      part[0] === '{' ? [[part.slice(1, -1), parts[at] ?? ''] as const] : [],
    )
    return { resource, segments: Object.fromEntries(named.map(([name, text]) => [name, decodeURIComponent(text)])) }
  }
  throw new Error(`no resource for ${pathname}`)
}
