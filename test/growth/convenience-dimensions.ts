import { type Dimension, ofList } from './dimension.js'
import { adding, attribute, get, many, ofOne, post, put, type Sent, short } from './given.js'

const named = (at: number): string => attribute(short(at))
const metadata = (at: number): string => `{"name":"${short(at)}","value":"1"}`
const large = (size: number): readonly Sent[] => [adding(ofOne(many(size, named)))]
const rich = (size: number): readonly Sent[] => [adding(ofOne(attribute('a', '"1"', many(size, metadata))))]
const done = /^200 .*"code":"200"/s
const entity = '/v1/contextEntities'
const ofType = `${entity}/type/T/id/One`

const writes: readonly Dimension[] = [
  ...[
    ['POST of all entities', (all: string) => post(entity, `{"id":"One","type":"T","attributes":[${all}]}`)] as const,
    ...[`${entity}/One`, `${entity}/One/attributes`, ofType].flatMap((path) => [
      [`POST of ${path}`, (all: string) => post(path, `{"attributes":[${all}]}`)] as const,
      [`PUT of ${path}`, (all: string) => put(path, `{"attributes":[${all}]}`)] as const,
    ]),
  ].flatMap(([name, sent]) => [
    ofList({ name: `attributes in ${name}`, limit: 5000, item: named, before: large, sent, expects: done }),
    ofList({ name: `attributes beyond the limit in ${name}`, item: named, sent, expects: /"code":"(4|200)/ }),
  ]),
  ...[`${entity}/One/attributes/a`, `${ofType}/attributes/a`].flatMap((path) =>
    (['POST', 'PUT'] as const).map((verb) =>
      ofList({
        name: `metadata in ${verb} of ${path}`,
        limit: 10_000,
        item: metadata,
        before: rich,
        sent: (all) => ({ verb, path, body: `{"value":"1","metadatas":[${all}]}` }),
        expects: done,
      }),
    ),
  ),
  ofList({
    name: 'metadata beyond the limit in PUT of an attribute of NGSIv1',
    item: metadata,
    before: () => [adding(ofOne(attribute('a')))],
    sent: (all) => put(`${entity}/One/attributes/a`, `{"value":"1","metadatas":[${all}]}`),
    expects: /"code":"/,
  }),
  ...[`${entity}/One`, `${entity}/One/attributes/0`, `${ofType}/attributes/0`].map(
    (path): Dimension => ({
      name: `attributes of an entity in DELETE of ${path}`,
      most: 5000,
      before: large,
      sent: () => ({ verb: 'DELETE', path }),
      expects: done,
    }),
  ),
]

const reads: readonly Dimension[] = [
  ...[
    entity,
    `${entity}/One`,
    `${entity}/One?attributesFormat=object`,
    `${entity}/One/attributes`,
    `${entity}/One/attributes/0`,
    ofType,
    `${ofType}/attributes/0`,
    '/v1/contextEntityTypes/T',
    '/v1/contextEntityTypes/T/attributes/0',
    '/v1/contextTypes/T',
  ].map(
    (path): Dimension => ({
      name: `attributes in GET of ${path}`,
      most: 5000,
      before: large,
      sent: () => get(path),
      expects: done,
    }),
  ),
  {
    name: 'instances in GET of one',
    most: 5000,
    before: (size) => [adding(ofOne(many(size, (at) => attribute('a', '"1"', `{"name":"ID","value":"${at}"}`))))],
    sent: (size) => get(`${ofType}/attributes/a/${size - 1}`),
    expects: done,
  },
  ...[entity, '/v1/contextEntityTypes/T', `${entity}?orderBy=a,!id`].map(
    (path): Dimension => ({
      name: `entities in GET of ${path}`,
      most: 1000,
      before: (size) => [adding(many(size, (at) => `{"id":"E${at}","type":"T","attributes":[${attribute('a')}]}`))],
      sent: (size) => get(`${path}${path.includes('?') ? '&' : '?'}limit=${size}&details=on`),
      expects: done,
    }),
  ),
  ...['', '&collapse=true'].map(
    (rest): Dimension => ({
      name: `types in GET of contextTypes${rest}`,
      most: 5000,
      before: (size) => [
        adding(many(size, (at) => `{"id":"E${at}","type":"T${at}","attributes":[${attribute('a')}]}`)),
      ],
      sent: () => get(`/v1/contextTypes?limit=1000&details=on${rest}`),
      expects: done,
    }),
  ),
  {
    name: 'characters of a value in GET of an entity',
    most: 1_000_000,
    before: (size) => [adding(ofOne(attribute('v', `"${'x'.repeat(size)}"`)))],
    sent: () => get(`${entity}/One`),
    expects: done,
  },
  {
    name: 'line ends of a value in GET of an entity',
    most: 500_000,
    before: (size) => [adding(ofOne(attribute('v', `"${'\\n'.repeat(size)}"`)))],
    sent: () => get(`${entity}/One`),
    expects: done,
  },
]

/** The convenience operations of NGSIv1. */
export const convenience: readonly Dimension[] = [...writes, ...reads]
