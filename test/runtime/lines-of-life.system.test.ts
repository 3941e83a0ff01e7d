import { readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { freePort } from '../../bench/free-port.js'
import { versionFacts } from '../../src/version.js'
import { RunningBroker } from '../running.js'
import { until } from '../until.js'

interface Line {
  readonly lvl: string
  readonly op: string
  readonly msg: string
}

/** The lines of life of a log, in order. */
function lifeIn(text: string): readonly Line[] {
  const lines = text.split('\n').flatMap((line): Line[] => (line.startsWith('{') ? [JSON.parse(line)] : []))
  return lines.filter(({ op }) => /^main:(start|ready|reload|stop)$/.test(op))
}

const { version, git_hash } = versionFacts

test('a log says what ran when at every level but NONE: start, ready, stop, and why', async (t) => {
  const adminPort = `${await freePort()}`
  for (const flags of [
    ['-logLevel', 'FATAL', '-localIp', '127.0.0.1', '-adminPort', adminPort],
    ['-writeConcern', '0'],
  ]) {
    const broker = await RunningBroker.start(t, ['-partitions', '2', ...flags])
    await broker.writes('main:ready')
    await broker.endsInOrder(t)
    const [start, ready, stop, ended, ...more] = lifeIn(broker.output)
    const isFirst = flags.includes('-adminPort')
    const address = isFirst ? '127.0.0.1' : 'all addresses'
    const where = isFirst ? 'on disk' : 'in memory'
    const management = isFirst ? `, management on port ${adminPort} of 127.0.0.1` : ''
    const short = git_hash === 'nogitversion' ? git_hash : git_hash.slice(0, 7)
    t.equal(
      start?.msg,
      `Rigel ${version} (git ${short}) starts on port ${broker.port} ` +
        `(${address}, ${broker.folder}, 2 partitions, updates ${where} before their answer${management})`,
    )
    const facts = { port: broker.port, address, dbPath: broker.folder, partitions: 2, writeConcern: isFirst ? 1 : 0 }
    t.match(start, { lvl: 'INFO', op: 'main:start', version, git_hash, ...facts })
    t.equal(ready?.msg, `Rigel ${version} is ready on port ${broker.port} (2 partitions, ${broker.folder})`)
    t.match(ready, { lvl: 'INFO', op: 'main:ready', startup_ms: Number })
    t.match(stop, { lvl: 'INFO', op: 'main:stop', msg: 'SIGTERM: ending in order' })
    t.match(ended, { lvl: 'INFO', op: 'main:stop', msg: 'ended in order', uptime_s: Number })
    t.same(more, [])
  }
})

test('the level NONE shows no line of life either, and what was killed did not end in order', async (t) => {
  const none = await RunningBroker.start(t, ['-logLevel', 'NONE'])
  await none.endsInOrder(t)
  t.equal(none.output, '')
  const killed = await RunningBroker.start(t)
  await killed.writes('main:ready')
  await killed.end('SIGKILL')
  t.same(
    lifeIn(killed.output).map(({ op }) => op),
    ['main:start', 'main:ready'],
  )
})

test('a level that was changed meanwhile hides no line of life, and SIGHUP has one in the new file', async (t) => {
  const folder = t.testdir()
  const broker = await RunningBroker.start(t, ['-logDir', folder, '-logAppend'])
  const file = join(folder, 'contextBroker.log')
  t.equal((await broker.send('PUT', '/admin/log?level=ERROR')).status, 200)
  await until(() => readFileSync(file, 'utf8').includes('main:ready'))
  renameSync(file, `${file}.1`)
  broker.signal('SIGHUP')
  await broker.writes('main:reload')
  await broker.endsInOrder(t)
  const said = (path: string) =>
    lifeIn(readFileSync(path, 'utf8')).map(({ msg }) => msg.replace(/^Rigel .* (starts|is ready) .*/, '$1'))
  t.same(said(`${file}.1`), ['starts', 'is ready'])
  t.same(said(file), ['SIGHUP: log file opened anew', 'SIGTERM: ending in order', 'ended in order'])
})

test('a start that fails has a FATAL line in place of the lines that do not come about', async (t) => {
  const broker = await RunningBroker.start(t)
  const second = RunningBroker.startOn(t, join(t.testdir(), 'other'), ['-port', `${broker.port}`])
  const fault = await second.then(
    () => '',
    (reason: unknown) => String(reason),
  )
  t.match(fault, /main:start/)
  t.match(fault, /"lvl":"FATAL".*port \d+ is in use/)
  t.notMatch(fault, /main:ready|main:stop/)
})
