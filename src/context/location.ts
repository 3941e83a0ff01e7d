import { err, ok, type Result } from '../result.js'
import type { Drafted } from './attribute.js'
import type { Attribute, Entity, Value } from './entity.js'
import type { GivenAttribute, LocationMoment, UpdateRefusal } from './update.js'

/** A point on the earth in decimal degrees. */
export interface Point {
  readonly latitude: number
  readonly longitude: number
}

const number = String.raw`[ \t]*([+-]?(?:\d+(?:\.\d*)?|\.\d+))[ \t]*`
const pair = new RegExp(`^${number},${number}$`)

/**
 * The point of a text `latitude, longitude` in decimal degrees with optional spaces around the numbers; nothing for
 * anything else, and for numbers out of range [context 2.5].
 */
export function parseCoordinates(value: Value): Point | undefined {
  if (typeof value !== 'string') return undefined
  const [, latitude, longitude] = pair.exec(value) ?? []
  const point = { latitude: Number(latitude), longitude: Number(longitude) }
  return isLatitude(point.latitude) && isLongitude(point.longitude) ? point : undefined
}

/** Where an entity is; nothing when none of its attributes says so. */
export function locationOf({ attributes }: Pick<Entity, 'attributes'>): Point | undefined {
  const location = attributes.find(({ isLocation }) => isLocation)
  return location && parseCoordinates(location.value)
}

/** Whether a number is a latitude in degrees. */
export function isLatitude(degrees: number): boolean {
  return Math.abs(degrees) <= 90
}

/** Whether a number is a longitude in degrees. */
export function isLongitude(degrees: number): boolean {
  return Math.abs(degrees) <= 180
}

/** A part of the earth's surface; `inverted` means all the rest of it [context 7.4.1]. Plain data. */
export type Area = Circle | Polygon

export interface Circle {
  readonly kind: 'circle'
  readonly centre: Point
  readonly radius_m: number
  readonly inverted: boolean
}

export interface Polygon {
  readonly kind: 'polygon'
  /** At least three, the last not the first again. */
  readonly vertices: readonly Point[]
  readonly inverted: boolean
}

/** The misspelling of old clients means the same system [context 2.5]. */
const coordinateSystems = new Set(['WGS84', 'WSG84'])

/**
 * Watches over the rule that at most one attribute of an entity is its location, while the attributes of a request are
 * laid upon it one after another [context 2.5].
 */
export class LocationKeeper {
  #holder: Pick<Attribute, 'name' | 'instance'> | undefined

  constructor(attributes: readonly Attribute[]) {
    this.#holder = attributes.find(({ isLocation }) => isLocation)
  }

  /**
   * Whether the given attribute is the location once it is laid. It becomes it by its type or its metadata, and stays
   * it when the request says nothing about location. Refuses another coordinate system, a second location, and a value
   * that is not coordinates [context 6.5].
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
    if (parseCoordinates(value) === undefined) {
      return err({ kind: 'coordinatesMalformed', name, value: textOf(value), when })
    }
    this.#holder = given
    return ok(true)
  }

  /**
   * The same of an attribute as an update of NGSIv2 leaves it: it is the location by its type alone, or because NGSIv1 has
   * marked it and nothing takes the mark away [NGSIv2 context 3.5, 14.4].
   */
  decideDrafted(
    held: Attribute | undefined,
    { name, instance, type, value, metadata }: Drafted,
    overridesMetadata: boolean,
    when: LocationMoment,
  ): Result<boolean, UpdateRefusal> {
    const isMarked = held?.isLocation === true && held.type !== 'geo:point' && !overridesMetadata
    const given = { name, instance, type, value, metadata }
    if (isMarked) return this.decide(held, given, when)
    const isIgnored = metadata.some((element) => element.name === 'ignoreType' && element.value === true)
    return type === 'geo:point' && value !== null && !isIgnored ? this.decide(undefined, given, when) : ok(false)
  }
}

function isSame(a: Pick<Attribute, 'name' | 'instance'>, b: Pick<Attribute, 'name' | 'instance'>): boolean {
  return a.name === b.name && a.instance === b.instance
}

function textOf(value: Value): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
