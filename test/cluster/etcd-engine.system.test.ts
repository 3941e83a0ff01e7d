import { before, t as file, type Test, test } from 'tap'
import { Appender } from '../../src/storage/etcd/appender.js'
import { encodeClusterRecord } from '../../src/storage/etcd/cluster-record.js'
import type { LogName } from '../../src/storage/etcd/engine.js'
import { EtcdEngine } from '../../src/storage/etcd/etcd-engine.js'
import type { LogSequence } from '../../src/storage/wal/record-log.js'
import { until } from '../until.js'
import { BrokenProxy } from './broken-proxy.js'
import { EtcdMembers, noEtcd } from './etcd-members.js'
import { whenAvailable } from './given.js'

const at = (sequence: number): LogSequence => sequence as LogSequence

let etcd: EtcdMembers
let prefixes = 0

if (noEtcd === false) {
  before(async () => {
    etcd = await EtcdMembers.start(file, 3)
  })
}

/** An engine with logs of its own that were begun, in the etcd of this file. */
async function begun(t: Test, logs: readonly LogName[], urls = etcd.urls, after = 0) {
  prefixes += 1
  const prefix = `/test-${prefixes}`
  const engine = new EtcdEngine({ urls }, prefix)
  const other = new EtcdEngine({ urls: etcd.urls }, prefix)
  t.teardown(() => {
    engine.close()
    other.close()
  })
  const heads = new Map(logs.map((log) => [log, at(after)]))
  t.ok((await whenAvailable(() => other.begin('what it is', heads, 'its nodes'))).ok)
  const unanswered: string[] = []
  const acknowledged: number[] = []
  const appender = new Appender(engine, {
    answered: (records) => acknowledged.push(records),
    unanswered: (reason) => unanswered.push(reason),
    invalid: (reason) => t.fail(reason),
  })
  t.teardown(() => appender.close())
  return { engine, other, appender, unanswered, acknowledged }
}

function record(text: string): Buffer {
  const payload = Buffer.from(text)
  return encodeClusterRecord({ kind: 'turn', epoch: at(1), time_ms: 1, metadataVersion: at(0), node: 'here', payload })
}

test('records stand in their logs in order, and are read from any place', { skip: noEtcd }, async (t) => {
  const { engine, appender } = await begun(t, [0, 1, 'control'])
  const records = Array.from({ length: 40 }, (_, number) => record(`record ${number}`))
  for (const [number, bytes] of records.entries()) {
    t.same(await appender.append(1, at(number), bytes), { ok: true, value: number + 1 })
  }
  const found: Buffer[] = []
  for (let after = 0; after < records.length; ) {
    const read = await whenAvailable(() => engine.read(1, at(after)))
    if (!read.ok || read.value.length === 0) throw new Error('nothing was read')
    for (const { sequence, bytes } of read.value) {
      t.equal(sequence, after + 1)
      found.push(Buffer.from(bytes))
      after = sequence
    }
  }
  t.ok(found.every((bytes, number) => records[number]?.equals(bytes)))
  t.same(await whenAvailable(() => engine.extent(1)), { ok: true, value: { first: 1, last: 40 } })
  t.same(await whenAvailable(() => engine.extent('control')), { ok: true, value: { first: 0, last: 0 } })
  t.same(await whenAvailable(() => engine.extent(7)), { ok: true, value: undefined })
  t.same(await whenAvailable(() => engine.read(0, at(0))), { ok: true, value: [] })
})

test('a cluster is begun once', { skip: noEtcd }, async (t) => {
  const { engine, other } = await begun(t, [0], etcd.urls, 17)
  const begunAgain = await whenAvailable(() => engine.begin('something else', new Map([[0, at(3)]]), 'its nodes'))
  t.same(begunAgain, { ok: true, value: false })
  t.same(
    await whenAvailable(() => other.extent(0)),
    { ok: true, value: { first: 0, last: 17 } },
    'who comes second changes nothing',
  )
})

test('who does not stand behind the last record is fenced', { skip: noEtcd }, async (t) => {
  const { engine, appender } = await begun(t, [0])
  t.ok((await appender.append(0, at(0), record('first'))).ok)
  const fenced = { ok: false, error: { kind: 'fenced', last: 1 } }
  t.same(await appender.append(0, at(0), record('late')), fenced)
  t.same(await appender.append(0, at(4), record('early')), fenced)
  t.same(await whenAvailable(() => engine.extent(0)), { ok: true, value: { first: 1, last: 1 } })
})

