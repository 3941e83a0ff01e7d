import { err, ok, type Result } from '../../../result.js'
import type { Value } from '../entity.js'
import { isArray, isObject, parseDecimal } from '../value.js'
import { isLatitude, isLongitude, maxPoints, type Point, samePoint } from './shape.js'

/** A part of the earth's surface; `inverted` means all the rest of it [context 7.4.1]. Plain data. */
export type Area = Circle | AreaPolygon

export interface Circle {
  readonly kind: 'circle'
  readonly centre: Point
  readonly radius_m: number
  readonly inverted: boolean
}

interface AreaPolygon {
  readonly kind: 'polygon'
  /** At least three; the last one does not repeat the first. */
  readonly vertices: readonly Point[]
  readonly inverted: boolean
}

/** Why an area is malformed; each API has its texts [context 7.4.1]. */
export type AreaMalformed =
  /** Neither a circle nor a polygon, or both. */
  | { readonly kind: 'shapeUnknown' }
  | { readonly kind: 'radiusMissing' }
  | { readonly kind: 'radiusZero' }
  /** Negative or no number. */
  | { readonly kind: 'radiusMalformed' }
  | { readonly kind: 'coordinateMissing'; readonly shape: Area['kind']; readonly coordinate: Coordinate }
  | { readonly kind: 'coordinateMalformed'; readonly coordinate: Coordinate }
  | { readonly kind: 'invertedMalformed'; readonly shape: Area['kind']; readonly value: string }
  | { readonly kind: 'verticesTooFew' }
  | { readonly kind: 'verticesTooMany' }

type Coordinate = 'latitude' | 'longitude'

/** Parses the value of a location scope; numbers and booleans may be texts [context 7.4.1]. */
export function parseArea(value: Value): Result<Area, AreaMalformed> {
  const { circle, polygon } = members(value)
  if ((circle === undefined) === (polygon === undefined)) return err({ kind: 'shapeUnknown' })
  return circle === undefined ? parsePolygon(members(polygon)) : parseCircle(members(circle))
}

type Members = { readonly [key: string]: Value | undefined }

function members(value: Value | undefined): Members {
  return value !== undefined && isObject(value) ? value : {}
}

function parseCircle({ centerLatitude, centerLongitude, radius, inverted }: Members): Result<Area, AreaMalformed> {
  if (isMissing(radius)) return err({ kind: 'radiusMissing' })
  const radius_m = numberOf(radius)
  if (radius_m === 0) return err({ kind: 'radiusZero' })
  if (!(radius_m > 0)) return err({ kind: 'radiusMalformed' })
  const centre = parsePoint('circle', centerLatitude, centerLongitude)
  if (!centre.ok) return centre
  const turned = parseInverted('circle', inverted)
  return turned.ok ? ok({ kind: 'circle', centre: centre.value, radius_m, inverted: turned.value }) : turned
}

function parsePolygon({ vertices, inverted }: Members): Result<Area, AreaMalformed> {
  const given = vertices !== undefined && isArray(vertices) ? vertices : []
  if (given.length > maxPoints) return err({ kind: 'verticesTooMany' })
  const points: Point[] = []
  for (const vertex of given) {
    const { latitude, longitude } = members(vertex)
    const point = parsePoint('polygon', latitude, longitude)
    if (!point.ok) return point
    points.push(point.value)
  }
  if (samePoint(points[0], points.at(-1))) points.pop()
  if (points.length < 3) return err({ kind: 'verticesTooFew' })
  const turned = parseInverted('polygon', inverted)
  return turned.ok ? ok({ kind: 'polygon', vertices: points, inverted: turned.value }) : turned
}

function parsePoint(
  shape: Area['kind'],
  latitude: Value | undefined,
  longitude: Value | undefined,
): Result<Point, AreaMalformed> {
  if (isMissing(latitude)) return err({ kind: 'coordinateMissing', shape, coordinate: 'latitude' })
  if (isMissing(longitude)) return err({ kind: 'coordinateMissing', shape, coordinate: 'longitude' })
  const point = { latitude: numberOf(latitude), longitude: numberOf(longitude) }
  if (!isLatitude(point.latitude)) return err({ kind: 'coordinateMalformed', coordinate: 'latitude' })
  if (!isLongitude(point.longitude)) return err({ kind: 'coordinateMalformed', coordinate: 'longitude' })
  return ok(point)
}

/** In NGSIv1 an empty text counts as missing. */
function isMissing(value: Value | undefined): value is undefined | '' {
  return value === undefined || value === ''
}

/** A JSON number or the text of one; otherwise NaN, which is in no range. */
function numberOf(value: Value): number {
  if (typeof value === 'number') return value
  return (typeof value === 'string' ? parseDecimal(value.trim()) : undefined) ?? Number.NaN
}

const truths = new Map<Value | undefined, boolean>([
  [undefined, false],
  ['', false],
  ...(['true', '1', true, 1] as const).map((value) => [value, true] as const),
  ...(['false', '0', false, 0] as const).map((value) => [value, false] as const),
])

function parseInverted(shape: Area['kind'], value: Value | undefined): Result<boolean, AreaMalformed> {
  const inverted = truths.get(value)
  if (inverted !== undefined) return ok(inverted)
  return err({
    kind: 'invertedMalformed',
    shape,
    value: typeof value === 'string' ? value : JSON.stringify(value),
  })
}
