import type { Dimension } from './dimension.js'
import { adding, attribute, get, many, numbered, ofOne, post, put, type Sent } from './given.js'

const entities = (size: number): readonly Sent[] => [
  adding(
    many(
      size,
      (at) =>
        `{"id":"E${at}","type":"T${at}","attributes":[${attribute(`a${at}`)},{"name":"p","type":"geo:point","value":"1,${at / 100}"}]}`,
    ),
  ),
]
const subscriptions = (size: number): readonly Sent[] =>
  numbered(size).map((at) => {
    const subject = `{"entities":[{"id":"never${at}"}],"condition":{"attrs":[${many(200, (name) => `"a${name}"`)}]}}`
    return post(
      '/v2/subscriptions',
      `{"subject":${subject},"notification":{"http":{"url":"http://127.0.0.1:9/${at}"}}}`,
    )
  })
const registrations = (size: number): readonly Sent[] => [
  post(
    '/v1/registry/registerContext',
    `{"contextRegistrations":[${many(size, (at) => `{"entities":[{"id":"r${at}"}],"attributes":[{"name":"b"}],"providingApplication":"http://127.0.0.1:9/v1"}`)}],"duration":"P1Y"}`,
  ),
]
const paths = (size: number): readonly Sent[] =>
  numbered(size).map((at) => ({ ...get('/v2/entities'), headers: { 'Fiware-ServicePath': `/p${at}` } }))

const shown = (of: string, most: number, before: (size: number) => readonly Sent[], targets: readonly string[]) =>
  targets.map(
    (target): Dimension => ({
      name: `${of} in GET of ${target}`,
      most,
      before,
      sent: () => get(target),
      expects: /^200/,
    }),
  )

/** What is at hand without any of a tenant's data. */
const figures = [
  '/statistics',
  '/cache/statistics',
  '/metrics',
  '/admin/metrics',
  '/admin/stats',
  '/admin/waits?details=on',
  '/admin/slow',
  '/admin/config',
  '/admin/sem',
  '/admin/alarms',
  '/admin/receivers',
  '/log/trace',
  '/log/verbose',
  '/admin/log',
  '/health/ready',
  '/openapi.json',
]

/** The management: what it shows of what there is, and what it is told. */
export const management: readonly Dimension[] = [
  ...shown('entities', 5000, entities, [
    '/admin/tenants',
    '/admin/types',
    '/statistics',
    '/metrics',
    '/cache/statistics',
  ]),
  ...shown('subscriptions', 1000, subscriptions, [
    '/admin/subscriptions',
    '/admin/availabilitySubscriptions',
    '/admin/receivers',
    '/cache/statistics',
    '/metrics',
  ]),
  ...shown('registrations', 2000, registrations, ['/admin/registrations']),
  ...shown('service paths', 500, paths, ['/admin/metrics', '/metrics']),
  ...shown('services', 1, () => [], figures),
  {
    name: 'subscriptions beside the one that is explained',
    most: 500,
    before: subscriptions,
    sent: () => get('/admin/subscriptions/<id>/explain'),
    expects: /^(200|400)/,
  },
  {
    name: 'attributes in GET of /admin/entities/{id}',
    most: 5000,
    before: (size) => [adding(ofOne(many(size, (at) => attribute(`a${at}`))))],
    sent: () => get('/admin/entities/One'),
    expects: /^(200|404)/,
  },
  {
    name: 'trace levels',
    most: 7000,
    sent: (size) => put(`/log/trace/${many(size, () => '255')}`, ''),
    expects: /^(200|400)/,
  },
  {
    name: 'ranges of trace levels',
    most: 3500,
    sent: (size) => put(`/log/trace/${many(size, () => '250-255')}`, ''),
    expects: /^(200|400)/,
  },
  {
    name: 'digits of a trace level',
    most: 30_000,
    sent: (size) => put(`/log/trace/${'2'.repeat(size)}`, ''),
    expects: /^(200|400)/,
  },
  {
    name: 'digits of a verbosity',
    most: 30_000,
    sent: (size) => put(`/log/verbose/${'2'.repeat(size)}`, ''),
    expects: /^(200|400)/,
  },
  {
    name: 'settings of the log',
    most: 2000,
    sent: (size) => put(`/admin/log?${many(size, () => 'level=ERROR', '&')}`, ''),
    expects: /^(200|400)/,
  },
  {
    name: 'settings of the statistics',
    most: 1500,
    sent: (size) => put(`/admin/stats?${many(size, () => 'semWait=true', '&')}`, ''),
    expects: /^(200|400)/,
  },
  {
    name: 'levels of the log as they were',
    most: 1,
    sent: () => ({ verb: 'DELETE', path: '/log/trace' }),
    expects: /^200/,
  },
]
