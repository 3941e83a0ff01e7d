import type { Effort } from '../effort.js'
import { ArcTable, isTouching, touch } from './arc.js'
import { areApart, type Figure, type Region, regionSteps } from './figure.js'
import { clearance } from './ring.js'
import { type Arc, angleBetween, plus, unit, type Vector3 } from './sphere.js'

/**
 * Whether two figures have a point in common, borders included [NGSIv2 context 10.4]. What is answered after the effort is
 * spent means nothing.
 */
export function intersect(a: Figure, b: Figure, effort: Effort): boolean {
  if (areApart(a, b)) return false
  return (
    a.points.some((point) => touchesPoint(b, point, effort)) ||
    b.points.some((point) => touchesPoint(a, point, effort)) ||
    bordersMeet(a, b, effort) ||
    // Their lines and borders do not meet: each line, and each border, is inside as a whole or not at all.
    a.regions.some((region) => startsIn(b, region, effort)) ||
    b.regions.some((region) => startsIn(a, region, effort))
  )
}

/**
 * Whether all of a figure lies in a region, border included [NGSIv2 context 10.4]. What is answered after the effort is
 * spent means nothing.
 */
export function covers(region: Region, figure: Figure, effort: Effort): boolean {
  const border = new ArcTable(region.edges, effort)
  const isInside = (line: readonly Arc[]): boolean =>
    each(line, border, effort, (point) => effort.spend(regionSteps(region)) && region.holds(point))
  return (
    figure.points.every((point) => effort.spend(regionSteps(region)) && region.holds(point)) &&
    figure.lines.every(isInside) &&
    figure.regions.every(({ rings }) => rings.every(({ edges }) => isInside(edges))) &&
    figure.regions.every((inner) => !reachesInto(region, inner, effort))
  )
}

/** Whether the border of a region passes within another one, so that this one has points on both sides of it. */
function reachesInto({ rings }: Region, inner: Region, effort: Effort): boolean {
  const border = new ArcTable(inner.edges, effort)
  const isOutside = (point: Vector3): boolean => effort.spend(regionSteps(inner)) && !inner.holdsWithin(point)
  return rings.some(({ edges }) => !each(edges, border, effort, isOutside))
}

/**
 * Whether something holds for all points of a line, where it can change at a border only: it is asked for one point of each
 * piece between two of the points in common with the border.
 */
function each(line: readonly Arc[], border: ArcTable, effort: Effort, holds: (point: Vector3) => boolean): boolean {
  let isKnown = false
  for (const arc of line) {
    if (!effort.spend(arcSteps)) return false
    const cuts = border.commonPoints(arc)
    if (cuts.length > 0) {
      if (!middles(arc, cuts).every(holds)) return false
    } else if (!isKnown && !holds(arc.from)) return false
    isKnown = cuts.length === 0
  }
  return true
}

const arcSteps = 5

/** The ends of an arc, and a point of each of the pieces into which it is cut. */
function middles({ from, to }: Arc, cuts: readonly Vector3[]): readonly Vector3[] {
  const stops = [from, ...cuts, to]
    .map((point) => ({ point, far: angleBetween(from, point) }))
    .sort((a, b) => a.far - b.far)
  const points = [from, to]
  for (const [at, { point, far }] of stops.entries()) {
    const next = stops[at + 1]
    if (next !== undefined && next.far - far > touch) points.push(unit(plus(point, next.point)))
  }
  return points
}

function touchesPoint({ points, lines, regions }: Figure, point: Vector3, effort: Effort): boolean {
  return (
    (effort.spend(points.length) && points.some((other) => isTouching(point, other))) ||
    lines.some((line) => effort.spend(arcSteps * line.length) && clearance(point, line) <= touch) ||
    regions.some((region) => effort.spend(regionSteps(region)) && region.holds(point))
  )
}

function bordersMeet(a: Figure, b: Figure, effort: Effort): boolean {
  const [of, others] = [arcsOf(a), arcsOf(b)]
  if (of.length === 0 || others.length === 0) return false
  const table = new ArcTable(others, effort)
  return of.some((arc) => effort.spend(arcSteps) && table.meets(arc))
}

function arcsOf({ lines, regions }: Figure): readonly Arc[] {
  return [...lines.flat(), ...regions.flatMap(({ edges }) => edges)]
}

/** Whether the first point of a line or of a border of the figure lies in the region. */
function startsIn({ lines, regions }: Figure, region: Region, effort: Effort): boolean {
  const all = [...lines, ...regions.flatMap(({ rings }) => rings.map(({ edges }) => edges))]
  return all.some(
    ([first]) => first !== undefined && effort.spend(regionSteps(region)) && region.holdsWithin(first.from),
  )
}
