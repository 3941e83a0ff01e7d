import { readdirSync } from 'node:fs'
import { type Test, test } from 'tap'
import { RunningBroker } from '../running.js'

/** How many threads a broker has that serves. */
async function threadsOf(t: Test, environment: Readonly<Record<string, string>>): Promise<number> {
  const broker = await RunningBroker.startOn(t, `${t.testdir()}/data`, ['-partitions', '2'], { environment })
  const threads = readdirSync(`/proc/${broker.pid}/task`).length
  await broker.endsInOrder(t)
  return threads
}

test('files are flushed by more threads than there are partitions, or by as many as the operator says', async (t) => {
  const few = await threadsOf(t, { UV_THREADPOOL_SIZE: '4' })
  const usual = await threadsOf(t, {})
  t.ok(usual >= few + 50, `${usual} instead of ${few}`)
})
