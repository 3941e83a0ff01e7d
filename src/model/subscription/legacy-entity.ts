import { type Attribute, type Entity, isListed } from '../context/entity.js'
import { attributeOf, metadataHeld, plainMetadata, valueHeld } from '../context/large/large-attribute.js'
import { type Change, indexOf } from './change.js'
import type { BodyTerms } from './message.js'

type Selection = Pick<BodyTerms, 'attributes' | 'notification'>

/**
 * The entity of a change with the attributes and metadata that a notification in the form of NGSIv1 shows: those that the terms
 * select, and no builtin ones [NGSIv2 subscriptions 5.3, 5.4, 9].
 */
export function legacyEntity(selection: Selection, change: Change): Entity {
  const { metadata } = selection.notification
  const attributes = change.entity.attributes.filter(selected(selection, change))
  const showsMetadata = metadata.length === 0 || isListed('*', metadata)
  return {
    ...change.entity,
    attributes: showsMetadata ? attributes : attributes.map((each) => withMetadata(each, metadata)),
  }
}

/** Whether that entity has any attributes. */
export function hasLegacyAttributes(selection: Selection, change: Change): boolean {
  return change.entity.attributes.some(selected(selection, change))
}

function selected(
  { attributes: names, notification: { excepts, onlyChanged } }: Selection,
  change: Change,
): (attribute: Attribute) => boolean {
  const given = onlyChanged ? givenBy(change) : undefined
  const isEvery = !excepts && (names.length === 0 || isListed('*', names))
  return ({ name }) => (isEvery || isListed(name, names) !== excepts) && (given === undefined || isListed(name, given))
}

function givenBy(change: Change): readonly string[] {
  return change.kind === 'remove' ? [] : indexOf(change).given
}

/** An attribute with those of its metadata that have one of these names. NGSIv1 shows ID and location as metadata, too. */
function withMetadata(attribute: Attribute, names: readonly string[]): Attribute {
  return attributeOf({
    ...{ name: attribute.name, type: attribute.type, value: valueHeld(attribute) },
    ...{ created: attribute.created, modified: attribute.modified },
    instance: isListed('ID', names) ? attribute.instance : '',
    isLocation: attribute.isLocation && isListed('location', names),
    metadata: plainMetadata(metadataHeld(attribute)).filter(({ name }) => isListed(name, names)),
  })
}
