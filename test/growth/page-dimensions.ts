import type { Dimension } from './dimension.js'
import { adding, attribute, batch, get, many, numbered, post, type Sent, short } from './given.js'

const ids = 20_000
const isPrefixed = (size: number, prefix: (at: number) => string): Sent =>
  post('/v2/op/query?options=count&limit=1', `{"entities":[${many(size, (at) => `{"idPattern":"^${prefix(at)}"}`)}]}`)
const withIds = (): readonly Sent[] => [
  batch(
    'append',
    many(ids, (at) => `{"id":"a${ids + at}","type":"T"}`),
  ),
]

/** As many entities as a page may have of this size. */
const large = (size: number): readonly Sent[] =>
  numbered(size).map((at) =>
    adding(`{"id":"${at}","type":"T","attributes":[${attribute('a', `"${'x'.repeat(1_000_000)}"`)}]}`),
  )

/** Attribute names in entities of a few types: as many as a batch may have in each. */
const namesOfBatch = 24_500
const withNames = (size: number): readonly Sent[] =>
  numbered(Math.ceil(size / namesOfBatch)).map((page) =>
    batch(
      'append',
      many(5, (of) => {
        const names = many(
          Math.ceil(Math.min(size, namesOfBatch) / 5),
          (at) => `"n${short(at)}-${page}-${of}":{"value":1}`,
        )
        return `{"id":"e${page}-${of}","type":"T${of}",${names}}`
      }),
    ),
  )

/** What is held, and what of it a page, a count or a list of types is made of. */
export const pages: readonly Dimension[] = [
  {
    name: 'equal prefixes of thousands of ids in op/query',
    most: 1000,
    before: withIds,
    sent: (size) => isPrefixed(size, () => 'a'),
    expects: /^200 \[/,
    work_ms: 1000,
  },
  {
    name: 'prefixes of one id each in op/query',
    most: 1000,
    before: withIds,
    sent: (size) => isPrefixed(size, (at) => `a${ids + at}`),
    expects: /^200 \[/,
    work_ms: 1000,
  },
  {
    name: 'large entities of a page',
    most: 30,
    before: large,
    sent: (size) => get(`/v2/entities?limit=${size}`),
    expects: /^200 \[/,
  },
  {
    name: 'large entities of a sorted page',
    most: 30,
    before: large,
    sent: (size) => get(`/v2/entities?limit=${size}&orderBy=!id`),
    expects: /^200 \[/,
  },
  {
    name: 'names of attributes in a tenant whose entities are counted',
    most: 245_000,
    before: withNames,
    sent: () => get('/v2/entities?options=count&limit=1&attrs=id'),
    expects: /^200 \[/,
  },
  {
    name: 'names of attributes in a tenant whose types are listed',
    most: 245_000,
    before: withNames,
    sent: () => get('/v2/types?limit=1&options=noAttrDetail'),
    expects: /^200 \[/,
  },
  {
    name: 'names of attributes in a tenant whose types are listed by contextTypes',
    most: 245_000,
    before: withNames,
    sent: () => get('/v1/contextTypes'),
    expects: /^200 .*"types"/s,
  },
  {
    name: 'types in op/query, of each of which there are entities',
    most: 1000,
    before: () => [
      batch(
        'append',
        many(ids, (at) => `{"id":"a${short(at)}","type":"T${at % 1000}"}`),
      ),
    ],
    sent: (size) =>
      post(
        '/v2/op/query?options=count&limit=1',
        `{"entities":[${many(size, (at) => `{"idPattern":".*","type":"T${at}"}`)}]}`,
      ),
    expects: /^200 \[/,
  },
]
