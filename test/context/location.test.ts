import { test } from 'tap'
import type { Attribute, Value } from '../../src/model/context/entity.js'
import { parseCoordinates } from '../../src/model/context/geo/shape.js'
import { isMarked, LocationKeeper, locationOf } from '../../src/model/context/location.js'
import { attribute, entity } from './given-entity.js'

test('coordinates are latitude and longitude in decimal degrees with optional spaces', async (t) => {
  t.same(parseCoordinates('48.2, 16.37'), { latitude: 48.2, longitude: 16.37 })
  t.same(parseCoordinates('48.2,16.37'), { latitude: 48.2, longitude: 16.37 })
  t.same(parseCoordinates('  -90  ,\t+180. '), { latitude: -90, longitude: 180 })
  t.same(parseCoordinates('.5,-.5'), { latitude: 0.5, longitude: -0.5 })
})

test('what is not two decimal numbers in range is no coordinates', async (t) => {
  const texts = [
    '',
    '48.2',
    '48.2;16.37',
    '48.2,16.37,3',
    '90.1,0',
    '0,-180.1',
    'north,16',
    '1e1,0',
    '0x1,0',
    '.,0',
    ',',
  ]
  for (const value of [...texts, '4 8,16', '48.2,16.37m', 'NaN,0', 48.2, null, true, ['48', '16'], {}]) {
    t.equal(parseCoordinates(value), undefined, JSON.stringify(value))
  }
})

test('the location of an entity is that of the one attribute that is its location', async (t) => {
  const declared = attribute('position', '48.2, 16.37', { isLocation: true })
  const other = attribute('aim', '3,4', { type: 'coords' })
  t.same(locationOf(entity({ attributes: [other, declared] })), {
    kind: 'points',
    points: [{ latitude: 48.2, longitude: 16.37 }],
  })
  t.equal(locationOf(entity({ attributes: [other] })), undefined)
  t.equal(locationOf(entity()), undefined)
})

test('the location of an entity is the shape of its type', async (t) => {
  const of = (type: string, value: Value): unknown =>
    locationOf(entity({ attributes: [attribute('place', value, { type, isLocation: true })] }))
  const [a, b] = [
    { latitude: 1, longitude: 2 },
    { latitude: 3, longitude: 4 },
  ]
  t.same(of('geo:json', { type: 'Point', coordinates: [2, 1] }), { kind: 'points', points: [a] })
  t.same(of('geo:line', ['1,2', '3,4']), { kind: 'lines', lines: [[a, b]] })
  t.same(of('geo:json', '1,2'), { kind: 'points', points: [a] }, 'marked by NGSIv1')
  t.equal(of('geo:json', { type: 'Spot' }), undefined)
})

test('a location is marked when NGSIv1 has declared it by metadata', async (t) => {
  const point = { type: 'Point', coordinates: [2, 1] }
  t.equal(isMarked(attribute('place', '1,2', { type: 'coords', isLocation: true })), true)
  t.equal(isMarked(attribute('place', '1,2', { type: 'geo:json', isLocation: true })), true)
  t.equal(isMarked(attribute('place', '1,2', { type: 'geo:point', isLocation: true })), false)
  t.equal(isMarked(attribute('place', point, { type: 'geo:json', isLocation: true })), false)
  t.equal(isMarked(attribute('place', '1,2', { type: 'coords' })), false)
})

test('NGSIv1 writes a shape to the location of NGSIv2, or leaves its value alone', async (t) => {
  const line = attribute('place', ['1,2', '3,4'], { type: 'geo:line', isLocation: true })
  const json = attribute('place', { type: 'Point', coordinates: [2, 1] }, { type: 'geo:json', isLocation: true })
  const decided = (held: Attribute, given: { readonly type?: string; readonly value?: Value }): unknown => {
    const whole = { name: 'place', instance: '', type: '', metadata: [], ...given }
    const decision = new LocationKeeper({ attributes: [held] }).decide(held, whole, 'update')
    return decision.ok ? decision.value : decision.error.kind
  }
  t.equal(decided(json, {}), true)
  t.equal(decided(json, { value: '1,2' }), 'coordinatesMalformed')
  t.equal(decided(json, { value: { type: 'Point', coordinates: ['2', '1'] } }), 'coordinatesMalformed')
  t.equal(decided(json, { type: 'geo:point', value: '1,2' }), true)
  t.equal(decided(json, { type: 'geo:point' }), 'coordinatesMalformed')
  t.equal(decided(line, { value: ['5,6', '7,8'] }), true)
  t.equal(decided(line, { value: ['5,6'] }), 'coordinatesMalformed')
})
