import fc from 'fast-check'
import { test } from 'tap'
import type { Area } from '../../../src/model/context/geo/area.js'
import { compileArea } from '../../../src/model/context/geo/compile.js'
import { clearance, ringOf } from '../../../src/model/context/geo/ring.js'
import type { Point } from '../../../src/model/context/geo/shape.js'
import { vectorOf } from '../../../src/model/context/geo/sphere.js'
import { unbounded } from '../../../src/model/context/step-budget.js'
import { runs } from '../../runs.js'
import { anyPoint, degreesBetween, polygonAround, regular } from './given-shape.js'

function polygon(vertices: readonly (readonly [latitude: number, longitude: number])[], inverted = false): Area {
  return { kind: 'polygon', vertices: vertices.map(([latitude, longitude]) => ({ latitude, longitude })), inverted }
}

function holds(area: Area, latitude: number, longitude: number): boolean {
  return compileArea(area, unbounded())({ kind: 'points', points: [{ latitude, longitude }] })
}

/** Whether a point is about on the border, of which nothing is promised. */
function isOnBorder(vertices: readonly Point[], point: Point): boolean {
  return clearance(vectorOf(point), ringOf(vertices).edges) < 1e-9
}

function inside(vertices: readonly Point[], point: Point): boolean {
  return ringOf(vertices).holds(vectorOf(point))
}

test('a polygon may be concave', async (t) => {
  const area = polygon([
    [48.15, 16.3],
    [48.15, 16.5],
    [48.28, 16.5],
    [48.22, 16.4],
    [48.28, 16.3],
  ])
  t.equal(holds(area, 48.2, 16.37), true)
  t.equal(holds(area, 48.26, 16.31), true)
  t.equal(holds(area, 48.26, 16.4), false)
  t.equal(holds(area, -48.2, 16.37 - 180), false)
})

test('edges are arcs of great circles, not lines on a map', async (t) => {
  const area = polygon([
    [50, -60],
    [50, 60],
    [40, 60],
    [40, -60],
  ])
  t.equal(holds(area, 66, 0), true)
  t.equal(holds(area, 45, 0), false)
})

test('a polygon reaches over the 180th meridian', async (t) => {
  const area = polygon([
    [-10, 170],
    [10, 170],
    [10, -170],
    [-10, -170],
  ])
  t.equal(holds(area, 0, 180), true)
  t.equal(holds(area, 0, -180), true)
  t.equal(holds(area, 0, -175), true)
  t.equal(holds(area, 0, 165), false)
  t.equal(holds(area, 0, 0), false)
})

test('a polygon may have a pole inside', async (t) => {
  const area = polygon([
    [70, 0],
    [70, 90],
    [70, 180],
    [70, -90],
  ])
  t.equal(holds(area, 90, 0), true)
  t.equal(holds(area, 85, 33), true)
  t.equal(holds(area, 60, 33), false)
  t.equal(holds(area, -90, 0), false)
})

test('the inside is the smaller part of the sphere, also when no half of it has the whole border', async (t) => {
  const band = [-150, -90, -30, 30, 90, 150]
  // A collar between 5 and 30 degrees north, open between 150 east and 150 west: less than half, and all around.
  const collar = polygon([
    ...band.map((longitude) => [5, longitude] as const),
    ...band.toReversed().map((longitude) => [30, longitude] as const),
  ])
  t.equal(holds(collar, 20, 0), true)
  t.equal(holds(collar, 20, 90), true)
  t.equal(holds(collar, 20, 180), false)
  t.equal(holds(collar, 80, 0), false)
  t.equal(holds(collar, -20, 0), false)
  const southern = polygon(band.map((longitude) => [-10, longitude] as const))
  t.equal(holds(southern, -60, 17), true)
  t.equal(holds(southern, 60, 17), false)
})

test('a spike and doubled vertices do no harm', async (t) => {
  const area = polygon([
    [0, 0],
    [0, 0],
    [0, 10],
    [5, 20],
    [0, 10],
    [10, 10],
    [10, 0],
  ])
  t.equal(holds(area, 5, 5), true)
  t.equal(holds(area, 4, 15), false)
  t.equal(holds(area, -5, -175), false)
})

test('the middle of a regular polygon is inside and what is well outside its corners is not', async () => {
  fc.assert(
    fc.property(regular, anyPoint, ({ middle, reach, vertices }, point) => {
      const away = degreesBetween(middle, point)
      if (!inside(vertices, middle)) return false
      // A side of a triangle comes half as near to the middle as its corners.
      if (away < reach * 0.4) return inside(vertices, point)
      return away < reach * 1.01 || !inside(vertices, point)
    }),
    { numRuns: runs(500) },
  )
})

test('it does not matter with which vertex a polygon begins or in which direction it goes', async () => {
  fc.assert(
    fc.property(polygonAround, anyPoint, fc.nat(30), (vertices, point, by) => {
      const start = by % vertices.length
      const turned = [...vertices.slice(start), ...vertices.slice(0, start)]
      if (isOnBorder(vertices, point)) return true
      const responses = [vertices, turned, turned.toReversed()].map((ring) => inside(ring, point))
      return new Set(responses).size === 1
    }),
    { numRuns: runs(500) },
  )
})

test('a point is in a polygon or in the inverted one, and in one of them only', async () => {
  fc.assert(
    fc.property(polygonAround, anyPoint, (vertices, point) => {
      const [isInside, isOutside] = [false, true].map((inverted) => {
        const area = { kind: 'polygon', vertices, inverted } as const
        return compileArea(area, unbounded())({ kind: 'points', points: [point] })
      })
      return isInside !== isOutside
    }),
  )
})
