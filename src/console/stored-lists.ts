import { type ApiRequest, type ApiResponse, type Resource, segment } from '../api/api.js'
import { json, shortForm } from '../api/response.js'
import type { Tenant } from '../context/entity.js'
import type { ReceiverState } from '../delivery/message.js'
import { type ActiveAlarm, type AlarmCounts, alarmKinds } from '../log/alarms.js'
import { urlWithoutSecrets } from '../log/secrets.js'
import { operation } from '../management/response-forms.js'
import { callsTogether, type RegistrationCalls } from '../providers/provider-request.js'
import { type Registration, type RegistrationId, registrationTermsOf } from '../registration/registration.js'
import { inSlices, listText, type Steps } from '../slices.js'
import { dateText, type Milliseconds, never, now } from '../time.js'
import type { ReceiverList, ShownReceiver, ShownRegistration } from './shapes.js'
import type { ConsoleParts } from './views.js'
import { GivenParameters } from './views.js'

const names = ['service', 'status', 'text', 'limit', 'offset']

/** What is registered, of whichever tenant [console: data]. */
export function registrationViews(parts: Pick<ConsoleParts, 'broker' | 'peers'>): readonly Resource[] {
  const polled = { anyCase: false, polled: true } as const
  return [
    {
      ...polled,
      pattern: '/admin/registrations',
      operations: {
        GET: {
          use: 'read',
          prepare: (request) => {
            const given = new GivenParameters(request, names)
            const tenant = given.tenant()
            const status = given.oneOf('status', ['active', 'inactive', 'expired'])
            const text = given.folded('text')
            const offset = given.whole('offset', 0, 0, 10_000_000)
            const limit = given.whole('limit', 100, 1, 1000)
            return given.prepared(() => listed(parts, { tenant, status, text, offset, limit }))
          },
        },
      },
    },
    {
      ...polled,
      pattern: '/admin/registrations/{id}',
      operations: { GET: operation('read', (request) => one(parts, request)) },
    },
  ]
}

interface WhichRegistrations {
  readonly tenant: Tenant | undefined
  readonly status: ShownRegistration['status'] | undefined
  readonly text: string | undefined
  readonly offset: number
  readonly limit: number
}

async function listed(
  { broker, peers }: Pick<ConsoleParts, 'broker' | 'peers'>,
  which: WhichRegistrations,
): Promise<ApiResponse> {
  const at = now()
  const { count, page } = await inSlices(found(broker.registry.index.all(), which, at))
  const calls = callsTogether(
    (
      await peers.gather(
        'calls',
        page.map(({ id }) => id),
      )
    ).flat(),
  )
  const registrations = listText(page, (each) => JSON.stringify(shown(each, calls.get(each.id), at)))
  return { status: 200, body: `{"count":${count},"registrations":${await inSlices(registrations)}}` }
}

async function one(
  { broker, peers }: Pick<ConsoleParts, 'broker' | 'peers'>,
  request: ApiRequest,
): Promise<ApiResponse> {
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
  // A copy: while this gives way, registrations may come and go.
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

/** Who is delivered to, by scheme, host and port, or MQTT broker [console: data]. */
export function receiverViews({ broker }: Pick<ConsoleParts, 'broker'>): readonly Resource[] {
  return [
    {
      pattern: '/admin/receivers',
      anyCase: false,
      polled: true,
      operations: {
        GET: {
          use: 'read',
          prepare: (request) => {
            const given = new GivenParameters(request, ['limit', 'offset', 'text'])
            const text = given.folded('text')
            const offset = given.whole('offset', 0, 0, 10_000_000)
            const limit = given.whole('limit', 100, 1, 1000)
            return given.prepared(async () => {
              const { count, receivers } = await broker.subscriptions.receivers({ text, offset, limit })
              const list: ReceiverList = { count, receivers: receivers.map(receiverShown) }
              return json(list)
            })
          },
        },
      },
    },
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

/** A date as responses have it, if there is one. */
function optionalDate(date: Milliseconds | undefined): string | undefined {
  return date === undefined ? undefined : dateText(date)
}

/** What is wrong now: how many alarms there are of each kind, and the newest of them. */
export interface AlarmList {
  readonly counts: Partial<AlarmCounts>
  readonly alarms: readonly ShownAlarm[]
}

/** An alarm with its dates as texts. */
export interface ShownAlarm extends Omit<ActiveAlarm, 'since' | 'last'> {
  readonly since: string
  readonly last: string
}

/** What is wrong, since when, how often [console: data], [management 10.7]. */
export function alarmViews({ peers }: Pick<ConsoleParts, 'peers'>): readonly Resource[] {
  return [
    {
      pattern: '/admin/alarms',
      anyCase: false,
      polled: true,
      operations: {
        GET: {
          use: 'read',
          prepare: (request) => {
            const given = new GivenParameters(request, ['limit', 'kind'])
            const limit = given.whole('limit', 100, 1, 1000)
            const kind = given.oneOf('kind', alarmKinds)
            return given.prepared(async () => {
              // Of one kind all are asked for, since others may be newer.
              const [counts, lists] = await Promise.all([
                peers.gather('alarms', undefined),
                peers.gather('activeAlarms', kind === undefined ? limit : mostAsked),
              ])
              const fitting = lists.flat().filter((alarm) => kind === undefined || alarm.kind === kind)
              const list: AlarmList = {
                counts: Object.assign({}, ...counts),
                alarms: fitting.slice(0, limit).map(alarmShown),
              }
              return json(list)
            })
          },
        },
      },
    },
  ]
}

/** As many as are kept. */
const mostAsked = 10_000

function alarmShown({ since, last, ...alarm }: ActiveAlarm): ShownAlarm {
  return { ...alarm, since: dateText(since), last: dateText(last) }
}
