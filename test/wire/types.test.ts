import { test } from 'tap'
import { RunningBroker } from '../running.js'
import { attribute, holds, ID, ok, type Row, status, statusCode, tenantClient } from './client.js'

const broker = await RunningBroker.shared()

const named = (...names: readonly string[]) => names.map((name) => attribute(name, '', '1'))
const get = (rule: string, path: string, response: unknown, headers = {}): Row => [
  rule,
  'GET',
  `/v1/contextTypes${path}`,
  undefined,
  200,
  response,
  headers,
]

test('types and their attributes [context 9]', async (t) => {
  const client = tenantClient(broker)
  await client.given(
    { id: 'u', attributes: named('level') },
    { id: '1', type: 'Hangar' },
    { id: '2', type: 'Barn', attributes: named('light', 'Zoom') },
    {
      id: '3',
      type: 'Barn',
      attributes: [
        ...named('light', 'é'),
        attribute('humidity', '', '1', ID('a')),
        attribute('humidity', '', '1', ID('b')),
      ],
    },
    { id: '4', type: 'barn', attributes: named('x') },
    { id: 'v' },
  )
  await client.givenIn(
    '/p',
    { id: '5', type: 'Path', attributes: named('q') },
    { id: '2', type: 'Barn', attributes: named('p') },
  )
  const barn = { name: 'Barn', attributes: ['Zoom', 'humidity', 'light', 'p', 'é'] }
  const [hangar, path, lower, none] = [
    { name: 'Hangar' },
    { name: 'Path', attributes: ['q'] },
    { name: 'barn', attributes: ['x'] },
    { name: '', attributes: ['level'] },
  ]
  const types = (list: readonly unknown[], more: object = ok) => ({ types: list, statusCode: more })
  const all = [barn, hangar, path, lower, none]
  const noSuch = { statusCode: status(404) }
  await holds(t, client, [
    get('in the order of bytes, those without a type last', '', types(all)),
    get('names only', '?collapse=true', types(all.map(({ name }) => ({ name })))),
    get('another value of collapse is ignored', '?collapse=false', types(all)),
    get('counted', '?details=on', types(all, status(200, 'Count: 5'))),
    get('limit and offset count types', '?limit=2&offset=3&details=on', types([lower, none], status(200, 'Count: 5'))),
    get('past the end', '?offset=5', statusCode(404)),
    get('past the end, counted', '?offset=5&details=on', statusCode(404, 'Number of types: 5. Offset is 5')),
    get('attributesFormat has no effect', '?attributesFormat=object', types(all)),
    get('in a path', '', types([{ name: 'Barn', attributes: ['p'] }, path]), { 'Fiware-ServicePath': '/p' }),
    get('in no path', '', statusCode(404), { 'Fiware-ServicePath': '/none' }),
    get('in no path, counted', '?details=on&offset=3', statusCode(404), { 'Fiware-ServicePath': '/none' }),
    get('one', '/Barn', { ...barn, statusCode: ok }),
    get('one, collapse has no effect', '/Barn?collapse=true', { ...barn, statusCode: ok }),
    get('one, counted', '/Barn?details=on', { ...barn, statusCode: status(200, 'Count: 5') }),
    get('one, limit and offset count attributes', '/Barn?limit=2&offset=1&details=on', {
      name: 'Barn',
      attributes: ['humidity', 'light'],
      statusCode: status(200, 'Count: 5'),
    }),
    get('one, past the end', '/Barn?offset=5&details=on', {
      name: 'Barn',
      statusCode: status(404, 'Number of attributes: 5. Offset is 5'),
    }),
    get('one, past the end, not counted', '/Barn?offset=5', { name: 'Barn', ...noSuch }),
    get('one in a path', '/Barn', { name: 'Barn', attributes: ['p'], statusCode: ok }, { 'Fiware-ServicePath': '/p' }),
    get('without attributes', '/Hangar', { name: 'Hangar', ...noSuch }),
    get('without entities', '/X?details=on', { name: 'X', ...noSuch }),
  ])
  await client.update('DELETE', [
    { id: '1', type: 'Hangar' },
    { id: '4', attributes: [{ name: 'x' }] },
  ])
  await holds(t, client, [
    get(
      'a type goes with its last entity, its attributes with the last that has them',
      '',
      types([barn, path, { name: 'barn' }, none]),
    ),
  ])
})
