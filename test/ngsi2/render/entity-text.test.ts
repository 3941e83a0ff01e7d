import { test } from 'tap'
import {
  attributesText,
  attributeText,
  entityText,
  type Representation,
} from '../../../src/api/ngsi2/render/entity-text.js'
import type { Entity, ServicePath } from '../../../src/model/context/entity.js'
import { attribute, entity } from '../../ngsi1/given.js'

const day = '2023-11-14T22:13:20.000Z'

const vat: Entity = {
  ...entity('Vat1', 'Vat', attribute('heat', 61.5, { type: 'Number' }), attribute('lid', 'open', { type: 'State' })),
  path: '/brew' as ServicePath,
}

function shown(of: Entity, more: Partial<Representation> = {}): unknown {
  return JSON.parse(entityText(of, { form: 'normalized', attributes: [], metadata: [], ...more }))
}

test('normalized, attributes have type, value and metadata, always [NGSIv2 context 2.2]', async (t) => {
  t.same(shown(vat), {
    id: 'Vat1',
    type: 'Vat',
    heat: { type: 'Number', value: 61.5, metadata: {} },
    lid: { type: 'State', value: 'open', metadata: {} },
  })
  t.same(shown(entity('Vat1', '')), { id: 'Vat1', type: 'Thing' })
})

test('what has no type has the default of its value [NGSIv2 context 2.2, 14.1]', async (t) => {
  const types = [
    ['x', 'Text'],
    [1, 'Number'],
    [true, 'Boolean'],
    [null, 'None'],
    [{}, 'StructuredValue'],
    [[], 'StructuredValue'],
  ] as const
  for (const [value, type] of types) {
    const untyped = attribute('a', value, { type: '', metadata: [{ name: 'm', type: '', value }] })
    t.same(JSON.parse(attributeText(untyped, 'normalized', [])), { type, value, metadata: { m: { type, value } } })
  }
})

test('keyValues, values and unique leave out more and more [NGSIv2 context 7.2, 7.3]', async (t) => {
  const same = entity('A', 'T', attribute('c', 1), attribute('b', { x: [1] }), attribute('a', { x: [1] }))
  const sorted = { ...same, attributes: same.attributes.toReversed() }
  t.same(shown(sorted, { form: 'keyValues' }), { id: 'A', type: 'T', a: { x: [1] }, b: { x: [1] }, c: 1 })
  t.same(shown(sorted, { form: 'values' }), [{ x: [1] }, { x: [1] }, 1])
  t.same(shown(sorted, { form: 'unique' }), [{ x: [1] }, 1])
  t.same(shown(sorted, { form: 'values', attributes: ['c', 'none', 'a', 'c'] }), [1, { x: [1] }])
  t.same(shown(sorted, { form: 'values', attributes: ['c', '*'] }), [{ x: [1] }, { x: [1] }, 1])
})

test('attrs shows what it names, * all that is not built in [NGSIv2 context 6, 7.1]', async (t) => {
  const names = (...attributes: readonly string[]) => Object.keys(Object(shown(vat, { form: 'keyValues', attributes })))
  t.same(names('lid'), ['id', 'type', 'lid'])
  t.same(names('none'), ['id', 'type'])
  t.same(names('dateCreated'), ['id', 'type', 'dateCreated'])
  t.same(names('dateModified', '*'), ['id', 'type', 'dateModified', 'heat', 'lid'])
  t.same(shown(vat, { attributes: ['dateCreated', 'servicePath'] }), {
    id: 'Vat1',
    type: 'Vat',
    dateCreated: { type: 'DateTime', value: day, metadata: {} },
    servicePath: { type: 'Text', value: '/brew', metadata: {} },
  })
})

test('dateExpires shows only when it is named, with its metadata [NGSIv2 context 3.4, 6]', async (t) => {
  const expires = attribute('dateExpires', 1_700_000_000, { type: 'ISO8601' })
  const short = entity('A', 'T', attribute('a', 1), expires)
  t.same(shown(short, { form: 'keyValues' }), { id: 'A', type: 'T', a: 1 })
  t.same(shown(short, { form: 'keyValues', attributes: ['*'] }), { id: 'A', type: 'T', a: 1 })
  t.same(shown(short, { form: 'values', attributes: ['*', 'dateExpires'] }), [1, day])
  t.match(shown(short, { attributes: ['dateExpires'], metadata: ['dateCreated'] }), {
    dateExpires: { type: 'ISO8601', value: day, metadata: { dateCreated: { type: 'DateTime', value: day } } },
  })
})

