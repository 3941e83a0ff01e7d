import type { Sent } from './broker.js'

/** What a request may have at most by default. */
export const most_bytes = 2 ** 20

/** A request as large as the limits let it be. */
export interface Maximal {
  readonly name: string
  readonly sent: Sent
  /** Requests that make what this one needs; their own holds do not count. */
  readonly before?: readonly Sent[]
  /** What an answer has to have: a request that does not get to where it is costly measures nothing. */
  readonly expects: RegExp
  /** Whether it is one of the few that every run of the tests sends. */
  readonly isOfShortForm?: boolean
}

/** Joins what `item` makes into a text of so many bytes at most. */
export function filled(begin: string, item: (at: number) => string, end: string, most = most_bytes): string {
  const items: string[] = []
  let left = most - Buffer.byteLength(begin) - Buffer.byteLength(end)
  for (let at = 0; ; at += 1) {
    const text = item(at)
    left -= Buffer.byteLength(text) + 1
    if (left < 0) break
    items.push(text)
  }
  return `${begin}${items.join(',')}${end}`
}

/** So many of them, joined. */
export function many(number: number, item: (at: number) => string): string {
  return Array.from({ length: number }, (_, at) => item(at)).join(',')
}

const code = (at: number): string => at.toString(36)
const post = (path: string, body: string): Sent => ({ verb: 'POST', path, body })

const update = (action: string, item: (at: number) => string): Sent =>
  post('/v1/updateContext', filled(`{"updateAction":"${action}","contextElements":[`, item, ']}'))

const tiny = (at: number): string => `{"id":"${code(at)}"}`
const withAttribute = (at: number): string => `{"id":"${code(at)}","attributes":[{"name":"a","value":"1"}]}`
const attribute = (at: number): string => `{"name":"${code(at)}"}`
const valued = (at: number): string => `{"name":"${code(at)}","value":"1"}`
const metadata = (at: number): string => `{"name":"${code(at)}","value":"1"}`
const appendOne = (attributes: string): string =>
  `{"updateAction":"APPEND","contextElements":[{"id":"One","attributes":[${attributes}]}]}`
const asOne = (begin: string, item: (at: number) => string, end = ''): string =>
  filled(`{"updateAction":"APPEND","contextElements":[{"id":"One","attributes":[${begin}`, item, `${end}]}]}`)