test('a writer that has slept through a truncation is fenced', { skip: noEtcd }, async (t) => {
  const { engine, appender } = await begun(t, [0])
  for (let last = 0; last < 5; last += 1) t.ok((await appender.append(0, at(last), record(`${last}`))).ok)
  t.ok((await whenAvailable(() => engine.truncate(new Map([[0, at(4)]])))).ok)
  t.ok((await whenAvailable(() => engine.compact())).ok)
  t.ok((await whenAvailable(() => engine.compact())).ok, 'and again, with nothing new')
  // No record stands there any more, and yet its place was given.
  t.same(await appender.append(0, at(1), record('asleep')), { ok: false, error: { kind: 'fenced', last: 5 } })
  t.same(await whenAvailable(() => engine.read(0, at(2))), { ok: false, error: { kind: 'behind', first: 5 } })
  t.same(await whenAvailable(() => engine.extent(0)), { ok: true, value: { first: 5, last: 5 } })
})

test('records of many logs that wait share a request, each with its own outcome', { skip: noEtcd }, async (t) => {
  const logs = Array.from({ length: 80 }, (_, number) => number)
  const { appender, acknowledged } = await begun(t, logs)
  const outcomes = await Promise.all(logs.map((log) => appender.append(log, at(log === 7 ? 3 : 0), record('together'))))
  for (const [log, outcome] of outcomes.entries()) {
    t.same(outcome, log === 7 ? { ok: false, error: { kind: 'fenced', last: 0 } } : { ok: true, value: 1 })
  }
  t.same(
    acknowledged.reduce((sum, records) => sum + records, 0),
    logs.length,
  )
  t.ok(acknowledged.length <= 4, `${acknowledged.length} requests`)
})

test('two records of one log are not offered in one request, which etcd calls invalid', { skip: noEtcd }, async (t) => {
  const { engine, appender } = await begun(
    t,
    Array.from({ length: 50 }, (_, log) => log),
  )
  const isOwn = (): boolean => false
  const [first, second] = [record('of a thread that has died'), record('of the thread that replaces it')]
  // One after the other, until etcd answers in time.
  let log = 0
  const both = await whenAvailable(() => {
    log += 1
    return engine.append([first, second].map((bytes) => ({ log, expected: at(0), bytes, isOwn })))
  })
  t.ok(both.ok, 'each is offered by itself then')
  const fenced = { ok: false, error: { kind: 'fenced', last: 1 } }
  t.same(both, { ok: true, value: [{ ok: true, value: 1 }, fenced] })
  const outcomes = await Promise.all([
    appender.append(0, at(0), first),
    appender.append(0, at(0), second),
    appender.append(log, at(1), first),
  ])
  t.same(outcomes, [{ ok: true, value: 1 }, fenced, { ok: true, value: 2 }])
})

test('what was not answered is offered until it is known, and stands once', { skip: noEtcd }, async (t) => {
  const proxy = await BrokenProxy.before(t, etcd.urls[0] ?? '')
  const { other, appender, unanswered } = await begun(t, [0], [proxy.url])
  t.ok((await appender.append(0, at(0), record('whole'))).ok)
  proxy.become('deaf')
  const appending = appender.append(0, at(1), record('cut after the request'))
  await until(() => !(proxy.lost === 0 || unanswered.length < 2))
  proxy.become('open')
  t.same(await appending, { ok: true, value: 2 })
  t.same(await whenAvailable(() => other.extent(0)), { ok: true, value: { first: 1, last: 2 } })
})

test('appends go on when the leader is killed, without a loss', { skip: noEtcd }, async (t) => {
  const { engine, appender, unanswered } = await begun(t, [0])
  let last = 0
  const append = async (): Promise<void> => {
    t.same(await appender.append(0, at(last), record(`${last}`)), { ok: true, value: last + 1 })
    last += 1
  }
  for (let before = 0; before < 20; before += 1) await append()
  const leader = etcd.leader()
  const begun_ms = performance.now()
  await etcd.kill(leader)
  await append()
  t.comment(`appends paused for ${Math.round(performance.now() - begun_ms)} ms, ${unanswered.length} were not answered`)
  for (let after = 0; after < 20; after += 1) await append()
  etcd.start(leader)
  t.same(await whenAvailable(() => engine.extent(0)), { ok: true, value: { first: 1, last } })
})
