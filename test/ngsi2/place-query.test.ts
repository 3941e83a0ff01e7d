import { test } from 'tap'
import { type PlaceTexts, placeOfExpression, placeOfParameters } from '../../src/ngsi2/place-query.js'

const near = { georel: 'near;maxDistance:1000', geometry: 'point', coords: '48.2,16.37' }
const place = {
  kind: 'place',
  place: {
    relation: 'near',
    centre: { latitude: 48.2, longitude: 16.37 },
    minDistance_m: undefined,
    maxDistance_m: 1000,
  },
}

test('the parts of a place belong together, and its mistakes have their texts [NGSIv2 context 10.4]', async (t) => {
  const mistakes: readonly (readonly [PlaceTexts, parameters: string, expression: string])[] = [
    [{ coords: '1,2' }, 'URI param /coords/ used without /geometry/', ''],
    [{ coords: '1,2', georel: 'touches' }, 'URI param /coords/ used without /geometry/', ''],
    [{ geometry: 'point' }, 'URI param /geometry/ used without /coords/', ''],
    [{ geometry: 'circle', georel: 'touches' }, 'URI param /geometry/ used without /coords/', ''],
    [{ georel: 'near;maxDistance:1' }, 'URI param /georel/ used without /geometry/', ''],
    [{ geometry: 'point', coords: '1,2' }, 'URI param /geometry/ used without /georel/', ''],
    [{ geometry: 'point', coords: '1,b' }, 'invalid coordinates', ''],
    [{ ...near, georel: 'touches' }, ...same('Invalid modifier in georel parameter')],
    [{ ...near, coords: '1' }, ...same('invalid point in URI param /coords/')],
    [{ ...near, geometry: 'point;point' }, ...same('error parsing geometry: geometry-type present more than once')],
  ]
  const partial = 'partial geo expression: geometry, georel and coords have to be provided together'
  for (const [texts, parameters, expression] of mistakes) {
    t.same(placeOfParameters(texts), { ok: false, error: `Invalid query: ${parameters}` })
    const error = expression === '' ? partial : `error parsing geo-query fields: ${expression}`
    t.same(placeOfExpression(texts), { ok: false, error })
  }
})

function same(text: string): readonly [string, string] {
  return [text, text]
}

test('a place is a scope of the query, and there need be none [NGSIv2 context 10.4]', async (t) => {
  for (const read of [placeOfParameters, placeOfExpression]) {
    t.same(read(near), { ok: true, value: place })
    t.same(read({}), { ok: true, value: undefined })
  }
})
