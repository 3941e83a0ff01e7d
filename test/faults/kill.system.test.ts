import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'tap'
import { RunningBroker } from '../running.js'
import { isLong, underLoad } from './run.js'

const rounds = isLong ? 50 : 2

test(`SIGKILL under mixed load, ${rounds} times: no promise is broken`, async (t) => {
  t.setTimeout(300_000 + rounds * 20_000)
  const flags = ['-partitions', '3', '-httpThreads', '2', '-notifRetryMin', '50', '-notifRetryMax', '200']
  const broker = await RunningBroker.start(t, flags)
  let slowest_ms = 0
  const { restarts } = await underLoad(t, broker, async (run) => {
    for (let round = 0; round < rounds; round += 1) {
      await delay(500 + Math.random() * 500)
      slowest_ms = Math.max(slowest_ms, await run.kill())
    }
    await delay(500)
  })
  t.equal(restarts, rounds)
  t.comment(`slowest start: ${Math.round(slowest_ms)} ms`)
  await broker.endsInOrder(t)
})