const updates: readonly Maximal[] = [
  { name: 'APPEND of tiny elements', sent: update('APPEND', tiny), expects: /"code":"200"/ },
  {
    name: 'APPEND of elements with an attribute',
    sent: update('APPEND', withAttribute),
    expects: /"code":"200"/,
    isOfShortForm: true,
  },
  { name: 'UPDATE of elements that exist', sent: update('UPDATE', withAttribute), expects: /"code":"200"/ },
  { name: 'REPLACE of elements that exist', sent: update('REPLACE', withAttribute), expects: /"code":"200"/ },
  {
    name: 'UPDATE of elements that do not',
    sent: update('UPDATE', (at) => `{"id":"-${code(at)}","attributes":[{"name":"a","value":"1"}]}`),
    expects: /"code":"404"/,
  },
  { name: 'UPDATE of tiny elements with numbers', sent: update('UPDATE', (at) => `{"id":${at}}`), expects: /"code":"/ },
  { name: 'APPEND of one id again and again', sent: update('APPEND', () => '{"id":"o"}'), expects: /"code":"200"/ },
  {
    name: 'UPDATE of elements that are patterns',
    sent: update('UPDATE', () => '{"id":"o","isPattern":"true"}'),
    expects: /"code":"/,
  },
  { name: 'UPDATE of empty elements', sent: update('UPDATE', () => '{}'), expects: /empty entityId/ },
  {
    name: 'UPDATE of empty elements and a number',
    sent: post(
      '/v1/updateContext',
      filled('{"updateAction":1,"contextElements":[', () => '{}', ']}'),
    ),
    expects: /empty entityId/,
    isOfShortForm: true,
  },
  {
    name: 'UPDATE of elements without an action',
    sent: post('/v1/updateContext', filled('{"contextElements":[', tiny, ']}')),
    expects: /empty update action/i,
  },
  {
    name: 'UPDATE of elements of which the last is malformed',
    sent: post('/v1/updateContext', filled('{"updateAction":"UPDATE","contextElements":[', tiny, ',}]}')),
    expects: /JSON Parse Error/,
  },
  {
    name: 'UPDATE of elements with a doubled ID each',
    sent: update('UPDATE', () => '{"id":"o","attributes":[{"name":"a","value":"1"},{"name":"a","value":"1"}]}'),
    expects: /"code":"/,
  },
  {
    name: 'one entity of 5000 attributes',
    sent: post('/v1/updateContext', appendOne(many(5000, valued))),
    expects: /"code":"200"/,
  },
  { name: 'the same again', sent: post('/v1/updateContext', appendOne(many(5000, valued))), expects: /"code":"200"/ },
  {
    name: 'one entity of tiny attributes',
    sent: post('/v1/updateContext', asOne('', attribute)),
    expects: /"code":"4/,
  },
  {
    name: 'one entity of tiny attributes and a number',
    sent: post('/v1/updateContext', asOne('{"name":"n","value":1},', valued)),
    expects: /"code":"4/,
    isOfShortForm: true,
  },
  {
    name: 'one attribute of tiny metadata',
    sent: post('/v1/updateContext', asOne('{"name":"m","value":"1","metadatas":[', metadata, ']}')),
    expects: /"code":"/,
  },
  {
    name: 'attributes of metadata',
    sent: post(
      '/v1/updateContext',
      asOne('', (at) => `{"name":"${code(at)}","value":"1","metadatas":[{"name":"ID","value":"${at}"}]}`),
    ),
    expects: /"code":"/,
  },
  {
    name: 'one value of one string',
    sent: post(
      '/v1/updateContext',
      asOne('{"name":"v","value":"', () => 'x'.repeat(1_000_000), '"}'),
    ),
    expects: /"code":"/,
  },
  {
    name: 'one value of escapes',
    sent: post(
      '/v1/updateContext',
      asOne('{"name":"v","value":"', () => '\\n'.repeat(500_000), '"}'),
    ),
    expects: /"code":"/,
  },
  {
    name: 'one value of letters that need escapes in answers',
    sent: post(
      '/v1/updateContext',
      asOne('{"name":"v","value":"', () => '\\u0001'.repeat(170_000), '"}'),
    ),
    expects: /"code":"/,
  },
  {
    name: 'one compound value of numbers',
    sent: post(
      '/v1/updateContext',
      asOne('{"name":"v","value":[', () => '1', ']}'),
    ),
    expects: /"code":"/,
  },
  {
    name: 'one compound value of empty vectors',
    sent: post(
      '/v1/updateContext',
      asOne('{"name":"v","value":[', () => '[]', ']}'),
    ),
    expects: /"code":"/,
  },
  {
    name: 'one compound value of nested vectors',
    sent: post(
      '/v1/updateContext',
      asOne('{"name":"v","value":[', () => `${'['.repeat(190)}${']'.repeat(190)}`, ']}'),
    ),
    expects: /"code":"/,
  },
  {
    name: 'one compound value of members',
    sent: post(
      '/v1/updateContext',
      asOne('{"name":"v","value":{', (at) => `"${code(at)}":1`, '}}'),
    ),
    expects: /"code":"/,
    isOfShortForm: true,
  },
  {
    name: 'one compound value of equal members',
    sent: post(
      '/v1/updateContext',
      asOne('{"name":"v","value":{', () => '"a":1', '}}'),
    ),
    expects: /"code":"/,
  },
  {
    name: 'unknown members',
    sent: post(
      '/v1/updateContext',
      filled('{', (at) => `"${code(at)}":1`, '}'),
    ),
    expects: /unknown field/,
    isOfShortForm: true,
  },
  {
    name: 'equal members',
    sent: post(
      '/v1/updateContext',
      filled('{', () => '"updateAction":"UPDATE"', '}'),
    ),
    expects: /"code":"/,
  },
  { name: 'blanks', sent: post('/v1/updateContext', `{${' '.repeat(most_bytes - 2)}}`), expects: /"code":"/ },
  { name: 'open brackets', sent: post('/v1/updateContext', '['.repeat(most_bytes)), expects: /JSON Parse Error/ },
  {
    name: 'a long id',
    sent: post('/v1/updateContext', `{"updateAction":"APPEND","contextElements":[{"id":"${'x'.repeat(1_000_000)}"}]}`),
    expects: /"code":"400"/,
  },
  {
    name: 'DELETE of attributes',
    sent: post(
      '/v1/updateContext',
      filled('{"updateAction":"DELETE","contextElements":[{"id":"One","attributes":[', attribute, ']}]}'),
    ),
    expects: /"code":"/,
    isOfShortForm: true,
  },
  {
    name: 'POST of an entity',
    sent: post('/v1/contextEntities/Two', filled('{"attributes":[', valued, ']}')),
    expects: /"code":"/,
  },
  {
    name: 'POST of an entity of 5000 attributes',
    sent: post('/v1/contextEntities/Two', `{"attributes":[${many(5000, valued)}]}`),
    expects: /"code":"200"/,
  },
  {
    name: 'PUT of an entity',
    sent: { verb: 'PUT', path: '/v1/contextEntities/Two', body: filled('{"attributes":[', valued, ']}') },
    expects: /"code":"/,
  },
  {
    name: 'PUT of an attribute',
    sent: { verb: 'PUT', path: '/v1/contextEntities/Two/attributes/1', body: filled('{"value":[', () => '1', ']}') },
    expects: /"code":"/,
  },
  {
    name: 'PUT of the metadata of an attribute',
    sent: {
      verb: 'PUT',
      path: '/v1/contextEntities/Two/attributes/1',
      body: filled('{"value":"1","metadatas":[', metadata, ']}'),
    },
    expects: /"code":"/,
  },
  {
    name: 'GET of an entity of 5000 attributes',
    sent: { verb: 'GET', path: '/v1/contextEntities/Two' },
    expects: /"code":"200"/,
  },
  { name: 'GET of a large value', sent: { verb: 'GET', path: '/v1/contextEntities/One' }, expects: /"code":"/ },
  {
    name: 'notifyContext',
    sent: post(
      '/v1/notifyContext',
      filled(
        '{"subscriptionId":"5718a2f1c0de000000000000","originator":"o","contextResponses":[',
        (at) => `{"contextElement":{"id":"${code(at)}"},"statusCode":{"code":"200"}}`,
        ']}',
      ),
    ),
    expects: /"code":"200"/,
    isOfShortForm: true,
  },
  { name: 'DELETE of the elements', sent: update('DELETE', tiny), expects: /"code":"/ },
]

const selector = (at: number): string => `{"id":"${code(at)}"}`
const filter = (number: number): string => many(number, (at) => `a${at}==b${at}`).replaceAll(',', ';')

const scope = (type: string, value: string): string => `{"type":"${type}","value":${value}}`
const vertices = (number: number): string =>
  `{"polygon":{"vertices":[${many(number, (at) => {
    const angle = (2 * Math.PI * at) / number
    return `{"latitude":"${(40 + Math.sin(angle)).toFixed(6)}","longitude":"${(3 + Math.cos(angle)).toFixed(6)}"}`
  })}]}}`

const queries: readonly Maximal[] = [
  {
    name: 'query of 1000 ids',
    sent: post('/v1/queryContext', `{"entities":[${many(1000, selector)}]}`),
    expects: /"code":"/,
  },
  {
    name: 'query of 1000 long ids, attributes',
    sent: post(
      '/v1/queryContext',
      `{"entities":[${many(1000, (at) => `{"id":"${'x'.repeat(500)}${at}","type":"${'y'.repeat(400)}"}`)}],"attributes":[${many(500, (at) => `"${'z'.repeat(100)}${at}"`)}]}`,
    ),
    expects: /"code":"/,
  },
  {
    name: 'query of too many ids',
    sent: post('/v1/queryContext', filled('{"entities":[', selector, ']}')),
    expects: /"code":"400"/,
  },
  {
    name: 'query of too many attributes',
    sent: post(
      '/v1/queryContext',
      filled('{"entities":[{"id":"a"}],"attributes":[', () => '"a"', ']}'),
    ),
    expects: /"code":"400"/,
  },
  {
    name: 'query of 1000 patterns',
    sent: post('/v1/queryContext', `{"entities":[${many(1000, (at) => `{"id":"a${at}[0-9]*","isPattern":"true"}`)}]}`),
    expects: /"code":"/,
  },
  {
    name: 'query of 500 long patterns',
    sent: post(
      '/v1/queryContext',
      `{"entities":[${many(500, (at) => `{"id":"${'ab?'.repeat(600)}${at}","isPattern":"true"}`)}]}`,
    ),
    expects: /"code":"/,
  },
  {
    name: 'query of 500 costly patterns',
    sent: post(
      '/v1/queryContext',
      `{"entities":[${many(500, (at) => `{"id":"x{100}[a-z]{100}${at}","isPattern":"true"}`)}]}`,
    ),
    expects: /"code":"/,
  },
  {
    name: 'query by a long filter',
    sent: post(
      '/v1/queryContext',
      `{"entities":[{"id":".*","isPattern":"true"}],"restriction":{"scopes":[${scope('FIWARE::StringQuery', `"${filter(1000)}"`)}]}}`,
    ),
    expects: /"code":"/,
  },
  {
    name: 'query by 16 long filters',
    sent: post(
      '/v1/queryContext',
      `{"entities":[{"id":".*","isPattern":"true"}],"restriction":{"scopes":[${many(16, () => scope('FIWARE::StringQuery', `"a==${many(20_000, () => '1')}"`))}]}}`,
    ),
    expects: /"code":"/,
  },
  {
    name: 'query by 16 long pattern filters',
    sent: post(
      '/v1/queryContext',
      `{"entities":[{"id":".*","isPattern":"true"}],"restriction":{"scopes":[${many(16, () => scope('FIWARE::StringQuery', `"${many(1000, (at) => `a~=x{20}y[a-z]{9}${at}`).replaceAll(',', ';')}"`))}]}}`,
    ),
    expects: /"code":"/,
  },
  {
    name: 'query by a polygon of 10,000',
    sent: post(
      '/v1/queryContext',
      `{"entities":[{"id":".*","isPattern":"true"}],"restriction":{"scopes":[${scope('FIWARE::Location', vertices(10_000))}]}}`,
    ),
    expects: /"code":"/,
  },
  {
    name: 'query by a polygon of too many',
    sent: post(
      '/v1/queryContext',
      `{"entities":[{"id":".*","isPattern":"true"}],"restriction":{"scopes":[${scope('FIWARE::Location', vertices(20_000))}]}}`,
    ),
    expects: /"code":"400"/,
  },
  {
    name: 'GET with a long target',
    sent: { verb: 'GET', path: `/v1/contextEntities?${'a=b&'.repeat(8000)}` },
    expects: /./,
  },
  {
    name: 'GET with a long id',
    sent: { verb: 'GET', path: `/v1/contextEntities/${'%41'.repeat(10_000)}` },
    expects: /./,
  },
]

const condition = (values: number): string =>
  `{"type":"ONCHANGE","condValues":[${many(values, (at) => `"${code(at)}"`)}]}`
const subscribing = (entities: string, attributes = '', id = ''): string =>
  `{${id}"entities":[${entities}],"attributes":[${attributes}],"reference":"http://127.0.0.1:9/n","duration":"P1Y","notifyConditions":[${condition(1000)}]}`
const names = (number: number): string => many(number, (at) => `"${code(at)}"`)

const subscriptions: readonly Maximal[] = [
  {
    name: 'subscription to 1000 ids',
    sent: post(
      '/v1/subscribeContext',
      subscribing(
        many(1000, (at) => `{"id":"s${at}"}`),
        names(1000),
      ),
    ),
    expects: /subscribeResponse/,
  },
  {
    name: 'subscription to 1000 long ids',
    sent: post(
      '/v1/subscribeContext',
      subscribing(
        many(1000, (at) => `{"id":"${'x'.repeat(900)}${at}"}`),
        names(1000),
      ),
    ),
    expects: /subscribe/,
  },
  {
    name: 'subscription to 1000 patterns',
    sent: post(
      '/v1/subscribeContext',
      subscribing(
        many(1000, (at) => `{"id":"s${at}[0-9]*","isPattern":"true"}`),
        names(1000),
      ),
    ),
    expects: /subscribe/,
  },
  {
    name: 'subscription to too many',
    sent: post('/v1/subscribeContext', filled('{"entities":[', selector, ']}')),
    expects: /"code":"/,
  },
  {
    name: 'subscription by a polygon',
    sent: post(
      '/v1/subscribeContext',
      `{"entities":[{"id":"s1"}],"restriction":{"scopes":[${scope('FIWARE::Location', vertices(10_000))}]},"reference":"http://127.0.0.1:9/n","notifyConditions":[${condition(1)}]}`,
    ),
    expects: /subscribe/,
  },
]

const registering = (contexts: string): string => `{"contextRegistrations":[${contexts}],"duration":"P1Y"}`
const registered = (entities: number, attributes: number, mark: string): string =>
  `{"entities":[${many(entities, (at) => `{"id":"${mark}${at}","type":"T"}`)}],"attributes":[${many(attributes, (at) => `{"name":"${mark}${at}"}`)}],"providingApplication":"http://127.0.0.1:9/v1"}`

const registrations: readonly Maximal[] = [
  {
    name: 'registration of 5000 entities',
    sent: post('/v1/registry/registerContext', registering(registered(5000, 1, 'r'))),
    expects: /registrationId/,
    isOfShortForm: true,
  },
  {
    name: 'registration of 5000 attributes',
    sent: post('/v1/registry/registerContext', registering(registered(1, 5000, 'r'))),
    expects: /registrationId/,
  },
  {
    name: 'registration of 70 times 70',
    sent: post('/v1/registry/registerContext', registering(registered(70, 70, 'r'))),
    expects: /registrationId/,
  },
  {
    name: 'registration of 2000 contexts',
    sent: post(
      '/v1/registry/registerContext',
      registering(
        many(
          2000,
          (at) =>
            `{"entities":[{"id":"r${at}"}],"attributes":[{"name":"b"}],"providingApplication":"http://127.0.0.1:9/v1"}`,
        ),
      ),
    ),
    expects: /registrationId/,
  },
  {
    name: 'registration of too many',
    sent: post(
      '/v1/registry/registerContext',
      filled('{"contextRegistrations":[{"entities":[', selector, '],"providingApplication":"http://127.0.0.1:9/v1"}]}'),
    ),
    expects: /"code":"400"/,
  },
  {
    name: 'discovery of 1000 ids',
    sent: post(
      '/v1/registry/discoverContextAvailability?limit=1000&details=on',
      `{"entities":[${many(1000, (at) => `{"id":"r${at}","type":"T"}`)}]}`,
    ),
    expects: /"code":"/,
  },
  {
    name: 'discovery of 1000 patterns',
    sent: post(
      '/v1/registry/discoverContextAvailability?limit=1000&details=on',
      `{"entities":[${many(1000, (at) => `{"id":"r${at}.*","isPattern":"true"}`)}]}`,
    ),
    expects: /"code":"/,
  },
  {
    name: 'discovery of everything',
    sent: post(
      '/v1/registry/discoverContextAvailability?limit=1000&details=on',
      '{"entities":[{"id":".*","isPattern":"true"}]}',
    ),
    expects: /"code":"/,
  },
  {
    name: 'query for what is registered',
    sent: post('/v1/queryContext', `{"entities":[${many(1000, (at) => `{"id":"r${at}","type":"T"}`)}]}`),
    expects: /"code":"/,
    isOfShortForm: true,
  },
  {
    name: 'query of all that is registered',
    sent: post('/v1/queryContext', '{"entities":[{"id":"r.*","type":"T","isPattern":"true"}]}'),
    expects: /"code":"/,
  },
  {
    name: 'update of what is registered',
    sent: update('UPDATE', (at) => `{"id":"r${at}","type":"T","attributes":[{"name":"r0","value":"1"}]}`),
    expects: /"code":"/,
  },
  {
    name: 'availability subscription to everything',
    sent: post(
      '/v1/registry/subscribeContextAvailability',
      '{"entities":[{"id":".*","isPattern":"true"}],"duration":"P1Y","reference":"http://127.0.0.1:9/n"}',
    ),
    expects: /subscriptionId/,
  },
  {
    name: 'availability subscription to 1000 ids',
    sent: post(
      '/v1/registry/subscribeContextAvailability',
      `{"entities":[${many(1000, (at) => `{"id":"r${at}"}`)}],"duration":"P1Y","reference":"http://127.0.0.1:9/n"}`,
    ),
    expects: /subscriptionId/,
  },
  {
    name: 'registration with availability subscriptions',
    sent: post('/v1/registry/registerContext', registering(registered(5000, 1, 'r'))),
    expects: /registrationId/,
  },
  {
    name: 'notifyContextAvailability',
    sent: post(
      '/v1/registry/notifyContextAvailability',
      `{"subscriptionId":"5718a2f1c0de000000000000","contextRegistrationResponses":[{"contextRegistration":${registered(5000, 1, 'q')}}]}`,
    ),
    expects: /"code":"/,
  },
]

const registering2 = (entities: string, attrs: string): string =>
  `{"dataProvided":{"entities":[${entities}],"attrs":[${attrs}]},"provider":{"http":{"url":"http://127.0.0.1:9/v2"}}}`

const registrations2: readonly Maximal[] = [
  {
    name: 'registration of NGSIv2 of 5000 entities',
    sent: post(
      '/v2/registrations',
      registering2(
        many(5000, (at) => `{"id":"w${at}","type":"T"}`),
        '"w0"',
      ),
    ),
    expects: /^$/,
  },
  {
    name: 'registration of NGSIv2 of too many',
    sent: post(
      '/v2/registrations',
      filled('{"dataProvided":{"entities":[', () => '{"id":"w"}', ']}}'),
    ),
    expects: /max number supported/,
  },
  {
    name: 'registration of NGSIv2 of many patterns',
    sent: post(
      '/v2/registrations',
      registering2(
        many(5000, (at) => `{"idPattern":"(a|b${at}){90}"}`),
        '"w0"',
      ),
    ),
    expects: /Invalid regex/,
  },
  {
    name: 'registration of NGSIv2 of every id',
    sent: post('/v2/registrations', registering2('{"idPattern":".*"}', '')),
    expects: /^$/,
  },
  {
    name: 'list of registrations',
    sent: { verb: 'GET', path: '/v2/registrations?limit=1000&options=count' },
    expects: /^\[/,
  },
]

const management: readonly Maximal[] = [
  { name: 'GET /log/trace', sent: { verb: 'GET', path: '/log/trace' }, expects: /tracelevels/ },
  {
    name: 'PUT /log/trace of long levels',
    sent: { verb: 'PUT', path: `/log/trace/${many(7000, () => '255')}` },
    expects: /./,
  },
  { name: 'GET /statistics', sent: { verb: 'GET', path: '/statistics' }, expects: /uptime/ },
  { name: 'GET /metrics', sent: { verb: 'GET', path: '/metrics' }, expects: /rigel/ },
  { name: 'GET /admin/metrics', sent: { verb: 'GET', path: '/admin/metrics' }, expects: /./ },
  { name: 'GET /admin/subscriptions', sent: { verb: 'GET', path: '/admin/subscriptions' }, expects: /./ },
  {
    name: 'GET /v1/contextTypes',
    sent: { verb: 'GET', path: '/v1/contextTypes?limit=1000&details=on' },
    expects: /"code":"/,
  },
]

/** Requests of all operations, each as large as may be. They build on one another, in this order. */
export const maximal: readonly Maximal[] = [
  ...updates,
  ...queries,
  ...subscriptions,
  ...registrations,
  ...registrations2,
  ...management,
]
