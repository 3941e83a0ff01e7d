import type { StatusText } from '../../../broker/operations/api.js'
import type { ShownAttribute, ShownEntity } from '../../../broker/providers/query-plan.js'
import { ordinaryMetadata } from '../../../model/context/attribute.js'
import { compareBytes, type Entity, type Metadata } from '../../../model/context/entity.js'
import { plainMetadata, renderHeld, valueHeld } from '../../../model/context/large/large-attribute.js'
import { isMarked } from '../../../model/context/location.js'
import { shownAttributes } from '../../../model/context/query.js'
import type { GivenAttribute } from '../../../model/context/update.js'
import { quote, renderValue } from '../../../model/context/value.js'
import type { AvailabilityRenderer } from '../../../model/registration/availability.js'
import type { RegisteredContext } from '../../../model/registration/registration.js'
import type { NoticeRenderer } from '../../../model/subscription/notice.js'
import type { SubscriptionId } from '../../../model/subscription/subscription.js'
import { LongText, Slices, type Steps } from '../../../slices.js'
import type { ElementResponse } from '../element-results.js'
import { okStatus } from './status.js'

/** The form of attributes: an array, or an object keyed by name [context 7.8]. */
export interface AttributeFormat {
  readonly asObject: boolean
}

/** The part of an element that identifies an entity, in responses. */
interface ElementHead {
  readonly type: string
  readonly isPattern: boolean
  readonly id: string
}

/** An element of a response; `attributes` is the text of the member, empty when there are none [context 6.3, 7.3]. */
export function renderElement(head: ElementHead, attributes: string): string {
  return `{${renderHead(head)}${attributes === '' ? '' : ','}${attributes}}`
}

/** The members that identify an entity, without braces. */
export function renderHead({ type, isPattern, id }: ElementHead): string {
  return `"type":${quote(type)},"isPattern":"${isPattern}","id":${quote(id)}`
}

export function renderItem(attributes: string, status: StatusText): string {
  return `{${attributes}${attributes === '' ? '' : ','}"statusCode":${renderStatus(status)}}`
}

/** The response to an update: one item per element response [context 6.3]. */
export function renderUpdate(responses: readonly ElementResponse[], format: AttributeFormat): string {
  return wrapResponses(renderResponses(responses, format))
}

/** Items of the response to an update, separated by commas. */
export function renderResponses(responses: readonly ElementResponse[], format: AttributeFormat): string {
  let text = ''
  for (const response of responses) text += `${text === '' ? '' : ','}${renderResponse(response, format)}`
  return text
}

/** The response to an update, from its items. */
export function wrapResponses(items: string): string {
  return `{"contextResponses":[${items}]}`
}

/** The response to an update with many or long items, rendered in slices. */
export async function renderLargeUpdate(
  responses: readonly ElementResponse[],
  format: AttributeFormat,
): Promise<string> {
  const items = new LongText()
  const slices = new Slices()
  for (const response of responses) {
    items.push(renderResponse(response, format))
    if (slices.isOver) await slices.next()
  }
  return wrapResponses(items.joined)
}

function renderResponse(response: ElementResponse, format: AttributeFormat): string {
  const element = renderElement(response, renderEcho(response.attributes, format))
  return `{"contextElement":${element},"statusCode":${renderStatus(response.status)}}`
}

/** The member `contextResponses` of found entities, with the named attributes [context 7.5], [subscriptions 4.2]. */
function renderFound(entities: readonly ShownEntity[], names: readonly string[], format: AttributeFormat): string {
  let text = ''
  for (const entity of entities) text += `${text === '' ? '' : ','}${renderResult(entity, names, format)}`
  return `"contextResponses":[${text}]`
}

/** An item of `contextResponses`: a found entity with the named attributes. */
export function renderResult(entity: ShownEntity, names: readonly string[], format: AttributeFormat): string {
  return `{"contextElement":${renderEntity(entity, names, format)},"statusCode":${okText}}`
}

/** An entity with the named attributes; all of them without names [context 7.3]. */
export function renderEntity(entity: ShownEntity, names: readonly string[], format: AttributeFormat): string {
  const attributes = renderStored(shownAttributes(entity, names), format)
  return renderElement({ type: entity.type, isPattern: false, id: entity.id }, attributes)
}

/** The member `attributes` of a stored entity; empty when there are none [context 2.7]. */
export function renderStored(attributes: readonly ShownAttribute[], format: AttributeFormat): string {
  return renderAttributes(attributes, renderStoredBody, format)
}

/** The member `attributes` of an echo, in which values are always empty [context 6.3]; empty when there are none. */
export function renderEcho(attributes: readonly GivenAttribute[], format: AttributeFormat): string {
  return renderAttributes(attributes, renderEchoBody, format)
}

