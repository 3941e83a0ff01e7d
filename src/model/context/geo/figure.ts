import type { StepBudget } from '../step-budget.js'
import { ArcTable, isTouching, touch } from './arc.js'
import { clearance, opened, type Ring, ringOf } from './ring.js'
import type { GeoShape, Rings } from './shape.js'
import {
  type Arc,
  angleBetween,
  arcsThrough,
  dot,
  lengthOf,
  plus,
  times,
  unit,
  type Vector3,
  vectorOf,
} from './sphere.js'

/** A shape on the unit sphere, prepared for comparisons. */
export interface Figure {
  readonly points: readonly Vector3[]
  readonly lines: readonly (readonly Arc[])[]
  readonly regions: readonly Region[]
  readonly cap: Cap
}

/** All points within an angle of its centre. Poles and the 180th meridian are no special cases of a cap. */
interface Cap {
  readonly centre: Vector3
  /** In radians; pi is the whole sphere. */
  readonly reach: number
}

/** The inside of a polygon, less its holes, with all borders. */
class Region {
  readonly rings: readonly Ring[]
  /** Of the border and of the holes. */
  readonly edges: readonly Arc[]

  constructor(rings: Rings) {
    this.rings = rings.map((ring) => ringOf(opened(ring)))
    this.edges = this.rings.flatMap(({ edges }) => edges)
  }

  /** Whether a point lies in the region or touches its border. */
  holds(point: Vector3): boolean {
    return this.#isBetween(point) || clearance(point, this.edges) <= touch
  }

  /** Whether a point lies in the region and clear of its border. */
  holdsWithin(point: Vector3): boolean {
    return this.#isBetween(point) && clearance(point, this.edges) > touch
  }

  #isBetween(point: Vector3): boolean {
    return this.rings.every(({ holds }, at) => holds(point) === (at === 0))
  }
}

/** The steps to test one point against a region. */
function regionSteps({ edges }: Region): number {
  return 15 * edges.length
}

export function figureOf(shape: GeoShape): Figure {
  switch (shape.kind) {
    case 'points': {
      const points = shape.points.map(vectorOf)
      return { points, lines: [], regions: [], cap: capOf(points) }
    }
    case 'lines': {
      const corners = shape.lines.map((line) => line.map(vectorOf))
      return { points: [], lines: corners.map(arcsThrough), regions: [], cap: capOf(corners.flat()) }
    }
    case 'polygons': {
      const regions = shape.polygons.map((rings) => new Region(rings))
      return {
        points: [],
        lines: [],
        regions,
        cap: capOf(regions.flatMap(({ edges }) => edges.map(({ from }) => from))),
      }
    }
  }
}

/** The least angle between a point and a figure in radians; 0 inside and on the border. */
export function angleToFigure(point: Vector3, { points, lines, regions }: Figure): number {
  let least = Math.PI
  for (const other of points) least = Math.min(least, angleBetween(point, other))
  for (const line of lines) least = Math.min(least, clearance(point, line))
  for (const region of regions) least = Math.min(least, region.holds(point) ? 0 : clearance(point, region.edges))
  return least <= touch ? 0 : least
}

/** Whether two figures are too far from each other to meet. */
export function areApart(a: Figure, b: Figure): boolean {
  return angleBetween(a.cap.centre, b.cap.centre) > a.cap.reach + b.cap.reach + 2 * touch
}

/** The most by which rounding may misplace the farthest corner, in radians. */
const capMargin = 1e-7

/**
 * A cap with everything of a figure that has these corners. A cap of less than a quarter of the way around contains with two
 * points the arc between them, and with a border its smaller side; a larger cap may not.
 */
