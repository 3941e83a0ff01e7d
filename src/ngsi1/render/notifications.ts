import type { Entity } from '../../context/entity.js'
import type { AvailabilityRenderer } from '../../registration/availability.js'
import type { RegisteredContext } from '../../registration/registration.js'
import { LongText, type Steps } from '../../slices.js'
import type { NoticeRenderer } from '../../subscription/notice.js'
import type { SubscriptionId } from '../../subscription/subscription.js'
import { renderFound } from './elements.js'

const array = { asObject: false }

/**
 * The body of a notification: what a query would show of the entities [subscriptions 4.2]. An entity without attributes
 * can only be here if no attributes are named; then it is shown without any, as a query does [subscriptions 3.5].
 */
export const renderNotice: NoticeRenderer = ({ id, attributes }, entities) =>
  renderedFor(id, renderFound(entities, attributes, array))

/** The same renderer for many notifications about one entity: remembers what was rendered last, and for which subscription. */
export function rememberingNotice(): NoticeRenderer {
  let last: { readonly of: Entity | undefined; readonly names: string; readonly text: string } | undefined
  return ({ id, attributes }, entities) => {
    const [of, ...others] = entities
    const names = JSON.stringify(attributes)
    if (others.length > 0 || of === undefined) return renderedFor(id, renderFound(entities, attributes, array))
    if (last?.of !== of || last.names !== names) last = { of, names, text: renderFound(entities, attributes, array) }
    return renderedFor(id, last.text)
  }
}

function renderedFor(id: SubscriptionId, found: string): string {
  return `{"subscriptionId":"${id}","originator":"localhost",${found}}`
}

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
    entities: entities.map(({ id, type, everyId = false }) => ({ type, isPattern: String(everyId), id })),
    ...(attributes.length > 0 && {
      attributes: attributes.map(({ name, type, isDomain }) => ({ name, type, isDomain: String(isDomain) })),
    }),
    providingApplication: provider,
  }
}
