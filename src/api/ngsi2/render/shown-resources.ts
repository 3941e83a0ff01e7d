import type { ShownSubscription } from '../../../broker/front-end/broker.js'
import type { Value } from '../../../model/context/entity.js'
import type { Selector } from '../../../model/context/query.js'
import { isObject, quote, shownType } from '../../../model/context/value.js'
import { type IndexedContext, resourceIdOf } from '../../../model/registration/contexts.js'
import { everyIdPattern, type RegisteredEntity, registrationTermsOf } from '../../../model/registration/registration.js'
import { termsOf } from '../../../model/subscription/patch.js'
import type { Subscription } from '../../../model/subscription/subscription.js'
import {
  type HttpTarget,
  hiddenPassword,
  type MqttTarget,
  type SubscriptionTerms,
  type Template,
} from '../../../model/subscription/terms.js'
import { listText, type Steps } from '../../../slices.js'
import { dateText, type Milliseconds, never } from '../../../time.js'
import { ngsiShown } from './template-shown.js'

/** A subscription of either interface as NGSIv2 shows it at a moment [NGSIv2 subscriptions 2.1, 9]. */
export function renderSubscription({ subscription, delivery, fired }: ShownSubscription, at: Milliseconds): string {
  const { id, expires, throttling_ms } = subscription
  const terms = termsOf(subscription)
  const head = {
    id,
    ...(terms.description !== '' && { description: terms.description }),
    ...(expires < never && { expires: dateText(expires) }),
    status: at >= expires ? 'expired' : fired ? 'inactive' : terms.status,
    subject: subjectShown(subscription),
  }
  const notification = { notification: notificationText(subscription, terms, delivery) }
  return objectText(head, notification, throttling_ms > 0 ? { throttling: Math.ceil(throttling_ms / 1000) } : {})
}

/** A list of subscriptions, in steps: each may be as long as a payload. */
export function renderSubscriptions(shown: readonly ShownSubscription[], at: Milliseconds): Steps<string> {
  return listText(shown, (each) => renderSubscription(each, at))
}

/** Members whose values are JSON already. */
type WrittenMembers = Readonly<Record<string, string>>

/** An object with the members of some before and some after those whose values are JSON already. */
function objectText(before: object, written: WrittenMembers, after: object): string {
  const pieces = Object.entries(written).map(([name, json]) => `${quote(name)}:${json}`)
  return `{${[membersOf(before), ...pieces, membersOf(after)].filter((text) => text !== '').join(',')}}`
}

function membersOf(object: object): string {
  return JSON.stringify(object).slice(1, -1)
}

/** The subject of a subscription. */
export function subjectShown(subscription: Subscription) {
  const { selectors } = subscription
  return { entities: selectors.map(selectorShown), condition: conditionShown(subscription, termsOf(subscription)) }
}

export function selectorShown({ id, type, typePattern }: Selector) {
  return {
    ...(id.kind === 'exact' ? { id: id.id } : { idPattern: id.kind === 'pattern' ? id.pattern : '.*' }),
    ...(type !== undefined && type !== '' && { type }),
    ...(typePattern !== undefined && { typePattern }),
  }
}

function conditionShown({ onChange = [] }: Subscription, { condition }: SubscriptionTerms) {
  const { expression = {}, jexl, alterations = [], onMetadata = true } = condition ?? {}
  return {
    attrs: onChange,
    ...(Object.keys(expression).length > 0 && { expression }),
    ...(jexl !== undefined && { jexlExpression: jexl }),
    ...(alterations.length > 0 && { alterationTypes: alterations }),
    notifyOnMetadataChange: onMetadata,
  }
}

function notificationText(
  { attributes, reference }: Subscription,
  { notification, maxFails }: SubscriptionTerms,
  delivery: ShownSubscription['delivery'],
): string {
  const { target, format, excepts, metadata, onlyChanged, covered } = notification
  const { timesSent, failsCounter, lastNotification, lastSuccess, lastSuccessCode, lastFailure } = delivery
  const isHttp = target.kind === 'http'
  const before = {
    ...(timesSent > 0 && { timesSent }),
    ...(lastNotification !== undefined && { lastNotification: dateText(lastNotification) }),
    ...(excepts ? { exceptAttrs: attributes } : { attrs: attributes }),
    ...(metadata.length > 0 && { metadata }),
    onlyChangedAttrs: onlyChanged,
    attrsFormat: format,
  }
  const after = {
    ...(maxFails !== undefined && { maxFailsLimit: maxFails }),
    ...(failsCounter > 0 && { failsCounter }),
    ...(lastFailure !== undefined && { lastFailure: dateText(lastFailure) }),
    ...(isHttp && lastFailure !== undefined && { lastFailureReason: delivery.lastFailureReason }),
    ...(lastSuccess !== undefined && { lastSuccess: dateText(lastSuccess) }),
    ...(isHttp && lastSuccess !== undefined && { lastSuccessCode }),
    covered,
  }
  return objectText(before, isHttp ? httpMember(reference, target) : mqttMember(reference, target), after)
}

function httpMember(url: string, { timeout_ms, custom }: HttpTarget): WrittenMembers {
  const timeout = timeout_ms > 0 ? { timeout: timeout_ms } : {}
  if (custom === undefined) return { http: JSON.stringify({ url, ...timeout }) }
  const { method, qs, headers } = custom
  const request = {
    url,
    ...(method !== undefined && { method }),
    ...(qs !== undefined && { qs }),
    ...(headers !== undefined && { headers }),
  }
  return { httpCustom: objectText(request, templateMember(custom), timeout) }
}

function mqttMember(url: string, { topic, qos, retain, user, custom }: MqttTarget): WrittenMembers {
  const credentials = user !== undefined && { user, passwd: hiddenPassword }
  const shown = { url, topic, qos, retain, ...credentials }
  if (custom === undefined) return { mqtt: JSON.stringify(shown) }
  return { mqttCustom: objectText(shown, templateMember(custom), {}) }
}

function templateMember({ payload, json, ngsi }: Template): WrittenMembers {
  return {
    ...(payload !== undefined && payload !== '' && { payload: JSON.stringify(payload) }),
    ...(json !== undefined && { json }),
    ...(ngsi !== undefined && { ngsi: ngsiShown(ngsi) }),
  }
}

/** An attribute or metadata element of a template: its value, null without one, and the given type or that of its kind. */
export function typedMember(given: Value): { readonly type: string; readonly value: Value } {
  const type = valueMember(given, 'type')
  const value = valueMember(given, 'value') ?? null
  return { type: shownType({ type: typeof type === 'string' ? type : '', value }), value }
}

/** A member of an object; undefined for other values. */
export function valueMember(value: Value | undefined, name: string): Value | undefined {
  return value !== undefined && isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

/** A registered context of either interface as a resource of NGSIv2 [NGSIv2 subscriptions 9, 10]. */
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

/** A list of registrations, in steps: each may be as long as a payload. */
export function renderRegistrations(resources: readonly IndexedContext[]): Steps<string> {
  return listText(resources, renderRegistration)
}

function entityShown({ id, type, everyId }: RegisteredEntity): unknown {
  return { ...(everyId ? { idPattern: everyIdPattern } : { id }), ...(type !== '' && { type }) }
}
