import type { Selector } from '../../model/context/query.js'
import { meansEntity } from '../../model/subscription/matcher-index.js'
import { shownStatus, termsOf } from '../../model/subscription/patch.js'
import type { Subscription, SubscriptionInForce } from '../../model/subscription/subscription.js'
import { urlWithoutSecrets } from '../../observe/log/secrets.js'
import { mapInSlices } from '../../slices.js'
import type { Milliseconds } from '../../time.js'
import type { ShownSubscription, SubscriptionPage, SubscriptionSearch } from '../services/broker.js'

/**
 * A page of the subscriptions that fit, of those given. How their deliveries go, which has to be asked for, is asked for
 * those of the page only, unless it decides which they are.
 */
export async function searched(
  all: readonly SubscriptionInForce[],
  { status, offset, limit, ...which }: SubscriptionSearch,
  shown: (found: readonly SubscriptionInForce[]) => Promise<readonly ShownSubscription[]>,
  at: Milliseconds,
): Promise<SubscriptionPage> {
  const fits = testOf(which)
  const kept = await mapInSlices(all, ({ subscription }) => fits(subscription))
  const found = all.filter((_, number) => kept[number] === true)
  const end = offset + limit
  if (status === undefined) return { count: found.length, subscriptions: await shown(found.slice(offset, end)) }
  const ofStatus = (await shown(found)).filter((each) => statusOf(each, at) === status)
  return { count: ofStatus.length, subscriptions: ofStatus.slice(offset, end) }
}

function statusOf({ subscription, delivery, fired }: ShownSubscription, at: Milliseconds) {
  const status = fired ? 'inactive' : termsOf(subscription).status
  return shownStatus(status, subscription.expires, delivery.failsCounter, at)
}

function testOf({
  tenant,
  receiver,
  text,
  about,
}: Pick<SubscriptionSearch, 'tenant' | 'receiver' | 'text' | 'about'>): (subscription: Subscription) => boolean {
  return (subscription) => {
    if (tenant !== undefined && subscription.tenant !== tenant) return false
    if (receiver !== undefined && !urlWithoutSecrets(subscription.reference).toLowerCase().includes(receiver))
      return false
    if (about !== undefined && !meansEntity(subscription, about)) return false
    return text === undefined || textsOf(subscription).some((each) => each.toLowerCase().includes(text))
  }
}

/** All texts of a subscription that a search looks at, without secrets. */
function textsOf({ id, tenant, path, selectors, attributes, onChange = [], reference, terms }: Subscription) {
  const { description = '', condition } = terms ?? {}
  const { q = '', mq = '' } = condition?.expression ?? {}
  const jexl = condition?.jexl ?? ''
  const words = [id, tenant, path.path, urlWithoutSecrets(reference), description, q, mq, jexl]
  return [...words, ...selectors.flatMap(textsOfSelector), ...attributes, ...onChange]
}

function textsOfSelector({ id, type, typePattern }: Selector): readonly string[] {
  const ofId = id.kind === 'exact' ? id.id : id.kind === 'pattern' ? id.pattern : ''
  return [ofId, type ?? '', typePattern ?? '']
}
