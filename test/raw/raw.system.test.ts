import { test } from 'tap'
import { RunningBroker } from '../running.js'
import { until } from '../until.js'
import { runRaw } from './run.js'

/** Seconds; RAW_FUZZ_SECONDS for more, RAW_FUZZ_SEED to repeat what was found. */
const duration_s = Number(process.env['RAW_FUZZ_SECONDS'] ?? 3)
const seed = Number(process.env['RAW_FUZZ_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

test('raw bytes, cut and damaged anywhere, end nothing and leave nothing behind', {
  // More than what is waited for one after the other.
  timeout: (2 * duration_s + 550) * 1000,
}, async (t) => {
  const broker = await RunningBroker.start(t, [
    '-partitions',
    '2',
    '-httpThreads',
    '2',
    '-inReqPayloadMaxSize',
    '1000000',
  ])
  t.comment(`seed ${seed}: RAW_FUZZ_SEED=${seed} repeats it`)
  // On a machine with much else to do a partition may take longer to answer than health waits for it.
  const isReady = async () => {
    return (await broker.send('GET', '/health/ready', undefined, { Connection: 'close' })).status === 200
  }
  const check = async () => {
    await until(isReady, 'the broker is ready')
  }
  const connections = async () => {
    const { text } = await broker.send('GET', '/metrics', undefined, { Connection: 'close' })
    return Number(/^rigel_http_connections (\d+)$/m.exec(text)?.[1])
  }
  const run = await runRaw({ port: broker.port, pid: broker.pid ?? 0, check, connections }, seed, duration_s * 1000)
  t.comment(JSON.stringify(run))
  const [before, after] = run.descriptors
  t.ok(after <= before + 12, `${before} descriptors, then ${after}`)
  if (duration_s >= 60) {
    const [first, last] = run.memory_MiB
    t.ok(last <= first * 1.5 + 100, `${first} MiB, then ${last}`)
  }
  const update = await broker.update('APPEND', { id: 'Last', type: 'T', attributes: [{ name: 'a', value: '1' }] })
  t.equal(update.status, 200)
  t.notMatch(broker.output, /"lvl":"(ERROR|FATAL)"/)
  await broker.endsInOrder(t)
})
