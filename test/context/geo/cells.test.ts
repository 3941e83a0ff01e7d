import fc from 'fast-check'
import { test } from 'tap'
import type { Area } from '../../../src/model/context/geo/area.js'
import { atLevel, type CellRange, cellsOf, coverOf } from '../../../src/model/context/geo/cells.js'
import { compileArea, compilePlace } from '../../../src/model/context/geo/compile.js'
import type { Place } from '../../../src/model/context/geo/place.js'
import type { GeoShape, Point } from '../../../src/model/context/geo/shape.js'
import { unbounded } from '../../../src/model/context/step-budget.js'
import { meetings, runs } from '../../runs.js'
import { anyPoint, going, regular } from './given-shape.js'

/** Whether a location is found where a query looks. */
function isFound(location: GeoShape, cover: readonly CellRange[] | undefined): boolean {
  if (cover === undefined) return true
  return cellsOf(location).some(({ level, number }) =>
    atLevel(cover, level).some(({ first, last }) => number >= first && number <= last),
  )
}

function at(latitude: number, longitude: number): GeoShape {
  return { kind: 'points', points: [{ latitude, longitude }] }
}

function closed(ring: readonly Point[]): readonly Point[] {
  return [...ring, ...ring.slice(0, 1)]
}

const polygon: fc.Arbitrary<GeoShape> = regular.map(({ vertices }) => ({
  kind: 'polygons',
  polygons: [[closed(vertices)]],
}))
const line: fc.Arbitrary<GeoShape> = fc
  .array(anyPoint, { minLength: 2, maxLength: 5 })
  .map((points) => ({ kind: 'lines', lines: [points] }))
const points: fc.Arbitrary<GeoShape> = fc
  .array(anyPoint, { minLength: 1, maxLength: 60 })
  .map((all) => ({ kind: 'points', points: all }))
const anyShape = fc.oneof(polygon, line, points)

test('a point is in one cell, other shapes in some', async (t) => {
  t.equal(cellsOf(at(48.2, 16.37)).length, 1)
  t.not(cellsOf(at(48.2, 16.37))[0]?.number, cellsOf(at(48.2, 16.38))[0]?.number)
  for (const corner of [at(90, 180), at(-90, -180), at(90, -180), at(-90, 180)]) {
    const [cell] = cellsOf(corner)
    t.ok(cell !== undefined && cell.number >= 0 && cell.number < 2 ** 52)
  }
})

test('a location never has many cells', async () => {
  fc.assert(
    fc.property(anyShape, (shape) => {
      const cells = cellsOf(shape)
      return (
        cells.length >= 1 &&
        cells.length <= 32 &&
        cells.every(({ level }) => level >= 0 && level <= 26 && level % 2 === 0)
      )
    }),
  )
})

test('what meets the shape of a query is found where the query looks', async (t) => {
  let met = 0
  const near = fc
    .tuple(anyPoint, fc.double({ min: 0, max: 3e6, noNaN: true }))
    .map(([centre, maxDistance_m]): Place => ({ relation: 'near', centre, minDistance_m: undefined, maxDistance_m }))
  const related = fc
    .tuple(fc.constantFrom('intersects' as const, 'coveredBy' as const, 'equals' as const), anyShape)
    .map(([relation, shape]): Place => ({ relation, shape }))
  fc.assert(
    fc.property(fc.oneof(near, related), anyShape, (place, location) => {
      if (!compilePlace(place, unbounded())(location)) return true
      met += 1
      return isFound(location, coverOf([{ kind: 'place', place }]))
    }),
    { numRuns: runs(2000) },
  )
  t.ok(met > meetings(100), `${met} met`)
})

test('what touches the shape of a query is found, at the poles and the 180th meridian too', async (t) => {
  const pairs: readonly (readonly [GeoShape, GeoShape])[] = [
    [at(90, 5), at(90, -170)],
    [at(-90, 5), at(-90, 120)],
    [at(3, 180), at(3, -180)],
    [at(89.99999999999, 5), at(90, 100)],
    [
      at(0, 0),
      {
        kind: 'lines',
        lines: [
          [
            { latitude: 0, longitude: 0 },
            { latitude: 5, longitude: 5 },
          ],
        ],
      },
    ],
    [
      at(90, 7),
      {
        kind: 'lines',
        lines: [
          [
            { latitude: 80, longitude: 0 },
            { latitude: 80, longitude: 180 },
          ],
        ],
      },
    ],
  ]
  for (const [a, b] of pairs) {
    for (const [location, shape] of [
      [a, b],
      [b, a],
    ] as const) {
      const place = { relation: 'intersects', shape } as const
      t.equal(compilePlace(place, unbounded())(location), true)
      t.equal(isFound(location, coverOf([{ kind: 'place', place }])), true)
    }
  }
})

test('what lies in an area is found where the query looks', async (t) => {
  let met = 0
  fc.assert(
    fc.property(
      regular,
      fc.boolean(),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.nat(360),
      (shape, isCircle, share, turn) => {
        const { middle, reach, vertices } = shape
        const area: Area = isCircle
          ? { kind: 'circle', centre: middle, radius_m: reach * 111_000, inverted: false }
          : { kind: 'polygon', vertices, inverted: false }
        const location: GeoShape = { kind: 'points', points: [going(middle, turn, share * reach)] }
        if (!compileArea(area, unbounded())(location)) return true
        met += 1
        return isFound(location, coverOf([{ kind: 'area', area }]))
      },
    ),
    { numRuns: runs(1000) },
  )
  t.ok(met > meetings(300), `${met} met`)
})

test('a small area has few ranges that hold little beside it', async (t) => {
  const place: Place = {
    relation: 'near',
    centre: { latitude: 48.2, longitude: 16.37 },
    minDistance_m: undefined,
    maxDistance_m: 1000,
  }
  const cover = coverOf([{ kind: 'place', place }]) ?? []
  t.ok(cover.length > 0 && cover.length <= 48, `${cover.length} ranges`)
  const cells = cover.reduce((sum, { first, last }) => sum + last - first + 1, 0)
  const cell_m2 =
    ((2 * Math.PI * 6_371_000) / 2 ** 26) * ((Math.PI * 6_371_000) / 2 ** 26) * Math.cos((48.2 * Math.PI) / 180)
  t.ok((cells * cell_m2) / 4e6 < 2.5, `${(cells * cell_m2) / 4e6} times the box around it`)
})

test('what may be anywhere has no cover', async (t) => {
  const shape = at(1, 2)
  const centre = { latitude: 1, longitude: 2 }
  t.equal(coverOf([]), undefined)
  t.equal(coverOf([{ kind: 'place', place: { relation: 'disjoint', shape } }]), undefined)
  t.equal(
    coverOf([{ kind: 'place', place: { relation: 'near', centre, minDistance_m: 5, maxDistance_m: undefined } }]),
    undefined,
  )
  t.equal(coverOf([{ kind: 'area', area: { kind: 'circle', centre, radius_m: 5, inverted: true } }]), undefined)
  t.equal(
    coverOf([{ kind: 'place', place: { relation: 'near', centre, minDistance_m: 5, maxDistance_m: 3e7 } }]),
    undefined,
  )
})
