import type { Effort } from '../effort.js'
import type { Area, Circle } from './area.js'
import { boundsOf, inBoxes } from './bounds.js'
import { angleToFigure, areApart, type Figure, figureOf } from './figure.js'
import { type GeoShape, pointCount } from './geo-shape.js'
import type { Point } from './point.js'
import { covers, intersect } from './relation.js'
import { ringOf } from './ring.js'
import { angleBetween, earthRadius_m, times, vectorOf } from './sphere.js'

/**
 * What tells whether all of a shape lies in the area: in the inverted one when nothing of it lies in the area
 * [context 7.4.1], [NGSIv2 context 14.2]. Points on the border may be in it or not. What is answered after the effort is
 * spent means nothing.
 */
export function compileArea(area: Area, effort: Effort): (shape: GeoShape) => boolean {
  const steps = stepsOf(area)
  const holdsPoint = area.kind === 'circle' ? compileCircle(area) : compilePolygon(area)
  const holdsFigure = area.kind === 'circle' ? circleOfFigures(area) : polygonOfFigures(area, effort)
  return (shape) => {
    if (shape.kind !== 'points') return effort.spend(figureSteps(shape)) && holdsFigure(figureOf(shape))
    return shape.points.every((point) => effort.spend(steps) && holdsPoint(point) !== area.inverted)
  }
}

/** What it takes to make a figure and to look at it once, in steps for each of its points. */
const pointSteps = { points: 15, lines: 40, polygons: 90 } as const

/** What it takes to make a figure of a shape and to look at it once, in steps. */
export function figureSteps(shape: GeoShape): number {
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

/** What is nowhere farther from a point than so much is nowhere nearer to the opposite point than the rest of half the earth. */
function circleOfFigures({ centre, radius_m, inverted }: Circle): (figure: Figure) => boolean {
  const middle = vectorOf(centre)
  const angle = radius_m / earthRadius_m
  if (inverted) return (figure) => angleToFigure(middle, figure) > angle
  const opposite = times(middle, -1)
  return (figure) => angleToFigure(opposite, figure) >= Math.PI - angle
}

type AreaPolygon = Exclude<Area, Circle>

/** A polygon may have thousands of vertices: most points are far away, which its bounds tell sooner. */
function compilePolygon(polygon: AreaPolygon): (point: Point) => boolean {
  const { holds } = ringOf(polygon.vertices)
  const bounds = boundsOf({ ...polygon, inverted: false })
  return (point) => inBoxes(bounds, point) && holds(vectorOf(point))
}

function polygonOfFigures({ vertices, inverted }: AreaPolygon, effort: Effort): (figure: Figure) => boolean {
  let made: Figure | undefined // Most entities are points, for which it is not needed.
  return (figure) => {
    made ??= figureOf({ kind: 'polygons', polygons: [[vertices]] })
    if (areApart(made, figure)) return inverted
    if (inverted) return !intersect(made, figure, effort)
    return made.regions.every((region) => covers(region, figure, effort))
  }
}
