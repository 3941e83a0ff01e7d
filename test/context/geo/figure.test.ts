import fc from 'fast-check'
import { test } from 'tap'
import { compilePlace, distanceFrom } from '../../../src/model/context/geo/compile.js'
import type { Place } from '../../../src/model/context/geo/place.js'
import type { GeoShape, Point } from '../../../src/model/context/geo/shape.js'
import { boxShape, parseShape } from '../../../src/model/context/geo/shape-parse.js'
import { earthRadius_m } from '../../../src/model/context/geo/sphere.js'
import { StepBudget, unbounded } from '../../../src/model/context/step-budget.js'
import { meetings, runs } from '../../runs.js'
import { anyPoint, degreesBetween, going, polygonAround, regular } from './given-shape.js'

type Pair = readonly [latitude: number, longitude: number]

function at([latitude, longitude]: Pair): Point {
  return { latitude, longitude }
}

function points(...pairs: readonly Pair[]): GeoShape {
  return { kind: 'points', points: pairs.map(at) }
}

function line(...pairs: readonly Pair[]): GeoShape {
  return { kind: 'lines', lines: [pairs.map(at)] }
}

/** A polygon; its borders are given without the last point, which is the first again. */
function polygon(...rings: readonly (readonly Pair[])[]): GeoShape {
  return { kind: 'polygons', polygons: [rings.map((ring) => closed(ring.map(at)))] }
}

function closed(ring: readonly Point[]): readonly Point[] {
  return [...ring, ...ring.slice(0, 1)]
}

function box(a: Pair, b: Pair): GeoShape {
  const shape = boxShape([at(a), at(b)])
  if (!shape.ok) throw new Error(shape.error.kind)
  return shape.value
}

/** A square of this many degrees around a point of the equator, with a hole of half its width or without. */
function square(longitude: number, half: number, hasHole = false): GeoShape {
  const ring = (reach: number): readonly Pair[] => [
    [-reach, longitude - reach],
    [-reach, longitude + reach],
    [reach, longitude + reach],
    [reach, longitude - reach],
  ]
  return polygon(ring(half), ...(hasHole ? [ring(half / 2)] : []))
}

type Relation = Exclude<Place['relation'], 'near'>

function holds(relation: Relation, location: GeoShape, shape: GeoShape): boolean {
  return compilePlace({ relation, shape }, unbounded())(location)
}

const table: readonly (readonly [
  what: string,
  location: GeoShape,
  shape: GeoShape,
  intersects: boolean,
  coveredBy: boolean,
])[] = [
  ['a point inside', points([0, 10]), square(10, 1), true, true],
  ['a point on an edge', points([0, 11]), square(10, 1), true, true],
  ['a point on a corner', points([1, 11]), square(10, 1), true, true],
  ['a point a metre outside', points([0, 11.00001]), square(10, 1), false, false],
  ['a point on the other side of the earth', points([0, -170]), square(10, 1), false, false],
  ['two points, one of them outside', points([0, 10], [5, 10]), square(10, 1), true, false],
  ['a line inside', line([0, 9.5], [0, 10.5]), square(10, 1), true, true],
  ['a line along an edge', line([-0.5, 11], [0.5, 11]), square(10, 1), true, true],
  ['a line along an edge and beyond', line([-0.5, 11], [1.5, 11]), square(10, 1), true, false],
  ['a line that touches a corner', line([1, 11], [1, 12]), square(10, 1), true, false],
  ['a line from corner to corner', line([-1, 9], [1, 11]), square(10, 1), true, true],
  ['a line through, its ends outside', line([0, 8], [0, 12]), square(10, 1), true, false],
  ['a line beside', line([2, 8], [2, 12]), square(10, 1), false, false],
  ['a polygon inside', square(10, 0.5), square(10, 1), true, true],
  ['the same polygon', square(10, 1), square(10, 1), true, true],
  ['a polygon around it', square(10, 2), square(10, 1), true, false],
  ['a polygon that shares an edge', square(12, 1), square(10, 1), true, false],
  ['a polygon that shares a part of an edge from inside', box([0, 10], [0.5, 11]), square(10, 1), true, true],
  ['a polygon beside', square(13, 1), square(10, 1), false, false],
  ['a polygon whose hole has it', square(10, 4, true), square(10, 1), false, false],
  ['a polygon whose hole it fills', square(10, 2, true), square(10, 1), true, false],
  ['a polygon in whose hole it lies, touching', square(10, 4, true), line([0, 10], [0, 12]), true, false],
  ['a point in a hole', square(10, 4, true), points([0, 10]), false, false],
  ['a point on the border of a hole', square(10, 4, true), points([0, 12]), true, false],
  ['a polygon with a hole inside', square(10, 0.5, true), square(10, 1), true, true],
  ['crossing lines', line([0, 8], [0, 12]), line([-1, 10], [1, 10]), true, false],
  ['lines that touch', line([0, 8], [0, 12]), line([0, 10], [1, 10]), true, false],
  ['lines that share an end', line([0, 8], [0, 12]), line([0, 12], [1, 13]), true, false],
  ['lines that overlap', line([0, 8], [0, 12]), line([0, 11], [0, 15]), true, false],
  ['lines one behind the other', line([0, 8], [0, 12]), line([0, 12.1], [0, 15]), false, false],
  ['lines on opposite sides of the earth', line([0, 8], [0, 12]), line([-1, -170], [1, -170]), false, false],
  ['a point of a line', points([0, 10]), line([0, 8], [0, 12]), true, false],
  ['a point beside a line', points([0.001, 10]), line([0, 8], [0, 12]), false, false],
  ['equal points', points([1, 2]), points([1, 2]), true, false],
  ['a pole, by any longitude', points([90, 5]), points([90, -170]), true, false],
  ['a meridian by both its names', points([3, 180]), points([3, -180]), true, false],
  ['over the 180th meridian', points([0, -179.5]), square(180, 1), true, true],
  ['a line over the 180th meridian', line([0, 179.5], [0, -179.5]), square(180, 1), true, true],
  ['a line that goes through a pole', line([80, 0], [80, 180]), points([90, 0]), true, false],
]

