import { readdirSync, readFileSync } from 'node:fs'
import { type Test, test } from 'tap'
import { BrokerProcess, DataFolder, versionOf } from '../../bench/broker-process.js'
import { deviceResponse } from '../../bench/fleet.js'
import { items, member } from '../../bench/ngsi.js'
import { until } from '../until.js'
import { type Ended, isMeasured, linesOf, run, short, standIn, start } from './programs.js'

function succeeded(t: Test, ended: Ended): void {
  t.equal(ended.code, 0, ended.errors)
  t.ok(member(ended.lines[0], 'machine'), 'the first line describes the machine')
  t.type(member(member(ended.lines[0], 'versions'), 'broker'), 'string')
}

test('--json has all that was printed', async (t) => {
  const file = `${t.testdir()}/results.json`
  const ended = await run('run', 'ingest', '--broker', standIn, '--json', file, ...short)
  succeeded(t, ended)
  const lines = linesOf(ended, 'ingest')
  for (const line of lines) isMeasured(t, line)
  t.same(items(member(JSON.parse(readFileSync(file, 'utf8')), 'results')), lines)
})

for (const [fault, reason] of [
  ['refuses', 'refused'],
  ['fails', 'status'],
] as const) {
  test(`a broker that ${fault} updates makes the run fail`, async (t) => {
    const ended = await run('run', 'ingest', '--broker', standIn, `--flags=-fault ${fault}`, ...short)
    t.equal(ended.code, 1)
    t.match(ended.errors, new RegExp(`FAILED: ingest, updateContext.*"${reason}":[1-9]`))
    t.ok(Number(member(linesOf(ended, 'ingest')[0], 'failures')) > 0)
  })
}

test('a broker that does not start makes the run fail with its own words', async (t) => {
  const ended = await run('run', 'read', '--broker', standIn, '--flags=-colour blue', ...short)
  t.equal(ended.code, 1)
  t.match(ended.errors, /the broker ended with code 1[\s\S]*colour/)
})

test('a wrong command line is told apart from a failure', async (t) => {
  for (const argv of [
    ['--colour'],
    ['nothing'],
    ['--rounds', '0'],
    ['--duration', 'x'],
    ['--url', 'ftp://here'],
    ['--sizes', '20000000'],
  ]) {
    const ended = await run('run', ...argv)
    t.equal(ended.code, 2, argv.join(' '))
    t.match(ended.errors, "'rigel help bench' says what it takes")
  }
  const help = await run('run', '--help')
  t.equal(help.code, 0)
  t.match(help.lines[0], /ingest[\s\S]*--connections/)
})

test('a broker that runs already is left as it was', async (t) => {
  const folder = new DataFolder()
  t.teardown(() => folder.remove())
  const broker = await BrokerProcess.start({ main: standIn, folder, flags: [] })
  t.teardown(() => broker.end())

  const ended = await run('run', 'ingest', 'read', 'growth', 'start', 'waits', '--url', broker.url, ...short)
  succeeded(t, ended)
  t.equal(linesOf(ended, 'read').length, 2)
  t.match(ended.errors, /needs brokers of our own: growth\.[\s\S]*: start\.[\s\S]*started without -mutexTimeStat/)
  t.same([...linesOf(ended, 'growth'), ...linesOf(ended, 'start'), ...linesOf(ended, 'waits')], [])
  const feed = await run('feed', '--url', broker.url, '--devices', '20', '--updates', '100')
  succeeded(t, feed)
  t.match(linesOf(feed, 'feed')[0], { kills: 0, restart_to_first_answer_ms: null, checked: 20, wrong: 0 })

  await t.rejects(deviceResponse(broker.url, 0), /can not be read/, 'the devices are gone again')
  t.equal(await versionOf(broker.url), 'stand-in')
})

test('nothing is left in the folder for temporary files, whether a run succeeds or is interrupted', async (t) => {
  const folder = t.testdir()
  const succeeding = await start('run', ['read', '--broker', standIn, ...short], folder).ended
  t.equal(succeeding.code, 0, succeeding.errors)
  await isEmpty(folder)

  const interrupted = start('run', ['read', '--broker', standIn, '--duration', '60'], folder)
  await interrupted.speaking
  interrupted.interrupt()
  t.equal((await interrupted.ended).code, 130)
  await isEmpty(folder)
})

/** What was killed with a run may end a moment after it. */
async function isEmpty(folder: string): Promise<void> {
  await until(
    () => readdirSync(folder).length === 0,
    () => `nothing is left: ${readdirSync(folder)}`,
  )
}
