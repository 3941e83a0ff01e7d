import { test } from 'tap'
import { detailsOfPlace, type PlaceWords, parsePlace } from '../../../src/model/context/geo/place.js'
import { maxPoints } from '../../../src/model/context/geo/shape.js'

function placeWords(georel: string | undefined, geometry: string, coords: string): PlaceWords {
  return {
    georel: georel?.split(';'),
    geometry: geometry.split(';'),
    coords: coords.split(';').map((pair) => pair.split(',')),
  }
}

function placed(georel: string | undefined, geometry: string, coords: string): unknown {
  const place = parsePlace(placeWords(georel, geometry, coords))
  return place.ok ? place.value : detailsOfPlace(place.error)
}

test('near has a centre and one limit or two', async (t) => {
  const centre = { latitude: 48.2, longitude: 16.37 }
  const near = { relation: 'near', centre, minDistance_m: undefined, maxDistance_m: undefined }
  t.same(placed('near;maxDistance:1000', 'point', '48.2,16.37'), { ...near, maxDistance_m: 1000 })
  t.same(placed('near;minDistance:0.5', 'point', ' 48.2 , 16.37 '), { ...near, minDistance_m: 0.5 })
  t.same(placed('minDistance:10;near;maxDistance:1e3', 'point', '48.2,16.37'), {
    ...near,
    minDistance_m: 10,
    maxDistance_m: 1000,
  })
})

test('the other relations have a shape', async (t) => {
  const point = { kind: 'points', points: [{ latitude: 1, longitude: 2 }] }
  t.same(placed('intersects', 'point', '1,2'), { relation: 'intersects', shape: point })
  t.same(placed('equals', 'point', '1,2'), { relation: 'equals', shape: point })
  t.match(placed('disjoint', 'line', '1,2;3,4'), { relation: 'disjoint', shape: { kind: 'lines' } })
  t.match(placed('coveredBy', 'box', '1,2;3,4'), { relation: 'coveredBy', shape: { kind: 'polygons' } })
  t.match(placed('coveredBy', 'polygon', '0,0;0,1;1,1;0,0'), { relation: 'coveredBy', shape: { kind: 'polygons' } })
})

test('mistakes have their texts, the first in the order of checking', async (t) => {
  const geometryUnknown = 'error parsing geometry: Invalid selector in geometry specification'
  const mistakes: readonly (readonly [georel: string | undefined, geometry: string, coords: string, text: string])[] = [
    ['touches', 'circle', 'x', geometryUnknown],
    ['touches', '', 'x', geometryUnknown],
    ['touches', 'point;circle', 'x', geometryUnknown],
    ['touches', 'point;box', 'x', 'error parsing geometry: geometry-type present more than once'],
    ['touches', 'point', 'x', 'Invalid modifier in georel parameter'],
    ['near;speed:9', 'point', 'x', 'Invalid modifier in georel parameter'],
    ['near;maxDistance', 'point', 'x', 'Invalid modifier in georel parameter'],
    ['near;near;far', 'point', 'x', 'Invalid modifier in georel parameter'],
    ['maxDistance:1', 'point', 'x', 'Invalid modifier in georel parameter'],
    ['', 'point', 'x', 'Invalid modifier in georel parameter'],
    ['near;equals;maxDistance:x', 'point', 'x', 'georel type present more than once'],
    ['near;maxDistance:x;maxDistance:2', 'point', 'x', 'maxDistance present more than once'],
    ['near;minDistance:1;minDistance:2', 'point', 'x', 'minDistance present more than once'],
    ['near;maxDistance:far', 'point', 'x', 'invalid number for maxDistance'],
    ['near;maxDistance:', 'point', 'x', 'invalid number for maxDistance'],
    ['near;maxDistance:-1', 'point', 'x', 'invalid number for maxDistance'],
    ['equals;minDistance:x', 'point', 'x', 'invalid number for minDistance'],
    ['near;maxDistance:Infinity', 'point', 'x', 'invalid number for maxDistance'],
    ['equals;maxDistance:9;minDistance:9', 'point', 'x', 'maxDistance erroneously used with georel /equals/'],
    ['coveredBy;minDistance:9', 'point', 'x', 'minDistance erroneously used with georel /coveredBy/'],
    ['near', 'box', 'x', 'georel /near/ without either minDistance nor maxDistance'],
    ['near;maxDistance:9', 'box', 'x', 'georel /near/ used with geometry different than point'],
    ['coveredBy', 'point', 'x', 'point geometry cannot be used with coveredBy georel'],
    ['coveredBy', 'line', 'x', 'line geometry cannot be used with coveredBy georel'],
    ['intersects', 'point', 'a,b;1', 'invalid point in URI param /coords/'],
    ['intersects', 'point', '1,2,3', 'invalid point in URI param /coords/'],
    ['intersects', 'point', '', 'invalid point in URI param /coords/'],
    ['intersects', 'line', '1,2;', 'invalid point in URI param /coords/'],
    ['intersects', 'point', '1,b', 'invalid coordinates'],
    ['intersects', 'point', '1,', 'invalid coordinates'],
    ['intersects', 'point', '91,0', 'invalid coordinates'],
    ['intersects', 'point', '0,181;1,1', 'invalid coordinates'],
    ['intersects', 'point', '1,2;3,4', 'invalid number of coordinates for /point/'],
    ['intersects', 'line', '1,2', 'invalid number of coordinates for /line/'],
    ['intersects', 'box', '1,2', 'invalid number of coordinates for /box/'],
    ['intersects', 'box', '1,2;1,3', 'box coordinates are not defining an actual box'],
    ['intersects', 'polygon', '1,2;2,2;1,2', 'Too few coordinates for polygon'],
    ['intersects', 'polygon', '1,2;2,2;2,1;1,3', 'First and last point in polygon not the same'],
    [
      'intersects',
      'line',
      Array(maxPoints + 1)
        .fill('1,2')
        .join(';'),
      `number of coordinates above ${maxPoints}`,
    ],
    [undefined, 'circle', '1,2', geometryUnknown],
    [undefined, 'point', '1,b', 'invalid coordinates'],
    [undefined, 'point', '1,2', 'URI param /geometry/ used without /georel/'],
  ]
  for (const [georel, geometry, coords, text] of mistakes) {
    t.equal(placed(georel, geometry, coords), text, `${georel} ${geometry} ${coords.slice(0, 40)}`)
  }
})
