import { err, ok, type Result } from '../../result.js'
import type { Attribute, Entity, Metadata, Value } from './entity.js'
import { type GeoShape, parseCoordinates } from './geo/shape.js'
import { isShapeType, lacksGeoJson, parseShape } from './geo/shape-parse.js'
import { type AttributeParts, plainMetadata, plainValue } from './large/large-attribute.js'
import { LargeEntity } from './large/large-entity.js'
import type { GivenAttribute, LocationMoment, ShapeMoment, UpdateRefusal } from './update.js'
import { valueText } from './value.js'

/** The location of an entity; undefined when no attribute is one. */
export function locationOf(entity: Pick<Entity, 'attributes'>): GeoShape | undefined {
  const location = locationAttribute(entity)
  return location && shapeOfLocation(location)
}

export function locationAttribute(entity: Pick<Entity, 'attributes'>): Attribute | undefined {
  if (entity instanceof LargeEntity) return entity.location
  for (const attribute of entity.attributes) if (attribute.isLocation) return attribute
  return undefined
}

/** The shape of an attribute that is a location. */
export function shapeOfLocation({ type, value }: Pick<Attribute, 'type' | 'value'>): GeoShape | undefined {
  // An attribute that NGSIv1 has marked holds coordinates, whatever its type.
  if (typeof value === 'string') {
    const point = parseCoordinates(value)
    return point && { kind: 'points', points: [point] }
  }
  const shape = parseShape(type, value)
  return shape.ok ? shape.value : undefined
}

/**
 * Whether an attribute is the location because NGSIv1 has marked it with metadata `location`, not by its type [NGSIv2 context
 * 14.2, 14.4].
 */
export function isMarked(attribute: Pick<AttributeParts, 'isLocation' | 'type' | 'value'>): boolean {
  return attribute.isLocation && attribute.type !== 'geo:point' && typeof attribute.value === 'string'
}

/** Whether metadata `ignoreType` says that an attribute of a shape's type is not a location [NGSIv2 context 3.5]. */
export function ignoresShape(metadata: readonly Metadata[]): boolean {
  return metadata.some(({ name, value }) => name === 'ignoreType' && value === true)
}

/** `WSG84` is a misspelling of old clients [context 2.5]. */
const coordinateSystems = new Set(['WGS84', 'WSG84'])

/**
 * Ensures that at most one attribute of an entity is its location, while the attributes of a request are applied one after
 * another [context 2.5].
 */
export class LocationKeeper {
  #holder: Pick<Attribute, 'name' | 'instance'> | undefined

  constructor(entity: Pick<Entity, 'attributes'>) {
    this.#holder = locationAttribute(entity)
  }

  /**
   * Whether the given attribute is the location once it is applied. It becomes the location by its type or metadata, and stays it
   * when the request says nothing about location. Refuses another coordinate system, a second location, and a value that is not
   * coordinates or, for a location that NGSIv2 has written, not a shape of its type [context 6.5], [NGSIv2 context 14.2].
   */
  decide(held: Attribute | undefined, given: GivenAttribute, when: LocationMoment): Result<boolean, UpdateRefusal> {
    const { name, location } = given
    if (location !== undefined && !coordinateSystems.has(location)) {
      return err({ kind: 'coordinateSystemUnknown', name, found: location, when })
    }
    const declared = location !== undefined || given.type === 'geo:point'
    if (!declared && held?.isLocation !== true) return ok(false)
    if (this.#holder && !isSame(this.#holder, given)) {
      return err({ kind: 'locationTwice', name, held: this.#holder.name, when })
    }
    const value = given.value ?? held?.value ?? ''
    if (!isLocationValue(held, given, value)) {
      return err({ kind: 'coordinatesMalformed', name, value: valueText(value), when })
    }
    this.#holder = given
    return ok(true)
  }
}

/**
 * Whether an attribute is a location after an update of NGSIv2: by its type, or because NGSIv1 has marked it and the update keeps
 * the mark. Null is none, nor is an attribute with metadata `ignoreType`. `withOneLocation` ensures that there is only one.
 * Refuses a value that is not a shape of its type, or not coordinates where there is a mark [NGSIv2 context 3.5, 14.4].
 */
export function isLocationByTerms(
  held: Attribute | undefined,
  after: Pick<AttributeParts, 'name' | 'type' | 'value' | 'metadata'>,
  overridesMetadata: boolean,
  when: ShapeMoment,
): Result<boolean, UpdateRefusal> {
  const { name, type } = after
  const hasMark = held !== undefined && isMarked(held) && !overridesMetadata
  if (!hasMark && !isShapeType(type)) return ok(false)
  const value = plainValue(after.value)
  if (!hasMark) {
    const isIgnored = ignoresShape(plainMetadata(after.metadata))
    // A geo:json has to hold an object even where its shape is ignored.
    if (value === null || (isIgnored && !lacksGeoJson(type, value))) return ok(false)
  }
  const shape = parseShape(hasMark ? 'geo:point' : type, value)
  return shape.ok
    ? ok(true)
    : err({ kind: 'termsUnmet', why: { kind: 'shapeMalformed', name, why: shape.error, when } })
}

/**
 * The attributes of an entity with one location among them at most: the one that the update has made it, where it may take
 * over from the one before, which stays an ordinary attribute. Refuses two where it may not [NGSIv2 context 3.5].
 *
 * @param made the last of the attributes that the update has found to be a location
 */
export function withOneLocation(
  attributes: readonly Attribute[],
  made: Attribute,
  mayTakeOver: boolean,
): Result<readonly Attribute[], UpdateRefusal> {
  const other = attributes.find((attribute) => attribute.isLocation && attribute !== made)
  if (other === undefined) return ok(attributes)
  if (!mayTakeOver) {
    return err({ kind: 'termsUnmet', why: { kind: 'locationsTooMany', name: made.name, held: other.name } })
  }
  return ok(
    attributes.map((attribute) =>
      attribute.isLocation && attribute !== made ? { ...attribute, isLocation: false } : attribute,
    ),
  )
}

function isLocationValue(held: Attribute | undefined, { type }: GivenAttribute, value: Value): boolean {
  const isShaped = held?.isLocation === true && typeof held.value !== 'string' && (type === '' || type === held.type)
  return isShaped ? parseShape(held.type, value).ok : parseCoordinates(value) !== undefined
}

function isSame(a: Pick<Attribute, 'name' | 'instance'>, b: Pick<Attribute, 'name' | 'instance'>): boolean {
  return a.name === b.name && a.instance === b.instance
}
