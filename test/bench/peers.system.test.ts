import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import { BrokerProcess, DataFolder } from '../../bench/broker-process.js'
import { appendDevices, readDevice, readingOf, updateDevice, updateReading } from '../../bench/device.js'
import { askOnce } from '../../bench/fleet.js'
import { Helper } from '../../bench/helper.js'
import { member } from '../../bench/ngsi.js'
import { installedPostgres } from '../../bench/postgres.js'
import type { PeerReply } from '../../bench/postgres-peer.js'
import { until } from '../until.js'
import { isMeasured, linesOf, own, short, start } from './programs.js'

const skip = own.skip || (installedPostgres() === undefined && 'PostgreSQL is not installed')

/** A folder for temporary files that another user may enter, as PostgreSQL does when the tests run as root. */
function enterable(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'rigel-peers-'))
  chmodSync(folder, 0o755)
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

test('peers has the rates of the broker and of PostgreSQL, says its settings, and leaves nothing', {
  skip,
}, async (t) => {
  const folder = enterable(t)
  const ended = await start('run', ['peers', ...short], folder).ended
  t.equal(ended.code, 0, ended.errors)
  t.match(ended.errors, /^peers: Fastify .* PostgreSQL.* synchronous_commit=on, /m)
  const lines = linesOf(ended, 'peers')
  t.same(
    lines.map((line) => member(line, 'connections')),
    [1, 4],
  )
  for (const line of lines) {
    isMeasured(t, line)
    for (const name of ['reference_per_s', 'ratio']) t.ok(Number(member(line, name)) > 0)
  }
  t.same(readdirSync(folder), [])
})

test('when the run is interrupted, the database ends and its folder goes', { skip }, async (t) => {
  const folder = enterable(t)
  const running = start('run', ['peers', '--duration', '60'], folder)
  await running.speaking
  await until(() => hasDatabase(folder), 'there is a database')
  running.interrupt()
  t.equal((await running.ended).code, 130)
  await until(
    () => readdirSync(folder).length === 0,
    () => `nothing is left: ${readdirSync(folder)}`,
  )
})

/** Whether a server has begun to work in a folder of this one. */
function hasDatabase(folder: string): boolean {
  return readdirSync(folder).some((inner) => existsSync(join(folder, inner, 'data', 'postmaster.pid')))
}

test('the peer does the same work and gives the same responses as the broker', { skip }, async (t) => {
  const folder = new DataFolder()
  t.teardown(() => folder.remove())
  const broker = await BrokerProcess.start({ main: own.main, folder, flags: [] })
  t.teardown(() => broker.end())
  const postgres = new Helper<object, PeerReply>('./postgres-peer.js')
  t.teardown(() => postgres.end())
  const peer = await postgres.ask({})
  if (peer.kind === 'notInstalled') throw new Error('it was installed a moment ago')

  const requests = [
    appendDevices([0, 1], 5),
    updateDevice(0, 6),
    updateReading(1, 7),
    appendDevices([0], 8),
    updateDevice(2, 9),
  ]
  for (const request of requests) {
    const [expected, found] = await Promise.all([askOnce(broker.url, request), askOnce(peer.url, request)])
    t.same(JSON.parse(found), JSON.parse(expected))
  }
  for (const number of [0, 1]) {
    const [expected, found] = await Promise.all([broker, peer].map(({ url }) => askOnce(url, readDevice(number))))
    t.same(readingOf(found ?? ''), readingOf(expected ?? ''))
  }
  t.match(JSON.parse(await askOnce(peer.url, readDevice(2))), { statusCode: { code: '404' } })
})

test('the newest version is taken, then what is on the path, and nothing else', async (t) => {
  const folder = t.testdir()
  const install = (path: string): string => {
    mkdirSync(path, { recursive: true })
    for (const name of ['initdb', 'pg_ctl', 'postgres']) writeFileSync(join(path, name), '')
    return path
  }
  const versions = join(folder, 'versions')
  t.equal(installedPostgres(versions, folder), undefined)
  const other = install(join(folder, 'other'))
  mkdirSync(join(versions, '17', 'bin'), { recursive: true }) // Only what clients need.
  t.equal(installedPostgres(versions, `${folder}:${other}`), other)
  install(join(versions, '9', 'bin'))
  const newest = install(join(versions, '15', 'bin'))
  t.equal(installedPostgres(versions, other), newest)
})
