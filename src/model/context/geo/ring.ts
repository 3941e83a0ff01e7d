import { type Point, samePoint } from './shape.js'
import {
  type Arc,
  angleToArc,
  arcBetween,
  cross,
  dot,
  lengthOf,
  plus,
  times,
  type Vector3,
  vectorOf,
} from './sphere.js'

/** A closed line of great-circle arcs, prepared for tests of points. */
export interface Ring {
  readonly edges: readonly Arc[]
  /**
   * Whether a point lies in the smaller of the parts into which the line divides the sphere; on the line either answer may come.
   */
  readonly holds: (point: Vector3) => boolean
}

/**
 * The ring through these vertices in either direction, closed from the last to the first [context 7.4.1]. In a line that crosses
 * itself, a point is inside if an odd number of lines separates it from the rest.
 */
export function ringOf(vertices: readonly Point[]): Ring {
  const corners = vertices.map(vectorOf)
  const edges = corners.map((corner, at) => arcBetween(corners.at(at - 1) ?? corner, corner))
  let anchor: Anchor | undefined
  const holds = (point: Vector3): boolean => {
    anchor ??= anchorOf(corners, edges)
    return (crossings(point, anchor.point, edges) % 2 === 1) !== anchor.isInside
  }
  return { edges, holds }
}

/** A point away from the line whose side is known. Finding one takes as long as some ten tests of other points. */
interface Anchor {
  readonly point: Vector3
  readonly isInside: boolean
}

/** A candidate this far from the line, in radians, is taken. */
const clearEnough = 0.1

function anchorOf(corners: readonly Vector3[], edges: readonly Arc[]): Anchor {
  const [opposite = [0, 0, 1], ...others] = candidates(corners)
  const point = clearance(opposite, edges) > clearEnough ? opposite : farthest(edges, [opposite, ...others])
  return { point, isInside: isInside(point, edges) }
}

/** The border of a polygon without its last point, which repeats the first. */
export function opened(ring: readonly Point[]): readonly Point[] {
  return ring.length > 1 && samePoint(ring[0], ring.at(-1)) ? ring.slice(0, -1) : ring
}

/** The angle between a point and the nearest edge, in radians. */
export function clearance(point: Vector3, edges: readonly Arc[]): number {
  return edges.reduce((least, edge) => Math.min(least, angleToArc(point, edge)), Math.PI)
}

/** Points one of which should be away from the line: opposite its middle for nearly all, and the ends of the axes. */
function candidates(corners: readonly Vector3[]): readonly Vector3[] {
  const sum = corners.reduce(plus, [0, 0, 0])
  const length = lengthOf(sum)
  const axes: readonly Vector3[] = [
    [0, 0, 1],
    [0, 1, 0],
    [1, 0, 0],
  ]
  const middles = length > 0 ? [times(sum, 1 / length), ...axes] : axes
  return middles.flatMap((middle) => [times(middle, -1), middle])
}

function farthest(edges: readonly Arc[], points: readonly Vector3[]): Vector3 {
  const clearances = points.map((point) => clearance(point, edges))
  return points[clearances.indexOf(Math.max(...clearances))] ?? [0, 0, 1]
}

/**
 * Whether a point away from the line lies in the smaller part. The signed areas of the triangles between the opposite point and
 * each edge add up to the area of the part without the point: no triangle covers the point.
 */
function isInside(point: Vector3, edges: readonly Arc[]): boolean {
  const apex = times(point, -1)
  const area = edges.reduce((sum, { from, to, normal }) => {
    const corner = 1 + dot(apex, from) + dot(from, to) + dot(to, apex)
    return sum + 2 * Math.atan2(dot(apex, normal), corner)
  }, 0)
  return Math.abs(area) > 2 * Math.PI
}

/**
 * How many edges the arc between two points crosses. Each vertex counts to one side of the arc's plane and never lies in it, so a
 * line through a vertex is crossed once or not at all.
 */
function crossings(point: Vector3, anchor: Vector3, edges: readonly Arc[]): number {
  const normal = planeThrough(point, anchor)
  return normal === undefined ? 0 : edges.filter((edge) => crosses(edge, point, anchor, normal)).length
}

function crosses({ from, to }: Arc, point: Vector3, anchor: Vector3, normal: Vector3): boolean {
  const [before, after] = [dot(from, normal), dot(to, normal)]
  if (before >= 0 === after >= 0) return false
  const meeting = plus(times(from, Math.abs(after)), times(to, Math.abs(before)))
  return dot(cross(point, meeting), normal) >= 0 && dot(cross(meeting, anchor), normal) >= 0
}

/** Undefined for a single point, to which no arc leads; for opposite points any plane will do. */
function planeThrough(point: Vector3, anchor: Vector3): Vector3 | undefined {
  const normal = cross(point, anchor)
  if (lengthOf(normal) > 1e-12) return normal
  if (dot(point, anchor) > 0) return undefined
  return cross(anchor, Math.abs(anchor[0]) < 0.6 ? [1, 0, 0] : [0, 1, 0])
}
