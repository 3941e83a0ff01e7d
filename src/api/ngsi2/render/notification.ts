import { type Attribute, isListed } from '../../../model/context/entity.js'
import { quote } from '../../../model/context/value.js'
import { alterationFor, type Change, indexOf } from '../../../model/subscription/change.js'
import type { BodyTerms } from '../../../model/subscription/message.js'
import type { AttributesFormat } from '../../../model/subscription/terms.js'
import {
  attributesAsValues,
  attributesInEntity,
  builtinAttribute,
  clientAttributes,
  expiration,
  type ShownMetadata,
  type VisibleAttribute,
  visibleAttribute,
} from './entity-text.js'

/** The entity of a notification, with the attributes of a template, before a selection. */
export interface NotifiedEntity {
  readonly id: string
  readonly type: string
  /** Ascending by name. */
  readonly attributes: readonly VisibleAttribute[]
}

/**
 * The entity of a change with the metadata of these names, including those that only notifications have [NGSIv2 subscriptions
 * 5.4].
 */
export function notifiedEntity(change: Change, metadata: readonly string[]): NotifiedEntity {
  const { id, type } = change.entity
  const attributes = clientAttributes(change.entity).map((each) => notifiedAttribute(each, metadata, change))
  return { id, type, attributes }
}

/** Whether the body of a notification in a format is its entity alone [NGSIv2 subscriptions 5.2]. */
function isBare(format: AttributesFormat): boolean {
  return format === 'simplifiedNormalized' || format === 'simplifiedKeyValues'
}

/**
 * The part of a body about an entity, in one of the five forms; undefined when only changed attributes may be shown and none of
 * those is left [NGSIv2 subscriptions 5].
 */
export function notifiedItem(terms: BodyTerms, entity: NotifiedEntity, change: Change): string | undefined {
  const attributes = selectedAttributes(terms, entity.attributes, change)
  if (attributes === undefined) return undefined
  const form = formOf(terms.notification.format)
  return form === 'values' ? attributesAsValues(attributes) : attributesInEntity(entity, attributes, form)
}

/** The form of attributes in a notification. */
export type ShownForm = 'normalized' | 'keyValues' | 'values'

/** The form of attributes in a format [NGSIv2 subscriptions 5.2]. */
export function formOf(format: AttributesFormat): ShownForm {
  if (format === 'values') return 'values'
  return format === 'keyValues' || format === 'simplifiedKeyValues' ? 'keyValues' : 'normalized'
}

/** Whether a notification shows all attributes, whatever the change is, except the one that is shown only by its name. */
export function showsAll({ attributes, notification }: BodyTerms): boolean {
  return attributes.length === 0 && !notification.onlyChanged
}

/** Whether a notification shows anything: only one of changed attributes may not [NGSIv2 subscriptions 5.3]. */
export function showsAnything(terms: BodyTerms, entity: () => NotifiedEntity, change: Change): boolean {
  return !terms.notification.onlyChanged || selectedAttributes(terms, entity().attributes, change) !== undefined
}

/** The body around an item [NGSIv2 subscriptions 5.2]. */
export function bodyWith({ id, notification: { format } }: BodyTerms, item: string): string {
  return isBare(format) ? item : `{"subscriptionId":${quote(id)},"data":[${item}]}`
}

/**
 * The attributes of the entity that a notification shows; undefined when only changed ones may be shown and none of those is left
 * [NGSIv2 subscriptions 5.3].
 */
function selectedAttributes(
  { attributes: names, notification: { excepts, onlyChanged, covered }, onMetadata }: BodyTerms,
  all: readonly VisibleAttribute[],
  change: Change,
): readonly VisibleAttribute[] | undefined {
  const given = onlyChanged ? (change.kind === 'remove' ? noNames : indexOf(change).given) : undefined
  const own = given === undefined ? all : all.filter(({ name }) => isListed(name, given))
  const builtin = (name: string) =>
    onlyChanged && !ofChanges.has(name) ? undefined : builtinOf(name, change, onMetadata)
  const shown = excepts ? withoutThose(own, names) : selected(own, { names, given, covered, builtin })
  return onlyChanged && shown.length === 0 ? undefined : shown
}

