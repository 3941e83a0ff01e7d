import type { Answer, Asked, Operation, StatusText } from '../api.js'
import type { EntityId, EntityType, ServicePath, Tenant } from '../context/entity.js'
import type { PathRange } from '../context/query.js'
import type { RegisteredContext } from '../registration/registration.js'
import { granted, type Outcome, refused } from '../result.js'
import { checkSegments } from './convenience.js'
import { originOf } from './forward/origin.js'
import { unknownId } from './parse/given-id.js'
import {
  parseProvider,
  parseRegistration,
  parseTold,
  type RegistrationPayload,
  type ToldPayload,
} from './parse/registration-payload.js'
import { type NamedByPath, namedByPath } from './parse/registry-path.js'
import { detailsOfPayload } from './render/payload-errors.js'
import { bodyAnswer, payloadAnswer, unavailableAnswer } from './render/responses.js'
import { okStatus, statusOf } from './render/status.js'
import { type Environment, forTenant, reading, readTraced } from './services.js'

/** `POST /v1/registry/registerContext` [subscriptions 7.1]. */
export function registerContext(environment: Environment): Operation {
  return {
    use: 'write',
    wrapStatus: (status) => notRegistered(unknownId, status),
    prepare: reading(environment, function* (asked) {
      const payload = yield* readTraced(
        environment,
        asked.body,
        parseRegistration(asked.body, environment.options.strictNgsiv1Ids),
      )
      if (!payload.ok) {
        const { refusal } = payload
        return refused(bodyAnswer(notRegistered(refusal.registrationId, statusOf(400, detailsOfPayload(refusal)))))
      }
      return granted(() =>
        forTenant(environment, asked, (tenant) => register(environment, asked, tenant, payload.value)),
      )
    }),
  }
}

/** POST on the paths of convenience registrations: registers a provider for what the path names [subscriptions 7.6]. */
export function registerByPath(environment: Environment): Operation {
  const { strictNgsiv1Ids } = environment.options
  return {
    use: 'write',
    prepare: reading(environment, function* (asked) {
      const wrong = checkSegments(asked, strictNgsiv1Ids)
      if (wrong) return refused(wrong)
      const payload = yield* readTraced(environment, asked.body, parseProvider(asked.body, strictNgsiv1Ids))
      if (!payload.ok) return refused(payloadAnswer({ parser: 'orionError', checks: 'errorCode' }, payload.refusal))
      const { provider, ...terms } = payload.value
      return granted(() =>
        forTenant(environment, asked, (tenant) => {
          const named = namedByPath(asked)
          if (!named.ok) return bodyAnswer(notRegistered(unknownId, named.refusal))
          const contexts = [contextOf(named.value, provider)]
          return register(environment, asked, tenant, { contexts, ...terms })
        }),
      )
    }),
  }
}

/** `POST /v1/registry/notifyContextAvailability` [subscriptions 7.5]. */
export function notifyContextAvailability(environment: Environment): Operation {
  return {
    use: 'write',
    wrapStatus: (responseCode) => ({ responseCode }),
    prepare: reading(environment, function* (asked) {
      const payload = yield* readTraced(
        environment,
        asked.body,
        parseTold(asked.body, environment.options.strictNgsiv1Ids),
      )
      if (!payload.ok) {
        return refused(bodyAnswer({ responseCode: statusOf(400, detailsOfPayload(payload.refusal)) }))
      }
      return granted(() =>
        forTenant(environment, asked, (tenant) => takeNote(environment, asked, tenant, payload.value)),
      )
    }),
  }
}

async function register(
  environment: Environment,
  asked: Asked,
  tenant: Tenant,
  { givenId, duration, ...what }: RegistrationPayload,
): Promise<Answer> {
  const path = pathOfRegistration(asked.paths)
  if (!path.ok) return bodyAnswer(notRegistered(unknownId, path.refusal))
  const origin = originOf(environment, asked)
  const registered = await environment.broker.registry.register({ ...what, tenant, path: path.value, ...origin })
  if (registered.ok) return bodyAnswer({ duration, registrationId: registered.value })
  const { refusal } = registered
  if (refusal.kind !== 'registrationUnknown') return unavailableAnswer(refusal)
  return bodyAnswer(notRegistered(givenId, statusOf(404, `registration id: /${givenId}/`)))
}

async function takeNote(environment: Environment, asked: Asked, tenant: Tenant, told: ToldPayload): Promise<Answer> {
  const path = pathOfRegistration(asked.paths)
  if (!path.ok) return bodyAnswer({ responseCode: path.refusal })
  const origin = originOf(environment, asked)
  const stored = await environment.broker.registry.notified({ ...told, tenant, path: path.value, ...origin })
  return stored.ok ? bodyAnswer({ responseCode: okStatus }) : unavailableAnswer(stored.refusal)
}

/** The one path that a registration belongs to [subscriptions 7.1]. */
function pathOfRegistration([first, ...others]: readonly PathRange[]): Outcome<ServicePath, StatusText> {
  if (first === undefined) return granted('/' as ServicePath)
  if (others.length > 0) return refused(statusOf(400, 'more than one service path for notification'))
  return first.below ? refused(statusOf(400, 'Bad Character in Service-Path')) : granted(first.path)
}

/** What the path does not name is empty; the attribute has neither a type nor a domain [subscriptions 7.6]. */
function contextOf({ id, type, attribute }: NamedByPath, provider: string): RegisteredContext {
  return {
    entities: [{ id: id ?? ('' as EntityId), type: type ?? ('' as EntityType) }],
    attributes: attribute === undefined ? [] : [{ name: attribute, type: '', isDomain: false }],
    provider,
  }
}

function notRegistered(registrationId: string, errorCode: StatusText): unknown {
  return { registrationId, errorCode }
}
