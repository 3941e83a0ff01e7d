import type { Value } from '../entity.js'

/** A point on the earth in decimal degrees. */
export interface Point {
  readonly latitude: number
  readonly longitude: number
}

const number = String.raw`[ \t]*([+-]?(?:\d+(?:\.\d*)?|\.\d+))[ \t]*`
const pair = new RegExp(`^${number},${number}$`)

/**
 * Parses a text `latitude, longitude` in decimal degrees with optional spaces around the numbers; undefined for anything else,
 * and for numbers out of range [context 2.5], [NGSIv2 context 3.5].
 */
export function parseCoordinates(value: Value): Point | undefined {
  if (typeof value !== 'string') return undefined
  const [, latitude, longitude] = pair.exec(value) ?? []
  const point = { latitude: Number(latitude), longitude: Number(longitude) }
  return isLatitude(point.latitude) && isLongitude(point.longitude) ? point : undefined
}

export function isLatitude(degrees: number): boolean {
  return Math.abs(degrees) <= 90
}

export function isLongitude(degrees: number): boolean {
  return Math.abs(degrees) <= 180
}

/** Whether two points have the same coordinates; longitudes 180 and -180 differ. */
export function samePoint(a: Point | undefined, b: Point | undefined): boolean {
  return a?.latitude === b?.latitude && a?.longitude === b?.longitude
}

/**
 * The location of an entity, or the shape of a query; plain data. A multi-kind with a single part equals the shape of that part.
 */
export type GeoShape =
  | { readonly kind: 'points'; readonly points: readonly Point[] }
  /** Each of at least two points, joined by arcs of great circles. */
  | { readonly kind: 'lines'; readonly lines: readonly (readonly Point[])[] }
  | { readonly kind: 'polygons'; readonly polygons: readonly Rings[] }

/** The border of a polygon, then those of its holes; each of at least four points, the last equal to the first. */
export type Rings = readonly (readonly Point[])[]

/** The most points of a shape: a relation looks at each of them for each entity. */
export const maxPoints = 10_000

export function pointCount(shape: GeoShape): number {
  switch (shape.kind) {
    case 'points':
      return shape.points.length
    case 'lines':
      return countIn(shape.lines)
    case 'polygons':
      return shape.polygons.reduce((sum, rings) => sum + countIn(rings), 0)
  }
}

/** Whether two shapes have equal coordinates, with parts, rings and points in the same order [NGSIv2 context 10.4]. */
export function sameShape(a: GeoShape, b: GeoShape): boolean {
  if (a.kind === 'points') return b.kind === 'points' && sameItems(a.points, b.points, samePoint)
  if (a.kind === 'lines') return b.kind === 'lines' && sameItems(a.lines, b.lines, samePoints)
  return b.kind === 'polygons' && sameItems(a.polygons, b.polygons, (left, right) => sameItems(left, right, samePoints))
}

function samePoints(a: readonly Point[], b: readonly Point[]): boolean {
  return sameItems(a, b, samePoint)
}

function sameItems<Item>(a: readonly Item[], b: readonly Item[], same: (a: Item, b: Item) => boolean): boolean {
  if (a.length !== b.length) return false
  return a.every((item, at) => {
    const other = b[at]
    return other !== undefined && same(item, other)
  })
}

function countIn(lists: readonly (readonly Point[])[]): number {
  return lists.reduce((sum, { length }) => sum + length, 0)
}
