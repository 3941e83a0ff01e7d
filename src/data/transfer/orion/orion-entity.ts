import { checked, type Given, type GivenObject, isGivenObject, refuse } from '../../../api/ngsi2/parse/tree.js'
import type { Attribute, EntityId, EntityType, Metadata, ServicePath, Tenant } from '../../../model/context/entity.js'
import { shapeOfLocation } from '../../../model/context/location.js'
import { isExpiration } from '../../../model/context/value.js'
import type { Milliseconds } from '../../../time.js'
import { sorted } from '../entity-line.js'
import { type EntityItem, leftOut, type PartLoss } from '../items.js'
import { LineFields, storedName } from '../line-fields.js'
import { arrayIn, decodedName, momentIn, objectIn, textIn, valueIn } from './orion-values.js'

/** An item of a dump, and the parts of it that cannot be kept. */
export interface OrionRead<Read> {
  readonly item: Read
  readonly losses: readonly PartLoss[]
}

/**
 * Reads a document of the collection `entities`, of any version: attributes and their metadata may be objects or arrays, and type
 * and service path may be missing. Only within `checked`.
 */
export function readOrionEntity(given: Given, tenant: Tenant, now: Milliseconds): OrionRead<EntityItem> {
  const document = objectIn(given, 'the document')
  const key = objectIn(document['_id'], '_id')
  const id = storedName(textIn(key['id']) ?? refuse('_id has no id'), '_id.id')
  if (id === '') refuse('_id.id is empty')
  const created = momentIn(document['creDate']) ?? now
  const modified = momentIn(document['modDate']) ?? created
  const losses: PartLoss[] = []
  const attributes = withLocation(
    withExpiration(attributesIn(document['attrs'], { created, modified }, losses), document, { created, modified }),
    document['location'],
    losses,
  )
  const correlator = textIn(document['lastCorrelator'])
  return {
    item: {
      kind: 'entity',
      tenant,
      entity: {
        path: servicePathIn(key),
        id: id as EntityId,
        type: storedName(textIn(key['type']) ?? '', '_id.type') as EntityType,
        created,
        modified,
        ...(correlator !== undefined && { correlator: rootIn(correlator) }),
        attributes: sorted(attributes),
      },
    },
    losses,
  }
}

/** The root of the correlator, without what notifications have appended to it. */
function rootIn(correlator: string): string {
  const [root = ''] = correlator.split(';', 1)
  return root.slice(0, 256)
}

function servicePathIn(key: GivenObject): ServicePath {
  const servicePath = textIn(key['servicePath']) ?? '/'
  return new LineFields({ servicePath: servicePath === '' ? '/' : servicePath }, '_id').path()
}

interface Dates {
  readonly created: Milliseconds
  readonly modified: Milliseconds
}

/** The attributes that can be kept; the others are losses, and so is an element of metadata. */
function attributesIn(given: Given, dates: Dates, losses: PartLoss[]): readonly Attribute[] {
  if (given === undefined || given === null) return []
  const reads = Array.isArray(given)
    ? given.map((item) => () => {
        const members = objectIn(item, 'an attribute')
        const name = textIn(members['name']) ?? refuse('an attribute has no name')
        return attributeIn(name, textIn(members['id']) ?? '', members, { ...dates, losses })
      })
    : Object.entries(objectIn(given, 'attrs')).map(([key, members]) => () => {
        // The metadata ID stands behind the name: parentheses cannot be part of names.
        const end = key.indexOf('()')
        const [name, instance] = end === -1 ? [key, ''] : [key.slice(0, end), key.slice(end + 2)]
        const held = objectIn(members, `attribute ${key}`)
        return attributeIn(decodedName(name), decodedName(instance), held, { ...dates, losses })
      })
  return reads.flatMap((read) => kept(read, 'an attribute', losses))
}

/** A part of a document, or nothing when it is a loss. */
function kept<Part>(read: () => Part, kind: string, losses: PartLoss[]): readonly Part[] {
  const part = checked(read)
  if (part.ok) return [part.value]
  losses.push(leftOut(`${kind}: ${part.error.description}`))
  return []
}

interface AttributeContext extends Dates {
  readonly losses: PartLoss[]
}

