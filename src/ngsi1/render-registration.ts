import type { AvailabilityWording } from '../registration/availability.js'
import type { RegisteredContext } from '../registration/registration.js'

/** What is registered, as discoveries and notifications show it [subscriptions 7.2, 7.4]. */
export function contextRegistrationResponses(contexts: readonly RegisteredContext[]): readonly unknown[] {
  return contexts.map((context) => ({ contextRegistration: contextRegistration(context) }))
}

/** The body of a notification about registrations [subscriptions 7.4]. */
export const wordAvailability: AvailabilityWording = (subscriptionId, contexts) =>
  JSON.stringify({ subscriptionId, contextRegistrationResponses: contextRegistrationResponses(contexts) })

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
