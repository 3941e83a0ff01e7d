import { before, t as file, type Test, test } from 'tap'
import { ClusterLog } from '../../src/storage/etcd/cluster-log.js'
import type { LogOperations } from '../../src/storage/etcd/log-thread.js'
import type { LogSequence } from '../../src/storage/wal/record-log.js'
import { until } from '../until.js'
import { EtcdMembers, noEtcd } from './etcd-members.js'
import { freshName } from './given.js'
import { linkTo, startedLogThread } from './log-threads.js'

const at = (sequence: number): LogSequence => sequence as LogSequence
const start = at(0)

let etcd: EtcdMembers

if (noEtcd === false) {
  before(async () => {
    etcd = await EtcdMembers.ofRun(file)
  })
}

/** A thread that follows the logs of a cluster, of which that of partition 0 is begun. */
async function logThread(t: Test, prefix: string, node: string): Promise<LogOperations> {
  const thread = await startedLogThread(t, etcd, prefix, node)
  t.ok((await thread.begin({ description: 'a test', after: new Map([[0, start]]), nodes: 'its nodes' })).ok)
  thread.follow({ replicas: 2, nodes: [{ name: node, slot: 0, folder: node }] }, new Map([[0, start]]))
  return thread
}

test('a log in etcd keeps what was appended, in order, for who follows it', { skip: noEtcd }, async (t) => {
  const thread = await logThread(t, `/${freshName()}`, 'here')
  const log = new ClusterLog(linkTo(thread, 0, 'here'), start)
  const texts = Array.from({ length: 30 }, (_, number) => `record ${number} ${'x'.repeat(number * 100)}`)
  t.match(log.appendSync(start, Buffer.from('early')), { error: { kind: 'fenced', last: 0 } }, 'it is not elected')
  t.ok((await log.campaign(start, start)).ok)
  const first = log.last
  for (const [number, text] of texts.entries()) {
    const bytes = Buffer.from(text)
    const outcome = number % 2 === 0 ? log.appendSync(log.last, bytes) : await log.append(log.last, bytes)
    t.same(outcome, { ok: true, value: first + number + 1 })
  }
  t.equal(log.last, first + texts.length)
  log.close()

  const again = new ClusterLog(linkTo(thread, 0, 'here'), first)
  const read: string[] = []
  await until(async () => {
    for (const { sequence, payload } of await again.next(at(first + read.length))) {
      t.equal(sequence, first + read.length + 1)
      read.push(Buffer.from(payload).toString())
    }
    return read.length >= texts.length
  }, 'all records are read')
  t.same(read, texts)
  again.close()
})

test('a log that does not go on where a folder is, is not opened', { skip: noEtcd }, async (t) => {
  const thread = await logThread(t, `/${freshName()}`, 'here')
  const message = /ends at record 0, and this folder has applied 17/
  t.throws(() => new ClusterLog(linkTo(thread, 0, 'here'), at(17)), { name: 'DamagedRecord', message })
})

test('while the process ends a log is still followed: that there is no more of it is no silence', {
  skip: noEtcd,
}, async (t) => {
  const prefix = `/${freshName()}`
  const logs: ClusterLog[] = []
  let end = (): void => {}
  for (const node of ['a', 'b']) {
    const thread = await logThread(t, prefix, node)
    const writer = linkTo(thread, 0, node)
    logs.push(new ClusterLog(writer, start))
    end = () => thread.ending(1)
  }
  const [owner, follower] = logs
  if (owner === undefined || follower === undefined) return
  const more = follower.next(start)
  // The question and the word about the end come by different ports.
  await new Promise((resolve) => setTimeout(resolve, 100))
  end()
  await new Promise((resolve) => setTimeout(resolve, 200))
  t.ok((await owner.campaign(start, start)).ok)
  t.match(await more, [{ kind: 'election', node: 'a', sequence: 1 }])
})

test('what was truncated goes, but for the last record', { skip: noEtcd }, async (t) => {
  const prefix = `/${freshName()}`
  const thread = await logThread(t, prefix, 'here')
  const log = new ClusterLog(linkTo(thread, 0, 'here'), start)
  t.ok((await log.campaign(start, start)).ok)
  for (let records = 0; records < 5; records += 1) log.appendSync(log.last, Buffer.from('x'))
  log.truncate(log.last)
  const keys = () => {
    const lines = etcd.control(['get', '--prefix', '--keys-only', `${prefix}/log/`]).split('\n')
    return lines.filter(Boolean).length
  }
  await until(() => keys() <= 1, 'all but one key are gone')
  t.equal(keys(), 1)
})
