import { err, ok, type Result } from '../../result.js'
import type { Value } from '../entity.js'
import { isArray } from '../value.js'
import { type GeoShape, maxPoints } from './geo-shape.js'
import { type GeoJsonMalformed, parseGeoJson } from './geojson.js'
import { type Point, parseCoordinates, samePoint } from './point.js'

/** Why a value is no shape of its type: the facts; each API has its texts for them [NGSIv2 context 3.5]. */
export type ShapeMalformed =
  | GeoJsonMalformed
  /** The text that is not two numbers in range; other kinds of values as JSON. */
  | { readonly kind: 'pointMalformed'; readonly text: string }
  | { readonly kind: 'noArray' }
  | { readonly kind: 'itemNoText' }
  | { readonly kind: 'linePointsTooFew' }
  | { readonly kind: 'boxPointsNotTwo' }
  /** Its corners have the same latitude, or the same longitude. */
  | { readonly kind: 'boxFlat' }
  | { readonly kind: 'polygonPointsTooFew' }
  | { readonly kind: 'polygonOpen' }

type ShapeParser = (value: Value) => Result<GeoShape, ShapeMalformed>

const parsers: ReadonlyMap<string, ShapeParser> = new Map<string, ShapeParser>([
  ['geo:json', parseGeoJson],
  ['geo:point', pointShape],
  ['geo:line', (value) => fromTexts(value, lineShape)],
  ['geo:box', (value) => fromTexts(value, boxShape)],
  ['geo:polygon', (value) => fromTexts(value, polygonShape)],
])

/** Whether an attribute of this type holds a shape [NGSIv2 context 3.5]. */
export function isShapeType(type: string): boolean {
  return parsers.has(type)
}

/**
 * The shape of a value of one of the five types; a value of any other type is one if it is the text of coordinates, as
 * that of an attribute that NGSIv1 has marked [NGSIv2 context 3.5, 14.4]. The refusals come in the order in which they
 * are looked for: kind, then items, then their number.
 */
export function parseShape(type: string, value: Value): Result<GeoShape, ShapeMalformed> {
  return (parsers.get(type) ?? pointShape)(value)
}

/** The line through these points; refused with fewer than two. */
export function lineShape(points: readonly Point[]): Result<GeoShape, { readonly kind: 'linePointsTooFew' }> {
  return points.length < 2 ? err({ kind: 'linePointsTooFew' }) : ok({ kind: 'lines', lines: [points] })
}

/** The polygon between the parallels and meridians of two opposite corners; its edges are arcs of great circles, as all. */
export function boxShape(
  corners: readonly Point[],
): Result<GeoShape, { readonly kind: 'boxPointsNotTwo' | 'boxFlat' }> {
  const [a, b] = corners
  if (a === undefined || b === undefined || corners.length !== 2) return err({ kind: 'boxPointsNotTwo' })
  if (a.latitude === b.latitude || a.longitude === b.longitude) return err({ kind: 'boxFlat' })
  const [south, north] = [Math.min(a.latitude, b.latitude), Math.max(a.latitude, b.latitude)]
  const [west, east] = [Math.min(a.longitude, b.longitude), Math.max(a.longitude, b.longitude)]
  const first = { latitude: south, longitude: west }
  const others = [
    { latitude: south, longitude: east },
    { latitude: north, longitude: east },
    { latitude: north, longitude: west },
  ]
  return ok({ kind: 'polygons', polygons: [[[first, ...others, first]]] })
}

/** The polygon with this border; refused with fewer than four points, or if the last is not the first. */
export function polygonShape(
  points: readonly Point[],
): Result<GeoShape, { readonly kind: 'polygonPointsTooFew' | 'polygonOpen' }> {
  if (points.length < 4) return err({ kind: 'polygonPointsTooFew' })
  if (!samePoint(points[0], points.at(-1))) return err({ kind: 'polygonOpen' })
  return ok({ kind: 'polygons', polygons: [[points]] })
}

function pointShape(value: Value): Result<GeoShape, ShapeMalformed> {
  const point = parseCoordinates(value)
  if (point === undefined) return err({ kind: 'pointMalformed', text: textOf(value) })
  return ok({ kind: 'points', points: [point] })
}

function textOf(value: Value): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function fromTexts(
  value: Value,
  shapeOf: (points: readonly Point[]) => Result<GeoShape, ShapeMalformed>,
): Result<GeoShape, ShapeMalformed> {
  if (!isArray(value)) return err({ kind: 'noArray' })
  if (value.length > maxPoints) return err({ kind: 'pointsTooMany', max: maxPoints })
  const points: Point[] = []
  for (const text of value) {
    if (typeof text !== 'string') return err({ kind: 'itemNoText' })
    const point = parseCoordinates(text)
    if (point === undefined) return err({ kind: 'pointMalformed', text })
    points.push(point)
  }
  return shapeOf(points)
}
