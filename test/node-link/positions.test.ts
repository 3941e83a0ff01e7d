import { createServer } from 'node:net'
import { type Test, test } from 'tap'
import type { LogName } from '../../src/storage/etcd/engine.js'
import type { LogSequence } from '../../src/storage/wal/record-log.js'
import { listening } from '../far-end.js'
import { until } from '../until.js'
import { CuttingProxy } from './cutting-proxy.js'
import { GivenNode, linkTo } from './given.js'

function at(sequence: number): LogSequence {
  return sequence as LogSequence
}

test('a node says the last acknowledged sequences of the partitions that it may confirm', async (t) => {
  const node = await GivenNode.start(t)
  node.services = {
    positions: (logs) => logs.map((log) => (log === 1 ? undefined : at(log === 'control' ? 7 : log * 10))),
  }
  const link = linkTo(t, [node.address])
  t.same(await link.positions('b', [1, 2, 3]), {
    ok: true,
    value: new Map([2, 3].map((number) => [number, number * 10])),
  })
  t.same(await link.positions('b', ['control']), { ok: true, value: new Map([['control', 7]]) })
  t.same(await link.positions('b', []), { ok: true, value: new Map() })
})

test('one question is under way, and all who come meanwhile share the next one, which is asked after they came', async (t) => {
  const node = await GivenNode.start(t)
  const proxy = await CuttingProxy.before(t, node)
  const questions: (readonly LogName[])[] = []
  let last = 4
  node.services = {
    positions: (partitions) => {
      questions.push(partitions)
      last += 1
      return partitions.map(() => at(last))
    },
  }
  const link = linkTo(t, [proxy.address('b')])
  proxy.hold()
  const first = link.positions('b', [3])
  await new Promise((resolve) => setImmediate(resolve))
  const meanwhile = [link.positions('b', [1]), link.positions('b', [2, 1]), link.positions('b', [3])]
  proxy.release()
  t.match(await first, { value: new Map([[3, 5]]) })
  const responses = await Promise.all(meanwhile)
  t.same(questions, [[3], [1, 2, 3]])
  for (const response of responses) t.match(response, { value: new Map([1, 2, 3].map((number) => [number, 6])) })
})

test('a node that is not reached, refuses, or does not answer in time is silent, with the reason; later ones are asked again', async (t) => {
  const node = await GivenNode.start(t)
  const proxy = await CuttingProxy.before(t, node)
  node.services = { positions: (partitions) => partitions.map(() => at(1)) }
  const link = linkTo(t, [proxy.address('b')])
  proxy.refuse(true)
  t.match(await link.positions('b', [0]), { ok: false, error: { kind: 'nodeSilent' } })
  proxy.refuse(false)
  t.match(await link.positions('b', [0]), { ok: true })
  proxy.hold()
  const held = link.positions('b', [0])
  const next = link.positions('b', [0])
  t.match(await held, { ok: false, error: { kind: 'nodeSilent' } }, 'after its time')
  proxy.release()
  t.match(await next, { ok: true })
  const foreign = linkTo(t, [node.address], undefined, { cluster: 'd' })
  t.match(await foreign.positions('b', [0]), { error: { reason: /409: .*this is node b of cluster c/ } })
  t.match(await link.positions('x', [0]), { error: { reason: 'node x is no member of the cluster' } })
})

test('a response that is not one to the question is none', async (t) => {
  const node = await GivenNode.start(t)
  const link = linkTo(t, [node.address])
  const wrong: readonly unknown[] = [[], [1, 2], ['1'], [-1], [0.5], [{}]]
  let requests = 0
  node.services = {
    positions: () => {
      requests += 1
      return wrong[requests - 1] as readonly LogSequence[]
    },
  }
  for (const response of wrong) {
    t.match(await link.positions('b', [0]), { ok: false, error: { reason: /200/ } }, JSON.stringify(response))
  }
  await until(() => requests === wrong.length)
})

/** Where something listens that answers nothing. */
async function silent(t: Test): Promise<{ readonly host: string; readonly port: number }> {
  return { host: '127.0.0.1', port: await listening(t, createServer()) }
}

test('nothing stays open to where a node was that listens elsewhere, or is no member any more', async (t) => {
  const node = await GivenNode.start(t)
  node.services = { positions: () => [at(7)] }
  const addresses = [{ node: 'b', ...(await silent(t)) }, node.address, { node: 'c', ...(await silent(t)) }]
  const link = linkTo(t, addresses)
  const ended: string[] = []
  for (const name of ['b', 'c']) void link.heartbeat(name, 1).then(() => ended.push(name))
  /** Asks again until enough has ended, but not for as long as what is open has time. */
  const areEnded = async (names: readonly string[]): Promise<void> => {
    for (let requests = 0; requests < 10 && ended.length < names.length; requests += 1) {
      t.match(await link.positions('b', [0]), { ok: true })
    }
    t.same(ended, names)
  }
  addresses.shift()
  await areEnded(['b'])
  addresses.pop()
  t.match(await link.positions('c', [0]), { error: { reason: /no member/ } })
  await areEnded(['b', 'c'])
})
