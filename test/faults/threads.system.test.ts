import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'tap'
import { RunningBroker } from '../running.js'
import { until } from '../until.js'
import { isLong, underLoad } from './run.js'
import { type Death, deaths, type Entry, ThreadKiller, withDebugger } from './thread-killer.js'

/** Heaps that are small are soon full. */
const memory = ['-requestMemory', '8', '-entityCache', '1', '-pageMaxSize', '1048576', '-notifQueueMaxMb', '128']
const limits = [...memory, '-subscriptionsMax', '1000']
const flags = ['-partitions', '2', '-httpThreads', '2', '-notifRetryMin', '50', '-notifRetryMax', '200', ...limits]
const around = { nodeOptions: withDebugger }

const replaced: readonly Entry[] = ['partition', 'query', 'courier', 'partition']
const short: readonly Death[] = ['throws', 'exhausts', 'throws', 'throws']

/** How the threads die, one after the other. */
const courses: readonly (readonly Death[])[] = isLong
  ? (['throws', 'exhausts', 'exits'] as const).map((death) => replaced.map(() => death))
  : [short]

for (const course of courses) {
  const ways = [...new Set(course)].map((death) => deaths[death].name).join(' and ')
  test(`threads that die (${ways}) under load are replaced, and no promise is broken`, async (t) => {
    t.setTimeout(400_000)
    const broker = await RunningBroker.start(t, flags, around)
    await underLoad(t, broker, async () => {
      for (const [at, entry] of replaced.entries()) {
        await delay(400)
        await kill(broker, entry, course[at] ?? 'throws')
      }
      await delay(400)
    })
    await broker.writes(isLong ? /worker:died/ : /query thread failed: .*ERR_WORKER_OUT_OF_MEMORY/)
    await broker.becomesReady()
    t.equal(await broker.end('SIGTERM'), 0)
  })
}

/** In the long form only: it takes ten seconds. */
test('a thread that dies while it decides a turn is replaced, and the broker goes on', { skip: !isLong }, async (t) => {
  t.setTimeout(300_000)
  const broker = await RunningBroker.start(t, flags, around)
  await underLoad(t, broker, async () => {
    await delay(300)
    await kill(broker, 'partition', 'exitsDeciding')
    await delay(300)
  })
  await broker.writes(/"op":"worker:died".*partition \d failed/)
  await broker.writes(/"op":"worker:replaced"/)
  t.notMatch(broker.output, /"lvl":"FATAL"/)
  t.equal(await broker.end('SIGTERM'), 0)
})

test('an error that nothing catches ends the process, and its FATAL line is on standard output and in the file', async (t) => {
  t.setTimeout(300_000)
  const folder = mkdtempSync(join(tmpdir(), 'rigel-log-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const broker = await RunningBroker.start(t, [...flags, '-logDir', folder], around)
  const killer = await ThreadKiller.connect(broker.output)
  await killer.killMain()
  killer.close()
  t.equal(await broker.ended(), 70)
  const line = /"lvl":"FATAL".*an error was not caught: ended by the test/
  t.match(broker.output, line)
  t.match(readFileSync(join(folder, 'contextBroker.log'), 'utf8'), line)
})

test('a front end that dies ends the process with a line that says so, and the next start has everything', async (t) => {
  t.setTimeout(300_000)
  const broker = await RunningBroker.start(t, flags, around)
  await underLoad(t, broker, async (run) => {
    await delay(300)
    await run.restart(async () => {
      await kill(broker, 'front-end', 'throws')
      t.equal(await broker.ended(), 70)
      t.match(broker.output, /"lvl":"FATAL".*front end 1 failed: Error: ended by the test/)
    })
    await delay(300)
  })
})

/** Makes a thread end. A debugger that comes while threads come and go may miss one: the next one sees it. */
async function kill(broker: RunningBroker, entry: Entry, death: Death): Promise<void> {
  await until(async () => {
    if (broker.exit !== null) throw new Error(`the broker ended with ${broker.exit}: ${broker.output.slice(-3000)}`)
    const killer = await ThreadKiller.connect(broker.output).catch(() => undefined)
    // Node waits at the end of a process until nobody debugs it.
    return killer?.killOne(entry, death).finally(() => killer.close())
  }, `a thread of ${entry} is killed`)
}
