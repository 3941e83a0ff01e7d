import fc from 'fast-check'
import { test } from 'tap'
import type { Area } from '../../../src/model/context/geo/area.js'
import { boundsOf, inBoxes } from '../../../src/model/context/geo/bounds.js'
import { ringOf } from '../../../src/model/context/geo/ring.js'
import type { Point } from '../../../src/model/context/geo/shape.js'
import { earthRadius_m, vectorOf } from '../../../src/model/context/geo/sphere.js'
import { meetings, runs } from '../../runs.js'
import { anyPoint, degreesBetween, going, polygonAround, regular } from './given-shape.js'

const world = [{ south: -90, north: 90, west: -180, east: 180 }]

function rounded(area: Area): unknown {
  return boundsOf(area).map(({ south, north, west, east }) =>
    [south, north, west, east].map((edge) => Number(edge.toFixed(3))),
  )
}

function polygon(vertices: readonly (readonly [latitude: number, longitude: number])[]): Area {
  return {
    kind: 'polygon',
    vertices: vertices.map(([latitude, longitude]) => ({ latitude, longitude })),
    inverted: false,
  }
}

const degree_m = (Math.PI / 180) * earthRadius_m

function circle(latitude: number, longitude: number, reach: number): Area {
  return { kind: 'circle', centre: { latitude, longitude }, radius_m: reach * degree_m, inverted: false }
}

test('the bounds of a circle grow in longitude with the latitude', async (t) => {
  t.same(rounded(circle(0, 20, 1)), [[-1, 1, 19, 21]])
  t.same(rounded(circle(60, 20, 1)), [[59, 61, 18, 22]])
})

test('an area over the 180th meridian has two boxes', async (t) => {
  t.same(rounded(circle(0, 179.5, 1)), [
    [-1, 1, 178.5, 180],
    [-1, 1, -180, -179.5],
  ])
  const square = polygon([
    [-10, 170],
    [0, 170],
    [0, -170],
    [-10, -170],
  ])
  t.same(rounded(square), [
    [-10.151, 0, 170, 180],
    [-10.151, 0, -180, -170],
  ])
})

test('an area with a pole in it has every longitude', async (t) => {
  t.same(rounded(circle(89.5, 20, 1)), [[88.5, 90, -180, 180]])
  t.same(rounded(circle(-89, 20, 2)), [[-90, -87, -180, 180]])
  const around = polygon([
    [-70, 0],
    [-75, 90],
    [-70, 180],
    [-70, -90],
  ])
  t.same(rounded(around), [[-90, -70, -180, 180]])
})

test('the bounds of an inverted area are the world', async (t) => {
  t.same(boundsOf({ ...circle(0, 20, 1), inverted: true }), world)
})

/** Points in and about an area, which points anywhere seldom are. */
const nearby = fc.tuple(fc.double({ min: 0, max: 360, noNaN: true }), fc.double({ min: 0, max: 1.1, noNaN: true }))

test('the bounds of a polygon contain every point inside', async (t) => {
  let met = 0
  const check = (vertices: readonly Point[], point: Point): boolean => {
    if (!ringOf(vertices).holds(vectorOf(point))) return true
    met += 1
    return inBoxes(boundsOf({ kind: 'polygon', vertices, inverted: false }), point)
  }
  fc.assert(
    fc.property(regular, nearby, ({ middle, reach, vertices }, [direction, share]) =>
      check(vertices, going(middle, direction, share * reach)),
    ),
    { numRuns: runs(1000) },
  )
  fc.assert(
    fc.property(polygonAround, anyPoint, (vertices, point) => check(vertices, point)),
    { numRuns: runs(500) },
  )
  fc.assert(
    fc.property(fc.array(anyPoint, { minLength: 3, maxLength: 8 }), anyPoint, (vertices, point) =>
      check(vertices, point),
    ),
    { numRuns: runs(1000) },
  )
  t.ok(met > meetings(500))
})

test('the bounds of a circle contain every point inside', async () => {
  const reach = fc.oneof(fc.double({ min: 1e-4, max: 1, noNaN: true }), fc.double({ min: 1, max: 181, noNaN: true }))
  fc.assert(
    fc.property(anyPoint, reach, nearby, (middle, far, [direction, share]) => {
      const point = going(middle, direction, share * far)
      const bounds = boundsOf(circle(middle.latitude, middle.longitude, far))
      return degreesBetween(middle, point) > far || inBoxes(bounds, point)
    }),
    { numRuns: runs(1000) },
  )
})