test('intersects, coveredBy and disjoint, borders included', async (t) => {
  for (const [what, location, shape, intersects, coveredBy] of table) {
    t.equal(holds('intersects', location, shape), intersects, `${what} intersects`)
    t.equal(holds('intersects', shape, location), intersects, `${what} is intersected`)
    t.equal(holds('disjoint', location, shape), !intersects, `${what} is disjoint`)
    t.equal(holds('coveredBy', location, shape), coveredBy, `${what} is covered`)
  }
})

test('a part of a border that passes within a location leaves it not covered', async (t) => {
  const notched = polygon([
    [-1, 9],
    [-1, 11],
    [1, 11],
    [1, 10.1],
    [0, 10],
    [1, 9.9],
    [1, 9],
  ])
  const across = polygon([
    [-0.5, 9.5],
    [-0.5, 10.5],
    [0.5, 10.5],
    [0.5, 9.5],
  ])
  t.equal(holds('coveredBy', across, notched), false)
  t.equal(holds('coveredBy', box([-0.5, 9.5], [-0.1, 10.5]), notched), true)
})

test('equals is the same shape, coordinate by coordinate', async (t) => {
  const yard = box([48, 16], [49, 17])
  t.equal(holds('equals', box([49, 17], [48, 16]), yard), true)
  t.equal(holds('equals', box([49, 16], [48, 17]), yard), true)
  t.equal(holds('equals', box([48, 16], [49, 17.0000001]), yard), false)
  t.equal(holds('equals', points([1, 2]), points([1, 2])), true)
  t.equal(holds('equals', points([1, 2]), points([1, 2.0000001])), false)
  t.equal(holds('equals', points([1, 2], [3, 4]), points([1, 2])), false)
  t.equal(holds('equals', line([1, 2], [3, 4]), line([1, 2], [3, 4])), true)
  t.equal(holds('equals', line([3, 4], [1, 2]), line([1, 2], [3, 4])), false)
  t.equal(holds('equals', points([1, 2], [3, 4]), line([1, 2], [3, 4])), false)
})

