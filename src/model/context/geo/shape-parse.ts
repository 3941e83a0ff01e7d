import { err, ok, type Result } from '../../../result.js'
import type { Value } from '../entity.js'
import { isArray, isObject, valueText } from '../value.js'
import {
  type GeoShape,
  isLatitude,
  isLongitude,
  maxPoints,
  type Point,
  parseCoordinates,
  type Rings,
  samePoint,
} from './shape.js'

/** Why a value is not a shape of its type: the facts; each API has its texts [NGSIv2 context 3.5]. */
export type ShapeMalformed =
  | GeoJsonMalformed
  /** The text that is not two numbers in range; other kinds of values as JSON. */
  | { readonly kind: 'pointMalformed'; readonly text: string }
  | { readonly kind: 'noArray' }
  | { readonly kind: 'itemNoText' }
  | { readonly kind: 'linePointsTooFew' }
  | { readonly kind: 'boxPointsNotTwo' }
  /** The corners have the same latitude or the same longitude. */
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

/** Whether the value of an attribute is one that `geo:json` never has: neither an object nor null [NGSIv2 context 3.5]. */
export function lacksGeoJson(type: string, value: Value): boolean {
  return type === 'geo:json' && value !== null && !isObject(value)
}

/**
 * Parses the shape of a value of one of the five types. A value of another type is a shape if it is the text of coordinates, as
 * in an attribute that NGSIv1 has marked [NGSIv2 context 3.5, 14.4]. Refusals are checked in this order: kind, items, their
 * number.
 */
export function parseShape(type: string, value: Value): Result<GeoShape, ShapeMalformed> {
  return (parsers.get(type) ?? pointShape)(value)
}

/** The line through these points; refused with fewer than two. */
export function lineShape(points: readonly Point[]): Result<GeoShape, { readonly kind: 'linePointsTooFew' }> {
  return points.length < 2 ? err({ kind: 'linePointsTooFew' }) : ok({ kind: 'lines', lines: [points] })
}

/**
 * The polygon between the parallels and meridians of two opposite corners; like all edges, its edges are arcs of great circles.
 */
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
  if (point === undefined) return err({ kind: 'pointMalformed', text: valueText(value) })
  return ok({ kind: 'points', points: [point] })
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

/** Why a value is not GeoJSON of a kind that can be a location [NGSIv2 context 3.5]. */
type GeoJsonMalformed =
  /** Neither an object nor null. */
  | { readonly kind: 'geoJsonNoObject' }
  | { readonly kind: 'geometryMissing' }
  | { readonly kind: 'geometryNoObject' }
  | { readonly kind: 'featuresMissing' }
  | { readonly kind: 'featuresNoArray' }
  | { readonly kind: 'featuresNone' }
  | { readonly kind: 'featuresTooMany' }
  /** The kind is unknown, or the coordinates do not fit it. */
  | { readonly kind: 'geoJsonMalformed' }
  | { readonly kind: 'pointsTooMany'; readonly max: number }

const malformed = err({ kind: 'geoJsonMalformed' } as const)

/**
 * Parses a GeoJSON object of one of the six kinds that have coordinates, a Feature, or a FeatureCollection with one Feature
 * [NGSIv2 context 3.5]. A position is longitude, latitude and perhaps further numbers, which are ignored.
 */
function parseGeoJson(value: Value): Result<GeoShape, GeoJsonMalformed> {
  if (!isObject(value)) return err({ kind: 'geoJsonNoObject' })
  const geometry = geometryOf(value)
  if (!geometry.ok) return geometry
  const shape = new ShapeReader().shape(geometry.value)
  if (shape === 'tooMany') return err({ kind: 'pointsTooMany', max: maxPoints })
  return shape === undefined ? malformed : ok(shape)
}

type Members = { readonly [key: string]: Value }

/**
 * The GeoJSON object that is rendered: for a Feature, and for a FeatureCollection with one Feature, the geometry; otherwise the
 * object itself [NGSIv2 context 3.5].
 */
