import { test } from 'tap'
import { type ProcessPeers, type Shared, type SharedPartOf, sharedPartOf } from '../../src/api/management/parts.js'
import { metricsText } from '../../src/api/management/service-metrics.js'
import { Peers } from '../../src/broker/front-end/peers.js'
import { Measures } from '../../src/observe/measure/measures.js'
import { packed, unpacked } from '../../src/observe/measure/packed-counts.js'
import { noCounts, type ServiceCount } from '../../src/observe/measure/service-metrics.js'
import { atOnce } from '../../src/slices.js'
import { during, until } from '../until.js'
import { bodyOf, management, parameters, withoutPeers } from './given.js'

const responded = {
  ...{ resource: undefined, verb: 'GET', status: 200, request_bytes: 0, response_bytes: 23, duration: 2_000_000n },
  ...{ service: 'acme', servicePath: '/halls' },
}

const textOf = (counts: readonly ServiceCount[]) => metricsText(atOnce(packed(counts)))

test('metrics are shown by service and subservice with their sums, without those that are zero', async (t) => {
  const { send, requests } = management()
  t.same(bodyOf(await send('GET', '/admin/metrics')), { services: {}, sum: { subservs: {}, sum: {} } })
  requests.responded(responded)
  requests.responded({ ...responded, service: 'beta', status: 400, duration: 1_000_000n })
  const good = { incomingTransactions: 1, incomingTransactionResponseSize: 23, serviceTime: 0.002 }
  const bad = { ...good, incomingTransactionErrors: 1, serviceTime: 0.001 }
  const both = {
    incomingTransactions: 2,
    incomingTransactionResponseSize: 46,
    incomingTransactionErrors: 1,
    serviceTime: 0.0015,
  }
  t.same(bodyOf(await send('GET', '/admin/metrics')), {
    services: {
      acme: { subservs: { halls: good }, sum: good },
      beta: { subservs: { halls: bad }, sum: bad },
    },
    sum: { subservs: { halls: both }, sum: both },
  })
})

test('what had no room for a name of its own is in the overall sum', async (t) => {
  const count = { ...noCounts(), transactions: 1, service: undefined, subservice: undefined }
  t.same(JSON.parse(atOnce(textOf([count]))), {
    services: {},
    sum: { subservs: {}, sum: { incomingTransactions: 1 } },
  })
})

test('others wait only for the metrics of one subservice', (t) => {
  const count = { ...noCounts(), transactions: 1 }
  const pairs = Array.from({ length: 1000 }, (_, at) => ({ ...count, service: `s${at}`, subservice: `p${at % 100}` }))
  t.equal([...textOf(pairs)].length, 1000 + 1000 + 100, 'added up, then shown by service, and together')
  t.match(JSON.parse(atOnce(textOf(pairs))), {
    services: { s7: { subservs: { p7: { incomingTransactions: 1 } }, sum: { incomingTransactions: 1 } } },
    sum: { subservs: { p7: { incomingTransactions: 10 } }, sum: { incomingTransactions: 1000 } },
  })
  t.end()
})

test('DELETE and reset=true leave nothing', async (t) => {
  const { send, requests } = management()
  const transactions = async (reset = 'false') =>
    Object(bodyOf(await send('GET', '/admin/metrics', parameters(['reset', reset])))).sum.sum.incomingTransactions
  requests.responded(responded)
  t.equal(await transactions('true'), 1)
  t.equal(await transactions('TRUE'), undefined)
  requests.responded(responded)
  t.equal(await transactions('TRUE'), 1, 'only the value true resets')
  t.same(await send('DELETE', '/admin/metrics'), { status: 204 })
  t.equal(await transactions(), undefined)
})

test('the parts of all front ends are added up', async (t) => {
  const measures = Measures.make({ frontEnds: 2, partitions: 1, queryThreads: 0 })
  const other = new Measures(measures.memory, 1)
  const responses: readonly SharedPartOf[] = [sharedPartOf(measures), sharedPartOf(other)]
  const peers: ProcessPeers = {
    gather: (name, request) => Promise.all(responses.map((response) => response(name, request))),
  }
  const { send, requests } = management({ measures, peers })
  requests.responded(responded)
  other.requests([]).responded(responded)
  t.match(bodyOf(await send('GET', '/admin/metrics')), { sum: { sum: { incomingTransactions: 2 } } })
  await send('DELETE', '/admin/metrics')
  t.equal(other.services.take(false).length, 0)
})

