import { err, ok, type Result } from '../../result.js'
import type { Value } from '../entity.js'
import { isArray, isObject } from '../value.js'
import { type GeoShape, maxPoints, type Rings } from './geo-shape.js'
import { isLatitude, isLongitude, type Point, samePoint } from './point.js'

/** Why a value is no GeoJSON of a kind that can be a location [NGSIv2 context 3.5]. */
export type GeoJsonMalformed =
  /** Neither an object nor null. */
  | { readonly kind: 'geoJsonNoObject' }
  | { readonly kind: 'geometryMissing' }
  | { readonly kind: 'geometryNoObject' }
  | { readonly kind: 'featuresMissing' }
  | { readonly kind: 'featuresNoArray' }
  | { readonly kind: 'featuresNone' }
  | { readonly kind: 'featuresTooMany' }
  /** Of an unknown kind, or its coordinates are not those of its kind. */
  | { readonly kind: 'geoJsonMalformed' }
  | { readonly kind: 'pointsTooMany'; readonly max: number }

const malformed = err({ kind: 'geoJsonMalformed' } as const)

/**
 * The shape of a GeoJSON object of one of the six kinds that have coordinates, of a Feature, or of a FeatureCollection with
 * one Feature [NGSIv2 context 3.5]. A position is longitude, latitude and perhaps further numbers, which mean nothing here.
 */
export function parseGeoJson(value: Value): Result<GeoShape, GeoJsonMalformed> {
  if (!isObject(value)) return err({ kind: 'geoJsonNoObject' })
  const geometry = geometryOf(value)
  if (!geometry.ok) return geometry
  const shape = new ShapeReader().shape(geometry.value)
  if (shape === 'tooMany') return err({ kind: 'pointsTooMany', max: maxPoints })
  return shape === undefined ? malformed : ok(shape)
}

type Members = { readonly [key: string]: Value }

/**
 * What a GeoJSON object is rendered as: of a Feature and of a FeatureCollection with one Feature the geometry, of all else
 * itself [NGSIv2 context 3.5].
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

/** Reads coordinates; what it gives is nothing where they are not of their kind. */
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

  /** At least one, each as it should be. */
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

/** A longitude, a latitude, a height, and what some tools add to it. */
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
