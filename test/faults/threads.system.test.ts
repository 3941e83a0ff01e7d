import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'tap'
import { FarEnd, responding } from '../far-end.js'
import { limitFiles, withoutFileLimits } from '../file-limit.js'
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
    await broker.endsInOrder(t)
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
  await broker.endsInOrder(t)
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

test('a courier that dies while nothing can be written is replaced: each notice is sent, and none again after a restart', {
  skip: withoutFileLimits,
}, async (t) => {
  t.setTimeout(300_000)
  const receiver = await FarEnd.listen(t, responding(500))
  const broker = await RunningBroker.start(
    t,
    ['-partitions', '1', '-notifRetryMin', '50', '-notifRetryMax', '200'],
    around,
  )
  const http = { url: receiver.url() }
  const subscribed = { subject: { entities: [{ idPattern: '^Told', type: 'Tank' }] }, notification: { http } }
  t.equal((await broker.send('POST', '/v2/subscriptions', subscribed)).status, 201)
  const filled = async (id: string, size: number): Promise<number> => {
    const level = { name: 'level', value: 'x'.repeat(size) }
    return (await broker.update('APPEND', { id, type: 'Tank', attributes: [level] })).status
  }
  for (let n = 0; n < 20; n += 1) t.equal(await filled(`Told${n}`, 10), 200)
  limitFiles(broker, '4096')
  // What has its place in the log already may still be written.
  await until(async () => (await filled('Other', 100_000)) === 503, 'nothing can be written')
  await kill(broker, 'courier', 'throws')
  await broker.writes(/the courier runs again in a new thread/)
  receiver.respond = responding(200)
  const told = (): Set<string> => new Set(receiver.bodies.flatMap((body) => body.match(/Told\d+/g) ?? []))
  const before = receiver.received.length
  await until(() => receiver.received.length >= before + 20, 'what waits is sent although nothing can be written')
  t.equal(told().size, 20)
  limitFiles(broker, 'unlimited')
  await until(async () => (await filled('Told20', 10)) === 200, 'updates are taken again')
  await until(() => told().has('Told20'), 'and notified')
  await broker.endsInOrder(t)
  const sent = receiver.received.length
  await broker.run()
  t.equal(await filled('Told21', 10), 200)
  await until(() => told().has('Told21'), 'an update after the restart is notified')
  t.equal(receiver.received.length, sent + 1, 'what was accepted is not sent again')
  await broker.endsInOrder(t)
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
