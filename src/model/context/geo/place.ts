import { err, ok, type Result } from '../../../result.js'
import { parseDecimal } from '../value.js'
import { type GeoShape, isLatitude, isLongitude, maxPoints, type Point } from './shape.js'
import { boxShape, lineShape, polygonShape } from './shape-parse.js'

const relations = ['near', 'coveredBy', 'intersects', 'disjoint', 'equals'] as const
type Relation = (typeof relations)[number]

const geometries = ['point', 'line', 'box', 'polygon'] as const
type Geometry = (typeof geometries)[number]

/** A geographical query: a relation of an entity's location to a shape [NGSIv2 context 10.4]. Plain data. */
export type Place =
  | {
      readonly relation: 'near'
      readonly centre: Point
      readonly minDistance_m: number | undefined
      readonly maxDistance_m: number | undefined
    }
  | { readonly relation: Exclude<Relation, 'near'>; readonly shape: GeoShape }

type Limit = 'maxDistance' | 'minDistance'

/** Why a geographical query is malformed; the first mistake in the order of checking counts [NGSIv2 context 10.4]. */
export type PlaceMalformed =
  | { readonly kind: 'geometryUnknown' }
  | { readonly kind: 'geometryTwice' }
  /** A word of georel is neither a relation nor a limit. */
  | { readonly kind: 'georelUnknown' }
  | { readonly kind: 'relationTwice' }
  | { readonly kind: 'limitTwice'; readonly limit: Limit }
  | { readonly kind: 'limitMalformed'; readonly limit: Limit }
  | { readonly kind: 'limitUnsuited'; readonly limit: Limit; readonly relation: Relation }
  | { readonly kind: 'nearUnlimited' }
  | { readonly kind: 'nearUnsuited' }
  | { readonly kind: 'coveredByUnsuited'; readonly geometry: 'point' | 'line' }
  /** A point does not have two coordinates. */
  | { readonly kind: 'pairMalformed' }
  /** A coordinate is not a number, or out of range. */
  | { readonly kind: 'coordinateMalformed' }
  | { readonly kind: 'pointsUnsuited'; readonly geometry: 'point' | 'line' | 'box' }
  | { readonly kind: 'boxFlat' }
  | { readonly kind: 'polygonPointsTooFew' }
  | { readonly kind: 'polygonOpen' }
  | { readonly kind: 'pointsTooMany'; readonly max: number }
  /** Only georel is missing. */
  | { readonly kind: 'georelMissing' }

export interface PlaceWords {
  /** The relation and its limits in any order; undefined when there is no georel. */
  readonly georel: readonly string[] | undefined
  readonly geometry: readonly string[]
  /** Latitude and longitude of each point. */
  readonly coords: readonly (readonly string[])[]
}

/** Parses a geographical query; refuses with the first mistake in the order of checking [NGSIv2 context 10.4]. */
export function parsePlace({ georel, geometry: words, coords }: PlaceWords): Result<Place, PlaceMalformed> {
  const geometry = parseGeometry(words)
  if (!geometry.ok) return geometry
  const limited = georel === undefined ? undefined : parseGeorel(georel)
  if (limited?.ok === false) return limited
  const unsuited = limited && unsuitedTo(geometry.value, limited.value.relation)
  if (unsuited) return err(unsuited)
  const points = parsePoints(coords)
  if (!points.ok) return points
  const shape = shapeOf(geometry.value, points.value)
  if (!shape.ok) return shape
  if (limited === undefined) return err({ kind: 'georelMissing' })
  const { relation, minDistance_m, maxDistance_m } = limited.value
  if (relation !== 'near') return ok({ relation, shape: shape.value })
  const [centre] = points.value
  if (centre === undefined) return err({ kind: 'pointsUnsuited', geometry: 'point' })
  return ok({ relation, centre, minDistance_m, maxDistance_m })
}

function parseGeometry(words: readonly string[]): Result<Geometry, PlaceMalformed> {
  const found = words.map((word) => geometries.find((geometry) => geometry === word.trim()))
  const [geometry] = found
  if (geometry === undefined || found.includes(undefined)) return err({ kind: 'geometryUnknown' })
  return found.length > 1 ? err({ kind: 'geometryTwice' }) : ok(geometry)
}

interface Limited {
  readonly relation: Relation
  readonly minDistance_m: number | undefined
  readonly maxDistance_m: number | undefined
}

function parseGeorel(words: readonly string[]): Result<Limited, PlaceMalformed> {
  const found: Relation[] = []
  const limits: Record<Limit, string[]> = { maxDistance: [], minDistance: [] }
  for (const word of words.map((each) => each.trim())) {
    const relation = relations.find((name) => name === word)
    const [, limit, number] = limitForm.exec(word) ?? []
    if (relation !== undefined) found.push(relation)
    else if (limit === 'maxDistance' || limit === 'minDistance') limits[limit].push(number ?? '')
    else return err({ kind: 'georelUnknown' })
  }
  const [relation] = found
  if (relation === undefined) return err({ kind: 'georelUnknown' })
  if (found.length > 1) return err({ kind: 'relationTwice' })
  return limited(relation, limits)
}