test('near is a distance to the nearest point, none inside', async (t) => {
  const near = (location: GeoShape, minDistance_m?: number, maxDistance_m?: number): boolean =>
    compilePlace({ relation: 'near', centre: at([0, 10]), minDistance_m, maxDistance_m }, unbounded())(location)
  const degree_m = (Math.PI / 180) * earthRadius_m
  t.equal(near(points([0, 10]), undefined, 0), true)
  t.equal(near(points([0, 11]), undefined, degree_m - 1), false)
  t.equal(near(points([0, 11]), undefined, degree_m + 1), true)
  t.equal(near(points([0, 11]), degree_m + 1), false)
  t.equal(near(points([0, 11]), degree_m - 1), true)
  t.equal(near(points([0, 50], [0, 11]), undefined, degree_m + 1), true)
  t.equal(near(line([-5, 11], [5, 11]), undefined, degree_m + 1), true)
  t.equal(near(line([-5, 11], [5, 11]), undefined, degree_m - 1), false)
  t.equal(near(square(10, 1), undefined, 0), true)
  t.equal(near(square(10, 1), 1), false)
  t.equal(near(square(10, 4, true), 2 * degree_m - 1, 2 * degree_m + 1), true)
  t.equal(near(points([0, 179.99]), undefined, degree_m), false)
})

test('what costs more than the step budget that is left is given up', async (t) => {
  const comb = (shift: number): GeoShape =>
    line(...Array.from({ length: 2000 }, (_, n): Pair => [n % 2 === 0 ? 0 : 40, shift + n / 100]))
  const budget = new StepBudget(2_000_000)
  compilePlace({ relation: 'intersects', shape: comb(0) }, budget)(comb(0.5e-5))
  t.equal(budget.isSpent, false)
  compilePlace({ relation: 'coveredBy', shape: box([-10, -10], [50, 50]) }, budget)(comb(0))
  t.equal(budget.isSpent, false)
  const many = Array.from({ length: 10_000 }, (_, n) => at([n % 2 === 0 ? 0 : 40, n / 1000]))
  const other = many.map(({ latitude, longitude }) => ({ latitude: latitude + 50, longitude }))
  compilePlace(
    { relation: 'intersects', shape: { kind: 'lines', lines: [other] } },
    budget,
  )({ kind: 'lines', lines: [many] })
  budget.renew()
  compilePlace(
    { relation: 'intersects', shape: { kind: 'polygons', polygons: [[closed(many)]] } },
    budget,
  )({
    kind: 'polygons',
    polygons: [
      [closed(many.map(({ latitude, longitude }) => ({ latitude: latitude * 0.999, longitude: longitude + 20 })))],
    ],
  })
  t.equal(budget.isSpent, true)
})

/** Points of a shape that show where it is: enough of them that two shapes of this size which overlap share about one. */
function samples(ring: readonly Point[], middle: Point): readonly Point[] {
  const shares = [0, 0.2, 0.4, 0.6, 0.8, 0.95]
  return ring.flatMap((corner) => {
    const far = degreesBetween(middle, corner)
    return shares.map((share) => going(middle, directionTo(middle, corner), share * far))
  })
}

/** Clockwise from north, in degrees. */
function directionTo(from: Point, to: Point): number {
  const [a, b, turn] = [from.latitude, to.latitude, to.longitude - from.longitude].map(
    (angle) => (angle * Math.PI) / 180,
  ) as [number, number, number]
  const east = Math.sin(turn) * Math.cos(b)
  const north = Math.cos(a) * Math.sin(b) - Math.sin(a) * Math.cos(b) * Math.cos(turn)
  return (Math.atan2(east, north) * 180) / Math.PI
}

const small = fc
  .record({
    middle: anyPoint,
    away: fc.double({ min: 0, max: 3, noNaN: true }),
    direction: fc.double({ min: 0, max: 360, noNaN: true }),
    sizes: fc.tuple(fc.double({ min: 0.2, max: 1.5, noNaN: true }), fc.double({ min: 0.2, max: 1.5, noNaN: true })),
    counts: fc.tuple(fc.integer({ min: 3, max: 9 }), fc.integer({ min: 3, max: 9 })),
  })
  .map(({ middle, away, direction, sizes, counts }) =>
    ([0, 1] as const).map((one) => {
      const centre = one === 0 ? middle : going(middle, direction, away)
      const ring = Array.from({ length: counts[one] }, (_, n) => going(centre, (n * 360) / counts[one], sizes[one]))
      const shape: GeoShape = { kind: 'polygons', polygons: [[closed(ring)]] }
      return { centre, ring, reach: sizes[one], shape }
    }),
  )

