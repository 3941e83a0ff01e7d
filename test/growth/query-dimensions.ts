import { asJson, asTarget, type Dimension, ofList, ofRuns, type Place } from './dimension.js'
import { adding, attribute, get, many, numbered, ofOne, point, post, type Sent, short, vertex } from './given.js'

const anyId = '{"id":".*","isPattern":"true"}'
const querying = (entities: string, rest = ''): Sent => post('/v1/queryContext', `{"entities":[${entities}]${rest}}`)
const scoped = (scopes: string): Sent => querying(anyId, `,"restriction":{"scopes":[${scopes}]}`)
const scope = (type: string, value: string): string => `{"type":"FIWARE::${type}","value":${value}}`
const one = (): readonly Sent[] => [adding(ofOne(attribute('a')))]
const near = (): readonly Sent[] =>
  numbered(5).map((page) =>
    adding(
      many(200, (at) => {
        const location = `{"name":"p","type":"geo:point","value":"40.1,${(at + page * 200) / 100}"}`
        return `{"id":"${page}-${at}","type":"T","attributes":[${location}]}`
      }),
    ),
  )
const nothing = /^200 .*"code":"404"/s
const success = /^200 .*"code":"(200|404)"/s

const queries: readonly Dimension[] = [
  ofList({
    name: 'ids in queryContext',
    limit: 1000,
    item: (at) => `{"id":"${short(at)}"}`,
    sent: querying,
    expects: nothing,
  }),
  ofList({
    name: 'long ids and types in queryContext',
    limit: 1000,
    item: (at) => `{"id":"${'x'.repeat(500)}${at}","type":"${'y'.repeat(400)}"}`,
    sent: querying,
    expects: nothing,
  }),
  ofList({
    name: 'ids beyond the limit in queryContext',
    item: (at) => `{"id":"${short(at)}"}`,
    sent: querying,
    expects: /"code":"400"/,
  }),
  ofList({
    name: 'names of attributes in queryContext',
    limit: 1000,
    item: (at) => `"${'z'.repeat(100)}${at}"`,
    before: one,
    sent: (all) => querying(anyId, `,"attributes":[${all}]`),
    expects: success,
  }),
  {
    name: 'long ids, types and names of attributes at once in queryContext',
    most: 500,
    before: one,
    sent: (size) =>
      querying(
        many(2 * size, (at) => `{"id":"${'x'.repeat(500)}${at}","type":"${'y'.repeat(400)}"}`),
        `,"attributes":[${many(size, (at) => `"${'z'.repeat(100)}${at}"`)}]`,
      ),
    expects: nothing,
  },
  ofList({
    name: 'names of attributes beyond the limit in queryContext',
    item: () => '"a"',
    sent: (all) => querying(anyId, `,"attributes":[${all}]`),
    expects: /"code":"400"/,
  }),
  ofList({
    name: 'scopes in queryContext',
    limit: 100,
    item: (at) => scope('StringQuery', `"a==${at}"`),
    before: one,
    sent: scoped,
    expects: success,
  }),
  ofList({
    name: 'vertices of a polygon in queryContext',
    limit: 10_000,
    item: vertex,
    before: near,
    sent: (all) => scoped(scope('Location', `{"polygon":{"vertices":[${all}]}}`)),
    expects: success,
  }),
  ofList({
    name: 'vertices beyond the limit in queryContext',
    limit: 20_000,
    item: vertex,
    sent: (all) => scoped(scope('Location', `{"polygon":{"vertices":[${all}]}}`)),
    expects: /"code":"(400|404)"/,
  }),
  {
    name: 'statements of a StringQuery',
    most: 1000,
    before: one,
    sent: (size) => scoped(scope('StringQuery', `"${many(size, (at) => `a${at}==b${at}`, ';')}"`)),
    expects: success,
  },
  {
    name: 'values in each of 16 StringQueries',
    most: 20_000,
    before: one,
    sent: (size) => scoped(many(16, () => scope('StringQuery', `"a==${many(size, () => '1')}"`))),
    expects: success,
  },
  {
    name: 'statements of 16 StringQueries with patterns',
    most: 1000,
    sent: (size) =>
      scoped(
        many(16, (scopeAt) => scope('StringQuery', `"${many(size, (at) => `a~=x{2}${scopeAt}y[a-z]${at}`, ';')}"`)),
      ),
    expects: /takes too long to compile/,
  },
]

const queries2 = (body: string): Sent => post('/v2/op/query', body)
const matching = (expression: string): Sent =>
  queries2(`{"entities":[{"idPattern":".*"}],"expression":{${expression}}}`)
