import { test } from 'tap'
import { RunningBroker } from '../running.js'
import { fuzz } from './fuzzer.js'

test('requests that are right, slightly wrong or wild are answered as they should be, and nothing ends the broker', async (t) => {
  t.setTimeout(550_000)
  const flags = ['-multiservice', '-partitions', '2', '-httpTimeout', '300']
  const broker = await RunningBroker.start(t, flags)
  const seed = Math.floor(Math.random() * 1_000_000)
  t.comment(`seed ${seed}: node dist/test/fuzz/structured.js --seed ${seed}`)
  const { requests, findings } = await fuzz({ url: broker.url, seed, duration_ms: 2500, clients: 4, bound_ms: 60_000 })
  t.same(findings, [])
  t.ok(requests > 50, `${requests} requests`)
  await broker.becomesReady()
  t.notMatch(broker.output, /"lvl":"(ERROR|FATAL)"/)
  await broker.endsInOrder(t)
})
