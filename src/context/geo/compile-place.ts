import type { Effort } from '../effort.js'
import { figureSteps } from './compile-area.js'
import { angleToFigure, areApart, type Figure, figureOf } from './figure.js'
import { type GeoShape, pointCount, sameShape } from './geo-shape.js'
import type { Place } from './place.js'
import type { Point } from './point.js'
import { covers, intersect } from './relation.js'
import { earthRadius_m, vectorOf } from './sphere.js'

/**
 * What tells whether a location lies to the shape of a geographical query as asked for: on a sphere of 6 371 000 m, edges
 * being arcs of great circles, borders included [NGSIv2 context 10.4]. What is answered after the effort is spent means
 * nothing.
 */
export function compilePlace(place: Place, effort: Effort): (location: GeoShape) => boolean {
  if (place.relation === 'near') return compileNear(place, effort)
  const { relation, shape } = place
  if (relation === 'equals') return (location) => effort.spend(pointCount(location)) && sameShape(shape, location)
  const figure = figureOf(shape)
  const test = figureTest(relation, figure, effort)
  return (location) => effort.spend(figureSteps(location)) && test(figureOf(location))
}

/** The distance in metres from a point to the nearest point of a shape, 0 inside [NGSIv2 context 10.4]. */
export function distanceFrom(centre: Point): (shape: GeoShape) => number {
  const middle = vectorOf(centre)
  return (shape) => angleToFigure(middle, figureOf(shape)) * earthRadius_m
}

function compileNear(
  { centre, minDistance_m = 0, maxDistance_m = Number.POSITIVE_INFINITY }: Extract<Place, { relation: 'near' }>,
  effort: Effort,
): (location: GeoShape) => boolean {
  const distanceTo = distanceFrom(centre)
  return (location) => {
    if (!effort.spend(figureSteps(location))) return false
    const distance_m = distanceTo(location)
    return distance_m >= minDistance_m && distance_m <= maxDistance_m
  }
}

function figureTest(
  relation: 'coveredBy' | 'intersects' | 'disjoint',
  figure: Figure,
  effort: Effort,
): (location: Figure) => boolean {
  switch (relation) {
    case 'coveredBy':
      return (location) =>
        !areApart(location, figure) && figure.regions.some((region) => covers(region, location, effort))
    case 'intersects':
      return (location) => intersect(location, figure, effort)
    case 'disjoint':
      return (location) => !intersect(location, figure, effort)
  }
}
