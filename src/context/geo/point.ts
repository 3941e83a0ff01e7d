import type { Value } from '../entity.js'

/** A point on the earth in decimal degrees. */
export interface Point {
  readonly latitude: number
  readonly longitude: number
}

const number = String.raw`[ \t]*([+-]?(?:\d+(?:\.\d*)?|\.\d+))[ \t]*`
const pair = new RegExp(`^${number},${number}$`)

/**
 * The point of a text `latitude, longitude` in decimal degrees with optional spaces around the numbers; nothing for
 * anything else, and for numbers out of range [context 2.5], [NGSIv2 context 3.5].
 */
export function parseCoordinates(value: Value): Point | undefined {
  if (typeof value !== 'string') return undefined
  const [, latitude, longitude] = pair.exec(value) ?? []
  const point = { latitude: Number(latitude), longitude: Number(longitude) }
  return isLatitude(point.latitude) && isLongitude(point.longitude) ? point : undefined
}

/** Whether a number is a latitude in degrees. */
export function isLatitude(degrees: number): boolean {
  return Math.abs(degrees) <= 90
}

/** Whether a number is a longitude in degrees. */
export function isLongitude(degrees: number): boolean {
  return Math.abs(degrees) <= 180
}

/** Whether two points have the same coordinates: the two longitudes of one meridian, 180 and -180, are not the same. */
export function samePoint(a: Point | undefined, b: Point | undefined): boolean {
  return a?.latitude === b?.latitude && a?.longitude === b?.longitude
}
