import fc from 'fast-check'
import { test } from 'tap'
import type { Value } from '../../../src/model/context/entity.js'
import { maxPoints, type Point, pointCount } from '../../../src/model/context/geo/shape.js'
import { geometryOf, isShapeType, parseShape } from '../../../src/model/context/geo/shape-parse.js'
import { isObject } from '../../../src/model/context/value.js'
import { staysWithin } from '../../pace.js'
import { runs } from '../../runs.js'

function p(longitude: number, latitude: number): Point {
  return { latitude, longitude }
}

const ring = [
  [0, 0],
  [4, 0],
  [4, 4],
  [0, 0],
]
const hole = [
  [1, 0.5],
  [2, 0.5],
  [2, 1],
  [1, 0.5],
]
const border = [p(0, 0), p(4, 0), p(4, 4), p(0, 0)]
const holed = [p(1, 0.5), p(2, 0.5), p(2, 1), p(1, 0.5)]

test('a geo:json value has its kind, its longitude first', async (t) => {
  const shapes: readonly (readonly [Value, unknown])[] = [
    [
      { type: 'Point', coordinates: [16, 48] },
      { kind: 'points', points: [p(16, 48)] },
    ],
    [
      { type: 'Point', coordinates: [16, 48, 151.5] },
      { kind: 'points', points: [p(16, 48)] },
    ],
    [
      { coordinates: [-180, -90], type: 'Point', bbox: [] },
      { kind: 'points', points: [p(-180, -90)] },
    ],
    [
      {
        type: 'MultiPoint',
        coordinates: [
          [16, 48],
          [17, 49],
        ],
      },
      { kind: 'points', points: [p(16, 48), p(17, 49)] },
    ],
    [
      { type: 'LineString', coordinates: ring },
      { kind: 'lines', lines: [border] },
    ],
    [
      { type: 'MultiLineString', coordinates: [ring, hole] },
      { kind: 'lines', lines: [border, holed] },
    ],
    [
      { type: 'Polygon', coordinates: [ring, hole] },
      { kind: 'polygons', polygons: [[border, holed]] },
    ],
    [
      { type: 'MultiPolygon', coordinates: [[ring], [hole]] },
      { kind: 'polygons', polygons: [[border], [holed]] },
    ],
    [
      { type: 'Feature', properties: null, geometry: { type: 'Point', coordinates: [16, 48] } },
      { kind: 'points', points: [p(16, 48)] },
    ],
    [
      {
        type: 'FeatureCollection',
        features: [{ type: 'Feature', geometry: { type: 'Point', coordinates: [16, 48] } }],
      },
      { kind: 'points', points: [p(16, 48)] },
    ],
  ]
  for (const [value, shape] of shapes) {
    t.same(parseShape('geo:json', value), { ok: true, value: shape }, JSON.stringify(value))
  }
})

