import { type Given, refuse } from '../../api/ngsi2/parse/tree.js'
import { type Area, parseArea } from '../../model/context/geo/area.js'
import { pathRangeText, type Scope } from '../../model/context/query.js'
import type { AvailabilitySubscription } from '../../model/registration/availability.js'
import type { DeliveryStats } from '../../model/subscription/notice.js'
import type { SubscriptionId } from '../../model/subscription/subscription.js'
import { parseNotificationUrl, streamReference } from '../../model/subscription/targets.js'
import { type Milliseconds, never } from '../../time.js'
import { type AvailabilityItem, leftOut, type PartLoss, type SubscriptionItem } from './items.js'
import { LineFields, lineDate, lineText } from './line-fields.js'
import { readLineSelectors, selectorMembers } from './selector-fields.js'
import { hidesPassword, readTerms, termsMembers } from './terms-fields.js'

export function subscriptionLine({ subscription, stats, ticked }: SubscriptionItem): string {
  const { id, tenant, path, selectors, attributes, reference, expires, throttling_ms } = subscription
  const { onChange, interval_ms, scopes, terms } = subscription
  return lineText('subscription', tenant, {
    servicePath: pathRangeText(path),
    id,
    entities: selectors.map(selectorMembers),
    attributes,
    url: reference,
    expires: expires < never ? lineDate(expires) : undefined,
    throttling_ms,
    onChange,
    interval_ms,
    scopes: scopes.length === 0 ? undefined : scopes.map(scopeMembers),
    terms: terms && termsMembers(terms),
    delivery: stats && deliveryMembers(stats),
    ticked: ticked === undefined ? undefined : lineDate(ticked),
  })
}

const names = new Set([
  'kind',
  'tenant',
  'servicePath',
  'id',
  'entities',
  'attributes',
  'url',
  'expires',
  'throttling_ms',
  'onChange',
  'interval_ms',
  'scopes',
  'terms',
  'delivery',
  'ticked',
])

/** Reads the line of a subscription. Only within `checked`. */
export function readSubscriptionLine(line: Given): SubscriptionItem {
  const fields = new LineFields(line, '').only(names)
  const terms = fields.given('terms')
  const reference = fields.text('url')
  const read = terms === undefined ? undefined : readTerms(terms, reference)
  if (read === undefined && reference !== streamReference) checkUrl(reference)
  return {
    kind: 'subscription',
    subscription: {
      id: fields.hexId() as SubscriptionId,
      tenant: fields.tenant(),
      path: fields.pathRange(),
      selectors: readLineSelectors(fields),
      attributes: fields.texts('attributes'),
      reference,
      expires: fields.date('expires', never),
      throttling_ms: fields.optionalNumber('throttling_ms', 0) ?? 0,
      onChange: fields.given('onChange') === undefined ? undefined : fields.texts('onChange'),
      interval_ms: fields.optionalNumber('interval_ms', 1),
      scopes: fields.list('scopes', readScope),
      ...(read && { terms: read }),
    },
    stats: fields.given('delivery') === undefined ? undefined : readDelivery(fields.given('delivery')),
    ticked: fields.optionalDate('ticked'),
  }
}

/** A subscription as it can be stored, and what that lacks: without its password nobody can log in as a user. */
export function withoutHiddenPassword(item: SubscriptionItem): readonly [SubscriptionItem, readonly PartLoss[]] {
  const { terms } = item.subscription
  if (terms === undefined || !hidesPassword(terms.notification.target)) return [item, []]
  const target = { ...terms.notification.target, user: undefined, passwd: undefined }
  const notification = { ...terms.notification, target }
  return [
    { ...item, subscription: { ...item.subscription, terms: { ...terms, notification } } },
    [leftOut(`the user ${terms.notification.target.user} of MQTT, whose password the export does not have`)],
  ]
}

export function availabilityLine({ subscription }: AvailabilityItem): string {
  const { id, tenant, selectors, attributes, reference, expires } = subscription
  return lineText('availability', tenant, {
    id,
    entities: selectors.map(selectorMembers),
    attributes,
    url: reference,
    expires: expires < never ? lineDate(expires) : undefined,
  })
}

