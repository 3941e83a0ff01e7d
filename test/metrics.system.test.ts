import { test } from 'tap'
import { freePort } from '../bench/free-port.js'
import { documentedMetrics, promtool, shownMetrics } from './documented-metrics.js'
import { FarEnd, responding } from './far-end.js'
import { RunningBroker } from './running.js'
import { until } from './until.js'

let broker: RunningBroker

test('a broker', async (t) => {
  broker = await RunningBroker.start(t, [
    '-mutexTimeStat',
    '-httpTimeout',
    '60000',
    '-httpThreads',
    '2',
    '-partitions',
    '2',
    '-queryThreads',
    '1',
  ])

  t.test('every code in a response is counted by its route, whatever HTTP says', async (t) => {
    const lamp = { name: 'lamp', type: 'state', value: 'on' }
    const wrong = { name: 'lamp', type: 'state', value: 'a<b' }
    const element = (id: string, attribute = lamp) => ({
      type: 'Street',
      isPattern: 'false',
      id,
      attributes: [attribute],
    })
    await broker.update('APPEND', element('S1'))
    await broker.update('UPDATE', element('none'))
    await broker.update('UPDATE', element('S1'), element('none1'), element('none2'))
    await broker.update('APPEND', element('S1', wrong))
    await broker.send('POST', '/v1/updateContext', '{')
    await broker.send('POST', '/v1/queryContext', { entities: [{ type: 'Street', isPattern: 'false', id: 'none' }] })
    await broker.send('GET', '/v1/contextEntities/none')
    await broker.send('PUT', '/v1/contextEntities/S1/attributes/none', { value: '1' })
    await broker.send('DELETE', '/v1/contextSubscriptions/51c0ac9ed714fb3b37d7d5a8')
    await broker.send('POST', '/v1/updateContext', undefined, { 'Content-Type': 'text/x' })
    await broker.send('GET', '/v1/registry/contextEntities/none')
    await broker.send('GET', '/v2/entities/none')
    await broker.send('POST', '/v2/entities', '{')
    await broker.send('GET', '/v3/none')
    await broker.send('PUT', '/admin/log?level=none')
    const counted = new Map(
      Array.from(
        (await metrics()).matchAll(/^rigel_ngsi_errors_total\{method="[A-Z]+",route="(.*)",code="(.*)"\} (\d+)$/gm),
        ([, route, code, number]) => [`${code} ${route}`, Number(number)],
      ),
    )
    t.same(Object.fromEntries(counted), {
      '404 /v1/updateContext': 3,
      '400 /v1/updateContext': 2,
      '411 /v1/updateContext': 1,
      '404 /v1/queryContext': 1,
      '404 /v1/contextEntities/{id}': 1,
      '472 /v1/contextEntities/{id}/attributes/{name}': 1,
      '404 /v1/contextSubscriptions/{id}': 1,
      '404 /v1/registry/contextEntities/{id}': 1,
      '404 /v2/entities/{id}[/attrs]': 1,
      '400 /v2/entities': 1,
      '400 unknown': 1,
    })
  })

  t.test('requests to context providers are counted by what became of them', async (t) => {
    const provider = await FarEnd.listen(t)
    await register('P1', provider.url('/v1'))
    await register('P2', `http://127.0.0.1:${await freePort()}/v1`)
    provider.respond = (_, response) => response.end('{"errorCode":{"code":"404","reasonPhrase":"none"}}')
    await query('P1')
    provider.respond = responding(200)
    await query('P1')
    provider.respond = (_, response) => response.end('<html>')
    await query('P1')
    await query('P2')
    const text = await metrics()
    for (const result of ['answered', 'empty', 'unreadable', 'unreachable']) {
      t.match(text, `\nrigel_forwarded_requests_total{result="${result}"} 1\n`)
    }
    t.match(text, '\nrigel_forwarded_request_duration_seconds_count 4\n')
  })

  t.test('every thread says how busy it is, and what its heap holds', async (t) => {
    // Query threads begin after the rest.
    const text = await until(async () => {
      const text = await metrics()
      const isCollected = /\nrigel_thread_collections_total\{kind="front_end",number="0",collection="\w+"\} [1-9]/.test(
        text,
      )
      return isCollected && !/^rigel_thread_heap_limit_bytes\{.*\} 0$/m.test(text) && text
    }, 'all threads have a heap, and a front end has collected its garbage')
    const threads = ['front_end 0', 'front_end 1', 'partition 0', 'partition 1', 'query 0', 'query 1', 'courier 0']
    for (const name of ['busy_seconds_total', 'heap_used_bytes', 'heap_limit_bytes', 'external_bytes']) {
      const values = [...text.matchAll(new RegExp(`^rigel_thread_${name}{kind="(\\w+)",number="(\\d)"} (.*)$`, 'gm'))]
      t.same(
        values.map(([, kind, number]) => `${kind} ${number}`),
        threads,
      )
      if (name !== 'external_bytes')
        t.ok(
          values.every(([, , , value]) => Number(value) > 0),
          `${name}: ${values}`,
        )
    }
    t.match(text, /\nrigel_thread_collections_total\{kind="front_end",number="0",collection="\w+"\} [1-9]/)
  })

  t.test('disk and memory say how much is left', async (t) => {
    const text = await metrics()
    const value = (name: string) => Number(new RegExp(`^rigel_${name} (.*)$`, 'm').exec(text)?.[1])
    t.ok(value('memory_used_bytes') > 10e6 && value('memory_used_bytes') < value('memory_limit_bytes'))
    t.ok(value('memory_left_bytes') <= value('memory_limit_bytes') - value('memory_used_bytes'))
    t.ok(value('disk_left_bytes') > 0 && value('disk_left_bytes') < value('disk_free_bytes'))
    t.match(text, '\nrigel_storage_full{partition="1"} 0\n')
    t.match(text, /\nrigel_storage_left_bytes\{partition="1"\} 68\d{9}\n/, 'nearly 64 GiB')
  })

  t.test(
    'every metric stands in docs/observe.md, with its type, its labels and what it says, and no other',
    async (t) => {
      const documented = documentedMetrics()
      const shown = [...shownMetrics(await metrics())].filter(([name]) => name.startsWith('rigel_'))
      t.same(new Set(shown.map(([name]) => name)), new Set(documented.keys()))
      for (const [name, { type, help, labels, samples }] of shown) {
        const { labels: own, ...facts } = documented.get(name) ?? {}
        t.match({ type, help }, facts, name)
        if (samples.length > 0) t.same(labels, own, name)
        t.equal(
          samples.length > 0,
          !/^rigel_(certificate_expiry|backup_last)_/.test(name),
          `${name} has a sample, or nothing to say`,
        )
      }
    },
  )

  t.test('promtool has nothing to say against them', { skip: promtool.skip }, async (t) => {
    t.equal(promtool.objections(['check', 'metrics'], await metrics()), '')
  })
})

async function metrics(): Promise<string> {
  return (await broker.send('GET', '/metrics')).text
}

async function register(id: string, providingApplication: string): Promise<void> {
  await broker.send('POST', '/v1/registry/registerContext', {
    contextRegistrations: [{ entities: [{ type: 'P', isPattern: 'false', id }], attributes: [], providingApplication }],
  })
}

function query(id: string) {
  return broker.send('POST', '/v1/queryContext', { entities: [{ type: 'P', isPattern: 'false', id }] })
}