/** The member `attributes` of a request, as its client gives them; empty when there are none [subscriptions 8.3]. */
export function renderGiven(attributes: readonly GivenAttribute[]): string {
  return renderAttributes(attributes, renderGivenBody, { asObject: false })
}

/** A status object [context 1.1]. */
export function renderStatus(status: StatusText): string {
  return status === okStatus ? okText : JSON.stringify(status)
}

const okText = JSON.stringify(okStatus)

interface Instance {
  readonly name: string
  readonly instance: string
}

function renderAttributes<Attr extends Instance>(
  attributes: readonly Attr[],
  renderBody: (attribute: Attr) => string,
  { asObject }: AttributeFormat,
): string {
  if (attributes.length === 0) return ''
  let text = ''
  for (const attribute of asObject ? firstInstances(attributes) : attributes) {
    const name = quote(attribute.name)
    const body = renderBody(attribute)
    text += `${text === '' ? '' : ','}${asObject ? `${name}:{${body}}` : `{"name":${name},${body}}`}`
  }
  return `"attributes":${asObject ? `{${text}}` : `[${text}]`}`
}

/** For each name the instance with the smallest ID, at the place where the name comes first. */
function firstInstances<Attr extends Instance>(attributes: readonly Attr[]): readonly Attr[] {
  const first = new Map<string, Attr>()
  for (const attribute of attributes) {
    const held = first.get(attribute.name)
    if (!held || compareBytes(attribute.instance, held.instance) < 0) first.set(attribute.name, attribute)
  }
  return [...first.values()]
}

function renderStoredBody(attribute: ShownAttribute): string {
  const { type, instance } = attribute
  const metadata = plainMetadata(ordinaryMetadata(attribute.metadata, attribute))
  const location = isMarked(attribute) ? 'WGS84' : undefined
  return `"type":${quote(type)},"value":${renderHeld(valueHeld(attribute), type)}${renderMetadata(type, instance, location, metadata)}`
}

function renderEchoBody(attribute: GivenAttribute): string {
  const { type, instance, location, metadata, overridden } = attribute
  const all =
    overridden === undefined
      ? renderMetadata(type, instance, location, metadata)
      : renderMetadata(type, '', undefined, withOverridden(overridden, attribute))
  return `"type":${quote(type)},"value":""${all}`
}

/** The metadata of an echo with each ID and location that was given, in this order; what was overridden comes first. */
function withOverridden(
  overridden: readonly Metadata[],
  { type, instance, location = '', metadata }: GivenAttribute,
): readonly Metadata[] {
  const valid = [
    { name: 'ID', type: 'string', value: instance },
    { name: 'location', type: 'string', value: location },
  ]
  const marks = [...overridden, ...valid.filter(({ value }) => value !== '')]
  const ids = marks.filter(({ name }) => name === 'ID')
  const locations = type === 'geo:point' ? [] : marks.filter(({ name }) => name === 'location')
  return [...ids, ...locations, ...metadata]
}

/** An attribute given without a value keeps its value at the provider; an empty one would replace it. */
function renderGivenBody({ type, value, instance, location, metadata }: GivenAttribute): string {
  const given = value === undefined ? '' : `,"value":${renderValue(value, type)}`
  return `"type":${quote(type)}${given}${renderMetadata(type, instance, location, metadata)}`
}

/** ID and location come first, as texts; a geo:point is a location by itself [context 2.5, 2.7]. */
function renderMetadata(
  attributeType: string,
  instance: string,
  location: string | undefined,
  metadata: readonly Metadata[],
): string {
  let text = instance === '' ? '' : `{"name":"ID","type":"string","value":${quote(instance)}}`
  if (location !== undefined && attributeType !== 'geo:point') {
    text += `${text === '' ? '' : ','}{"name":"location","type":"string","value":${quote(location)}}`
  }
  for (const { name, type, value } of metadata) {
    const comma = text === '' ? '' : ','
    text += `${comma}{"name":${quote(name)},"type":${quote(type)},"value":${renderValue(value, type)}}`
  }
  return text === '' ? '' : `,"metadatas":[${text}]`
}

const array = { asObject: false }

/**
 * The body of a notification: entities in the form of a query [subscriptions 4.2]. An entity without attributes occurs here only
 * if no attributes are named; it is then shown without any, as in a query [subscriptions 3.5].
 */
export const renderNotice: NoticeRenderer = ({ id, attributes }, entities) =>
  renderedFor(id, renderFound(entities, attributes, array))

/** A renderer for many notifications about one entity: it keeps its last result and the attributes of that. */
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
