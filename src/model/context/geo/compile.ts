import type { StepBudget } from '../step-budget.js'
import type { Area, Circle } from './area.js'
import { boundsOf, inBoxes } from './bounds.js'
import { angleToFigure, areApart, covers, type Figure, figureOf, intersect } from './figure.js'
import type { Place } from './place.js'
import { ringOf } from './ring.js'
import { type GeoShape, type Point, pointCount, sameShape } from './shape.js'
import { angleBetween, earthRadius_m, times, vectorOf } from './sphere.js'

/**
 * Compiles a geographical query to a test of locations: on a sphere of 6 371 000 m, edges being arcs of great circles, borders
 * included [NGSIv2 context 10.4]. The result is meaningless once the step budget is spent.
 */
export function compilePlace(place: Place, budget: StepBudget): (location: GeoShape) => boolean {
  if (place.relation === 'near') return compileNear(place, budget)
  const { relation, shape } = place
  if (relation === 'equals') return (location) => budget.spend(pointCount(location)) && sameShape(shape, location)
  const figure = figureOf(shape)
  const test = figureTest(relation, figure, budget)
  return (location) => budget.spend(figureSteps(location)) && test(figureOf(location))
}

/** The distance in metres from a point to the nearest point of a shape, 0 inside [NGSIv2 context 10.4]. */
export function distanceFrom(centre: Point): (shape: GeoShape) => number {
  const middle = vectorOf(centre)
  return (shape) => angleToFigure(middle, figureOf(shape)) * earthRadius_m
}

function compileNear(
  { centre, minDistance_m = 0, maxDistance_m = Number.POSITIVE_INFINITY }: Extract<Place, { relation: 'near' }>,
  budget: StepBudget,
): (location: GeoShape) => boolean {
  const distanceTo = distanceFrom(centre)
  return (location) => {
    if (!budget.spend(figureSteps(location))) return false
    const distance_m = distanceTo(location)
    return distance_m >= minDistance_m && distance_m <= maxDistance_m
  }
}

function figureTest(
  relation: 'coveredBy' | 'intersects' | 'disjoint',
  figure: Figure,
  budget: StepBudget,
): (location: Figure) => boolean {
  switch (relation) {
    case 'coveredBy':
      return (location) =>
        !areApart(location, figure) && figure.regions.some((region) => covers(region, location, budget))
    case 'intersects':
      return (location) => intersect(location, figure, budget)
    case 'disjoint':
      return (location) => !intersect(location, figure, budget)
  }
}

/**
 * Compiles an area to a test whether all of a shape lies in it; for an inverted area, whether none of the shape lies in the area
 * [context 7.4.1], [NGSIv2 context 14.2]. Points on the border may count either way. The result is meaningless once the step
 * budget is spent.
 */
export function compileArea(area: Area, budget: StepBudget): (shape: GeoShape) => boolean {
  const steps = stepsOf(area)
  const holdsPoint = area.kind === 'circle' ? compileCircle(area) : compilePolygon(area)
  const holdsFigure = area.kind === 'circle' ? circleOfFigures(area) : polygonOfFigures(area, budget)
  return (shape) => {
    if (shape.kind !== 'points') return budget.spend(figureSteps(shape)) && holdsFigure(figureOf(shape))
    return shape.points.every((point) => budget.spend(steps) && holdsPoint(point) !== area.inverted)
  }
}

/** The steps to make a figure and to use it once, per point. */
const pointSteps = { points: 15, lines: 40, polygons: 90 } as const

/** The steps to make a figure of a shape and to use it once. */
function figureSteps(shape: GeoShape): number {
  return pointSteps[shape.kind] * pointCount(shape)
}

/** An edge of a polygon takes some ten steps. */
function stepsOf(area: Area): number {
  return area.kind === 'polygon' ? 10 * area.vertices.length : 10
}

function compileCircle({ centre, radius_m }: Circle): (point: Point) => boolean {
  const middle = vectorOf(centre)
  return (point) => angleBetween(vectorOf(point), middle) * earthRadius_m <= radius_m
}

/**
 * A figure lies within a circle when no point of it is nearer to the antipode of the centre than half the circumference less the
 * radius.
 */
function circleOfFigures({ centre, radius_m, inverted }: Circle): (figure: Figure) => boolean {
  const middle = vectorOf(centre)
  const angle = radius_m / earthRadius_m
  if (inverted) return (figure) => angleToFigure(middle, figure) > angle
  const opposite = times(middle, -1)
  return (figure) => angleToFigure(opposite, figure) >= Math.PI - angle
}

type AreaPolygon = Exclude<Area, Circle>

/** A polygon may have thousands of vertices: its bounds exclude most points sooner. */
function compilePolygon(polygon: AreaPolygon): (point: Point) => boolean {
  const { holds } = ringOf(polygon.vertices)
  const bounds = boundsOf({ ...polygon, inverted: false })
  return (point) => inBoxes(bounds, point) && holds(vectorOf(point))
}

/** A polygon is the place of its ring: shapes other than points are covered by it, or disjoint from it. */
function polygonOfFigures({ vertices, inverted }: AreaPolygon, budget: StepBudget): (figure: Figure) => boolean {
  let test: ((figure: Figure) => boolean) | undefined // Most entities are points, which do not need it.
  return (figure) => {
    test ??= figureTest(
      inverted ? 'disjoint' : 'coveredBy',
      figureOf({ kind: 'polygons', polygons: [[vertices]] }),
      budget,
    )
    return test(figure)
  }
}
