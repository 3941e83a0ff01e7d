import { test } from 'tap'
import { locationOf, parseCoordinates } from '../../src/context/location.js'
import { attribute, entity } from './given-entity.js'

test('coordinates are latitude and longitude in decimal degrees with optional blanks', async (t) => {
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
  t.same(locationOf(entity({ attributes: [other, declared] })), { latitude: 48.2, longitude: 16.37 })
  t.equal(locationOf(entity({ attributes: [other] })), undefined)
  t.equal(locationOf(entity()), undefined)
})
