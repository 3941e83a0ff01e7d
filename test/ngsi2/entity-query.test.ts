import { test } from 'tap'
import { filterScope, type PlaceTexts, placeOfExpression, placeOfParameters } from '../../src/api/ngsi2/entity-query.js'
import type { FilterSide } from '../../src/model/context/filter.js'
import { PatternsTogether } from '../../src/model/context/pattern.js'

function mistake(text: string, side: FilterSide = 'attributes'): string | undefined {
  const scope = filterScope(text, side, new PatternsTogether())
  return scope.ok ? undefined : scope.error
}

test('each mistake in q has its text [NGSIv2 context 10.2]', async (t) => {
  for (const [text, wrong] of [
    [';', 'empty q'],
    ['  ', 'empty q-item (only whitespace)'],
    ['heat;;lid', 'empty q-item'],
    ['heat;  ;lid', 'empty q-item (only whitespace)'],
    ['==7', 'empty left-hand-side in q-item'],
    ['a.==7', 'empty left-hand-side in q-item'],
    ['heat==', 'empty right-hand-side in q-item'],
    ['!', 'empty right-hand-side in q-item'],
    ['l(d==1', 'invalid character found in URI param /q/'],
    ['l(d', 'invalid character found in URI param /q/'],
    ['lid==o(n', 'forbidden characters in String Filter'],
    ['lid~=o(n', 'forbidden characters in String Filter'],
    ['heat>1..2', 'ranges only valid for equal and not equal ops'],
    ['heat>1,2', 'lists only valid for equal and not equal ops'],
    ['heat==1..', 'empty item in range'],
    ['heat==..5', 'empty item in range'],
    ['heat==1,,2', 'empty item in list'],
    ['heat==5,', 'empty item in list'],
    ['heat==1..b', 'invalid range: types mixed'],
    ['heat==1..2..3', 'invalid range: types mixed'],
    ['heat==true..5', 'invalid data type for /range-from/'],
    ['heat==1..null', 'invalid data type for /range-to/'],
    ['heat==1,b', 'invalid JSON value type in list'],
    ['heat==true,false', 'invalid JSON value type in list'],
    ['heat==5,null', 'invalid JSON value type in list'],
    ['heat==null,null', 'invalid JSON value type in list'],
    ['lid>true', 'values of type /Bool/ not supported for operator /GreaterThan/'],
    ['lid>=false', 'values of type /Bool/ not supported for operator /GreaterThanOrEqual/'],
    ['lid<null', 'values of type /Null/ not supported for operator /LessThan/'],
    ['lid<=null', 'values of type /Null/ not supported for operator /LessThanOrEqual/'],
    ["lid=='open", 'non-terminated forced string'],
    ["lid=='o'pen'", 'quote in forced string'],
    ['lid~=*[', "error compiling filter regex: '*['"],
    ['a;'.repeat(1001), 'too many q-items'],
    ['a'.repeat(65_537), 'q too long'],
  ] as const) {
    t.equal(mistake(text), wrong, text.slice(0, 40))
  }
})

test('mq needs an attribute and metadata of it [NGSIv2 context 10.3]', async (t) => {
  for (const [text, wrong] of [
    ['heat', 'no metadata in right-hand-side of q-item'],
    ['!heat', 'no metadata in right-hand-side of q-item'],
    ['heat==1', 'no metadata name - not valid for metadata filters'],
    ['heat.==1', 'no metadata name - not valid for metadata filters'],
    ['.acc==1', 'no attribute name - not valid for metadata filters'],
    ['h(t.acc==1', 'invalid character found in URI param /mq/'],
    [';', 'empty q'],
  ] as const) {
    t.equal(mistake(text, 'metadata'), wrong, text)
  }
  t.equal(mistake('heat.acc>1;heat.from.lab==A', 'metadata'), undefined)
})

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
