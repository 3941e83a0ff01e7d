import fc from 'fast-check'
import type { Point } from '../../../src/model/context/geo/shape.js'
import {
  angleBetween,
  cross,
  degrees,
  latitudeOf,
  plus,
  times,
  type Vector3,
  vectorOf,
} from '../../../src/model/context/geo/sphere.js'

const longitude = fc.oneof(fc.double({ min: -180, max: 180, noNaN: true }), fc.constantFrom(-180, -179.99, 0, 90, 180))
const latitude = fc.oneof(fc.double({ min: -90, max: 90, noNaN: true }), fc.constantFrom(-90, -89.9, 0, 89.9, 90))

/** Points anywhere, often at the poles and the 180th meridian. */
export const anyPoint: fc.Arbitrary<Point> = fc.record({ latitude, longitude })

/** The great-circle distance of two points in degrees. */
export function degreesBetween(a: Point, b: Point): number {
  return degrees(angleBetween(vectorOf(a), vectorOf(b)))
}

/** Where one comes from a point in a direction, clockwise from north, after a distance, all in degrees. */
export function going(from: Point, direction: number, distance: number): Point {
  const [turn, far, turned] = [radians(direction), radians(distance), radians(from.longitude)]
  const up = vectorOf(from)
  const east: Vector3 = [-Math.sin(turned), Math.cos(turned), 0]
  const ahead = plus(times(cross(up, east), Math.cos(turn)), times(east, Math.sin(turn)))
  const point = plus(times(up, Math.cos(far)), times(ahead, Math.sin(far)))
  return { latitude: latitudeOf(point), longitude: degrees(Math.atan2(point[1], point[0])) }
}

function radians(angle: number): number {
  return (angle * Math.PI) / 180
}

/** Regular polygons of 3 to 12 corners, from about ten metres to nearly half the earth, anywhere. */
export const regular = fc
  .record({
    middle: anyPoint,
    reach: fc.oneof(fc.double({ min: 1e-4, max: 80, noNaN: true }), fc.double({ min: 1e-4, max: 0.1, noNaN: true })),
    count: fc.integer({ min: 3, max: 12 }),
  })
  .map(({ middle, reach, count }) => ({
    middle,
    reach,
    vertices: Array.from({ length: count }, (_, at) => going(middle, (at * 360) / count, reach)),
  }))

/** Polygons that are seen whole from a point anywhere, with corners at different distances: also concave ones. */
export const polygonAround: fc.Arbitrary<readonly Point[]> = fc
  .record({
    middle: anyPoint,
    reach: fc.double({ min: 1e-3, max: 80, noNaN: true }),
    distances: fc.array(fc.double({ min: 0.3, max: 1, noNaN: true }), { minLength: 5, maxLength: 12 }),
  })
  .map(({ middle, reach, distances }) =>
    distances.map((distance, at) => going(middle, (at * 360) / distances.length, distance * reach)),
  )
