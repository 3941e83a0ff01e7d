import { type Test, test } from 'tap'
import { Appender } from '../../src/storage/etcd/appender.js'
import { encodeClusterRecord } from '../../src/storage/etcd/cluster-record.js'
import type { Engine, LogName, Offer } from '../../src/storage/etcd/engine.js'
import type { Appended, LogSequence } from '../../src/storage/wal/record-log.js'

const at = (sequence: number): LogSequence => sequence as LogSequence

const duplicateKey = 'etcdserver: duplicate key given in txn request'

/** What logs hold, by the rules of etcd: a key stands once in a request, and a record right behind the last one. */
class LogsInMemory implements Pick<Engine, 'append'> {
  readonly records = new Map<LogName, Uint8Array[]>()
  /** The logs of each request. */
  readonly requests: LogName[][] = []
  /** So many requests are carried out and not answered. */
  unanswered = 0

  async append(offers: readonly Offer[]): ReturnType<Engine['append']> {
    const logs = offers.map(({ log }) => log)
    this.requests.push(logs)
    await new Promise((resolve) => setImmediate(resolve))
    if (new Set(logs).size < logs.length) return { ok: false, error: { kind: 'unavailable', reason: duplicateKey } }
    const outcomes = offers.map((offer) => this.#taken(offer))
    if (this.unanswered === 0) return { ok: true, value: outcomes }
    this.unanswered -= 1
    return { ok: false, error: { kind: 'unavailable', reason: 'the response was lost' } }
  }

  #taken({ log, expected, bytes, isOwn }: Offer): Appended {
    if (log === 'control') return { ok: false, error: { kind: 'invalid', reason: 'key is not provided' } }
    const records = this.records.get(log) ?? []
    this.records.set(log, records)
    const standing = records[expected]
    if (standing !== undefined && isOwn(standing)) return { ok: true, value: at(expected + 1) }
    if (records.length !== expected) return { ok: false, error: { kind: 'fenced', last: at(records.length) } }
    records.push(bytes)
    return { ok: true, value: at(expected + 1) }
  }
}

function given(t: Test) {
  const logs = new LogsInMemory()
  const unanswered: string[] = []
  const invalid: string[] = []
  const appender = new Appender(logs, {
    answered: () => {},
    unanswered: (reason) => {
      if (unanswered.push(reason) > 3) appender.close()
    },
    invalid: (reason) => invalid.push(reason),
  })
  t.teardown(() => appender.close())
  return { logs, appender, unanswered, invalid }
}

function election(node: string): Buffer {
  const [payload, epoch, metadataVersion] = [new Uint8Array(), at(0), at(0)]
  return encodeClusterRecord({ kind: 'election', epoch, time_ms: 1, metadataVersion, node, payload })
}

const first = { ok: true, value: 1 }
const fenced = { ok: false, error: { kind: 'fenced', last: 1 } }

test('the election record of a dead thread and that of its successor leave one after the other, and no other log waits for them', async (t) => {
  const { logs, appender, unanswered } = given(t)
  // Two requests are under way, so that what follows leaves together.
  const before = [8, 9].map((log) => appender.append(log, at(0), election('here')))
  const outcomes = [0, 0, 1].map((log, number) => appender.append(log, at(0), election(`${number}`)))
  t.same(await Promise.race([Promise.all(outcomes), silence(t)]), [first, fenced, first])
  t.same(await Promise.all(before), [first, first])
  t.same(unanswered, [])
  t.same(logs.requests, [[8], [9], [0, 1], [0]])
})

test('a second record of a log waits until it is known what became of the first one', async (t) => {
  const { logs, appender, unanswered } = given(t)
  logs.unanswered = 1
  const dead = appender.append(0, at(0), election('dead'))
  const successor = appender.append(0, at(0), election('successor'))
  t.same(await Promise.race([Promise.all([dead, successor]), silence(t)]), [first, fenced])
  t.same(unanswered, ['the response was lost'])
  t.equal(logs.records.get(0)?.length, 1)
  t.same(logs.requests, [[0], [0], [0]])
})

test('a record that is refused as invalid is not offered again, and its reason is told', async (t) => {
  const { logs, appender, invalid } = given(t)
  const reason = 'key is not provided'
  const outcome = await Promise.race([appender.append('control', at(0), election('here')), silence(t)])
  t.same(outcome, { ok: false, error: { kind: 'invalid', reason } })
  t.same(invalid, [reason])
  t.equal(logs.requests.length, 1)
})

/** Resolves when offers go on without an end. */
function silence(t: Test): Promise<'nothing'> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, 20_000, 'nothing')
    t.teardown(() => clearTimeout(timer))
  })
}
