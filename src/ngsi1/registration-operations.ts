import type { ApiRequest, ApiResponse, Operation, StatusText } from '../api.js'
import type { EntityId, EntityType, ServicePath, Tenant } from '../context/entity.js'
import type { PathRange } from '../context/query.js'
import type { RegisteredContext } from '../registration/registration.js'
import { err, ok, type Result } from '../result.js'
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
import { parseTraced } from './parse/traced.js'
import { detailsOfPayload } from './render/payload-errors.js'
import { bodyAnswer, payloadAnswer, unavailableAnswer } from './render/responses.js'
import { okStatus, statusOf } from './render/status.js'
import { forTenant, type Ngsi1Services, reading } from './services.js'

/** `POST /v1/registry/registerContext` [subscriptions 7.1]. */
export function registerContext(environment: Ngsi1Services): Operation {
  return {
    use: 'write',
    wrapStatus: (status) => notRegistered(unknownId, status),
    prepare: reading(environment, function* (asked) {
      const payload = yield* parseTraced(
        environment.log,
        asked.body,
        parseRegistration(asked.body, environment.options.strictNgsiv1Ids),
      )
      if (!payload.ok) {
        const { error } = payload
        return err(bodyAnswer(notRegistered(error.registrationId, statusOf(400, detailsOfPayload(error)))))
      }
      return ok(() => forTenant(environment, asked, (tenant) => register(environment, asked, tenant, payload.value)))
    }),
  }
}

/** POST on the paths of convenience registrations: registers a provider for what the path names [subscriptions 7.6]. */
export function registerByPath(environment: Ngsi1Services): Operation {
  const { strictNgsiv1Ids } = environment.options
  return {
    use: 'write',
    prepare: reading(environment, function* (asked) {
      const wrong = checkSegments(asked, strictNgsiv1Ids)
      if (wrong) return err(wrong)
      const payload = yield* parseTraced(environment.log, asked.body, parseProvider(asked.body, strictNgsiv1Ids))
      if (!payload.ok) return err(payloadAnswer({ parser: 'orionError', checks: 'errorCode' }, payload.error))
      const { provider, ...terms } = payload.value
      return ok(() =>
        forTenant(environment, asked, (tenant) => {
          const named = namedByPath(asked)
          if (!named.ok) return bodyAnswer(notRegistered(unknownId, named.error))
          const contexts = [contextOf(named.value, provider)]
          return register(environment, asked, tenant, { contexts, ...terms })
        }),
      )
    }),
  }
}

/** `POST /v1/registry/notifyContextAvailability` [subscriptions 7.5]. */
export function notifyContextAvailability(environment: Ngsi1Services): Operation {
  return {
    use: 'write',
    wrapStatus: (responseCode) => ({ responseCode }),
    prepare: reading(environment, function* (asked) {
      const payload = yield* parseTraced(
        environment.log,
        asked.body,
        parseTold(asked.body, environment.options.strictNgsiv1Ids),
      )
      if (!payload.ok) {
        return err(bodyAnswer({ responseCode: statusOf(400, detailsOfPayload(payload.error)) }))
      }
      return ok(() => forTenant(environment, asked, (tenant) => takeNote(environment, asked, tenant, payload.value)))
    }),
  }
}

async function register(
  environment: Ngsi1Services,
  asked: ApiRequest,
  tenant: Tenant,
  { givenId, duration, ...what }: RegistrationPayload,
): Promise<ApiResponse> {
  const path = pathOfRegistration(asked.paths)
  if (!path.ok) return bodyAnswer(notRegistered(unknownId, path.error))
  const origin = originOf(environment, asked)
  const registered = await environment.broker.registry.register({ ...what, tenant, path: path.value, ...origin })
  if (registered.ok) return bodyAnswer({ duration, registrationId: registered.value })
  const { error } = registered
  if (error.kind !== 'registrationUnknown') return unavailableAnswer(error)
  return bodyAnswer(notRegistered(givenId, statusOf(404, `registration id: /${givenId}/`)))
}

async function takeNote(
  environment: Ngsi1Services,
  asked: ApiRequest,
  tenant: Tenant,
  told: ToldPayload,
): Promise<ApiResponse> {
  const path = pathOfRegistration(asked.paths)
  if (!path.ok) return bodyAnswer({ responseCode: path.error })
  const origin = originOf(environment, asked)
  const stored = await environment.broker.registry.notified({ ...told, tenant, path: path.value, ...origin })
  return stored.ok ? bodyAnswer({ responseCode: okStatus }) : unavailableAnswer(stored.error)
}

/** The one path that a registration belongs to [subscriptions 7.1]. */
function pathOfRegistration([first, ...others]: readonly PathRange[]): Result<ServicePath, StatusText> {
  if (first === undefined) return ok('/' as ServicePath)
  if (others.length > 0) return err(statusOf(400, 'more than one service path for notification'))
  return first.below ? err(statusOf(400, 'Bad Character in Service-Path')) : ok(first.path)
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
