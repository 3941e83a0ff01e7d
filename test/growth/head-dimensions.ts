import { asTarget, type Dimension, ofRuns, type Place } from './dimension.js'
import { adding, attribute, get, many, numbered, ofOne, type Sent } from './given.js'

const headers = (size: number, value = 'v'): Readonly<Record<string, string>> =>
  Object.fromEntries(numbered(size).map((at) => [`X-Header-${at}`, value]))

const numbers: readonly Dimension[] = [
  { name: 'headers', most: 190, sent: (size) => ({ ...get('/v2/entities'), headers: headers(size) }), expects: /^200/ },
  {
    name: 'headers beyond the limit',
    most: 1000,
    sent: (size) => ({ ...get('/v2/entities'), headers: headers(size) }),
    expects: /^(200|431)/,
  },
  {
    name: 'length of 100 headers',
    most: 600,
    sent: (size) => ({ ...get('/v2/entities'), headers: headers(100, 'v'.repeat(size)) }),
    expects: /^(200|431)/,
  },
  ...['/v2/entities', '/v1/contextEntities', '/admin/metrics', '/unknown'].flatMap((path): readonly Dimension[] => [
    {
      name: `parameters of ${path}`,
      most: 8000,
      sent: (size) => get(`${path}?${many(size, () => 'a=b', '&')}`),
      expects: /^\d/,
    },
    {
      name: `segments of a path below ${path}`,
      most: 15_000,
      sent: (size) => get(`${path}${'/a'.repeat(size)}`),
      expects: /^[24]/,
    },
    {
      name: `empty segments of a path below ${path}`,
      most: 30_000,
      sent: (size) => get(`${path}${'/'.repeat(size)}`),
      expects: /^[24]/,
    },
  ]),
  {
    name: 'service paths',
    most: 10,
    sent: (size) => ofHeader('Fiware-ServicePath')(many(size, (at) => `/a${at}/#`)),
    expects: /^200/,
  },
  {
    name: 'service paths beyond the limit',
    most: 10_000,
    sent: (size) => ofHeader('Fiware-ServicePath')(many(size, () => '/a')),
    expects: /^(400|431)/,
  },
  {
    name: 'levels of a service path',
    most: 20_000,
    sent: (size) => ofHeader('Fiware-ServicePath')('/a'.repeat(size)),
    expects: /^(200|400|431)/,
  },
]

const ofHeader =
  (name: string) =>
  (text: string): Sent => ({ ...get('/v2/entities'), headers: { [name]: text } })

const names = [
  'Fiware-ServicePath',
  'Fiware-Correlator',
  'X-Auth-Token',
  'Accept',
  'Via',
  'Authorization',
  'X-Forwarded-For',
  'Origin',
  'If-None-Match',
  'Accept-Encoding',
  'X-Other',
]

const places: readonly Place[] = [
  ...names.map(
    (name): Place => ({
      name: `the header ${name}`,
      most: 60_000,
      written: (text) => text,
      // A header has no letters beyond Latin-1.
      without: /^emoji$/,
      sent: (text) => ofHeader(name)(`a${text}`),
      expects: /^(200|4\d\d)/,
    }),
  ),
  {
    name: 'the header Content-Type',
    most: 60_000,
    written: (text) => text,
    without: /^emoji$/,
    sent: (text) => {
      const sent = adding(ofOne(attribute('a')))
      return { ...sent, headers: { 'Content-Type': `application/json;charset=utf-8${text}` } }
    },
    expects: /^(200|4\d\d)/,
  },
  ...[
    '/v2/entities/',
    '/v2/types/',
    '/v2/entities/One/attrs/',
    '/v1/contextEntities/',
    '/v1/contextTypes/',
    '/log/trace/',
    '/v2/subscriptions/',
  ].map(
    (path): Place => ({
      name: `the target ${path}`,
      most: 28_000,
      written: asTarget,
      sent: (text) => get(`${path}${text}`),
      expects: /^(200|4\d\d)/,
    }),
  ),
]

const encoded: readonly Dimension[] = ['/v1/contextEntities/', '/v2/entities/'].map((path) => ({
  name: `letters that are encoded in the target ${path}`,
  most: 10_000,
  sent: (size) => get(`${path}${'%41'.repeat(size)}`),
  expects: /^(200|4\d\d)/,
}))

/** Heads of requests: headers, parameters, segments of paths, and the texts in them. */
export const heads: readonly Dimension[] = [...numbers, ...encoded, ...places.flatMap(ofRuns)]
