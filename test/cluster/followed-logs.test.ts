import { test } from 'tap'
import { ok } from '../../src/result.js'
import type { Engine, LogName } from '../../src/storage/etcd/engine.js'
import { FollowedLogs } from '../../src/storage/etcd/followed-logs.js'
import type { LogRecord, LogSequence } from '../../src/storage/wal/record-log.js'

/** Logs in memory, of which it is counted how often each was read. */
function followed() {
  const records = new Map<LogName, LogRecord[]>()
  let reads = 0
  let changed: (last: ReadonlyMap<LogName, LogSequence>) => void = () => {}
  const engine: Pick<Engine, 'read' | 'watchHeads'> = {
    read: async (log, after) => {
      reads += 1
      return ok((records.get(log) ?? []).filter(({ sequence }) => sequence > after))
    },
    watchHeads: (report) => {
      changed = report
      return { stop: () => {} }
    },
  }
  const logs = new FollowedLogs(engine, () => {})
  const append = (log: LogName, sequence: number): void => {
    const record = { sequence: sequence as LogSequence, bytes: new Uint8Array() }
    records.set(log, [...(records.get(log) ?? []), record])
    changed(new Map([[log, record.sequence]]))
  }
  return { logs, append, reads: () => reads }
}

const start = 0 as LogSequence

test('whoever follows a log is given records when there are some, and none when it is closed before', async (t) => {
  const { logs, append } = followed()
  logs.begin(0)
  const next = logs.next(0, start)
  const other = logs.next(1, start)
  append(0, 1)
  t.match(await next, { ok: true, value: [{ sequence: 1 }] })
  logs.close()
  t.same(await other, ok([]))
})

test('a thread that replaces another one ends its wait, so that each record is read once', async (t) => {
  const { logs, append, reads } = followed()
  t.teardown(() => logs.close())
  logs.begin(0)
  const dead = logs.next(0, start)
  const beside = logs.next(1, start)
  logs.begin(0)
  const living = logs.next(0, start)
  t.same(await dead, ok([]))
  const before = reads()
  append(0, 1)
  t.match(await living, { ok: true, value: [{ sequence: 1 }] })
  t.equal(reads(), before + 1, 'the thread that has ended reads nothing')
  append(1, 1)
  t.match(await beside, { ok: true, value: [{ sequence: 1 }] }, 'the other log is followed as before')
})