test('a geo:json value that is none is refused with its kind', async (t) => {
  const feature = { type: 'Feature', geometry: { type: 'Point', coordinates: [1, 2] } }
  const refusals: readonly (readonly [Value, string])[] = [
    ['1, 2', 'geoJsonNoObject'],
    [[1, 2], 'geoJsonNoObject'],
    [null, 'geoJsonNoObject'],
    [true, 'geoJsonNoObject'],
    [{ type: 'Feature' }, 'geometryMissing'],
    [{ type: 'Feature', geometry: null }, 'geometryNoObject'],
    [{ type: 'Feature', geometry: 7 }, 'geometryNoObject'],
    [{ type: 'Feature', geometry: [] }, 'geometryNoObject'],
    [{ type: 'FeatureCollection' }, 'featuresMissing'],
    [{ type: 'FeatureCollection', features: {} }, 'featuresNoArray'],
    [{ type: 'FeatureCollection', features: [] }, 'featuresNone'],
    [{ type: 'FeatureCollection', features: [feature, feature] }, 'featuresTooMany'],
    [{ type: 'FeatureCollection', features: [{ type: 'Feature' }] }, 'geometryMissing'],
    [{ type: 'FeatureCollection', features: [7] }, 'geoJsonMalformed'],
    [{ type: 'FeatureCollection', features: [{ type: 'Point', coordinates: [1, 2] }] }, 'geoJsonMalformed'],
    [{ type: 'Feature', geometry: feature }, 'geoJsonMalformed'],
    [{}, 'geoJsonMalformed'],
    [{ type: 'Spot', coordinates: [1, 2] }, 'geoJsonMalformed'],
    [{ type: 'point', coordinates: [1, 2] }, 'geoJsonMalformed'],
    [{ type: 'GeometryCollection', geometries: [] }, 'geoJsonMalformed'],
    [{ type: 'Point' }, 'geoJsonMalformed'],
    [{ type: 'Point', coordinates: [] }, 'geoJsonMalformed'],
    [{ type: 'Point', coordinates: [1] }, 'geoJsonMalformed'],
    [{ type: 'Point', coordinates: ['1', '2'] }, 'geoJsonMalformed'],
    [{ type: 'Point', coordinates: [1, 2, 'high'] }, 'geoJsonMalformed'],
    [{ type: 'Point', coordinates: [1, 90.5] }, 'geoJsonMalformed'],
    [{ type: 'Point', coordinates: [180.5, 1] }, 'geoJsonMalformed'],
    [{ type: 'Point', coordinates: [Number.NaN, 1] }, 'geoJsonMalformed'],
    [{ type: 'Point', coordinates: [[1, 2]] }, 'geoJsonMalformed'],
    [{ type: 'MultiPoint', coordinates: [] }, 'geoJsonMalformed'],
    [{ type: 'MultiPoint', coordinates: [1, 2] }, 'geoJsonMalformed'],
    [{ type: 'LineString', coordinates: [[1, 2]] }, 'geoJsonMalformed'],
    [{ type: 'Polygon', coordinates: [] }, 'geoJsonMalformed'],
    [{ type: 'Polygon', coordinates: [ring.slice(1)] }, 'geoJsonMalformed'],
    [{ type: 'Polygon', coordinates: [[...ring.slice(0, 3), [0, 1]]] }, 'geoJsonMalformed'],
    [{ type: 'Polygon', coordinates: ring }, 'geoJsonMalformed'],
    [{ type: 'MultiPolygon', coordinates: [ring] }, 'geoJsonMalformed'],
    [{ type: 'MultiPoint', coordinates: Array.from({ length: maxPoints + 1 }, () => [1, 2]) }, 'pointsTooMany'],
    [JSON.parse('{"__proto__":{"type":"Point","coordinates":[1,2]}}'), 'geoJsonMalformed'],
  ]
  for (const [value, kind] of refusals) {
    const parsed = parseShape('geo:json', value)
    t.match(parsed, { ok: false, error: { kind } }, JSON.stringify(value)?.slice(0, 200))
  }
})

test('a geo:json value is shown as its geometry', async (t) => {
  const geometry = { type: 'Point', coordinates: [1, 2] }
  const shown = (value: Value): unknown => isObject(value) && geometryOf(value)
  t.same(shown(geometry), { ok: true, value: geometry })
  t.same(shown({ type: 'Feature', geometry }), { ok: true, value: geometry })
  t.same(shown({ type: 'FeatureCollection', features: [{ type: 'Feature', geometry }] }), { ok: true, value: geometry })
})

test('the old types have latitude first', async (t) => {
  t.same(parseShape('geo:point', ' 48.2 , 16.37 '), { ok: true, value: { kind: 'points', points: [p(16.37, 48.2)] } })
  t.same(parseShape('coords', '48.2,16.37'), { ok: true, value: { kind: 'points', points: [p(16.37, 48.2)] } })
  t.same(parseShape('geo:line', ['1,2', '3,4']), { ok: true, value: { kind: 'lines', lines: [[p(2, 1), p(4, 3)]] } })
  const box = [p(2, 1), p(4, 1), p(4, 3), p(2, 3), p(2, 1)]
  for (const corners of [
    ['1,2', '3,4'],
    ['3,4', '1,2'],
    ['1,4', '3,2'],
  ]) {
    t.same(parseShape('geo:box', corners), { ok: true, value: { kind: 'polygons', polygons: [[box]] } })
  }
  t.same(parseShape('geo:polygon', ['0,0', '0,4', '4,4', '0,0']), {
    ok: true,
    value: { kind: 'polygons', polygons: [[border]] },
  })
})