function attributeIn(name: string, instance: string, members: GivenObject, dates: AttributeContext): Attribute {
  const what = `attribute ${name}`
  if (name === '') refuse('an attribute has an empty name')
  const created = momentIn(members['creDate']) ?? dates.created
  return {
    name: storedName(name, `the name of ${what}`),
    instance,
    type: storedName(textIn(members['type']) ?? '', `the type of ${what}`),
    value: valueIn(members['value'], what),
    isLocation: false,
    metadata: metadataIn(members['md'], what, dates.losses),
    created,
    modified: momentIn(members['modDate']) ?? created,
  }
}

/** Newer versions have an object with names as keys, older ones an array. */
function metadataIn(given: Given, what: string, losses: PartLoss[]): readonly Metadata[] {
  if (given === undefined || given === null) return []
  const elements = Array.isArray(given)
    ? given.map((item) => {
        const members = objectIn(item, `metadata of ${what}`)
        return [textIn(members['name']) ?? '', members] as const
      })
    : Object.entries(objectIn(given, `metadata of ${what}`)).map(([key, members]) => {
        return [decodedName(key), objectIn(members, `metadata ${key} of ${what}`)] as const
      })
  return elements.flatMap(([name, members]) => {
    const read = (): Metadata => ({
      name: storedName(name, `the name of metadata ${name} of ${what}`),
      type: storedName(textIn(members['type']) ?? '', `the type of metadata ${name} of ${what}`),
      value: valueIn(members['value'], `metadata ${name} of ${what}`),
    })
    return kept(read, 'an element of metadata', losses)
  })
}

/** Where the expiration attribute is missing, the date of the index that removes entities counts. */
function withExpiration(
  attributes: readonly Attribute[],
  document: GivenObject,
  { created, modified }: Dates,
): readonly Attribute[] {
  const expires = momentIn(document['expDate'])
  const held = attributes.some(({ name, value }) => isExpiration(name) && typeof value === 'number')
  if (expires === undefined || held) return attributes
  const attribute = { name: 'dateExpires', instance: '', type: 'DateTime', value: expires / 1000, metadata: [] }
  const others = attributes.filter(({ name }) => !isExpiration(name))
  return [...others, { ...attribute, isLocation: false, created, modified }]
}

/** Marks the attribute that the document names as the location, if its value can be one. */
function withLocation(attributes: readonly Attribute[], given: Given, losses: PartLoss[]): readonly Attribute[] {
  if (given === undefined || given === null) return attributes.map(withoutMark)
  const name = textIn(objectIn(given, 'location')['attrName'])
  const located = attributes.find((attribute) => attribute.name === name)
  if (located === undefined) {
    losses.push(leftOut(`the location, since it has no attribute ${name}`))
    return attributes.map(withoutMark)
  }
  if (shapeOfLocation({ type: located.type, value: located.value }) === undefined) {
    losses.push(leftOut(`the location, since the value of attribute ${name} is none of type ${located.type}`))
    return attributes.map(withoutMark)
  }
  return attributes.map((attribute) => {
    return attribute === located ? { ...withoutMark(attribute), isLocation: true } : withoutMark(attribute)
  })
}

/** Drops the metadata by which NGSIv1 marks a location, and the ID of an instance. */
function withoutMark(attribute: Attribute): Attribute {
  const { metadata, instance } = attribute
  const own = metadata.filter(({ name, value }) => {
    return !(name === 'location' && (value === 'WGS84' || value === 'WSG84')) && !(name === 'ID' && value === instance)
  })
  return own.length === metadata.length ? attribute : { ...attribute, metadata: own }
}

/** The names in `attrNames` that `attrs` does not have: a sign of a damaged document. */
export function missingNames(given: Given): readonly string[] {
  const document = objectIn(given, 'the document')
  const attrs = document['attrs']
  const held = new Set(
    Array.isArray(attrs) ? attrs.map(nameIn) : Object.keys(objectIn(attrs ?? {}, 'attrs')).map(nameOfKey),
  )
  const names = arrayIn(document['attrNames'], 'attrNames')
  return names.flatMap((name) => {
    const shown = textIn(name)
    return shown === undefined || held.has(decodedName(shown)) ? [] : [shown]
  })
}

function nameIn(attribute: Given): string | undefined {
  return isGivenObject(attribute) ? textIn(attribute['name']) : undefined
}

function nameOfKey(key: string): string {
  const [name = ''] = key.split('()', 1)
  return decodedName(name)
}