test('what a front end tells too late for the reply to a reset is in the next reply, once', async (t) => {
  const measures = Measures.make({ frontEnds: 2, partitions: 1, queryThreads: 0 })
  const other = new Measures(measures.memory, 1)
  const own = sharedPartOf(measures)
  const others = sharedPartOf(other)
  let responses = Promise.resolve()
  const failed = (fault: unknown): void => {
    t.fail(String(fault))
  }
  const peers = new Peers(0, 2, own, failed)
  const slow: SharedPartOf = async (name, request) => {
    const part = await others(name, request)
    await responses
    return part
  }
  const peer = new Peers<Shared>(1, 2, slow, failed)
  t.teardown(() => {
    for (const each of [peers, peer]) each.close()
  })
  const { send, requests } = management({ measures, peers })
  const transactions = async (...given: readonly (readonly [string, string])[]) =>
    Object(bodyOf(await send('GET', '/admin/metrics', parameters(...given)))).sum.sum.incomingTransactions
  const reset = ['reset', 'true'] as const

  requests.responded(responded)
  for (const service of ['acme', 'beta', 'beta']) other.requests([]).responded({ ...responded, service })
  let wake = () => {}
  responses = new Promise((resolve) => {
    wake = resolve
  })
  t.equal(await transactions(reset), 1, 'the other one stands still')
  wake()
  await until(() => measures.services.take(false).length >= 2)
  t.equal(await transactions(), 3)
  requests.responded(responded)
  t.equal(await transactions(reset), 4)
  t.equal(await transactions(reset), undefined)

  responses = new Promise((resolve) => {
    wake = resolve
  })
  other.requests([]).responded(responded)
  t.same(await send('DELETE', '/admin/metrics'), { status: 204 })
  wake()
  t.equal(await transactions(), undefined, 'DELETE has no reply that could lack something')
})

test('this front end is asked before the call returns', async (t) => {
  const measures = Measures.make({ frontEnds: 1, partitions: 1, queryThreads: 0 })
  const { gather } = withoutPeers(sharedPartOf(measures))
  measures.services.record(responded)
  const gathered = gather('services', { reset: true })
  measures.services.record(responded)
  t.match((await gathered).flat().flatMap(unpacked), [{ transactions: 1 }])
  t.match(measures.services.take(false), [{ transactions: 1 }])
})

/** Metrics of a front end whose gatherings are counted, and take until they are let go on. */
function gathered() {
  const measures = Measures.make({ frontEnds: 1, partitions: 1, queryThreads: 0 })
  const response = sharedPartOf(measures)
  const counted = { gatherings: 0, goOn: () => {} }
  const peers: ProcessPeers = {
    gather: async (name, request) => {
      counted.gatherings += 1
      const part = await response(name, request)
      await new Promise<void>((resolve) => {
        counted.goOn = resolve
      })
      return [part]
    },
  }
  const { send, requests } = management({ measures, peers })
  const transactions = async (reset = 'false') =>
    Object(bodyOf(await send('GET', '/admin/metrics', parameters(['reset', reset])))).sum.sum.incomingTransactions
  return { counted, requests, transactions }
}

test('metrics are gathered once for all who ask before that begins, and again for those who ask meanwhile', async (t) => {
  const { counted, requests, transactions } = gathered()
  requests.responded(responded)
  const first = Array.from({ length: 10 }, () => transactions())
  await until(() => counted.gatherings === 1)
  await new Promise(setImmediate)
  requests.responded(responded)
  const later = Array.from({ length: 10 }, () => transactions())
  await new Promise(setImmediate)
  t.equal(counted.gatherings, 1, 'one at a time')
  counted.goOn()
  t.same(new Set(await Promise.all(first)), new Set([1]))
  await until(() => counted.gatherings === 2)
  await new Promise(setImmediate)
  counted.goOn()
  t.same(new Set(await Promise.all(later)), new Set([2]), 'with what was counted before they asked')
})

test('each reset takes what is there, and who asks behind it sees nothing of that', async (t) => {
  const { counted, requests, transactions } = gathered()
  requests.responded(responded)
  const all = [transactions(), transactions('true'), transactions(), transactions('true')]
  for (let gathering = 1; gathering <= 4; gathering += 1) {
    await until(() => counted.gatherings === gathering)
    await new Promise(setImmediate)
    counted.goOn()
  }
  t.same(await Promise.all(all), [1, 1, undefined, undefined])
})

test('a long text counts in the memory of large responses, unless it is the last of what was reset', async (t) => {
  const { send, requests } = management()
  requests.responded(responded)
  t.match(await send('GET', '/admin/metrics'), { isCounted: true })
  t.match(await send('GET', '/admin/metrics', parameters(['reset', 'true'])), { isCounted: false })
})

test('long texts are sent in a turn of the event loop each', async (t) => {
  const { send, requests } = management()
  for (let at = 0; at < 1000; at += 1) requests.responded({ ...responded, servicePath: `/halls/h${at}` })
  const sent: number[] = []
  let turn = 0
  const all = Promise.all(
    Array.from({ length: 10 }, async () => {
      await send('GET', '/admin/metrics')
      sent.push(turn)
    }),
  )
  await during(all, () => {
    turn += 1
  })
  t.equal(new Set(sent).size, 10)
})

test('with -disableMetrics nothing is recorded, and asking is an error', async (t) => {
  const { send, requests, measures } = management()
  measures.switches.set('disableMetrics', 1)
  requests.responded(responded)
  t.equal(measures.services.take(false).length, 0)
  for (const verb of ['GET', 'DELETE'] as const) {
    const response = await send(verb, '/admin/metrics')
    t.equal(response.status, 400)
    t.same(bodyOf(response), { error: 'BadRequest', description: 'metrics desactivated' })
  }
})
