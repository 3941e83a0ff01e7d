import { test } from 'tap'
import type { SubscriptionId } from '../../src/model/subscription/subscription.js'
import { broker, management, parameters, row, subscriptionService, text } from './given.js'

test('requests are shown by method, route and status, unknown paths under one name', async (t) => {
  const { send, requests, resources } = management()
  const responded = { request_bytes: 10, response_bytes: 300, duration: 2_000_000n, service: 'acme', servicePath: '/x' }
  const trace = row(resources, '/log/trace/{level}')
  requests.responded({ ...responded, resource: trace, verb: 'PUT', status: 200 })
  requests.responded({ ...responded, resource: undefined, verb: 'BREW', status: 418 })
  const response = await send('GET', '/metrics')
  t.equal(response.contentType, 'text/plain; version=0.0.4; charset=utf-8')
  const lines = text(response).split('\n')
  for (const line of [
    '# TYPE rigel_http_requests_total counter',
    'rigel_http_requests_total{method="PUT",route="/log/trace[/{level}]",code="200"} 1',
    'rigel_http_requests_total{method="other",route="unknown",code="other"} 1',
    'rigel_http_request_duration_seconds_bucket{method="PUT",route="/log/trace[/{level}]",le="0.001"} 0',
    'rigel_http_request_duration_seconds_bucket{method="PUT",route="/log/trace[/{level}]",le="0.0025"} 1',
    'rigel_http_request_duration_seconds_bucket{method="PUT",route="/log/trace[/{level}]",le="+Inf"} 1',
    'rigel_http_request_duration_seconds_sum{method="PUT",route="/log/trace[/{level}]"} 0.002',
    'rigel_http_response_size_bytes_sum{route="unknown"} 300',
    'rigel_entities{partition="1"} 0',
  ]) {
    t.ok(lines.includes(line), line)
  }
  t.notMatch(text(response), 'acme', 'no label comes from a client')
})

test('the waits are there only while they are measured, and no reset is seen', async (t) => {
  const { send, measures } = management()
  t.notMatch(text(await send('GET', '/metrics')), 'semaphore_wait_seconds')
  await send('PUT', '/admin/stats', parameters(['semWait', 'true']))
  const meter = measures.wait('transaction', 1)
  meter.free()
  meter.waited(20_000n)
  await send('DELETE', '/statistics')
  const shown = text(await send('GET', '/metrics'))
  t.match(shown, '\nrigel_request_semaphore_wait_seconds_count 0\n')
  t.match(shown, '\nrigel_transaction_semaphore_wait_seconds_bucket{partition="1",le="0.00001"} 1\n')
  t.match(shown, '\nrigel_transaction_semaphore_wait_seconds_bucket{partition="1",le="0.00005"} 2\n')
  t.match(shown, '\nrigel_transaction_semaphore_wait_seconds_count{partition="1"} 2\n')
})

test('what partitions report is shown, and the metrics of the process', async (t) => {
  const ids = ['5f9a01c2d4e6b8a0f1c3d5e7', '5f9a01c2d4e6b8a0f1c3d5e8'] as SubscriptionId[]
  const changes = { refresh: 1, inserts: 2, removes: 0, updates: 0 }
  const subscriptions = subscriptionService({ index: async () => ({ count: 2, firstIds: ids, changes }) })
  const { send, measures } = management({ broker: broker({ subscriptions }) })
  measures.storage(0).committed(8, 1_000_000n)
  const storage = measures.storage(0)
  storage.logged(300, 500_000n)
  storage.logged(200, 400_000n)
  storage.secondPassed()
  measures.storage(0).checkpointed(20_000_000n)
  measures.storage(0).size(5, 4096, 65536)
  measures.partitions.row(0).record('loopDelays', 10_000n)
  measures.mailboxDepth(0).set(3)
  measures.restarted(1)
  await send('PUT', '/log/trace/{level}', { segments: { level: '1-3' } })
  const shown = text(await send('GET', '/metrics'))
  for (const line of [
    'rigel_storage_commits_total{partition="0"} 1',
    'rigel_storage_commit_operations_sum{partition="0"} 8',
    'rigel_log_append_duration_seconds_count{partition="0"} 2',
    'rigel_log_append_longest_seconds{partition="0"} 0.0005',
    'rigel_log_appended_bytes_total{partition="0"} 500',
    'rigel_checkpoint_duration_seconds_sum{partition="0"} 0.02',
    'rigel_storage_used_bytes{partition="0"} 4096',
    'rigel_entities{partition="0"} 5',
    'rigel_worker_event_loop_delay_seconds_count{partition="0"} 1',
    'rigel_mailbox_depth{partition="0"} 3',
    'rigel_worker_restarts_total{partition="1"} 1',
    'rigel_trace_levels_enabled 3',
    'rigel_subscriptions 2',
    'rigel_operations_total{operation="logRequests"} 1',
  ]) {
    t.match(shown, `\n${line}\n`)
  }
  t.match(shown, /\nprocess_cpu_seconds_total \d/)
  t.match(shown, /\nnodejs_heap_size_total_bytes \d/)
})

test('the longest append is told for a minute or two', async (t) => {
  const { send, measures } = management()
  const storage = measures.storage(0)
  const seconds = async (passed: number): Promise<string> => {
    for (let second = 0; second < passed; second += 1) storage.secondPassed()
    return (
      /\nrigel_log_append_longest_seconds\{partition="0"\} (\S+)\n/.exec(text(await send('GET', '/metrics')))?.[1] ?? ''
    )
  }
  storage.logged(1, 3_000_000n)
  t.equal(await seconds(60), '0.003')
  storage.logged(1, 1_000_000n)
  t.equal(await seconds(60), '0.003')
  t.equal(await seconds(1), '0.001')
  t.equal(await seconds(120), '0')
})