const availabilityNames = new Set(['kind', 'tenant', 'id', 'entities', 'attributes', 'url', 'expires'])

/** Reads the line of an availability subscription. Only within `checked`. */
export function readAvailabilityLine(line: Given): AvailabilityItem {
  const fields = new LineFields(line, '').only(availabilityNames)
  const reference = fields.text('url')
  checkUrl(reference)
  const subscription: Omit<AvailabilitySubscription, 'order'> = {
    id: fields.hexId() as SubscriptionId,
    tenant: fields.tenant(),
    selectors: readLineSelectors(fields),
    attributes: fields.texts('attributes'),
    reference,
    expires: fields.date('expires', never),
  }
  return { kind: 'availability', subscription }
}

function checkUrl(reference: string): void {
  const scheme = parseNotificationUrl(reference)?.scheme
  if (scheme !== 'http' && scheme !== 'https') refuse(`url is no URL of http or https: ${reference}`)
}

/** A scope of initial notifications and ticks, in NGSIv1's words: an area, or the existence of a type. */
function scopeMembers(scope: Scope): object {
  if (scope.kind === 'typed' || scope.kind === 'untyped') return { kind: scope.kind }
  if (scope.kind === 'area') return { kind: 'area', area: areaMembers(scope.area) }
  throw new Error(`a subscription has a scope that none can have: ${scope.kind}`)
}

function areaMembers(area: Area): object {
  const { inverted } = area
  if (area.kind === 'polygon') return { polygon: { vertices: area.vertices, inverted } }
  const { latitude, longitude } = area.centre
  return { circle: { centerLatitude: latitude, centerLongitude: longitude, radius: area.radius_m, inverted } }
}

const scopeNames = new Set(['kind', 'area'])

function readScope(given: Given, where: string): Scope {
  const fields = new LineFields(given, where).only(scopeNames)
  const kind = fields.one('kind', ['typed', 'untyped', 'area'])
  if (kind !== 'area') return { kind }
  const area = parseArea(fields.value('area'))
  return area.ok ? { kind, area: area.value } : refuse(`${where}.area is none: ${area.error.kind}`)
}

function deliveryMembers(stats: DeliveryStats): object {
  const { sent, discarded, lastNotification, lastSuccess, lastSuccessCode } = stats
  const { lastFailure, lastFailureReason, fails, attempted } = stats
  return {
    sent,
    discarded,
    fails,
    lastNotification: optionalLineDate(lastNotification),
    lastSuccess: optionalLineDate(lastSuccess),
    lastSuccessCode,
    lastFailure: optionalLineDate(lastFailure),
    lastFailureReason,
    attempted: optionalLineDate(attempted),
  }
}

function optionalLineDate(moment: Milliseconds | undefined): string | number | undefined {
  return moment === undefined ? undefined : lineDate(moment)
}

const deliveryNames = new Set([
  'sent',
  'discarded',
  'fails',
  'lastNotification',
  'lastSuccess',
  'lastSuccessCode',
  'lastFailure',
  'lastFailureReason',
  'attempted',
])

function readDelivery(given: Given): DeliveryStats {
  const fields = new LineFields(given, 'delivery').only(deliveryNames)
  const [lastNotification, attempted] = [fields.optionalDate('lastNotification'), fields.optionalDate('attempted')]
  const [lastSuccess, lastFailure] = [fields.optionalDate('lastSuccess'), fields.optionalDate('lastFailure')]
  const lastSuccessCode = fields.optionalNumber('lastSuccessCode', 0)
  const lastFailureReason = fields.optionalText('lastFailureReason')
  return {
    sent: fields.optionalNumber('sent', 0) ?? 0,
    discarded: fields.optionalNumber('discarded', 0) ?? 0,
    tried: [],
    fails: fields.optionalNumber('fails', 0) ?? 0,
    ...(lastNotification !== undefined && { lastNotification }),
    ...(lastSuccess !== undefined && { lastSuccess }),
    ...(lastSuccessCode !== undefined && { lastSuccessCode }),
    ...(lastFailure !== undefined && { lastFailure }),
    ...(lastFailureReason !== undefined && { lastFailureReason }),
    ...(attempted !== undefined && { attempted }),
  }
}
