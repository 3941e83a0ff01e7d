import { touch } from './arc.js'
import type { GeoShape, Rings } from './geo-shape.js'
import { clearance, opened, type Ring, ringOf } from './ring.js'
import { type Arc, angleBetween, arcsThrough, dot, lengthOf, plus, times, type Vector3, vectorOf } from './sphere.js'

/** A shape on the unit sphere, ready to be compared with others. */
export interface Figure {
  readonly points: readonly Vector3[]
  readonly lines: readonly (readonly Arc[])[]
  readonly regions: readonly Region[]
  readonly cap: Cap
}

/** All points within an angle of its centre. A cap knows neither poles nor the 180th meridian. */
interface Cap {
  readonly centre: Vector3
  /** In radians; the whole sphere has pi. */
  readonly reach: number
}

/** The inside of a polygon, less its holes, with all borders. */
export class Region {
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

/** What a question about one point and a region of so many edges takes, in steps. */
export function regionSteps({ edges }: Region): number {
  return 15 * edges.length
}

/** The figure of a shape. */
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

/** The least angle between a point and a figure in radians: none inside, and none on the border. */
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

/** What rounding may hide of the farthest corner, in radians. */
const capMargin = 1e-7

/**
 * A cap with everything of a figure that has these corners. One of less than a quarter of the way around has with two
 * points the arc between them, and with a border its smaller side; a larger one may not.
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