export function geometryOf(object: Members): Result<Members, GeoJsonMalformed> {
  switch (member(object, 'type')) {
    case 'Feature':
      return geometryOfFeature(object)
    case 'FeatureCollection': {
      const features = member(object, 'features')
      if (features === undefined) return err({ kind: 'featuresMissing' })
      if (!isArray(features)) return err({ kind: 'featuresNoArray' })
      const [feature] = features
      if (feature === undefined) return err({ kind: 'featuresNone' })
      if (features.length > 1) return err({ kind: 'featuresTooMany' })
      return isObject(feature) && member(feature, 'type') === 'Feature' ? geometryOfFeature(feature) : malformed
    }
    default:
      return ok(object)
  }
}

function geometryOfFeature(feature: Members): Result<Members, GeoJsonMalformed> {
  const geometry = member(feature, 'geometry')
  if (geometry === undefined) return err({ kind: 'geometryMissing' })
  return isObject(geometry) ? ok(geometry) : err({ kind: 'geometryNoObject' })
}

function member(object: Members, name: string): Value | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined
}

/** Reads coordinates; undefined where they do not fit their kind. */
class ShapeReader {
  #points = 0

  shape(geometry: Members): GeoShape | 'tooMany' | undefined {
    const shape = this.#ofKind(member(geometry, 'type'), member(geometry, 'coordinates') ?? null)
    return this.#points > maxPoints ? 'tooMany' : shape
  }

  #ofKind(kind: Value | undefined, coordinates: Value): GeoShape | undefined {
    switch (kind) {
      case 'Point':
        return points(this.#all([coordinates], (position) => this.#point(position)))
      case 'MultiPoint':
        return points(this.#all(coordinates, (position) => this.#point(position)))
      case 'LineString':
        return lines(this.#all([coordinates], (line) => this.#line(line)))
      case 'MultiLineString':
        return lines(this.#all(coordinates, (line) => this.#line(line)))
      case 'Polygon':
        return polygons(this.#all([coordinates], (rings) => this.#rings(rings)))
      case 'MultiPolygon':
        return polygons(this.#all(coordinates, (rings) => this.#rings(rings)))
      default:
        return undefined
    }
  }

  /** At least one item, all of them well-formed. */
  #all<Item>(value: Value, read: (value: Value) => Item | undefined): readonly Item[] | undefined {
    if (!isArray(value) || value.length === 0) return undefined
    const items: Item[] = []
    for (const raw of value) {
      const item = read(raw)
      if (item === undefined) return undefined
      items.push(item)
    }
    return items
  }

  #rings(value: Value): Rings | undefined {
    return this.#all(value, (ring) => this.#ring(ring))
  }

  #ring(value: Value): readonly Point[] | undefined {
    const border = this.#line(value)
    return border !== undefined && border.length >= 4 && samePoint(border[0], border.at(-1)) ? border : undefined
  }

  #line(value: Value): readonly Point[] | undefined {
    const line = this.#all(value, (position) => this.#point(position))
    return line !== undefined && line.length >= 2 ? line : undefined
  }

  #point(value: Value): Point | undefined {
    this.#points += 1
    if (this.#points > maxPoints || !isArray(value) || value.length > maxNumbers) return undefined
    const [longitude, latitude] = value
    if (!value.every((number) => typeof number === 'number' && Number.isFinite(number))) return undefined
    if (typeof longitude !== 'number' || typeof latitude !== 'number') return undefined
    return isLongitude(longitude) && isLatitude(latitude) ? { latitude, longitude } : undefined
  }
}

/** A longitude, a latitude, a height, and one more that some tools add. */
const maxNumbers = 4

function points(items: readonly Point[] | undefined): GeoShape | undefined {
  return items && { kind: 'points', points: items }
}

function lines(items: readonly (readonly Point[])[] | undefined): GeoShape | undefined {
  return items && { kind: 'lines', lines: items }
}

function polygons(items: readonly Rings[] | undefined): GeoShape | undefined {
  return items && { kind: 'polygons', polygons: items }
}
