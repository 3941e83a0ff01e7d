import type { Dimension } from './dimension.js'
import { adding, attribute, get, many, numbered, type Sent, short } from './given.js'
import { large, name, one, rich } from './given-entities.js'

const typed = (size: number): readonly Sent[] => [
  adding(many(size, (at) => `{"id":"E${at}","type":"T${at}","attributes":[${attribute(`a${at}`)}]}`)),
]
const listed = (size: number): readonly Sent[] => [
  adding(
    many(
      size,
      (at) => `{"id":"E${at}","type":"T","attributes":[${many(10, (each) => attribute(`a${each}`, `"${at}"`))}]}`,
    ),
  ),
]

/** Reads of entities, attributes and types of NGSIv2, by what there is to read. */
export const entityReads: readonly Dimension[] = [
  ...['', '?options=keyValues', '?options=values', '?options=unique', '?metadata=dateCreated&attrs=dateCreated,*'].map(
    (options): Dimension => ({
      name: `attributes in GET of an entity${options}`,
      most: 5000,
      before: large,
      sent: () => get(`/v2/entities/One${options}`),
      expects: /^200/,
    }),
  ),
  {
    name: 'attributes in GET of attributes',
    most: 5000,
    before: large,
    sent: () => get('/v2/entities/One/attrs'),
    expects: /^200/,
  },
  {
    name: 'attributes beside the one of GET',
    most: 5000,
    before: large,
    sent: () => get('/v2/entities/One/attrs/a0'),
    expects: /^200/,
  },
  {
    name: 'attributes beside the value of GET',
    most: 5000,
    before: large,
    sent: () => get('/v2/entities/One/attrs/a0/value'),
    expects: /^200/,
  },
  {
    name: 'names in attrs of GET',
    most: 6000,
    before: () => large(5000),
    sent: (size) => get(`/v2/entities/One?attrs=${many(size, name)}`),
    expects: /^(200|400)/,
  },
  {
    name: 'metadata in GET of an attribute',
    most: 10_000,
    before: rich,
    sent: () => get('/v2/entities/One/attrs/a'),
    expects: /^200/,
  },
  ...[
    '',
    '&options=keyValues',
    '&options=count',
    '&options=values',
    '&options=unique',
    '&orderBy=a1,!a2',
    '&q=a1;a2',
  ].map(
    (rest): Dimension => ({
      name: `entities in GET of entities${rest}`,
      most: 1000,
      before: listed,
      sent: (size) => get(`/v2/entities?limit=${size}${rest}`),
      expects: /^200 \[/,
    }),
  ),
  {
    name: 'ids in GET of entities',
    most: 7000,
    before: one,
    sent: (size) => get(`/v2/entities?id=${many(size, short)}`),
    expects: /^(200|400)/,
  },
  {
    name: 'types in GET of entities',
    most: 7000,
    before: one,
    sent: (size) => get(`/v2/entities?type=${many(size, short)}`),
    expects: /^(200|400)/,
  },
  ...['', '?options=count', '?options=values', '?limit=1000'].map(
    (options): Dimension => ({
      name: `types in GET of types${options}`,
      most: 5000,
      before: typed,
      sent: () => get(`/v2/types${options}`),
      expects: /^200 \[/,
    }),
  ),
  { name: 'attributes in GET of a type', most: 5000, before: large, sent: () => get('/v2/types/T'), expects: /^200/ },
  {
    name: 'entities with other attributes in GET of a type',
    most: 5000,
    before: (size) => [adding(many(size, (at) => `{"id":"E${at}","type":"T","attributes":[${attribute(`a${at}`)}]}`))],
    sent: () => get('/v2/types/T'),
    expects: /^200/,
  },
  {
    name: 'types of one id in GET of an entity',
    most: 1000,
    before: (size) => [adding(many(size, (at) => `{"id":"One","type":"T${at}"}`))],
    sent: () => get('/v2/entities?id=One&limit=1000'),
    expects: /^200/,
  },
  {
    name: 'offset of GET of entities',
    most: 20_000,
    before: (size) =>
      numbered(size / 5000).map((page) => adding(many(5000, (at) => `{"id":"E${page}-${at}","type":"T"}`))),
    sent: (size) => get(`/v2/entities?offset=${size - 1}`),
    expects: /^200/,
  },
]