function capOf(corners: readonly Vector3[]): Cap {
  const sum = corners.reduce(plus, [0, 0, 0])
  const length = lengthOf(sum)
  if (length < 1e-9) return { centre: [0, 0, 1], reach: Math.PI }
  const centre = times(sum, 1 / length)
  const farthest = corners.reduce(
    (least, corner) => (dot(corner, centre) < dot(least, centre) ? corner : least),
    centre,
  )
  const reach = angleBetween(centre, farthest) + capMargin
  return { centre, reach: reach < 1.5 ? reach : Math.PI }
}

/**
 * Whether two figures have a common point, borders included [NGSIv2 context 10.4]. The result is meaningless once the step budget
 * is spent.
 */
export function intersect(a: Figure, b: Figure, budget: StepBudget): boolean {
  if (areApart(a, b)) return false
  return (
    a.points.some((point) => touchesPoint(b, point, budget)) ||
    b.points.some((point) => touchesPoint(a, point, budget)) ||
    bordersMeet(a, b, budget) ||
    // Lines and borders do not meet here: each line, and each border, is inside as a whole or not at all.
    a.regions.some((region) => startsIn(b, region, budget)) ||
    b.regions.some((region) => startsIn(a, region, budget))
  )
}

/**
 * Whether all of a figure lies in a region, border included [NGSIv2 context 10.4]. The result is meaningless once the step budget
 * is spent.
 */
export function covers(region: Region, figure: Figure, budget: StepBudget): boolean {
  const border = new ArcTable(region.edges, budget)
  const isInside = (line: readonly Arc[]): boolean =>
    each(line, border, budget, (point) => budget.spend(regionSteps(region)) && region.holds(point))
  return (
    figure.points.every((point) => budget.spend(regionSteps(region)) && region.holds(point)) &&
    figure.lines.every(isInside) &&
    figure.regions.every(({ rings }) => rings.every(({ edges }) => isInside(edges))) &&
    figure.regions.every((inner) => !reachesInto(region, inner, budget))
  )
}

/**
 * Whether the border of a region passes through the inside of the other one, so that the other has points on both sides of it.
 */
function reachesInto({ rings }: Region, inner: Region, budget: StepBudget): boolean {
  const border = new ArcTable(inner.edges, budget)
  const isOutside = (point: Vector3): boolean => budget.spend(regionSteps(inner)) && !inner.holdsWithin(point)
  return rings.some(({ edges }) => !each(edges, border, budget, isOutside))
}

/**
 * Whether `holds` is true for all points of a line, if it can change only at a border: it is called for one point of each piece
 * between the common points of line and border.
 */
function each(line: readonly Arc[], border: ArcTable, budget: StepBudget, holds: (point: Vector3) => boolean): boolean {
  let isKnown = false
  for (const arc of line) {
    if (!budget.spend(arcSteps)) return false
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

function touchesPoint({ points, lines, regions }: Figure, point: Vector3, budget: StepBudget): boolean {
  return (
    (budget.spend(points.length) && points.some((other) => isTouching(point, other))) ||
    lines.some((line) => budget.spend(arcSteps * line.length) && clearance(point, line) <= touch) ||
    regions.some((region) => budget.spend(regionSteps(region)) && region.holds(point))
  )
}

function bordersMeet(a: Figure, b: Figure, budget: StepBudget): boolean {
  const [of, others] = [arcsOf(a), arcsOf(b)]
  if (of.length === 0 || others.length === 0) return false
  const table = new ArcTable(others, budget)
  return of.some((arc) => budget.spend(arcSteps) && table.meets(arc))
}

function arcsOf({ lines, regions }: Figure): readonly Arc[] {
  return [...lines.flat(), ...regions.flatMap(({ edges }) => edges)]
}

/** Whether the first point of a line or of a border of the figure lies in the region. */
function startsIn({ lines, regions }: Figure, region: Region, budget: StepBudget): boolean {
  const all = [...lines, ...regions.flatMap(({ rings }) => rings.map(({ edges }) => edges))]
  return all.some(
    ([first]) => first !== undefined && budget.spend(regionSteps(region)) && region.holdsWithin(first.from),
  )
}
