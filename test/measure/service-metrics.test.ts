import { test } from 'tap'
import { packed, unpacked } from '../../src/observe/measure/packed-counts.js'
import type { CompletedRequest } from '../../src/observe/measure/requests.js'
import { ServiceMetrics } from '../../src/observe/measure/service-metrics.js'
import { atOnce } from '../../src/slices.js'

function request(service: string | undefined, servicePath: string | undefined, status = 200): CompletedRequest {
  return {
    ...{ resource: undefined, verb: 'GET', status, request_bytes: 2, response_bytes: 3, duration: 1_000n },
    ...{ service, servicePath },
  }
}

function keys(headers: readonly (readonly [string | undefined, string | undefined])[]) {
  const metrics = new ServiceMetrics()
  for (const [service, path] of headers) metrics.record(request(service, path))
  return metrics.take(false).map(({ service, subservice, transactions }) => [service, subservice, transactions])
}

test('services are told apart without regard to case, of several paths the first counts', async (t) => {
  t.same(
    keys([
      ['acme', '/halls/north'],
      ['Acme', '/halls/north/'],
      ['acme', '/halls/#'],
      ['beta', '/a, /b'],
    ]),
    [
      ['acme', 'halls/north', 2],
      ['acme', 'halls', 1],
      ['beta', 'a', 1],
    ],
  )
})

test('without headers it is the default service and the root', async (t) => {
  t.same(
    keys([
      [undefined, undefined],
      ['', '/'],
      ['', '/#'],
      ['', ''],
    ]),
    [['default-service', 'root-subserv', 4]],
  )
})

test('requests with a malformed service or path are left out', async (t) => {
  const level = 'x'.repeat(51)
  const deep = '/a'.repeat(11)
  const many = Array.from({ length: 11 }, () => '/a').join(',')
  const bad = ['a', '/a//b', '/#/a', `/${level}`, deep, many, '/a-b', '/a,', '/a#'].map(
    (path) => ['acme', path] as const,
  )
  t.same(keys([...bad, ['a-b', '/'], [level, '/']]), [])
})

test('sizes, errors and times are summed', async (t) => {
  const metrics = new ServiceMetrics()
  metrics.record(request('acme', '/'))
  metrics.record(request('acme', '/', 400))
  t.match(metrics.take(false), [
    { transactions: 2, request_bytes: 4, response_bytes: 6, errors: 1, duration_ns: 2_000 },
  ])
})

test('taking with a reset leaves nothing, and what was taken does not change any more', async (t) => {
  const metrics = new ServiceMetrics()
  metrics.record(request('acme', '/'))
  const taken = metrics.take(true)
  metrics.record(request('acme', '/'))
  metrics.record(request('acme', '/'))
  t.match(taken, [{ transactions: 1 }])
  const shown = atOnce(packed(metrics.take(false)))
  metrics.record(request('acme', '/'))
  t.match(shown.flatMap(unpacked), [{ transactions: 2 }])
})

test('what is packed for another thread arrives there as it was, in pieces', async (t) => {
  const metrics = new ServiceMetrics()
  for (let n = 0; n < 10_005; n += 1) metrics.record(request(`s${n % 7}`, n % 3 === 0 ? '/' : `/p${n}/q`, n % 500))
  metrics.sent({ service: 's1', servicePath: '/', request_bytes: 7, response_bytes: 8, failed: true })
  const counts = metrics.take(false)
  const pieces = structuredClone(atOnce(packed(counts)))
  t.ok(pieces.length > 50, `${pieces.length} pieces`)
  t.same(pieces.flatMap(unpacked), counts)
  t.same([...packed(counts)].length, pieces.length, 'one in each step')
  t.same(atOnce(packed([])), [])
})

test('beyond the limit requests count without a name', async (t) => {
  const metrics = new ServiceMetrics()
  for (let n = 0; n < 10_005; n += 1) metrics.record(request('acme', `/p${n}`))
  const counts = metrics.take(false)
  t.equal(counts.length, 10_001)
  t.match(counts.at(-1), { service: undefined, subservice: undefined, transactions: 5 })
})
