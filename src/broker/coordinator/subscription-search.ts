import { LruCache } from '../../lru-cache.js'
import type { EntityId, EntityType } from '../../model/context/entity.js'
import { acceptedPattern, type Pattern } from '../../model/context/pattern.js'
import type { PathRange, Selector } from '../../model/context/query.js'
import { lastNotified } from '../../model/subscription/clocks.js'
import { isProposedOnly } from '../../model/subscription/decisions.js'
import { meansEntity } from '../../model/subscription/matcher-index.js'
import { hasFired, shownStatus, termsOf } from '../../model/subscription/patch.js'
import type { Subscription, SubscriptionInForce } from '../../model/subscription/subscription.js'
import { urlWithoutSecrets } from '../../observe/log/secrets.js'
import { err, ok, type Result } from '../../result.js'
import { inSlicesUntil, mapInSlices, Slices, type Steps } from '../../slices.js'
import type { Milliseconds } from '../../time.js'
import type {
  ShownSubscription,
  SubscriptionFilter,
  SubscriptionPage,
  SubscriptionSearch,
  Unavailable,
  WhichPage,
} from '../front-end/broker.js'

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
  const slices = new Slices()
  const kept = await mapInSlices(all, ({ subscription }) => fits(subscription))
  const found = all.filter((_, number) => kept[number] === true)
  const end = offset + limit
  if (status === undefined) return { count: found.length, subscriptions: await shown(found.slice(offset, end)) }
  let count = 0
  const subscriptions: ShownSubscription[] = []
  for (let from = 0; from < found.length; from += shownAtOnce) {
    const ofStatus = (await shown(found.slice(from, from + shownAtOnce))).filter(
      (each) => statusOf(each, at) === status,
    )
    subscriptions.push(...ofStatus.slice(Math.max(0, offset - count), Math.max(0, end - count)))
    count += ofStatus.length
    if (slices.isOver) await slices.next()
  }
  return { count, subscriptions }
}

/** Subscriptions whose deliveries are asked for in one message: each thread on its way reads and writes it in one piece. */
const shownAtOnce = 512

/**
 * The subscriptions of a list, of all records, by creation; refuses when that takes longer than a query may take. A tenant may have
 * thousands of patterns, each of which is compiled in up to 20 ms.
 */
export async function listed(
  records: readonly SubscriptionInForce[],
  which: Pick<WhichPage, 'tenant' | 'paths' | 'filter'>,
  at: Milliseconds,
  limit_ms: number,
): Promise<Result<readonly SubscriptionInForce[], Unavailable>> {
  const until = performance.now() + limit_ms
  const found = await inSlicesUntil(listing(records, which, at), () => performance.now() > until)
  return found === undefined ? err({ kind: 'queryLate' }) : ok(found)
}

function* listing(
  records: readonly SubscriptionInForce[],
  { tenant, paths, filter = {} }: Pick<WhichPage, 'tenant' | 'paths' | 'filter'>,
  at: Milliseconds,
): Steps<readonly SubscriptionInForce[]> {
  const { url, entity, type, attributes, status } = filter
  const names = attributes && new Set(attributes)
  const patterns = new LruCache<Pattern>(patterns_bytes)
  const found: SubscriptionInForce[] = []
  for (const held of records) {
    const { subscription } = held
    yield
    if (subscription.tenant !== tenant || subscription.interval_ms !== undefined || isProposedOnly(subscription))
      continue
    if (paths?.some((path) => isSamePath(path, subscription.path)) === false) continue
    if (url !== undefined && !subscription.reference.startsWith(url)) continue
    if (status !== undefined && statusInNgsi2(held, at) !== status) continue
    if (names !== undefined && !isTriggeredBy(subscription.onChange, names)) continue
    if (yield* areSome(subscription.selectors, entity, type, patterns)) found.push(held)
  }
  return found
}

function isSamePath(a: PathRange, b: PathRange): boolean {
  return a.path === b.path && a.below === b.below
}

/** The compiled patterns that are kept during a search: those used lately. */
const patterns_bytes = 8 * 2 ** 20

/** About what a compiled pattern takes. */
const pattern_bytes = 16 * 2 ** 10

function statusInNgsi2({ subscription, clock }: SubscriptionInForce, at: Milliseconds): SubscriptionFilter['status'] {
  if (at >= subscription.expires) return 'expired'
  const terms = termsOf(subscription)
  return hasFired(terms, lastNotified(clock)) ? 'inactive' : terms.status
}

function isTriggeredBy(onChange: Subscription['onChange'], names: ReadonlySet<string>): boolean {
  return onChange !== undefined && (onChange.length === 0 || onChange.some((name) => names.has(name)))
}

/** Whether one of the selectors means an entity of this id and this type; undefined stands for any. */
function* areSome(
  selectors: readonly Selector[],
  entity: EntityId | undefined,
  type: EntityType | undefined,
  patterns: LruCache<Pattern>,
): Steps<boolean> {
  if (entity === undefined && type === undefined) return true
  for (const { id, type: ownType, typePattern } of selectors) {
    yield
    if (entity !== undefined && id.kind === 'exact' && id.id !== entity) continue
    if (type !== undefined && ownType !== undefined && ownType !== type) continue
    if (type !== undefined && typePattern !== undefined && !patternOf(typePattern, patterns).test(type)) continue
    if (entity === undefined || id.kind !== 'pattern' || patternOf(id.pattern, patterns).test(entity)) return true
  }
  return false
}

function patternOf(text: string, patterns: LruCache<Pattern>): Pattern {
  const known = patterns.get(text)
  if (known !== undefined) return known
  const pattern = acceptedPattern(text)
  patterns.put(text, pattern, pattern_bytes)
  return pattern
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
