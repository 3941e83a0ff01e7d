import type { Attribute, Entity, Value } from './entity.js'

/** A point on the earth in decimal degrees. */
export interface Point {
  readonly latitude: number
  readonly longitude: number
}

const number = String.raw`[ \t]*([+-]?(?:\d+(?:\.\d*)?|\.\d+))[ \t]*`
const pair = new RegExp(`^${number},${number}$`)

/**
 * The point of a text `latitude, longitude` in decimal degrees with optional blanks around the numbers; nothing for
 * anything else, and for numbers out of range [context 2.5].
 */
export function parseCoordinates(value: Value): Point | undefined {
  if (typeof value !== 'string') return undefined
  const [, latitude, longitude] = pair.exec(value) ?? []
  const point = { latitude: Number(latitude), longitude: Number(longitude) }
  return isLatitude(point.latitude) && isLongitude(point.longitude) ? point : undefined
}

/** Whether an attribute is the location of its entity: it was declared to be, or its type says so [context 2.5]. */
export function isLocation({ declaredLocation, type }: Pick<Attribute, 'declaredLocation' | 'type'>): boolean {
  return declaredLocation || type === 'geo:point'
}

/** Where an entity is; nothing when none of its attributes says so. A declared location comes before one by its type. */
export function locationOf({ attributes }: Pick<Entity, 'attributes'>): Point | undefined {
  const location = attributes.find(({ declaredLocation }) => declaredLocation) ?? attributes.find(isLocation)
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