test('a name of one’s own hides the builtin of that name [NGSIv2 context 6]', async (t) => {
  const own = entity('A', 'T', attribute('dateCreated', 'mine'), attribute('servicePath', 'mine'))
  t.same(shown(own, { form: 'keyValues' }), { id: 'A', type: 'T', dateCreated: 'mine', servicePath: 'mine' })
  t.same(shown(own, { form: 'keyValues', attributes: ['dateCreated'] }), { id: 'A', type: 'T', dateCreated: 'mine' })
  t.same(shown(own, { form: 'values', attributes: ['dateModified', '*'] }), ['mine', day, 'mine'])
  const metadata = [{ name: 'dateCreated', type: 'Text', value: 'mine' }]
  const hides = attribute('a', 1, { metadata })
  t.match(JSON.parse(attributeText(hides, 'normalized', ['dateCreated', 'dateModified'])), {
    metadata: { dateCreated: { type: 'Text', value: 'mine' }, dateModified: { type: 'DateTime', value: day } },
  })
})

test('metadata shows what it names [NGSIv2 context 7.1]', async (t) => {
  const metadata = [
    { name: 'm', type: 'Number', value: 1 },
    { name: 'n', type: 'DateTime', value: 1_700_000_000 },
  ]
  const names = (...wanted: readonly string[]) =>
    Object.keys(JSON.parse(attributeText(attribute('a', 1, { metadata }), 'normalized', wanted)).metadata)
  t.same(names(), ['m', 'n'])
  t.same(names('n', 'none'), ['n'])
  t.same(names('*'), ['m', 'n'])
  t.same(names('dateModified'), ['dateModified'])
  t.same(names('*', 'dateModified'), ['m', 'n', 'dateModified'])
  const builtin = shown(vat, { attributes: ['dateCreated'], metadata: ['dateModified'] })
  t.match(builtin, { dateCreated: { metadata: {} } }, 'builtin attributes have none')
})

test('of several instances the one with the smallest ID is shown, and its ID [NGSIv2 context 14.3]', async (t) => {
  const instances = entity('A', 'T', attribute('a', 1, { instance: 'north' }), attribute('a', 2, { instance: 'south' }))
  t.same(shown(instances), {
    id: 'A',
    type: 'T',
    a: { type: 'percent', value: 1, metadata: { ID: { type: 'string', value: 'north' } } },
  })
})

test('the mark of a location is metadata, a geo type needs none [NGSIv2 context 14.1]', async (t) => {
  const marked = attribute('a', '1,2', { type: 'coords', isLocation: true })
  const mark = { location: { type: 'string', value: 'WGS84' } }
  t.same(JSON.parse(attributeText(marked, 'normalized', [])).metadata, mark)
  t.same(JSON.parse(attributeText({ ...marked, type: 'geo:json' }, 'normalized', [])).metadata, mark)
  const twice = attributeText(
    { ...marked, metadata: [{ name: 'location', type: 't', value: 'hall' }] },
    'normalized',
    [],
  )
  t.match(twice, `"metadata":${JSON.stringify(mark)}`)
  t.same(JSON.parse(attributeText({ ...marked, type: 'geo:point' }, 'normalized', [])).metadata, {})
  const value = { type: 'Point', coordinates: [2, 1] }
  t.same(JSON.parse(attributeText({ ...marked, type: 'geo:json', value }, 'normalized', [])).metadata, {})
})

test('attributes that are called id or type are not shown [NGSIv2 context 14.1]', async (t) => {
  const odd = entity('A', 'T', attribute('id', 1), attribute('type', 2))
  t.same(shown(odd, { form: 'keyValues' }), { id: 'A', type: 'T' })
  t.same(shown(odd, { form: 'values', attributes: ['id', 'type'] }), [])
})

test('a GeoJSON feature shows its geometry, unless its type is ignored [NGSIv2 context 3.5]', async (t) => {
  const geometry = { type: 'Point', coordinates: [1, 2] }
  const feature = { type: 'Feature', properties: {}, geometry }
  const value = (given: typeof feature | object, metadata: readonly [] | readonly { name: string }[] = []) =>
    JSON.parse(
      attributeText(
        attribute('a', JSON.parse(JSON.stringify(given)), {
          type: 'geo:json',
          metadata: metadata.map(({ name }) => ({ name, type: 'Boolean', value: true })),
        }),
        'normalized',
        [],
      ),
    ).value
  t.same(value(feature), geometry)
  t.same(value({ type: 'FeatureCollection', features: [feature] }), geometry)
  t.same(value(geometry), geometry)
  t.same(value(feature, [{ name: 'ignoreType' }]), feature)
})

test('the attributes alone have neither id nor type [NGSIv2 context 8.3]', async (t) => {
  const text = attributesText(vat, { form: 'keyValues', attributes: [], metadata: [] })
  t.same(JSON.parse(text), { heat: 61.5, lid: 'open' })
  t.same(JSON.parse(attributeText(vat.attributes[0] ?? attribute('none', 0), 'keyValues', [])), { heat: 61.5 })
})
