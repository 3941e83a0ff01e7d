import { test } from 'tap'
import type { Countable } from '../../src/observe/measure/counted-routes.js'
import { maxRoutes, Routes, verbIndex } from '../../src/observe/measure/counted-routes.js'
import { counterColumn } from '../../src/observe/measure/counters.js'
import { Measures } from '../../src/observe/measure/measures.js'
import { StageSums } from '../../src/observe/measure/requests.js'

const update: Countable = { pattern: '/v1/updateContext', counter: 'updates', operations: { POST: true } }
const level: Countable = { pattern: '/a/{b}', countedAs: '/a[/{b}]', counter: 'logRequests', operations: { PUT: true } }
const levels: Countable = { pattern: '/a', countedAs: '/a[/{b}]', counter: 'logRequests', operations: { GET: true } }
const health: Countable = { pattern: '/health', polled: true, operations: { GET: true } }
const resources = [update, level, levels, health]

function given() {
  const measures = Measures.make({ frontEnds: 2, partitions: 1, queryThreads: 0 })
  const requests = measures.requests(resources)
  const request = (route: number, verb: string) =>
    Number(measures.counts.nested(measures.counts.requestColumn(route, verbIndex(verb))))
  return { measures, requests, countOf: request }
}

test('patterns that share a name are one route with the verbs of all', async (t) => {
  const routes = new Routes(resources)
  t.same(
    routes.all.map(({ name, verbs, counted }) => [name, verbs, counted]),
    [
      ['unknown', [], false],
      ['/v1/updateContext', ['POST'], true],
      ['/a[/{b}]', ['PUT', 'GET'], true],
      ['/health', ['GET'], false],
      ['console', [], false],
    ],
  )
  t.equal(routes.indexOf(levels), routes.indexOf(level))
})

test('more resources than the tables have room for are a fault', async (t) => {
  const many = Array.from({ length: maxRoutes }, (_, n) => ({ pattern: `/${n}`, operations: {} }))
  t.throws(() => new Routes(many), /more than can be counted/)
})

test('a request counts for its resource, its payload and its verb, in the sum over the front ends', async (t) => {
  const { measures, requests, countOf: request } = given()
  const other = new Measures(measures.memory, 1).requests(resources)
  requests.counted(update, 'POST', 'json', false)
  other.counted(update, 'POST', 'json', false)
  t.equal(measures.counts.flat('updates'), 2n)
  t.equal(measures.counts.flat('jsonRequests'), 2n)
  t.equal(request(1, 'POST'), 2)
})

test('a wrong verb counts for its resource and as missed, but not among the requests', async (t) => {
  const { measures, requests, countOf: request } = given()
  requests.counted(update, 'GET', 'none', true)
  t.equal(measures.counts.flat('updates'), 1n)
  t.equal(measures.counts.nested(counterColumn('missedVerb')), 1n)
  t.equal(measures.counts.nested(counterColumn('noPayloadRequests')), 1n)
  t.equal(request(1, 'GET'), 0)
})

test('an unknown path counts as invalid, and what machines poll not at all', async (t) => {
  const { measures, requests } = given()
  requests.counted(undefined, 'GET', 'none', false)
  requests.counted(health, 'GET', 'none', false)
  t.equal(measures.counts.flat('invalidRequests'), 1n)
  t.equal(measures.counts.nested(counterColumn('noPayloadRequests')), 1n)
})

test('a counter that does not exist is a fault of the table', async (t) => {
  const { measures } = given()
  t.throws(() => measures.requests([{ ...update, counter: 'upd' }]), /no counter upd/)
})

test('the last request is the one that ended last, on whichever front end, and none after a reset', async (t) => {
  const { measures, requests } = given()
  const other = new Measures(measures.memory, 1).requests(resources)
  const [first, second, third] = [new StageSums(), new StageSums(), new StageSums()]
  requests.stage('total', 5n, first)
  requests.stage('render', 2n, first)
  requests.stagesDone(first)
  other.stage('total', 7n, second)
  other.stagesDone(second)
  t.same([...measures.timing.last], [['total', 7n]])
  t.same(Object.fromEntries(measures.timing.accumulated), { render: 2n, total: 12n })
  measures.reset(process.hrtime.bigint())
  t.equal(measures.timing.last.size, 0)
  t.equal(measures.timing.accumulated.size, 0)
  requests.stage('total', 1n, third)
  requests.stagesDone(third)
  t.same([...measures.timing.last], [['total', 1n]], 'without the stages of the request before')
})

test('the stages of the last request are its own, whatever went on beside it', async (t) => {
  const { measures, requests } = given()
  const [one, two] = [new StageSums(), new StageSums()]
  requests.stage('jsonV1Parse', 1n, one)
  requests.stage('jsonV1Parse', 10n, two)
  requests.stage('mongoReadWait', 20n, two)
  requests.stage('render', 2n, one)
  requests.stage('total', 3n, one)
  requests.stagesDone(one)
  t.same(Object.fromEntries(measures.timing.last), { jsonV1Parse: 1n, render: 2n, total: 3n })
  requests.stage('render', 100n, undefined)
  requests.stage('total', 30n, two)
  requests.stagesDone(two)
  t.same(Object.fromEntries(measures.timing.last), { jsonV1Parse: 10n, mongoReadWait: 20n, total: 30n })
  t.same(Object.fromEntries(measures.timing.accumulated), {
    jsonV1Parse: 11n,
    mongoReadWait: 20n,
    render: 102n,
    total: 33n,
  })
})

test('connections, requests and permits are shown as they stand', async (t) => {
  const { measures, requests } = given()
  requests.connectionOpened()
  requests.connectionOpened()
  requests.connectionClosed()
  requests.requestBegun()
  requests.permits(10, 3, 1)
  requests.rejected('too_large')
  const { frontEnds } = measures
  t.same([frontEnds.value('connections'), frontEnds.value('inFlight')], [1, 1])
  t.same(
    [frontEnds.value('permits.free'), frontEnds.value('permits.taken'), frontEnds.value('permitsQueued')],
    [10, 3, 1],
  )
  t.equal(frontEnds.value('rejected.too_large'), 1)
  requests.requestEnded()
  t.equal(frontEnds.value('inFlight'), 0)
})
