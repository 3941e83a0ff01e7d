import { before, t as file, type Test, test } from 'tap'
import { ClusterLog } from '../../src/cluster/cluster-log.js'
import type { LogOperations } from '../../src/cluster/log-thread.js'
import { LocalLog } from '../../src/wal/local-log.js'
import { DiskLogFolder } from '../../src/wal/log-folder.js'
import { parsePosition } from '../../src/wal/log-scan.js'
import type { LogSequence, NotedLog } from '../../src/wal/record-log.js'
import { until } from '../until.js'
import { EtcdMembers, noEtcd } from './etcd-members.js'
import { freshName } from './given.js'
import { linkTo, startedLogThread } from './log-threads.js'

/** Opens the same log again and again; each time the one before was closed. */
type Opener = (applied: LogSequence) => NotedLog

const at = (sequence: number): LogSequence => sequence as LogSequence
const start = at(0)

/** In files: behind the place that was noted when it was closed last, as checkpoints note it. */
function localOpener(t: Test): Opener {
  const folder = new DiskLogFolder(`${t.testdir({})}/log`)
  const settings = { durable: true, failed: (fault: unknown) => t.fail(String(fault)) }
  const first = LocalLog.begin(folder, start, settings)
  const from = parsePosition(first.note)
  first.close()
  return () => {
    const opened = from && LocalLog.open(folder, from, settings)
    if (!opened?.ok) throw new Error('the log is damaged')
    return opened.value.log
  }
}

let etcd: EtcdMembers

if (noEtcd === false) {
  before(async () => {
    etcd = await EtcdMembers.ofRun(file)
  })
}

function clusterOpener(thread: LogOperations): Opener {
  return (applied) => {
    const writer = linkTo(thread, 0, 'here')
    return new ClusterLog(writer, applied)
  }
}

/** With the log of partition 0 begun and claimed. */
async function logThread(t: Test, prefix: string): Promise<LogOperations> {
  const thread = await startedLogThread(t, etcd, prefix, 'here')
  t.ok((await thread.begin({ description: 'a test', after: new Map([[0, start]]), nodes: undefined })).ok)
  t.ok((await thread.claim([0])).ok)
  return thread
}

/** What holds of every log that an environment may have. */
async function suite(t: Test, open: Opener): Promise<void> {
  const log = open(start)
  const first = log.last
  const texts = Array.from({ length: 30 }, (_, number) => `record ${number} ${'x'.repeat(number * 100)}`)
  for (const [number, text] of texts.entries()) {
    const bytes = Buffer.from(text)
    const outcome = number % 2 === 0 ? log.appendSync(log.last, bytes) : await log.append(log.last, bytes)
    t.same(outcome, { ok: true, value: first + number + 1 })
  }
  t.equal(log.last, first + texts.length)
  const fenced = { ok: false, error: { kind: 'fenced', last: log.last } }
  if (log instanceof LocalLog) t.same(log.appendSync(at(log.last - 1), Buffer.from('late')), fenced)
  log.close()

  const again = open(start)
  const read = [...again.records(first)].map(({ sequence, bytes }) => [sequence, Buffer.from(bytes).toString()])
  t.same(
    read,
    texts.map((text, number) => [first + number + 1, text]),
  )
  t.equal([...again.records(again.last)].length, 0)
  again.truncate(again.last)
  t.ok(again.appendSync(again.last, Buffer.from('after the truncation')).ok, 'the last record stays')
  t.same([...again.records(at(again.last - 1))].length, 1)
  again.close()
}

test('a log in files keeps what was appended, in order', (t) => suite(t, localOpener(t)))

test('a log in etcd keeps what was appended, in order', { skip: noEtcd }, async (t) => {
  const prefix = `/${freshName()}`
  await suite(t, clusterOpener(await logThread(t, prefix)))
})

test('a log that does not go on where a folder is, is not opened', { skip: noEtcd }, async (t) => {
  const open = clusterOpener(await logThread(t, `/${freshName()}`))
  t.throws(() => open(at(17)), { name: 'DamagedRecord', message: /ends at record 1, and this folder has applied 17/ })
})

test('while the process ends a log is still followed: that there is no more of it is no silence', {
  skip: noEtcd,
}, async (t) => {
  const prefix = `/${freshName()}`
  const logs: ClusterLog[] = []
  let end = (): void => {}
  for (const node of ['a', 'b']) {
    const thread = await startedLogThread(t, etcd, prefix, node)
    await thread.begin({ description: 'a test', after: new Map([[0, start]]), nodes: undefined })
    thread.follow({ copies: 2, nodes: [] }, new Map())
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
  t.ok((await owner.claim(start, start)).ok)
  t.match(await more, [{ kind: 'claim', node: 'a', sequence: 1 }])
})

test('what was truncated goes, but for the last record', { skip: noEtcd }, async (t) => {
  const prefix = `/${freshName()}`
  const log = clusterOpener(await logThread(t, prefix))(start)
  for (let records = 0; records < 5; records += 1) log.appendSync(log.last, Buffer.from('x'))
  log.truncate(log.last)
  const keys = () => {
    const lines = etcd.control(['get', '--prefix', '--keys-only', `${prefix}/log/`]).split('\n')
    return lines.filter(Boolean).length
  }
  await until(() => keys() <= 1, 'all but one key are gone')
  t.equal(keys(), 1)
})
