import { type ApiRequest, type ApiResponse, type Resource, segment } from '../../broker/operations/api.js'
import { json, shortForm } from '../../broker/operations/response.js'
import { callsTogether, type RegistrationCalls } from '../../broker/providers/provider-request.js'
import type { ReceiverState } from '../../delivery/queue/courier-protocol.js'
import type { Tenant } from '../../model/context/entity.js'
import { type Registration, type RegistrationId, registrationTermsOf } from '../../model/registration/registration.js'
import { type ActiveAlarm, alarmKinds } from '../../observe/log/alarms.js'
import { urlWithoutSecrets } from '../../observe/log/secrets.js'
import { ok } from '../../result.js'
import { inSlices, listText, type Steps } from '../../slices.js'
import { dateText, type Milliseconds, never, now } from '../../time.js'
import { optionalDate } from '../management/subscription-states.js'
import type { AlarmList, ReceiverList, ShownAlarm, ShownReceiver, ShownRegistration } from './shapes.js'
import { type ConsoleParts, GivenParameters, type Slice, view } from './views.js'

type Registrations = Pick<ConsoleParts, 'broker' | 'peers'>

/** Registrations of all tenants [console: data]. */
export function registrationViews(parts: Registrations): readonly Resource[] {
  return [
    view('/admin/registrations', (request) => {
      const given = new GivenParameters(request, ['service', 'status', 'text', 'limit', 'offset'])
      const which: WhichRegistrations = {
        tenant: given.tenant(),
        status: given.oneOf('status', ['active', 'inactive', 'expired']),
        text: given.folded('text'),
        ...given.slice(),
      }
      return given.prepared(() => listed(parts, which))
    }),
    view('/admin/registrations/{id}', (request) => ok(() => one(parts, request))),
  ]
}

interface WhichRegistrations extends Slice {
  readonly tenant: Tenant | undefined
  readonly status: ShownRegistration['status'] | undefined
  readonly text: string | undefined
}

async function listed({ broker, peers }: Registrations, which: WhichRegistrations): Promise<ApiResponse> {
  const at = now()
  const { count, page } = await inSlices(found(broker.registry.index.all(), which, at))
  const ids = page.map(({ id }) => id)
  const calls = callsTogether((await peers.gather('calls', ids)).flat())
  const registrations = listText(page, (each) => JSON.stringify(shown(each, calls.get(each.id), at)))
  return { status: 200, body: `{"count":${count},"registrations":${await inSlices(registrations)}}` }
}

async function one({ broker, peers }: Registrations, request: ApiRequest): Promise<ApiResponse> {
  const id = segment(request, 'id').toLowerCase() as RegistrationId
  const registration = broker.registry.index.get(id)
  if (registration === undefined) return unknown
  const calls = callsTogether((await peers.gather('calls', [id])).flat())
  return json(shown(registration, calls.get(id), now()))
}

const unknown = shortForm(404, 'The requested registration has not been found. Check id')

function* found(
  all: Iterable<Registration>,
  { tenant, status, text, offset, limit }: WhichRegistrations,
  at: Milliseconds,
): Steps<{ readonly count: number; readonly page: readonly Registration[] }> {
  const page: Registration[] = []
  let count = 0
  // A copy, since registrations may come and go between two slices.
  for (const registration of [...all]) {
    yield
    if (tenant !== undefined && registration.tenant !== tenant) continue
    if (status !== undefined && statusOf(registration, at) !== status) continue
    if (text !== undefined && !textsOf(registration).some((each) => each.toLowerCase().includes(text))) continue
    if (count >= offset && page.length < limit) page.push(registration)
    count += 1
  }
  return { count, page }
}

function textsOf({ id, tenant, path, contexts, terms }: Registration): readonly string[] {
  const words = contexts.flatMap(({ entities, attributes, provider }) => [
    urlWithoutSecrets(provider),
    ...entities.flatMap((entity) => [entity.id, entity.type]),
    ...attributes.map(({ name }) => name),
  ])
  return [id, tenant, path, terms?.description ?? '', ...words]
}

function statusOf(registration: Registration, at: Milliseconds): ShownRegistration['status'] {
  return at >= registration.expires ? 'expired' : registrationTermsOf(registration).status
}

function shown(registration: Registration, calls: RegistrationCalls | undefined, at: Milliseconds): ShownRegistration {
  const { id, tenant, path, expires, contexts, copiedFrom } = registration
  const { description, mode, legacy } = registrationTermsOf(registration)
  return {
    id,
    service: tenant === '' ? undefined : tenant,
    servicePath: path,
    description: description === '' ? undefined : description,
    status: statusOf(registration, at),
    mode,
    legacy,
    expires: expires >= never ? undefined : dateText(expires),
    copiedFrom: copiedFrom === '' ? undefined : copiedFrom,
    contexts: contexts.map((context) => ({ ...context, provider: urlWithoutSecrets(context.provider) })),
    calls: calls?.calls ?? 0,
    failures: calls?.failures ?? 0,
    lastCall: optionalDate(calls?.lastCall),
    lastFailure: optionalDate(calls?.lastFailure),
    lastFailureReason: calls?.lastFailureReason,
  }
}

/** The receivers of notifications, by scheme, host and port, or MQTT broker [console: data]. */
export function receiverViews({ broker }: Pick<ConsoleParts, 'broker'>): readonly Resource[] {
  return [
    view('/admin/receivers', (request) => {
      const given = new GivenParameters(request, ['limit', 'offset', 'text'])
      const which = { text: given.folded('text'), ...given.slice() }
      return given.prepared(async () => {
        const { count, receivers } = await broker.subscriptions.receivers(which)
        const list: ReceiverList = { count, receivers: receivers.map(receiverShown) }
        return json(list)
      })
    }),
  ]
}

function receiverShown({
  oldestQueued,
  nextAttempt,
  lastSuccess,
  lastFailure,
  ...state
}: ReceiverState): ShownReceiver {
  return {
    ...state,
    oldestQueued: optionalDate(oldestQueued),
    nextAttempt: optionalDate(nextAttempt),
    lastSuccess: optionalDate(lastSuccess),
    lastFailure: optionalDate(lastFailure),
  }
}

/** The active alarms of all threads [console: data], [management 10.7]. */
export function alarmViews({ peers }: Pick<ConsoleParts, 'peers'>): readonly Resource[] {
  return [
    view('/admin/alarms', (request) => {
      const given = new GivenParameters(request, ['limit', 'kind'])
      const limit = given.limit(100)
      const kind = given.oneOf('kind', alarmKinds)
      return given.prepared(async () => {
        // A kind is filtered here, so all alarms are needed: the newest ones may be of other kinds.
        const [counts, lists] = await Promise.all([
          peers.gather('alarms', undefined),
          peers.gather('activeAlarms', kind === undefined ? limit : mostKept),
        ])
        const fitting = lists.flat().filter((alarm) => kind === undefined || alarm.kind === kind)
        const list: AlarmList = {
          counts: Object.assign({}, ...counts),
          alarms: fitting.slice(0, limit).map(alarmShown),
        }
        return json(list)
      })
    }),
  ]
}

/** Limit of active alarms in a broker. */
const mostKept = 10_000

function alarmShown({ since, last, ...alarm }: ActiveAlarm): ShownAlarm {
  return { ...alarm, since: dateText(since), last: dateText(last) }
}