test('values of the old types that are none are refused with their kind', async (t) => {
  const refusals: readonly (readonly [type: string, Value, unknown])[] = [
    ['geo:point', 'somewhere', { kind: 'pointMalformed', text: 'somewhere' }],
    ['geo:point', '91, 0', { kind: 'pointMalformed', text: '91, 0' }],
    ['geo:point', '0, -181', { kind: 'pointMalformed', text: '0, -181' }],
    ['geo:point', [1, 2], { kind: 'pointMalformed', text: '[1,2]' }],
    ['geo:point', null, { kind: 'pointMalformed', text: 'null' }],
    ['geo:line', '1,1', { kind: 'noArray' }],
    ['geo:box', { a: '1,1' }, { kind: 'noArray' }],
    ['geo:line', ['1,1', 2], { kind: 'itemNoText' }],
    ['geo:line', ['1,1', 'x'], { kind: 'pointMalformed', text: 'x' }],
    ['geo:line', [], { kind: 'linePointsTooFew' }],
    ['geo:line', ['1,1'], { kind: 'linePointsTooFew' }],
    ['geo:line', Array.from({ length: maxPoints + 1 }, () => '1,1'), { kind: 'pointsTooMany', max: maxPoints }],
    ['geo:box', ['1,1'], { kind: 'boxPointsNotTwo' }],
    ['geo:box', ['1,1', '2,2', '3,3'], { kind: 'boxPointsNotTwo' }],
    ['geo:box', ['1,1', '1,2'], { kind: 'boxFlat' }],
    ['geo:box', ['1,1', '2,1'], { kind: 'boxFlat' }],
    ['geo:polygon', ['1,1', '2,2', '1,1'], { kind: 'polygonPointsTooFew' }],
    ['geo:polygon', ['1,1', '1,2', '2,2', '3,3'], { kind: 'polygonOpen' }],
  ]
  for (const [type, value, error] of refusals) {
    t.same(parseShape(type, value), { ok: false, error }, `${type} ${JSON.stringify(value).slice(0, 100)}`)
  }
})

test('five types hold shapes', async (t) => {
  const types = ['geo:json', 'geo:point', 'geo:line', 'geo:box', 'geo:polygon', 'geo:circle', 'Geo:json', '', 'Text']
  t.same(types.filter(isShapeType), types.slice(0, 5))
})

const kinds = ['Point', 'MultiPoint', 'LineString', 'MultiLineString', 'Polygon', 'MultiPolygon', 'Feature']
const hostile = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<unknown>(
      0,
      -0,
      90,
      -90,
      180,
      1e308,
      5e-324,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      '1',
      '',
      null,
      true,
    ),
    fc.double({ min: -200, max: 200 }),
    fc.array(tie('tree'), { maxLength: 6 }),
    fc.dictionary(fc.constantFrom('type', 'coordinates', 'geometry', 'features', '__proto__', 'length'), tie('tree')),
    fc.record({ type: fc.constantFrom(...kinds), coordinates: tie('tree'), geometry: tie('tree') }),
  ),
})).tree

test('whatever is sent as GeoJSON is a shape within its limits or is refused', async () => {
  fc.assert(
    fc.property(
      fc.constantFrom('geo:json', 'geo:line', 'geo:box', 'geo:polygon', 'geo:point'),
      hostile,
      (type, value) => {
        const shape = parseShape(type, value as Value)
        if (!shape.ok) return typeof shape.error.kind === 'string'
        return pointCount(shape.value) > 0 && pointCount(shape.value) <= maxPoints
      },
    ),
    { numRuns: runs(1000) },
  )
})

test('arrays that are deep or long are refused in little time', async (t) => {
  const deep = JSON.parse(`${'['.repeat(5000)}1${']'.repeat(5000)}`)
  const wide = Array.from({ length: 500_000 }, () => [1, 2])
  for (const type of kinds) {
    t.equal(parseShape('geo:json', { type, coordinates: deep }).ok, false, `${type}, deep`)
    const isSoon = await staysWithin(2000, () => {
      t.equal(parseShape('geo:json', { type, coordinates: wide }).ok, false, `${type}, wide`)
      t.equal(parseShape('geo:json', { type, coordinates: [wide] }).ok, false, `${type}, wide below`)
    })
    t.ok(isSoon, `${type} took its time`)
  }
})
