import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { t as root, type Test, test } from 'tap'
import { EtcdMembers, noEtcd } from '../cluster/etcd-members.js'
import { freshName } from '../cluster/given.js'
import { nodeFlags, tokenFlags } from '../cluster/given-nodes.js'
import { RunningBroker, type Surroundings } from '../running.js'
import { until } from '../until.js'
import type { SlowFiles } from './slow-disk.js'
import { ThreadKiller, withDebugger } from './thread-killer.js'

const flags = ['-partitions', '1', '-httpThreads', '2', '-threadSilence', '3']
const holder = fileURLToPath(new URL('lock-holder.js', import.meta.url))
const tank = { id: 'Tank', attributes: [{ name: 'level', value: '1' }] }
const update = JSON.stringify({ id: 'Valve', type: 'Tank', level: { value: 1 } })
const json = { 'Content-Type': 'application/json' }

// They wait for silence, and work little.
root.jobs = 3

const memory = '/dev/shm'
const needed_bytes = 2 ** 30

/** A folder in memory where there is enough of that: a flush of a disk may take longer than a thread may be silent here. */
function quickFolder(t: Test): string {
  if (!existsSync(memory)) return t.testdir()
  const { bavail, bsize } = statfsSync(memory)
  if (bavail * bsize < needed_bytes) return t.testdir()
  const folder = mkdtempSync(join(memory, 'rigel-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function startedBroker(t: Test, around: Surroundings = {}, own = flags): Promise<RunningBroker> {
  return RunningBroker.startOn(t, join(quickFolder(t), 'data'), own, around)
}

/** As `test`, at the same time as others. */
function meanwhile(name: string, run: (t: Test) => Promise<void>): void {
  test(name, { buffered: true }, async (t) => {
    t.setTimeout(300_000)
    await run(t)
  })
}

/** Has another process hold the write lock of an environment until the function that this gives is called. */
async function heldLock(t: Test, path: string): Promise<() => Promise<void>> {
  const holding = spawn(process.execPath, [holder, path], { stdio: ['ignore', 'pipe', 'inherit'] })
  const end = async (): Promise<void> => {
    if (holding.exitCode !== null || holding.signalCode !== null) return
    const exit = once(holding, 'exit')
    holding.kill('SIGKILL')
    await exit
  }
  t.teardown(end)
  await once(holding.stdout, 'data')
  return end
}

/** A thread that stands still works as much in a minute even if forty others want its processor; an idle broker does not. */
const standing_ms = 6000

/** Resolves when the broker says why it ends. Only the time counts for which a thread could run: its processor may have much else to do. */
async function findsSilence(broker: RunningBroker): Promise<void> {
  const expectation = () => `the broker says why it ends: ${broker.output.slice(-3000)}`
  const worked = () => broker.exit === null && Math.floor(broker.worked_ms / standing_ms)
  await until(() => broker.output.includes('"lvl":"FATAL"'), expectation, worked)
}

/** Resolves when all threads have begun, so that each is watched: some may do so after the broker is ready. */
async function allBegan(broker: RunningBroker): Promise<void> {
  const isIdleSinceEver = /^rigel_thread_busy_seconds_total\{.*\} 0$/m
  await until(async () => !isIdleSinceEver.test((await broker.send('GET', '/metrics')).text), 'all threads have begun')
}

/** What was acknowledged is there when the broker runs again. */
async function runsAgain(t: Test, broker: RunningBroker): Promise<void> {
  await broker.run()
  t.equal((await broker.send('GET', '/v2/entities/Tank')).status, 200)
  await broker.endsInOrder(t)
}

meanwhile('a partition whose write transaction never ends ends the process with a reason', async (t) => {
  const broker = await startedBroker(t)
  t.equal((await broker.update('APPEND', tank)).status, 200)
  const free = await heldLock(t, join(broker.folder, 'partition-0'))
  broker.send('POST', '/v2/entities?options=upsert', update, json).catch(() => {})
  t.equal(await broker.ended(), 'SIGKILL')
  t.match(broker.output, /"lvl":"FATAL".*partition 0 has been inside a write transaction for \d+ s/)
  await free()
  await runsAgain(t, broker)
})

/** A broker that has an update, and has ended; how long a thread of it takes to open each of some files from now on is written to the file. */
async function withSlowDisk(
  t: Test,
  slow: SlowFiles,
): Promise<{ readonly broker: RunningBroker; readonly opening: (ms: number) => void }> {
  const folder = t.testdir()
  const settings = join(folder, 'slow')
  const opening = (ms: number): void => writeFileSync(settings, JSON.stringify({ ...slow, ms }))
  opening(0)
  const slowDisk = new URL('slow-disk.js', import.meta.url).href
  const around = { nodeOptions: ['--import', slowDisk], environment: { RIGEL_SLOW_DISK: settings } }
  const broker = await startedBroker(t, around)
  t.equal((await broker.update('APPEND', tank)).status, 200)
  await broker.endsInOrder(t)
  return { broker, opening }
}

for (const { name, slow, long_ms } of [
  { name: 'partition 0', slow: { part: 'partition-0/log/', isMain: false }, long_ms: 2000 },
  { name: 'the main thread, which starts the broker,', slow: { part: 'data.mdb', isMain: true }, long_ms: 1000 },
]) {
  meanwhile(`${name} that stands still while it opens its files ends the start with a reason`, async (t) => {
    const { broker, opening } = await withSlowDisk(t, slow)
    opening(1_000_000)
    await t.rejects(broker.run(), /the broker ended with SIGKILL/)
    t.match(broker.output, new RegExp(`"lvl":"FATAL".*${name} has not answered for \\d+ s`))
    opening(0)
    await runsAgain(t, broker)
  })

  meanwhile(`a start for which ${name} takes longer than that, and goes on, comes to its end`, async (t) => {
    const { broker, opening } = await withSlowDisk(t, slow)
    opening(long_ms)
    const began = performance.now()
    await broker.run()
    t.ok(performance.now() - began > 4000, 'it has opened several of them')
    t.equal((await broker.send('GET', '/v2/entities/Tank')).status, 200)
  })
}

meanwhile(
  'a front end that stands still while it loads its program ends a broker that is ready, with a reason',
  async (t) => {
    const { broker, opening } = await withSlowDisk(t, { part: 'front-end.cjs', isMain: false })
    opening(1_000_000)
    await broker.run()
    t.equal((await broker.send('GET', '/v2/entities/Tank')).status, 200, 'the other front end serves')
    t.equal(await broker.ended(), 'SIGKILL')
    t.match(broker.output, /"lvl":"FATAL".*front end 1 has not answered for 3\d s/)
    opening(0)
    await runsAgain(t, broker)
  },
)

meanwhile(
  'a partition whose memory ends inside a write transaction ends the process with a reason, and nothing is lost',
  async (t) => {
    const folder = t.testdir()
    const trigger = join(folder, 'exhausted')
    const exhausted = new URL('exhausted-write.js', import.meta.url).href
    const around = { nodeOptions: ['--import', exhausted], environment: { RIGEL_EXHAUSTED_WRITE: trigger } }
    const broker = await startedBroker(t, around)
    t.equal((await broker.update('APPEND', tank)).status, 200)
    writeFileSync(trigger, '')
    broker.send('POST', '/v2/entities?options=upsert', update, json).catch(() => {})
    t.equal(await broker.ended(), 'SIGKILL')
    t.match(broker.output, /"lvl":"FATAL".*partition 0 has (not answered|(been|ended) inside a write transaction)/)
    rmSync(trigger)
    await runsAgain(t, broker)
  },
)

meanwhile('a main thread that stands still is found by another one', async (t) => {
  const broker = await startedBroker(t, {}, [...flags, '-logLevel', 'INFO'])
  await until(() => broker.output.includes('main:ready'), 'the courier looks')
  t.equal((await broker.update('APPEND', tank)).status, 200)
  const free = await heldLock(t, join(broker.folder, 'control'))
  const subscription = {
    subject: { entities: [{ id: 'Tank' }] },
    notification: { http: { url: 'http://127.0.0.1:1/' } },
  }
  broker.send('POST', '/v2/subscriptions', JSON.stringify(subscription), json).catch(() => {})
  t.equal(await broker.ended(), 'SIGKILL')
  t.match(broker.output, /"lvl":"FATAL".*front end 0 has been inside a write transaction for \d+ s/)
  await free()
  await runsAgain(t, broker)
})

for (const entry of ['partition', 'courier', 'query', 'front-end'] as const) {
  meanwhile(`a thread of workers/${entry} that stands still ends the process with a reason`, async (t) => {
    const broker = await startedBroker(t, { nodeOptions: withDebugger })
    t.equal((await broker.update('APPEND', tank)).status, 200)
    await allBegan(broker)
    const killer = await ThreadKiller.connect(broker.output)
    t.teardown(() => killer.close())
    await killer.kill(entry, 'stands')
    // A process with a debugger waits for that before it ends.
    await findsSilence(broker)
    killer.close()
    t.equal(await broker.ended(), 'SIGKILL')
    t.match(
      broker.output,
      /"lvl":"FATAL".*(partition 0|the courier|query thread \d|front end 1) has not answered for \d+ s/,
    )
  })
}

test('the thread of the cluster that stands still ends the process with a reason', { skip: noEtcd }, async (t) => {
  t.setTimeout(300_000)
  const etcd = await EtcdMembers.ofRun(t)
  const own = [...nodeFlags(etcd, freshName(), 'a'), ...tokenFlags(t.testdir()), '-threadSilence', '3']
  const broker = await startedBroker(t, { nodeOptions: withDebugger }, own)
  await until(async () => (await broker.update('APPEND', tank)).status === 200, 'it owns its partitions')
  const killer = await ThreadKiller.connect(broker.output)
  t.teardown(() => killer.close())
  await killer.kill('log', 'stands')
  await findsSilence(broker)
  killer.close()
  t.equal(await broker.ended(), 'SIGKILL')
  t.match(broker.output, /"lvl":"FATAL".*the thread of the cluster has not answered for \d+ s/)
})

meanwhile('a process that was stopped for longer than that, and threads that ended, are no stand-still', async (t) => {
  const broker = await startedBroker(t, { nodeOptions: withDebugger })
  const killer = await ThreadKiller.connect(broker.output)
  t.teardown(() => killer.close())
  await killer.kill('query', 'exits')
  await killer.kill('courier', 'throws')
  await killer.kill('partition', 'throws')
  killer.close()
  broker.signal('SIGSTOP')
  await delay(6000)
  broker.signal('SIGCONT')
  await delay(6000)
  t.equal((await broker.update('APPEND', tank)).status, 200)
  await broker.endsInOrder(t)
})