const limitForm = /^(maxDistance|minDistance):(.*)$/s

function limited(relation: Relation, limits: Record<Limit, readonly string[]>): Result<Limited, PlaceMalformed> {
  const names = ['maxDistance', 'minDistance'] as const
  for (const limit of names) if (limits[limit].length > 1) return err({ kind: 'limitTwice', limit })
  const metres = { maxDistance: metresOf(limits.maxDistance[0]), minDistance: metresOf(limits.minDistance[0]) }
  for (const limit of names) if (Number.isNaN(metres[limit])) return err({ kind: 'limitMalformed', limit })
  const { maxDistance: maxDistance_m, minDistance: minDistance_m } = metres
  for (const limit of names) {
    if (relation !== 'near' && metres[limit] !== undefined) return err({ kind: 'limitUnsuited', limit, relation })
  }
  if (relation === 'near' && maxDistance_m === undefined && minDistance_m === undefined) {
    return err({ kind: 'nearUnlimited' })
  }
  return ok({ relation, minDistance_m, maxDistance_m })
}

/** NaN for a text that is not a distance. */
function metresOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const metres = parseDecimal(text.trim())
  return metres !== undefined && metres >= 0 ? metres : Number.NaN
}

function unsuitedTo(geometry: Geometry, relation: Relation): PlaceMalformed | undefined {
  if (relation === 'near' && geometry !== 'point') return { kind: 'nearUnsuited' }
  const hasInside = geometry === 'box' || geometry === 'polygon'
  return relation === 'coveredBy' && !hasInside ? { kind: 'coveredByUnsuited', geometry } : undefined
}

function parsePoints(coords: readonly (readonly string[])[]): Result<readonly Point[], PlaceMalformed> {
  if (coords.length > maxPoints) return err({ kind: 'pointsTooMany', max: maxPoints })
  if (coords.some((pair) => pair.length !== 2)) return err({ kind: 'pairMalformed' })
  const points = coords.map(([latitude = '', longitude = '']) => ({
    latitude: parseDecimal(latitude.trim()) ?? Number.NaN,
    longitude: parseDecimal(longitude.trim()) ?? Number.NaN,
  }))
  const areRight = points.every(({ latitude, longitude }) => isLatitude(latitude) && isLongitude(longitude))
  return areRight ? ok(points) : err({ kind: 'coordinateMalformed' })
}

function shapeOf(geometry: Geometry, points: readonly Point[]): Result<GeoShape, PlaceMalformed> {
  switch (geometry) {
    case 'point':
      return points.length === 1 ? ok({ kind: 'points', points }) : err({ kind: 'pointsUnsuited', geometry })
    case 'line': {
      const line = lineShape(points)
      return line.ok ? line : err({ kind: 'pointsUnsuited', geometry })
    }
    case 'box': {
      const box = boxShape(points)
      if (box.ok) return box
      return err(box.error.kind === 'boxFlat' ? { kind: 'boxFlat' } : { kind: 'pointsUnsuited', geometry })
    }
    case 'polygon':
      return polygonShape(points)
  }
}

/**
 * The text of a mistake in a geographical query, which each API puts behind one of its own [NGSIv2 context 10.4, 14.5].
 * `georelMissing` occurs only with NGSIv2's parameters.
 */
export function detailsOfPlace(mistake: PlaceMalformed): string {
  switch (mistake.kind) {
    case 'geometryUnknown':
      return 'error parsing geometry: Invalid selector in geometry specification'
    case 'geometryTwice':
      return 'error parsing geometry: geometry-type present more than once'
    case 'georelUnknown':
      return 'Invalid modifier in georel parameter'
    case 'relationTwice':
      return 'georel type present more than once'
    case 'limitTwice':
      return `${mistake.limit} present more than once`
    case 'limitMalformed':
      return `invalid number for ${mistake.limit}`
    case 'limitUnsuited':
      return `${mistake.limit} erroneously used with georel /${mistake.relation}/`
    case 'nearUnlimited':
      return 'georel /near/ without either minDistance nor maxDistance'
    case 'nearUnsuited':
      return 'georel /near/ used with geometry different than point'
    case 'coveredByUnsuited':
      return `${mistake.geometry} geometry cannot be used with coveredBy georel`
    case 'pairMalformed':
      return 'invalid point in URI param /coords/'
    case 'coordinateMalformed':
      return 'invalid coordinates'
    case 'pointsUnsuited':
      return `invalid number of coordinates for /${mistake.geometry}/`
    case 'boxFlat':
      return 'box coordinates are not defining an actual box'
    case 'polygonPointsTooFew':
      return 'Too few coordinates for polygon'
    case 'polygonOpen':
      return 'First and last point in polygon not the same'
    case 'pointsTooMany':
      return `number of coordinates above ${mistake.max}`
    case 'georelMissing':
      return 'URI param /geometry/ used without /georel/'
  }
}
