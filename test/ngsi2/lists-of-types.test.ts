import { test } from 'tap'
import { RunningBroker } from '../running.js'
import { attribute, ID, tenantClient } from '../wire/client.js'

const broker = await RunningBroker.shared(['-multiservice', '-partitions', '3', '-httpThreads', '2', '-ngsiv1Autocast'])

const client = tenantClient(broker)
await client.given(
  { id: 'V1', type: 'Vat', attributes: [attribute('heat', 'Float', '1'), attribute('lid', '', 'open')] },
  { id: 'V2', type: 'Vat', attributes: [attribute('heat', 'Number', '1'), attribute('lid', '', { a: 'b' })] },
  {
    id: 'T1',
    type: 'Tub',
    attributes: [
      attribute('dateExpires', 'DateTime', '2999-01-01'),
      attribute('x', 'A', '1', ID('1')),
      attribute('x', 'B', '1', ID('2')),
    ],
  },
  { id: 'N1' },
)
await client.givenIn('/brew', { id: 'P1', type: 'Pot' })

const vat = { attrs: { heat: { types: ['Float', 'Number'] }, lid: { types: ['StructuredValue', 'Text'] } }, count: 2 }
const tub = { attrs: { x: { types: ['A', 'B'] } }, count: 1 }
const nothing = { attrs: {}, count: 1 }

test('types are listed ascending with the types of their attributes [NGSIv2 context 13]', async (t) => {
  const all = [
    { type: '', ...nothing },
    { type: 'Pot', ...nothing },
    { type: 'Tub', ...tub },
    { type: 'Vat', ...vat },
  ]
  t.strictSame(await client.request('GET', '/v2/types'), [200, all])
  t.strictSame(await client.request('GET', '/v2/types?limit=2&offset=1'), [200, all.slice(1, 3)])
  t.strictSame(await client.request('GET', '/v2/types?options=values'), [200, ['', 'Pot', 'Tub', 'Vat']])
  const brew = { 'Fiware-ServicePath': '/brew' }
  t.strictSame(await client.request('GET', '/v2/types?options=values', undefined, brew), [200, ['Pot']])
  const plain = await client.send('GET', '/v2/types?options=noAttrDetail,count&offset=2')
  t.equal(plain.headers.get('Fiware-Total-Count'), '4')
  t.strictSame(plain.json, [
    { type: 'Tub', attrs: { x: { types: [] } }, count: 1 },
    { type: 'Vat', attrs: { heat: { types: [] }, lid: { types: [] } }, count: 2 },
  ])
})

test('one type is shown without its name [NGSIv2 context 13]', async (t) => {
  t.strictSame(await client.request('GET', '/v2/types/Vat'), [200, vat])
  t.strictSame(await client.request('GET', '/v2/types/Tub?limit=1&offset=5'), [200, tub])
  t.strictSame(await client.request('GET', '/v2/types/Tub?options=values,count'), [200, tub], 'options without effect')
  const plain = { attrs: { x: { types: [] } }, count: 1 }
  t.strictSame(await client.request('GET', '/v2/types/Tub?options=noAttrDetail'), [200, plain])
  const unknown = { error: 'NotFound', description: 'Entity type not found' }
  t.strictSame(await client.request('GET', '/v2/types/Keg'), [404, unknown])
  t.strictSame(await client.request('GET', '/v2/types/Pot', undefined, { 'Fiware-ServicePath': '/' }), [404, unknown])
})

test('an attribute that changes its type, or goes, does so in its type [NGSIv2 context 13]', async (t) => {
  const changing = tenantClient(broker)
  const heat = (type: string) => [attribute('heat', type, '1')]
  await changing.given({ id: 'A', type: 'Vat', attributes: heat('X') }, { id: 'B', type: 'Vat', attributes: heat('X') })
  const shown = (count: number, ...types: readonly string[]) => [200, { attrs: { heat: { types } }, count }]
  await changing.update('UPDATE', [{ id: 'A', type: 'Vat', attributes: heat('Y') }])
  t.strictSame(await changing.request('GET', '/v2/types/Vat'), shown(2, 'X', 'Y'))
  await changing.update('DELETE', [{ id: 'B', type: 'Vat', attributes: [{ name: 'heat' }] }])
  t.strictSame(await changing.request('GET', '/v2/types/Vat'), shown(2, 'Y'))
  await changing.update('DELETE', [{ id: 'A', type: 'Vat' }])
  t.strictSame(await changing.request('GET', '/v2/types/Vat'), [200, { attrs: {}, count: 1 }])
})