test('what covers a shape meets all of its points, and what meets none of them does not cover it', async (t) => {
  let [covered, apart, met] = [0, 0, 0]
  fc.assert(
    fc.property(small, ([a, b]) => {
      if (a === undefined || b === undefined) return false
      const meetsB = compilePlace({ relation: 'intersects', shape: b.shape }, unbounded())
      const inside = samples(a.ring, a.centre).map((point) => meetsB({ kind: 'points', points: [point] }))
      const meets = holds('intersects', a.shape, b.shape)
      if (meets !== holds('intersects', b.shape, a.shape)) return false
      if (inside.includes(true) && !meets) return false
      if (!meets && holds('coveredBy', a.shape, b.shape)) return false
      if (holds('coveredBy', a.shape, b.shape)) {
        covered += 1
        return !inside.includes(false) && meets
      }
      if (meets) met += 1
      else apart += 1
      // Regular polygons: what is farther apart than both reach cannot meet.
      return !meets || degreesBetween(a.centre, b.centre) <= a.reach + b.reach + 1e-6
    }),
    { numRuns: runs(1500) },
  )
  t.ok(
    covered > meetings(20) && apart > meetings(100) && met > meetings(100),
    `${covered} covered, ${apart} apart, ${met} met`,
  )
})

test('a shape that lies well within a regular polygon is covered, and one that reaches out is not', async () => {
  fc.assert(
    fc.property(
      regular,
      fc.integer({ min: 3, max: 8 }),
      fc.boolean(),
      ({ middle, reach, vertices }, count, isWithin) => {
        const far = reach * (isWithin ? 0.4 : 1.2)
        if (far > 85) return true
        const ring = Array.from({ length: count }, (_, n) => going(middle, (n * 360) / count, far))
        const inner: GeoShape = { kind: 'polygons', polygons: [[closed(ring)]] }
        const outer: GeoShape = { kind: 'polygons', polygons: [[closed(vertices)]] }
        const around: GeoShape = { kind: 'lines', lines: [ring] }
        return holds('coveredBy', inner, outer) === isWithin && holds('coveredBy', around, outer) === isWithin
      },
    ),
    { numRuns: runs(500) },
  )
})

test('it does not matter which shape a relation begins with, nor where a polygon begins', async () => {
  fc.assert(
    fc.property(polygonAround, polygonAround, fc.nat(10), (a, b, by) => {
      const turned = [...a.slice(by % a.length), ...a.slice(0, by % a.length)].toReversed()
      const [one, same, other] = [a, turned, b].map(
        (ring): GeoShape => ({ kind: 'polygons', polygons: [[closed(ring)]] }),
      )
      if (one === undefined || same === undefined || other === undefined) return false
      const responses = [
        holds('intersects', one, other),
        holds('intersects', other, one),
        holds('intersects', same, other),
      ]
      return new Set(responses).size === 1 && holds('coveredBy', one, same) && holds('intersects', one, same)
    }),
    { numRuns: runs(300) },
  )
})

test('the distance to a line is that to the nearest of many of its points', async () => {
  fc.assert(
    fc.property(
      anyPoint,
      anyPoint,
      fc.double({ min: 0, max: 360, noNaN: true }),
      fc.double({ min: 0.01, max: 170, noNaN: true }),
      (from, start, direction, length) => {
        const along = Array.from({ length: 400 }, (_, n) => going(start, direction, (n * length) / 399))
        const shape: GeoShape = { kind: 'lines', lines: [[along[0] ?? start, going(start, direction, length)]] }
        const nearest = Math.min(...along.map((point) => degreesBetween(from, point)))
        const distance = ((distanceFrom(from)(shape) / earthRadius_m) * 180) / Math.PI
        return distance <= nearest + 1e-6 && distance >= nearest - length / 399
      },
    ),
    { numRuns: runs(300) },
  )
})

test('what a client writes and what a query asks for are the same shapes', async (t) => {
  const written = parseShape('geo:json', {
    type: 'Polygon',
    coordinates: [
      [
        [16, 48],
        [17, 48],
        [17, 49],
        [16, 49],
        [16, 48],
      ],
    ],
  })
  t.same(written, { ok: true, value: box([48, 16], [49, 17]) })
})
