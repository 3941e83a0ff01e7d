import type { AvailabilityRenderer } from '../../registration/availability.js'
import type { RegisteredContext } from '../../registration/registration.js'
import { LongText, type Steps } from '../../slices.js'

/** The member `contextRegistrationResponses` of discoveries and notifications, in steps [subscriptions 7.2, 7.4]. */
export function* renderRegistered(contexts: readonly RegisteredContext[]): Steps<string> {
  const items = new LongText()
  for (const context of contexts) {
    items.push(JSON.stringify({ contextRegistration: contextRegistration(context) }))
    yield
  }
  return `"contextRegistrationResponses":[${items.joined}]`
}

/** The body of a notification about registrations [subscriptions 7.4]. */
export const renderAvailabilityNotification: AvailabilityRenderer = function* (subscriptionId, contexts) {
  return `{"subscriptionId":${JSON.stringify(subscriptionId)},${yield* renderRegistered(contexts)}}`
}

/** Attributes are left out where the provider answers for the whole entity. */
function contextRegistration({ entities, attributes, provider }: RegisteredContext): unknown {
  return {
    entities: entities.map(({ id, type }) => ({ type, isPattern: 'false', id })),
    ...(attributes.length > 0 && {
      attributes: attributes.map(({ name, type, isDomain }) => ({ name, type, isDomain: String(isDomain) })),
    }),
    providingApplication: provider,
  }
}
