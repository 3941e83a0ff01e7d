import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'tap'
import { RunningBroker } from '../running.js'
import { attribute, ID, metadata, shown, tenantClient, WGS84 } from './client.js'

const broker = await RunningBroker.shared()

test('a scalar is stored as the text that was written [context 3.1, 3.2, 3.3]', async (t) => {
  for (const [written, read] of [
    ['"21.5"', '21.5'],
    ['21.50', '21.50'],
    ['1e3', '1e3'],
    ['-0.0E+07', '-0.0E+07'],
    ['12345678901234567890.10', '12345678901234567890.10'],
    ['true', 'true'],
    ['false', 'false'],
    ['null', 'null'],
    ['""', ''],
    ['"\\n\\t\\\\\\/\\u00e9\\ud83d\\ude00"', '\n\t\\/é😀'],
    ['[]', []],
    ['{}', {}],
    ['["",""]', ['', '']],
    ['[[],{},[{}]]', [[], {}, [{}]]],
    [
      '{"rows": 4.0, "open": true, "tags": ["a", 2, null, []]}',
      { rows: '4.0', open: 'true', tags: ['a', '2', 'null', []] },
    ],
    [
      '{"": 1, "a.b": 2, "$x": 3, "a=b": 4, "__proto__": 5, "10": 6, "9": 7}',
      JSON.parse('{"": "1", "a.b": "2", "$x": "3", "a=b": "4", "__proto__": "5", "10": "6", "9": "7"}'),
    ],
  ] as const) {
    const client = tenantClient(broker)
    const body = `{"contextElements":[{"id":"x","attributes":[{"name":"a","value":${written}}]}],"updateAction":"APPEND"}`
    await client.send('POST', '/v1/updateContext', body)
    t.strictSame(await client.held('x'), [shown('x', '', attribute('a', '', read))], written)
    await client.send('PUT', '/v1/contextEntities/x/attributes/a', '{"value":"other"}')
    await client.send('PUT', '/v1/contextEntities/x/attributes/a', `{"value":${written}}`)
    t.strictSame(
      await client.held('x'),
      [shown('x', '', attribute('a', '', read))],
      `${written} in a convenience operation`,
    )
  }
})

test('every scalar of a payload is text [context 3.1, 2.3]', async (t) => {
  const client = tenantClient(broker)
  const body =
    '{"contextElements":[{"id":7,"type":1.0,"isPattern":false,"attributes":[{"name":0,"type":true,"value":1,"metadatas":[{"name":5,"type":null,"value":0.90}]}]}],"updateAction":"APPEND"}'
  await client.send('POST', '/v1/updateContext', body)
  const held = [shown('7', '1.0', attribute('0', 'true', '1', metadata('5', 'null', '0.90')))]
  t.strictSame(await client.held('7'), held)
  t.strictSame(await client.query('{"entities":[{"id":7,"type":1.0,"isPattern":0}],"attributes":[0]}'), {
    contextResponses: held.map((contextElement) => ({
      contextElement,
      statusCode: { code: '200', reasonPhrase: 'OK' },
    })),
  })
})

test('no value is an empty text for a new attribute and the stored value for another [context 3.1, 2.6]', async (t) => {
  const client = tenantClient(broker)
  await client.given({ id: 'x', attributes: [{ name: 'a', type: 't' }] })
  t.strictSame(await client.held('x'), [shown('x', '', attribute('a', 't', ''))])
  await client.given(
    { id: 'x', attributes: [attribute('a', '', { k: ['1'] })] },
    { id: 'x', attributes: [{ name: 'a', type: 'u' }] },
  )
  t.strictSame(await client.held('x'), [shown('x', '', attribute('a', 'u', { k: ['1'] }))])
  await client.given({ id: 'x', attributes: [attribute('a', '', '')] })
  t.strictSame(await client.held('x'), [shown('x', '', attribute('a', 'u', ''))])
})

