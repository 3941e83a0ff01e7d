import type { IndexedContext } from '../../registration/indexed-contexts.js'
import { resourceIdOf } from '../../registration/registered-resources.js'
import { everyIdPattern, type RegisteredEntity, registrationTermsOf } from '../../registration/registration.js'
import { listText, type Steps } from '../../slices.js'
import { never } from '../../time.js'
import { dateText } from './date-text.js'

/** The resource of a registered context, whichever interface has made it, as NGSIv2 shows it [NGSIv2 subscriptions 9, 10]. */
export function renderRegistration(resource: IndexedContext): string {
  const { registration, context } = resource
  const { description, status, mode, legacy } = registrationTermsOf(registration)
  const { entities, attributes, provider } = context
  return JSON.stringify({
    id: resourceIdOf(resource),
    ...(description !== '' && { description }),
    ...(registration.expires < never && { expires: dateText(registration.expires) }),
    dataProvided: { entities: entities.map(entityShown), attrs: attributes.map(({ name }) => name) },
    provider: { http: { url: provider }, supportedForwardingMode: mode, legacyForwarding: legacy },
    status,
  })
}

/** A list of them, in steps: each may be as long as a payload. */
export function renderRegistrations(resources: readonly IndexedContext[]): Steps<string> {
  return listText(resources, renderRegistration)
}

function entityShown({ id, type, everyId }: RegisteredEntity): unknown {
  return { ...(everyId ? { idPattern: everyIdPattern } : { id }), ...(type !== '' && { type }) }
}
