import { createServer } from 'node:net'
import { test } from 'tap'
import { Measures } from '../../src/observe/measure/measures.js'
import { addedStatistics, nodeStatistics, parseNodeStatistics } from '../../src/observe/measure/node-statistics.js'
import { listening } from '../far-end.js'
import { GivenNode, linkTo } from './given.js'

test('a node says what it has counted, and one that does not is named with the reason', async (t) => {
  const node = await GivenNode.start(t)
  const measures = Measures.make({ frontEnds: 1, partitions: 2, queryThreads: 1 })
  measures.count('notificationsSent', 3)
  node.services = { statistics: () => nodeStatistics(measures, [() => 0]) }
  const port = await listening(t, createServer())
  const link = linkTo(t, [node.address, { node: 'd', host: '127.0.0.1', port }])
  const [first, none, late] = await Promise.all(['b', 'c', 'd'].map((name) => link.statistics(name)))
  t.match(first, { ok: true, value: { counters: { notificationsSent: 3 }, partitions: { owned: 2 } } })
  t.match(none, { ok: false, error: 'it is no member of the cluster' })
  t.match(late, { ok: false, error: 'it does not answer within 2 s' })
})

test('statistics of nodes are added up, and what is none is refused', async (t) => {
  const [one, other] = [1, 2].map((counted) => {
    const measures = Measures.make({ frontEnds: 1, partitions: counted, queryThreads: 1 })
    measures.count('notificationsSent', counted)
    if (counted === 2) measures.count('versionRequests')
    measures.replicas.row(0).put('head', 7)
    measures.delivery.meter().stored(counted)
    return nodeStatistics(measures, [() => counted])
  })
  if (one === undefined || other === undefined) return
  t.match(addedStatistics([one, other]), {
    counters: { notificationsSent: 3, versionRequests: 1 },
    notifQueue: { in: 3, out: 0 },
    partitions: { owned: 3, replicaLag_records: 11 },
  })
  const text = JSON.stringify(one)
  t.same(parseNodeStatistics(text), { ok: true, value: one })
  t.match(parseNodeStatistics('{'), { ok: false })
  t.match(parseNodeStatistics(text.replace('"lost"', '"last"')), { ok: false, error: /: lost is no number$/ })
  t.match(parseNodeStatistics(text.replace('"turns"', '"turn"')), { ok: false, error: /: turns is missing$/ })
})
