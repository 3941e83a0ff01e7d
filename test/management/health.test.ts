import { test } from 'tap'
import { uptimeText } from '../../src/api/management/health.js'
import { stand } from '../../src/observe/measure/meters.js'
import { bodyOf, broker, management, parameters } from './given.js'

test('the version names the build, and the libraries on demand', async (t) => {
  const { send, measures } = management()
  const { orion } = Object(bodyOf(await send('GET', '/version')))
  const members = ['version', 'uptime', 'git_hash', 'compile_time', 'compiled_by', 'compiled_in', 'release_date']
  t.same(Object.keys(orion).sort(), [...members, 'machine', 'doc'].sort())
  const more = Object(bodyOf(await send('GET', '/version', parameters(['options', 'libVersions']))))
  t.type(more.orion.libversions.node, 'string')
  t.equal(measures.counts.flat('versionRequests'), 2n)
})

test('the uptime is written without leading zeros', async (t) => {
  const second = 1_000_000_000n
  t.equal(uptimeText(second - 1n), '0 d, 0 h, 0 m, 0 s')
  t.equal(uptimeText((2n * 3600n + 11n * 60n + 4n) * second), '0 d, 2 h, 11 m, 4 s')
  t.equal(uptimeText((86_400n * 100n + 23n * 3600n + 59n * 60n + 59n) * second), '100 d, 23 h, 59 m, 59 s')
})

test('the broker is ready when all partitions answer, unless it is ending or its storage is full', async (t) => {
  const state = { total: 2, ready: 2, storageFull: false }
  const { send, measures } = management({ broker: broker({ health: async () => ({ ...state }) }) })
  const shown = async () => {
    const response = await send('GET', '/health/ready')
    t.equal(response.headers?.['Cache-Control'], 'no-store')
    return [response.status, bodyOf(response)]
  }
  const partitions = { total: 2, ready: 2 }
  t.same(await shown(), [200, { status: 'ok', partitions }])
  state.storageFull = true
  t.same(await shown(), [503, { status: 'unavailable', reason: 'storage full', partitions }])
  state.ready = 1
  const one = { total: 2, ready: 1 }
  t.same(await shown(), [503, { status: 'unavailable', reason: 'partition not answering', partitions: one }])
  measures.end()
  t.same(await shown(), [503, { status: 'unavailable', reason: 'shutting down', partitions: one }])
  t.same(bodyOf(await send('GET', '/health/live')), { status: 'ok' })
})

test('one of several nodes is ready when it has a lease, and all partitions have owners', async (t) => {
  const { send, measures } = management()
  const shown = async () => {
    const response = await send('GET', '/health/ready')
    return [response.status, Object(bodyOf(response)).reason]
  }
  const standing = { hasLease: true, listed: 3, members: 2, owned: 1, unowned: 0, unreached: 1 }
  stand(measures.node, standing)
  t.same(await shown(), [200, undefined])
  stand(measures.node, { ...standing, unreached: 2 })
  t.same(await shown(), [503, 'no owner of a partition reached'], 'there are two')
  stand(measures.node, { ...standing, unowned: 1 })
  t.same(await shown(), [503, 'partition without owner'])
  stand(measures.node, { ...standing, hasLease: false, unowned: 1 })
  t.same(await shown(), [503, 'no lease in the cluster'])
  measures.end()
  t.same(await shown(), [503, 'shutting down'])
})

test('a broker without a cluster has none to show', async (t) => {
  const { send } = management()
  t.equal((await send('GET', '/admin/cluster')).status, 404)
  t.equal((await send('GET', '/admin/cluster/statistics')).status, 404)
})

test('what machines poll is not counted, but for the version', async (t) => {
  const { measures, send } = management()
  await send('GET', '/health/live')
  await send('GET', '/metrics')
  t.equal(measures.counts.ever('jsonRequests') + measures.counts.ever('invalidRequests'), 0n)
  t.match(bodyOf(await send('GET', '/statistics')), { statisticsRequests: 1 })
})
