import type { Test } from 'tap'
import type { CallFault, EtcdCalls } from '../../src/storage/etcd/etcd-client.js'
import { EtcdEngine } from '../../src/storage/etcd/etcd-engine.js'
import {
  compareEqual,
  compareVersion,
  type RequestOp,
  type WatchResponse,
} from '../../src/storage/etcd/etcd-protocol.js'
import type { LogSequence } from '../../src/storage/wal/record-log.js'
import { until } from '../until.js'

const at = (sequence: number): LogSequence => sequence as LogSequence

function puts(key: string, value = 'value'): RequestOp {
  return { requestPut: { key, value: Buffer.from(value) } }
}

/** What this program takes for granted of etcd, asked of one, real or in memory, below a prefix that nobody else has. */
export async function checkRules(t: Test, etcd: EtcdCalls, prefix: string): Promise<void> {
  await t.test('a key is put once in a transaction', async (t) => {
    const [a, b] = [`${prefix}/once/a`, `${prefix}/once/b`]
    const nested = (key: string): RequestOp => ({ requestTxn: { compare: [], success: [puts(key)], failure: [] } })
    const outcome = async (...success: readonly RequestOp[]) => {
      const called = await etcd.call('txn', { compare: [], success, failure: [] })
      return called.ok ? 'taken' : called.error.kind
    }
    t.equal(await outcome(puts(a), puts(b)), 'taken')
    t.equal(await outcome(puts(a), puts(a)), 'invalid')
    t.equal(await outcome(puts(a), nested(a)), 'invalid')
    t.equal(await outcome(nested(a), nested(a)), 'invalid')
    t.equal(await outcome(nested(a), nested(b)), 'taken')
    t.equal(await outcome(puts(a), { requestDeleteRange: { key: a } }), 'invalid')
    const branches = { compare: [], success: [puts(a)], failure: [puts(a)] }
    t.equal(await outcome({ requestTxn: branches }), 'taken', 'of which one is carried out')
    t.equal(await outcome(puts('')), 'invalid')
    t.equal(await outcome(...Array.from({ length: 129 }, (_, number) => puts(`${a}${number}`))), 'invalid')
  })

  await t.test('a transaction is carried out where its comparisons hold', async (t) => {
    const key = `${prefix}/compared`
    const fresh = { result: compareEqual, target: compareVersion, key, version: 0 } as const
    const request = { compare: [fresh], success: [puts(key)], failure: [{ requestRange: { key } }] }
    const [first, second] = [await etcd.call('txn', request), await etcd.call('txn', request)]
    t.ok(first.ok && first.value.succeeded)
    if (!second.ok) throw new Error(second.error.reason)
    t.notOk(second.value.succeeded)
    t.equal(second.value.responses[0]?.responseRange?.kvs[0]?.value.toString(), 'value')
  })

  await t.test('a log takes a record right behind its last one', async (t) => {
    const engine = new EtcdEngine({ urls: [] }, `${prefix}/engine`, etcd)
    t.same(await engine.begin('what it is', new Map([[0, at(0)]]), 'its nodes'), { ok: true, value: true })
    t.same(await engine.begin('what it is', new Map([[0, at(3)]]), 'its nodes'), { ok: true, value: false })
    const offer = (expected: number, text: string) => {
      const bytes = Buffer.from(text)
      return { log: 0, expected: at(expected), bytes, isOwn: (standing: Uint8Array) => bytes.equals(standing) }
    }
    const [first, other] = [offer(0, 'first'), offer(0, 'other')]
    const fenced = { ok: false, error: { kind: 'fenced', last: 1 } }
    t.same(await engine.append([first]), { ok: true, value: [{ ok: true, value: 1 }] })
    t.same(await engine.append([first]), { ok: true, value: [{ ok: true, value: 1 }] }, 'it stands there')
    t.same(await engine.append([other]), { ok: true, value: [fenced] })
    t.same(await engine.append([offer(1, 'a'), offer(1, 'b')]), {
      ok: true,
      value: [
        { ok: true, value: 2 },
        { ok: false, error: { kind: 'fenced', last: 2 } },
      ],
    })
    await engine.truncate(new Map([[0, at(1)]]))
    t.same(await engine.extent(0), { ok: true, value: { first: 2, last: 2 } })
    t.same(await engine.read(0, at(0)), { ok: false, error: { kind: 'behind', first: 2 } })
  })

  await t.test('a watch goes on from a revision, unless that is compacted', async (t) => {
    const key = `${prefix}/watched/a`
    const responses: WatchResponse[] = []
    const fail = ({ reason }: CallFault): void => {
      t.fail(reason)
    }
    const put = async (value: string): Promise<number> => {
      const called = await etcd.call('txn', { compare: [], success: [puts(key, value)], failure: [] })
      if (!called.ok) throw new Error(called.error.reason)
      return called.value.header.revision
    }
    const startRevision = await put('1')
    const createRequest = { key: `${prefix}/watched/`, rangeEnd: `${prefix}/watched0`, startRevision }
    const values = () => responses.flatMap(({ events }) => events.map(({ kv }) => kv.value.toString()))
    await put('2')
    const watch = etcd.open('watch', { createRequest }, (response) => responses.push(response), fail)
    await put('3')
    await until(() => values().length >= 3)
    t.same(values(), ['1', '2', '3'])
    watch.close()
    t.ok((await etcd.call('compact', { revision: await put('4') })).ok)
    let isCanceled = false
    const heard = ({ canceled }: WatchResponse): void => {
      isCanceled ||= canceled
    }
    const late = etcd.open('watch', { createRequest }, heard, fail)
    await until(() => isCanceled)
    late.close()
  })

  await t.test('a key goes with its lease', async (t) => {
    const [key, ID] = [`${prefix}/leased`, 1 + Math.floor(Math.random() * 2 ** 40)]
    const lease = await etcd.call('leaseGrant', { ID, TTL: 60 })
    t.ok(lease.ok && lease.value.TTL >= 60)
    const again = await etcd.call('leaseGrant', { ID, TTL: 60 })
    t.ok(!again.ok && again.error.kind === 'refused')
    const leased = { requestPut: { key, value: Buffer.from('here'), lease: ID } }
    t.ok((await etcd.call('txn', { compare: [], success: [leased], failure: [] })).ok)
    t.ok((await etcd.call('leaseRevoke', { ID })).ok)
    const read = await etcd.call('range', { key })
    t.same(read.ok && read.value.kvs, [])
    const left = await etcd.call('leaseTimeToLive', { ID })
    t.equal(left.ok && left.value.TTL, -1)
    const late = await etcd.call('txn', { compare: [], success: [leased], failure: [] })
    t.ok(!late.ok && late.error.kind === 'refused')
  })
}