const listed = /^200 \[/

const batchQueries: readonly Dimension[] = [
  ofList({
    name: 'entities in op/query',
    limit: 1000,
    item: (at) => `{"id":"${short(at)}","type":"T"}`,
    sent: (all) => queries2(`{"entities":[${all}]}`),
    expects: listed,
  }),
  ofList({
    name: 'entities beyond the limit in op/query',
    item: (at) => `{"id":"${short(at)}"}`,
    sent: (all) => queries2(`{"entities":[${all}]}`),
    expects: /^400/,
  }),
  ofList({
    name: 'attrs in op/query',
    limit: 1000,
    item: (at) => `"${'z'.repeat(100)}${at}"`,
    before: one,
    sent: (all) => queries2(`{"entities":[{"idPattern":".*"}],"attrs":[${all}]}`),
    expects: listed,
  }),
  ofList({
    name: 'metadata in op/query',
    limit: 1000,
    item: (at) => `"${'z'.repeat(100)}${at}"`,
    before: one,
    sent: (all) => queries2(`{"entities":[{"idPattern":".*"}],"metadata":[${all}]}`),
    expects: listed,
  }),
  ...['q', 'mq'].flatMap((kind): readonly Dimension[] => {
    const name = kind === 'q' ? 'a' : 'a.m'
    return [
      {
        name: `statements of ${kind} in op/query`,
        most: 1000,
        before: one,
        sent: (size) => matching(`"${kind}":"${many(size, (at) => `${name}${at}==b${at}`, ';')}"`),
        expects: listed,
      },
      {
        name: `values of a statement of ${kind} in op/query`,
        most: 32_000,
        before: one,
        sent: (size) => matching(`"${kind}":"${name}==${many(size, () => '1')}"`),
        expects: listed,
      },
      {
        name: `names of a path of ${kind} in op/query`,
        most: 32_000,
        before: one,
        sent: (size) => matching(`"${kind}":"${name}${'.b'.repeat(size)}==1"`),
        expects: /^(200 \[|400)/,
      },
    ]
  }),
  ...(['coveredBy', 'intersects', 'disjoint', 'equals'] as const).map(
    (georel): Dimension => ({
      name: `points of a polygon for ${georel} in op/query`,
      most: 9998,
      before: near,
      sent: (size) =>
        matching(`"georel":"${georel}","geometry":"polygon","coords":"${many(size, point, ';')};${point(0)}"`),
      expects: listed,
    }),
  ),
  {
    name: 'points of a line in op/query',
    most: 10_000,
    before: near,
    sent: (size) => matching(`"georel":"intersects","geometry":"line","coords":"${many(size, point, ';')}"`),
    expects: listed,
  },
]

const inBodies: readonly Place[] = [
  {
    name: 'a StringQuery',
    most: 65_536,
    written: asJson,
    sent: (text) => scoped(scope('StringQuery', `"a==${text}"`)),
    expects: /^200 .*"code":"(404|400|200)"/s,
  },
  {
    name: 'q of op/query',
    most: 65_530,
    written: asJson,
    sent: (text) => matching(`"q":"a==${text}"`),
    expects: /^(200|400)/,
  },
  {
    name: 'mq of op/query',
    most: 65_530,
    written: asJson,
    sent: (text) => matching(`"mq":"a.m==${text}"`),
    expects: /^(200|400)/,
  },
  {
    name: 'georel of op/query',
    most: 1_000_000,
    written: asJson,
    sent: (text) => matching(`"georel":"near;maxDistance:1${text}","geometry":"point","coords":"1,2"`),
    expects: /^(200|400)/,
  },
  {
    name: 'coords of op/query',
    most: 1_000_000,
    written: asJson,
    sent: (text) => matching(`"georel":"near;maxDistance:1","geometry":"point","coords":"1,2${text}"`),
    expects: /^(200|400)/,
  },
]

const target = (parameter: string): Place => ({
  name: `the parameter ${parameter} of a list of entities`,
  most: 28_000,
  written: asTarget,
  sent: (text) => get(`/v2/entities?type=T&${parameter}=${text}`),
  expects: /^(200|400|404)/,
})

/** Queries of both interfaces: what their bodies and parameters grow in. */
export const queryDimensions: readonly Dimension[] = [
  ...queries,
  ...batchQueries,
  ...inBodies.flatMap(ofRuns),
  ...['id', 'q', 'mq', 'attrs', 'metadata', 'orderBy', 'coords', 'options', 'limit', 'idPattern']
    .map(target)
    .flatMap(ofRuns),
]
