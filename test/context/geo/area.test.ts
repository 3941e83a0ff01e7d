import { test } from 'tap'
import type { Value } from '../../../src/model/context/entity.js'
import { type Area, parseArea } from '../../../src/model/context/geo/area.js'
import { compileArea } from '../../../src/model/context/geo/compile.js'
import type { Point } from '../../../src/model/context/geo/shape.js'
import { unbounded } from '../../../src/model/context/step-budget.js'

const corners = [
  { latitude: '48.15', longitude: '16.3' },
  { latitude: '48.15', longitude: '16.5' },
  { latitude: '48.25', longitude: '16.4' },
]
const points = corners.map(({ latitude, longitude }) => ({ latitude: Number(latitude), longitude: Number(longitude) }))
const centred = { centerLatitude: '48.2', centerLongitude: '16.37' }
const centre: Point = { latitude: 48.2, longitude: 16.37 }

function at(latitude: number, longitude: number): Point {
  return { latitude, longitude }
}

test('an area is a circle or a polygon, its numbers and booleans texts or not', async (t) => {
  const circle = { kind: 'circle', centre, radius_m: 2500, inverted: false }
  t.same(parseArea({ circle: { ...centred, radius: '2500' } }), { ok: true, value: circle })
  t.same(parseArea({ circle: { centerLatitude: 48.2, centerLongitude: 16.37, radius: 2500, inverted: false } }), {
    ok: true,
    value: circle,
  })
  t.same(parseArea({ polygon: { vertices: points } }), {
    ok: true,
    value: { kind: 'polygon', vertices: points, inverted: false },
  })
  t.same(parseArea({ polygon: { vertices: [...corners, ...corners.slice(0, 1)], inverted: 'true' } }), {
    ok: true,
    value: { kind: 'polygon', vertices: points, inverted: true },
  })
})

test('inverted is true or 1, false or 0, text or not', async (t) => {
  const inverted = (value: Value): unknown => {
    const area = parseArea({ circle: { ...centred, radius: '1', inverted: value } })
    return area.ok ? area.value.inverted : area.error
  }
  t.same(['true', '1', true, 1].map(inverted), [true, true, true, true])
  t.same(['false', '0', false, 0, ''].map(inverted), [false, false, false, false, false])
  t.same(inverted('maybe'), { kind: 'invertedMalformed', shape: 'circle', value: 'maybe' })
  t.same(inverted({}), { kind: 'invertedMalformed', shape: 'circle', value: '{}' })
})

test('an area that can not be understood is refused with its kind', async (t) => {
  const circle = { ...centred, radius: '5' }
  const missing = (shape: string, coordinate: string): unknown => ({ kind: 'coordinateMissing', shape, coordinate })
  const malformed = (coordinate: string): unknown => ({ kind: 'coordinateMalformed', coordinate })
  const refusals: readonly (readonly [Value, unknown])[] = [
    ['', { kind: 'shapeUnknown' }],
    [{}, { kind: 'shapeUnknown' }],
    [{ box: {} }, { kind: 'shapeUnknown' }],
    [{ circle, polygon: { vertices: corners } }, { kind: 'shapeUnknown' }],
    [{ circle: '' }, { kind: 'radiusMissing' }],
    [{ circle: centred }, { kind: 'radiusMissing' }],
    [{ circle: { ...centred, radius: '' } }, { kind: 'radiusMissing' }],
    [{ circle: { ...centred, radius: '0' } }, { kind: 'radiusZero' }],
    [{ circle: { ...centred, radius: '0.0' } }, { kind: 'radiusZero' }],
    [{ circle: { ...centred, radius: '-5' } }, { kind: 'radiusMalformed' }],
    [{ circle: { ...centred, radius: 'wide' } }, { kind: 'radiusMalformed' }],
    [{ circle: { centerLongitude: '1', radius: '5' } }, missing('circle', 'latitude')],
    [{ circle: { centerLatitude: '1', radius: '5' } }, missing('circle', 'longitude')],
    [{ circle: { ...circle, centerLatitude: '91' } }, malformed('latitude')],
    [{ circle: { ...circle, centerLatitude: 'north' } }, malformed('latitude')],
    [{ circle: { ...circle, centerLatitude: [] } }, malformed('latitude')],
    [{ circle: { ...circle, centerLongitude: -180.5 } }, malformed('longitude')],
    [{ polygon: '' }, { kind: 'verticesTooFew' }],
    [{ polygon: { vertices: '' } }, { kind: 'verticesTooFew' }],
    [{ polygon: { vertices: [] } }, { kind: 'verticesTooFew' }],
    [{ polygon: { vertices: corners.slice(0, 2) } }, { kind: 'verticesTooFew' }],
    [{ polygon: { vertices: [...corners.slice(0, 2), ...corners.slice(0, 1)] } }, { kind: 'verticesTooFew' }],
    [{ polygon: { vertices: [...corners, { longitude: '1' }] } }, missing('polygon', 'latitude')],
    [{ polygon: { vertices: [...corners, { latitude: '1' }] } }, missing('polygon', 'longitude')],
    [{ polygon: { vertices: [...corners, 'x'] } }, missing('polygon', 'latitude')],
    [{ polygon: { vertices: [...corners, { latitude: '48', longitude: '200' }] } }, malformed('longitude')],
    [
      { polygon: { vertices: corners, inverted: 'maybe' } },
      { kind: 'invertedMalformed', shape: 'polygon', value: 'maybe' },
    ],
  ]
  for (const [value, refusal] of refusals) {
    t.same(parseArea(value), { ok: false, error: refusal }, JSON.stringify(value))
  }
})

function holds(area: Area, point: Point): boolean {
  return compileArea(area, unbounded())({ kind: 'points', points: [point] })
}

function circle(middle: Point, radius_m: number, inverted = false): Area {
  return { kind: 'circle', centre: middle, radius_m, inverted }
}

test('the radius of a circle is in metres on a sphere of 6 371 000 m', async (t) => {
  t.equal(holds(circle(centre, 1105), at(48.21, 16.37)), false)
  t.equal(holds(circle(centre, 1119), at(48.21, 16.37)), true)
  t.equal(holds(circle(at(60, 10), 5450), at(60, 10.1)), false)
  t.equal(holds(circle(at(60, 10), 5670), at(60, 10.1)), true)
  t.equal(holds(circle(centre, 1), centre), true)
})

test('a circle reaches over the 180th meridian and the poles', async (t) => {
  t.equal(holds(circle(at(0, 180), 5000), at(0, -179.99)), true)
  t.equal(holds(circle(at(89.99, 0), 5000), at(89.99, 180)), true)
  t.equal(holds(circle(at(89.99, 0), 500), at(89.99, 180)), false)
  t.equal(holds(circle(at(0, 0), Math.PI * 6_371_000 + 1), at(0, 180)), true)
})

test('inverted means everything else', async (t) => {
  t.equal(holds(circle(centre, 1119, true), at(48.21, 16.37)), false)
  t.equal(holds(circle(centre, 1105, true), at(48.21, 16.37)), true)
})
