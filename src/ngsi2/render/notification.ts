import type { Attribute, Metadata } from '../../context/entity.js'
import { quote } from '../../context/json-text.js'
import type { Change } from '../../subscription/change.js'
import { alterationFor, namesGiven } from '../../subscription/hearing.js'
import { termsOf } from '../../subscription/patch.js'
import type { Subscription } from '../../subscription/subscription.js'
import type { AttributesFormat, SubscriptionTerms } from '../../subscription/terms.js'
import { attributesAsValues, attributesInEntity } from './entity-text.js'
import { builtinAttribute, clientAttributes, expiration, type VisibleAttribute, visibleAttribute } from './shown.js'

/** An entity as a notification shows it: with what a template has laid upon it, before anything is selected. */
export interface NotifiedEntity {
  readonly id: string
  readonly type: string
  /** Ascending by name. */
  readonly attributes: readonly VisibleAttribute[]
}

/** The entity of a change with the metadata of these names, those that only notifications have among them [NGSIv2 subscriptions 5.4]. */
export function notifiedEntity(change: Change, metadata: readonly string[]): NotifiedEntity {
  const { id, type } = change.entity
  const attributes = clientAttributes(change.entity).map((each) => notifiedAttribute(each, metadata, change))
  return { id, type, attributes }
}

/**
 * The body of a notification in one of the five forms; nothing when only what was changed may be shown and nothing of that is left
 * [NGSIv2 subscriptions 5].
 */
export function notificationBody(
  subscription: Subscription,
  entity: NotifiedEntity,
  change: Change,
): string | undefined {
  const terms = termsOf(subscription)
  const attributes = selectedAttributes(subscription, terms, entity.attributes, change)
  return attributes && bodyText(subscription, terms.notification.format, entity, attributes)
}

/** The body in one of the five forms [NGSIv2 subscriptions 5.2]. */
function bodyText(
  { id }: Pick<Subscription, 'id'>,
  format: AttributesFormat,
  entity: NotifiedEntity,
  attributes: readonly VisibleAttribute[],
): string {
  const isKeyValues = format === 'keyValues' || format === 'simplifiedKeyValues'
  const item =
    format === 'values'
      ? attributesAsValues(attributes)
      : attributesInEntity(entity, attributes, isKeyValues ? 'keyValues' : 'normalized')
  if (format === 'simplifiedNormalized' || format === 'simplifiedKeyValues') return item
  return `{"subscriptionId":${quote(id)},"data":[${item}]}`
}

/**
 * What a notification shows of all attributes of the entity; nothing when only what was changed may be shown and nothing of that is
 * left [NGSIv2 subscriptions 5.3].
 */
function selectedAttributes(
  { attributes: names }: Pick<Subscription, 'attributes'>,
  { condition, notification: { excepts, onlyChanged, covered } }: Pick<SubscriptionTerms, 'condition' | 'notification'>,
  all: readonly VisibleAttribute[],
  change: Change,
): readonly VisibleAttribute[] | undefined {
  const given = onlyChanged ? new Set(change.kind === 'remove' ? [] : namesGiven(change)) : undefined
  const own = given === undefined ? all : all.filter(({ name }) => given.has(name))
  const builtin = (name: string) =>
    onlyChanged && !ofChanges.has(name) ? undefined : builtinOf(name, change, condition?.onMetadata ?? true)
  const shown = excepts ? withoutThose(own, names) : selected(own, { names, given, covered, builtin })
  return onlyChanged && shown.length === 0 ? undefined : shown
}

function withoutThose(own: readonly VisibleAttribute[], names: readonly string[]): readonly VisibleAttribute[] {
  const left = new Set(names)
  return own.filter(({ name }) => !left.has(name) && name !== expiration)
}

interface Selection {
  readonly names: readonly string[]
  /** Those of the request, where no others are shown. */
  readonly given: ReadonlySet<string> | undefined
  readonly covered: boolean
  readonly builtin: (name: string) => VisibleAttribute | undefined
}

/** Those of a list in its order; all without a list or with `*`, then what else is in the list. */
function selected(
  own: readonly VisibleAttribute[],
  { names, given, covered, builtin }: Selection,
): readonly VisibleAttribute[] {
  const byName = new Map(own.map((attribute) => [attribute.name, attribute]))
  const listed = (name: string): readonly VisibleAttribute[] => {
    const held = byName.get(name) ?? builtin(name)
    if (held !== undefined) return [held]
    const isMissing = covered && !isBuiltin(name) && (given === undefined || given.has(name))
    return isMissing ? [{ name, type: 'None', value: null, metadata: [] }] : []
  }
  if (names.length > 0 && !names.includes(allNames)) return names.flatMap(listed)
  const shown = own.filter(({ name }) => name !== expiration || names.includes(name))
  return [...shown, ...names.flatMap((name) => (name === allNames || byName.has(name) ? [] : listed(name)))]
}

/** The name that stands for all attributes that are not built in. */
const allNames = '*'

const alterationType = 'alterationType'

/** The builtin attributes that are shown where nothing else is that has not changed. */
const ofChanges: ReadonlySet<string> = new Set([alterationType, 'dateCreated', 'dateModified'])

function isBuiltin(name: string): boolean {
  return name === alterationType || name === expiration || builtinAttribute(name) !== undefined
}

function builtinOf(name: string, change: Change, onMetadata: boolean): VisibleAttribute | undefined {
  if (name !== alterationType) return builtinAttribute(name)?.(change.entity)
  const { what } = alterationFor(change, onMetadata)
  return what && { name, type: 'Text', value: what, metadata: [] }
}

/** With the metadata that only notifications have [NGSIv2 subscriptions 5.4]. */
function notifiedAttribute(attribute: Attribute, names: readonly string[], change: Change): VisibleAttribute {
  const visible = visibleAttribute(attribute, names)
  const added = (['actionType', 'previousValue'] as const).flatMap((name) => {
    if (!names.includes(name) || visible.metadata.some((element) => element.name === name)) return []
    return (name === 'actionType' ? actionType(attribute, change) : previousValue(attribute, change)) ?? []
  })
  return added.length === 0 ? visible : { ...visible, metadata: [...visible.metadata, ...added] }
}

function actionType({ name }: Attribute, change: Change): Metadata | undefined {
  if (change.kind === 'remove' || !namesGiven(change).includes(name)) return undefined
  const isNew = before(name, change) === undefined
  return { name: 'actionType', type: 'Text', value: isNew ? 'append' : 'update' }
}

function previousValue(attribute: Attribute, change: Change): Metadata | undefined {
  const was = change.kind === 'put' ? before(attribute.name, change) : attribute
  if (was === undefined) return undefined
  const { type, value } = visibleAttribute(was, [])
  return { name: 'previousValue', type, value }
}

function before(name: string, { before: entity }: Change): Attribute | undefined {
  return entity?.attributes.find((attribute) => attribute.name === name)
}
