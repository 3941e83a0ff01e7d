import { setTimeout as delay } from 'node:timers/promises'
import { t as root, test } from 'tap'
import { RunningBroker } from './running.js'
import { until } from './until.js'

// One of them waits most of the time.
root.jobs = 2

test('a long step is a warning that names the route and the length of the body, and a metric of each thread', {
  buffered: true,
}, async (t) => {
  const flags = ['-partitions', '2', '-httpThreads', '2', '-stepWarning', '1']
  const broker = await RunningBroker.start(t, flags)
  const entities = Array.from({ length: 2000 }, (_, at) => ({
    id: `E${at}`,
    type: 'T',
    a: { type: 'Text', value: 'x'.repeat(300) },
  }))
  const body = JSON.stringify({ actionType: 'append', entities })
  const named = new RegExp(`front end \\d was held up for \\d+ ms: .*POST /v2/op/update, ${body.length} bytes`)
  await until(async () => {
    const response = await fetch(`${broker.url}/v2/op/update`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    t.equal(response.status, 204)
    await delay(100)
    return named.test(broker.output)
  }, 'a long step is named')
  t.match(broker.output, /"lvl":"WARN".*"op":"steps:long"/)
  const metrics = (await broker.send('GET', '/metrics')).text
  const values = [...metrics.matchAll(/^rigel_thread_longest_step_seconds\{kind="(\w+)",number="(\d+)"\} (\S+)$/gm)]
  const threads = values.map(([, kind, number]) => `${kind} ${number}`)
  for (const thread of ['front_end 0', 'front_end 1', 'partition 0', 'partition 1', 'query 0', 'courier 0']) {
    t.ok(threads.includes(thread), thread)
  }
  t.ok(values.some(([, kind, , seconds]) => kind === 'front_end' && Number(seconds) > 0.001))
})

test('a broker that is stopped for a while does not take that for work', { buffered: true }, async (t) => {
  const broker = await RunningBroker.start(t, ['-partitions', '1', '-httpThreads', '1', '-stepWarning', '5000'])
  // What was worked on when it was stopped would count as work during all of that time.
  await broker.becomesIdle()
  broker.signal('SIGSTOP')
  await delay(8000)
  broker.signal('SIGCONT')
  t.equal((await broker.send('GET', '/version')).status, 200)
  await delay(1500)
  t.notMatch(broker.output, /steps:long/)
})
