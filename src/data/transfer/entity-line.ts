import { type Given, refuse } from '../../api/ngsi2/parse/tree.js'
import {
  type Attribute,
  compareAttributes,
  compareBytes,
  type EntityId,
  type EntityType,
  type Metadata,
} from '../../model/context/entity.js'
import { maxAttributes, maxMetadata, metadataOf } from '../../model/context/entity-size.js'
import { shapeOfLocation } from '../../model/context/location.js'
import type { Milliseconds } from '../../time.js'
import type { EntityItem } from './items.js'
import { LineFields, lineDate, lineText, storedName } from './line-fields.js'

/** The line of an entity, without members that have their default value. */
export function entityLine({ tenant, entity }: EntityItem): string {
  const { id, type, path, created, modified, correlator, attributes } = entity
  return lineText('entity', tenant, {
    servicePath: path,
    id,
    type,
    created: lineDate(created),
    modified: lineDate(modified),
    correlator,
    attributes: attributes.map((attribute) => attributeMembers(attribute, created, modified)),
  })
}

function attributeMembers(attribute: Attribute, created: Milliseconds, modified: Milliseconds): object {
  const { name, instance, type, value, isLocation, metadata } = attribute
  return {
    name,
    instance: instance === '' ? undefined : instance,
    type,
    value,
    location: isLocation ? true : undefined,
    metadata: metadata.length === 0 ? undefined : metadata,
    created: attribute.created === created ? undefined : lineDate(attribute.created),
    modified: attribute.modified === modified ? undefined : lineDate(attribute.modified),
  }
}

const entityNames = new Set([
  'kind',
  'tenant',
  'servicePath',
  'id',
  'type',
  'created',
  'modified',
  'correlator',
  'attributes',
])
const attributeNames = new Set(['name', 'instance', 'type', 'value', 'location', 'metadata', 'created', 'modified'])
const metadataNames = new Set(['name', 'type', 'value'])

/** Reads the line of an entity; one without a date gets that of the import. Only within `checked`. */
export function readEntityLine(line: Given, now: Milliseconds): EntityItem {
  const fields = new LineFields(line, '').only(entityNames)
  const created = fields.date('created', now)
  const modified = fields.date('modified', created)
  const id = fields.storedName('id')
  if (id === '') refuse('id is empty')
  const correlator = fields.optionalText('correlator')
  const attributes = sorted(
    fields.list('attributes', (given, where) => readAttributeOf(given, where, created, modified)),
  )
  return {
    kind: 'entity',
    tenant: fields.tenant(),
    entity: {
      path: fields.path(),
      id: id as EntityId,
      type: fields.storedName('type', '') as EntityType,
      created,
      modified,
      ...(correlator !== undefined && { correlator }),
      attributes,
    },
  }
}

function readAttributeOf(given: Given, where: string, created: Milliseconds, modified: Milliseconds): Attribute {
  const fields = new LineFields(given, where).only(attributeNames)
  const name = fields.storedName('name')
  if (name === '') refuse(`${where}.name is empty`)
  return {
    name,
    instance: fields.text('instance', ''),
    type: fields.storedName('type', ''),
    value: fields.value('value'),
    isLocation: fields.flag('location'),
    metadata: fields.list('metadata', readMetadataOf),
    created: fields.date('created', created),
    modified: fields.date('modified', modified),
  }
}

function readMetadataOf(given: Given, where: string): Metadata {
  const fields = new LineFields(given, where).only(metadataNames)
  return {
    name: fields.storedName('name'),
    type: storedName(fields.text('type', ''), `${where}.type`),
    value: fields.value('value'),
  }
}

/** Attributes and their metadata in their stored order; refuses what an entity cannot have. */
export function sorted(given: readonly Attribute[]): readonly Attribute[] {
  if (given.length > maxAttributes) refuse(`there are more than ${maxAttributes} attributes`)
  if (metadataOf(given) > maxMetadata) refuse(`there are more than ${maxMetadata} elements of metadata`)
  const attributes = inOrder(given, compareAttributes).map(withSortedMetadata)
  for (const [at, attribute] of attributes.entries()) {
    const before = attributes[at - 1]
    if (before !== undefined && compareAttributes(before, attribute) === 0) {
      refuse(`attribute ${attribute.name} is there twice`)
    }
  }
  const locations = attributes.filter(({ isLocation }) => isLocation)
  const [location] = locations
  if (locations.length > 1) refuse('two attributes are the location')
  if (location !== undefined && shapeOfLocation(location) === undefined) {
    refuse(`attribute ${location.name} is the location but its value is none of its type`)
  }
  return attributes
}

function withSortedMetadata(attribute: Attribute): Attribute {
  const { metadata } = attribute
  if (metadata.length < 2) return attribute
  const elements = inOrder(metadata, (a, b) => compareBytes(a.name, b.name))
  for (const [at, { name }] of elements.entries()) {
    if (elements[at - 1]?.name === name) refuse(`metadata ${name} of attribute ${attribute.name} is there twice`)
  }
  return elements === metadata ? attribute : { ...attribute, metadata: elements }
}

/** The same array when nothing has to be moved, as in all exported lines. */
function inOrder<Part>(parts: readonly Part[], compare: (a: Part, b: Part) => number): readonly Part[] {
  let before: Part | undefined
  for (const part of parts) {
    if (before !== undefined && compare(before, part) > 0) return parts.toSorted(compare)
    before = part
  }
  return parts
}
