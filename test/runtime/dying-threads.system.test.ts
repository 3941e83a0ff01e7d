import { join } from 'node:path'
import { test } from 'tap'
import { RunningBroker } from '../running.js'

/** A thread's heap is far smaller than what the machine has, and is full soon. */
const smallHeap = '--max-old-space-size=128'

/** A broker of two partitions of which a thread dies while it starts. */
function dying(how: string) {
  const script = new URL('dying-thread.js', import.meta.url).href
  return { nodeOptions: [smallHeap, '--import', script], environment: { RIGEL_DYING_THREAD: how } }
}

for (const { how, reason } of [
  { how: 'watch throws', reason: 'told to die' },
  { how: 'watch runs out of memory', reason: 'Worker terminated due to reaching memory limit' },
]) {
  test(`a start whose ${how} goes on, and says that nobody watches it`, async (t) => {
    const broker = await RunningBroker.startOn(t, join(t.testdir(), 'data'), ['-partitions', '2'], dying(how))
    await broker.becomesReady()
    await broker.writes(new RegExp(`"lvl":"WARN".*nobody watches the start of the broker.*${reason}`))
    await broker.endsInOrder(t)
  })
}

for (const { how, reason } of [
  { how: 'partition exits', reason: 'worker exited with code: 3' },
  { how: 'partition runs out of memory', reason: 'Worker terminated due to reaching memory limit' },
]) {
  test(`a start whose ${how} ends with 70, and names the partition`, async (t) => {
    const starting = RunningBroker.startOn(t, join(t.testdir(), 'data'), ['-partitions', '2'], dying(how))
    await t.rejects(starting, new RegExp(`the broker ended with 70: partition 1 could not be started: .*${reason}`))
  })
}