/** Whether an update moves the modification date: whether the entity comes last in its order afterwards. */
test('what a change is decides the modification date [context 11]', async (t) => {
  const m = metadata('unit', 'text', 'cm')
  const before = {
    id: 'x',
    type: 'T',
    attributes: [
      attribute('a', 'number', '5', m),
      attribute('c', 'list', { k: ['1', {}], l: '2' }),
      attribute('h', 'p', '1', ID('n')),
      attribute('p', 'place', '1, 1', WGS84),
    ],
  }
  const x = (...attributes: readonly unknown[]) => ({ id: 'x', type: 'T', attributes })
  const rows: readonly (readonly [string, string, unknown, boolean])[] = [
    ['another value', 'UPDATE', x(attribute('a', '', '6')), true],
    ['an equal value', 'UPDATE', x(attribute('a', '', '5')), false],
    ['an equal value with its type', 'APPEND', x(attribute('a', 'number', '5')), false],
    ['another type', 'UPDATE', x({ name: 'a', type: 'text' }), true],
    ['an equal type alone', 'UPDATE', x({ name: 'a', type: 'number' }), false],
    ['metadata of another value', 'UPDATE', x({ name: 'a', metadatas: [metadata('unit', '', 'mm')] }), true],
    ['metadata of another type', 'UPDATE', x({ name: 'a', metadatas: [metadata('unit', 'word', 'cm')] }), true],
    ['metadata added', 'UPDATE', x({ name: 'a', metadatas: [metadata('by', '', 'me')] }), true],
    ['equal metadata', 'UPDATE', x({ name: 'a', metadatas: [metadata('unit', '', 'cm')] }), false],
    [
      'doubled metadata, the last one equal',
      'UPDATE',
      x({ name: 'a', metadatas: [metadata('unit', '', 'mm'), metadata('unit', '', 'cm')] }),
      false,
    ],
    ['reserved metadata', 'UPDATE', x({ name: 'a', metadatas: [metadata('dateCreated', '', 'now')] }), false],
    ['a compound of equal structure', 'UPDATE', x(attribute('c', '', { l: 2, k: [1, {}] })), false],
    ['a compound of another structure', 'UPDATE', x(attribute('c', '', { k: ['1', []], l: '2' })), true],
    ['a compound of another order', 'UPDATE', x(attribute('c', '', { k: [{}, '1'], l: '2' })), true],
    ['a compound for a text', 'UPDATE', x(attribute('a', '', ['5'])), true],
    ['an attribute created', 'APPEND', x(attribute('n', '', '')), true],
    ['an attribute removed', 'DELETE', x({ name: 'a' }), true],
    ['an instance', 'UPDATE', x(attribute('h', '', '2', ID('n'))), true],
    ['an equal instance', 'UPDATE', x(attribute('h', '', '1', ID('n'))), false],
    ['an equal location', 'UPDATE', x(attribute('p', '', '1, 1', WGS84)), false],
    ['attributes missing', 'UPDATE', x(attribute('q', '', '1')), false],
    ['some missing, the others equal', 'UPDATE', x(attribute('q', '', '1'), attribute('a', '', '5')), false],
    ['attributes that exist already', 'APPEND_STRICT', x(attribute('a', '', '9')), false],
    ['nothing given', 'APPEND', x(), false],
    ['a REPLACE by equals', 'REPLACE', before, true],
    ['a REPLACE by nothing', 'REPLACE', x(), true],
    ['a refused location', 'APPEND', x(attribute('a', '', '9'), attribute('p', '', 'x')), false],
  ]
  const clients = rows.map(() => tenantClient(broker))
  for (const client of clients) await client.given(before)
  await delay(5) // The clock of dates has milliseconds.
  for (const client of clients) await client.given({ id: 'y' })
  await delay(5)
  for (const [n, [rule, action, element, isChange]] of rows.entries()) {
    const client = clients[n]
    await client?.update(action, [element])
    const order = await client?.ids({ entities: [{ id: '.', isPattern: 'true' }] }, '?orderBy=dateModified')
    t.strictSame(order, isChange ? ['y', 'x'] : ['x', 'y'], rule)
  }
})
