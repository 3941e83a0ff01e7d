import { readdirSync, readFileSync } from 'node:fs'
import { type Test, test } from 'tap'
import { BrokerProcess, DataFolder, versionOf } from '../../bench/broker-process.js'
import { deviceAnswer } from '../../bench/fleet.js'
import { items, member } from '../../bench/ngsi.js'
import { brokers, type Ended, linesOf, run, standIn, start } from './programs.js'

const short = ['--duration', '0.2', '--rounds', '2', '--connections', '1,4', '--devices', '20']

/** What every case says, whatever was measured. */
function isMeasured(t: Test, line: unknown, connections: number): void {
  t.equal(member(line, 'connections'), connections)
  for (const name of ['rate_per_s', 'p50_ms', 'p90_ms', 'p99_ms', 'max_ms', 'generator_cpu_ratio']) {
    t.ok(Number(member(line, name)) > 0, `${name} is above 0`)
  }
}

function succeeded(t: Test, ended: Ended): void {
  t.equal(ended.code, 0, ended.errors)
  t.ok(member(ended.lines[0], 'machine'), 'the first line describes the machine')
  t.type(member(member(ended.lines[0], 'versions'), 'broker'), 'string')
}

/** What is measured at each number of connections. */
const both = ['updateContext', 'updateContext of one attribute']

for (const { name, main, skip } of brokers) {
  test(`on ${name}, ingest has a line for each number of connections and one of waits`, { skip }, async (t) => {
    const ended = await run('run', 'ingest', '--broker', main, ...short)
    succeeded(t, ended)
    const lines = linesOf(ended, 'ingest')
    t.same(
      lines.map((line) => member(line, 'case')),
      [...both, ...both, 'updateContext -mutexTimeStat'],
    )
    for (const [place, connections] of [1, 1, 4, 4, 4].entries()) isMeasured(t, lines[place], connections)
    t.ok(lines.every((line) => Number(member(line, 'ratio')) > 0))
    const [waits] = linesOf(ended, 'waits')
    t.match(waits, {
      requestSemaphoreWaitingTime_s: /^\d+\.\d{9}$/,
      dbConnectionPoolWaitingTime_s: /^\d+\.\d{9}$/,
      transactionSemaphoreWaitingTime_s: /^\d+\.\d{9}$/,
    })
  })

  test(`on ${name}, read is compared with a constant answer`, { skip }, async (t) => {
    const ended = await run('run', 'read', '--broker', main, ...short)
    succeeded(t, ended)
    const lines = linesOf(ended, 'read')
    t.equal(lines.length, 2)
    for (const [place, connections] of [1, 4].entries()) isMeasured(t, lines[place], connections)
  })
}

test('the generator of load is compared with autocannon, and --json has all that was printed', async (t) => {
  const file = `${t.testdir()}/results.json`
  const ended = await run('run', 'generator', '--broker', standIn, '--json', file, ...short, '--duration', '0.6')
  succeeded(t, ended)
  const lines = linesOf(ended, 'generator')
  t.same(
    lines.map((line) => member(line, 'case')),
    ['rigel', 'autocannon', 'rigel', 'autocannon'],
  )
  for (const [place, connections] of [1, 1, 4, 4].entries()) isMeasured(t, lines[place], connections)
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
  for (const argv of [['--colour'], ['nothing'], ['--rounds', '0'], ['--duration', 'x'], ['--url', 'ftp://here']]) {
    const ended = await run('run', ...argv)
    t.equal(ended.code, 2, argv.join(' '))
    t.match(ended.errors, /--help/)
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

  succeeded(t, await run('run', 'ingest', 'read', '--url', broker.url, ...short))
  const feed = await run('feed', '--url', broker.url, '--devices', '20', '--updates', '100')
  succeeded(t, feed)
  t.match(linesOf(feed, 'feed')[0], { kills: 0, restart_to_first_answer_ms: null, checked: 20, wrong: 0 })

  await t.rejects(deviceAnswer(broker.url, 0), /can not be read/, 'the devices are gone again')
  t.equal(await versionOf(broker.url), 'stand-in')
})

test('nothing is left in the folder for temporary files, whether a run succeeds or is interrupted', async (t) => {
  const folder = t.testdir()
  const succeeding = await start('run', ['read', '--broker', standIn, ...short], folder).ended
  t.equal(succeeding.code, 0, succeeding.errors)
  t.same(readdirSync(folder), [])

  const interrupted = start('run', ['read', '--broker', standIn, '--duration', '60'], folder)
  await interrupted.speaking
  interrupted.interrupt()
  t.equal((await interrupted.ended).code, 130)
  t.same(readdirSync(folder), [])
})
