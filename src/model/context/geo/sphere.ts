import type { Point } from './shape.js'

/** A point of the unit sphere, or the normal of a plane through its centre. */
export type Vector3 = readonly [x: number, y: number, z: number]

/** Metres [context 7.4.1]. */
export const earthRadius_m = 6_371_000

const degree = Math.PI / 180

/** The point on the unit sphere: the north pole is +z, longitude 0 on the equator +x. */
export function vectorOf({ latitude, longitude }: Point): Vector3 {
  const fromAxis = Math.cos(latitude * degree)
  return [fromAxis * Math.cos(longitude * degree), fromAxis * Math.sin(longitude * degree), Math.sin(latitude * degree)]
}

/** Converts radians to degrees. */
export function degrees(radians: number): number {
  return radians / degree
}

/** The latitude of a point of the unit sphere, in degrees. */
export function latitudeOf([x, y, z]: Vector3): number {
  return degrees(Math.atan2(z, Math.hypot(x, y)))
}

/** The dot product: its sign tells the side of a plane whose normal is one of the vectors. */
export function dot(a: Vector3, b: Vector3): number {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/** The cross product: the normal of the plane through two points by the right-hand rule, as long as the sine of their angle. */
export function cross(a: Vector3, b: Vector3): Vector3 {
  return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

export function plus(a: Vector3, b: Vector3): Vector3 {
  return [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

export function times(a: Vector3, factor: number): Vector3 {
  return [a[0] * factor, a[1] * factor, a[2] * factor]
}

export function lengthOf(a: Vector3): number {
  return Math.sqrt(dot(a, a)) // Math.hypot takes ten times as long, for a precision that these lengths do not need.
}

export function unit(a: Vector3): Vector3 {
  return times(a, 1 / lengthOf(a))
}

/** The angle between two points in radians, precise also for near and for opposite points. */
export function angleBetween(a: Vector3, b: Vector3): number {
  return 2 * Math.atan2(lengthOf(plus(a, times(b, -1))), lengthOf(plus(a, b)))
}

/** The shorter great-circle arc between two points, with the normal of its plane. */
export interface Arc {
  readonly from: Vector3
  readonly to: Vector3
  /** Not a unit vector: nearly zero when the ends meet or are opposite. */
  readonly normal: Vector3
}

/** The arc between two points; opposite points have none. */
export function arcBetween(from: Vector3, to: Vector3): Arc {
  return { from, to, normal: cross(from, to) }
}

export function arcsThrough(points: readonly Vector3[]): readonly Arc[] {
  const arcs: Arc[] = []
  let from: Vector3 | undefined
  for (const to of points) {
    if (from !== undefined) arcs.push(arcBetween(from, to))
    from = to
  }
  return arcs
}

/** Whether the point of the arc's great circle that is nearest to this point lies between the ends. */
export function liesBeside(point: Vector3, { from, to, normal }: Arc): boolean {
  return dot(cross(normal, from), point) >= 0 && dot(cross(to, normal), point) >= 0
}

export function angleToArc(point: Vector3, arc: Arc): number {
  const length = lengthOf(arc.normal)
  if (length > 0 && liesBeside(point, arc)) return Math.asin(Math.min(1, Math.abs(dot(point, arc.normal)) / length))
  return Math.min(angleBetween(point, arc.from), angleBetween(point, arc.to))
}