const noNames: readonly string[] = []

function withoutThose(own: readonly VisibleAttribute[], names: readonly string[]): readonly VisibleAttribute[] {
  const left = new Set(names)
  return own.filter(({ name }) => !left.has(name) && name !== expiration)
}

interface Selection {
  readonly names: readonly string[]
  /** The names of the request, where no others are shown. */
  readonly given: readonly string[] | undefined
  readonly covered: boolean
  readonly builtin: (name: string) => VisibleAttribute | undefined
}

/** Those of a list in its order; without a list or with `*` all, followed by the other names of the list. */
function selected(
  own: readonly VisibleAttribute[],
  { names, given, covered, builtin }: Selection,
): readonly VisibleAttribute[] {
  const byName = tableOf(own)
  const listed = (name: string): readonly VisibleAttribute[] => {
    const held = byName.get(name) ?? builtin(name)
    if (held !== undefined) return [held]
    const isMissing = covered && !isBuiltin(name) && (given === undefined || isListed(name, given))
    return isMissing ? [{ name, type: 'None', value: null, metadata: [] }] : []
  }
  if (names.length > 0 && !isListed(allNames, names)) return names.flatMap(listed)
  const shown = own.filter(({ name }) => name !== expiration || isListed(name, names))
  return [...shown, ...names.flatMap((name) => (name === allNames || byName.has(name) ? [] : listed(name)))]
}

type AttributeTable = ReadonlyMap<string, VisibleAttribute>

/** The tables of many attributes, which all subscriptions to their change look names up in. */
const tables = new WeakMap<readonly VisibleAttribute[], AttributeTable>()

/** The table of fewer attributes is made as fast as it is found. */
const manyAttributes = 64

function tableOf(attributes: readonly VisibleAttribute[]): AttributeTable {
  const known = attributes.length < manyAttributes ? undefined : tables.get(attributes)
  if (known !== undefined) return known
  const table = new Map(attributes.map((attribute) => [attribute.name, attribute]))
  if (attributes.length >= manyAttributes) tables.set(attributes, table)
  return table
}

/** The name that stands for all attributes that are not builtin. */
const allNames = '*'

const alterationType = 'alterationType'

/** The builtin attributes that are shown even where only changed ones are. */
const ofChanges: ReadonlySet<string> = new Set([alterationType, 'dateCreated', 'dateModified'])

function isBuiltin(name: string): boolean {
  return name === alterationType || name === expiration || builtinAttribute(name) !== undefined
}

function builtinOf(name: string, change: Change, onMetadata: boolean): VisibleAttribute | undefined {
  if (name !== alterationType) return builtinAttribute(name)?.(change.entity)
  const what = alterationFor(change, onMetadata)
  return what && { name, type: 'Text', value: what, metadata: [] }
}

/** An attribute with the metadata of these names, including those that only notifications have [NGSIv2 subscriptions 5.4]. */
export function notifiedAttribute(attribute: Attribute, names: readonly string[], change: Change): VisibleAttribute {
  const visible = visibleAttribute(attribute, names)
  const added = (['actionType', 'previousValue'] as const).flatMap((name) => {
    if (!isListed(name, names) || visible.metadata.some((element) => element.name === name)) return []
    return (name === 'actionType' ? actionType(attribute, change) : previousValue(attribute, change)) ?? []
  })
  return added.length === 0 ? visible : { ...visible, metadata: [...visible.metadata, ...added] }
}

function actionType({ name }: Attribute, change: Change): ShownMetadata | undefined {
  const index = indexOf(change)
  if (change.kind === 'remove' || !isListed(name, index.given)) return undefined
  const isNew = index.before(name) === undefined
  return { name: 'actionType', type: 'Text', value: isNew ? 'append' : 'update' }
}

function previousValue(attribute: Attribute, change: Change): ShownMetadata | undefined {
  const was = change.kind === 'put' ? indexOf(change).before(attribute.name) : attribute
  if (was === undefined) return undefined
  const { type, value } = visibleAttribute(was, [])
  return { name: 'previousValue', type, value }
}
