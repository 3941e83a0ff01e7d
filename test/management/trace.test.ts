import { createHook } from 'node:async_hooks'
import { mock } from 'node:test'
import { test } from 'tap'
import { bodyOf, management, row } from './given.js'

const level = (sent: string) => ({ segments: { level: sent } })

test('PUT sets exactly the levels given and answers as they were sent, GET in normal form', async (t) => {
  const { send } = management()
  t.same(bodyOf(await send('GET', '/log/trace')), { tracelevels: 'empty' })
  await send('PUT', '/log/trace/{level}', level('100-109'))
  t.same(bodyOf(await send('PUT', '/log/trace/{level}', level('38, 100-104,105'))), { tracelevels: '38, 100-104,105' })
  t.same(bodyOf(await send('GET', '/log/trace')), { tracelevels: '38, 100-105' })
})

test('DELETE takes away the levels given, or all', async (t) => {
  const { send } = management()
  await send('PUT', '/log/trace/{level}', level('19,21-25'))
  t.same(bodyOf(await send('DELETE', '/log/trace/{level}', level('23,99'))), { tracelevels_removed: '23,99' })
  t.same(bodyOf(await send('GET', '/log/trace')), { tracelevels: '19, 21-22, 24-25' })
  t.same(bodyOf(await send('DELETE', '/log/trace')), { tracelevels: 'all trace levels off' })
  t.same(bodyOf(await send('GET', '/log/trace')), { tracelevels: 'empty' })
})

test('a malformed expression is answered with 200 and changes nothing', async (t) => {
  const { send, lines } = management()
  await send('PUT', '/log/trace/{level}', level('38-40'))
  const logged = lines.length
  for (const verb of ['PUT', 'DELETE'] as const) {
    const response = await send(verb, '/log/trace/{level}', level('9-3'))
    t.equal(response.status, 200)
    t.same(bodyOf(response), { tracelevels: 'poorly formatted trace level string' })
  }
  t.same(bodyOf(await send('GET', '/log/trace')), { tracelevels: '38-40' })
  t.equal(lines.length, logged, 'nothing to log')
})

test('all four names are one resource, counted under one name', async (t) => {
  const { resources, measures, send } = management()
  t.same(row(resources, '/log/trace').aliases, ['/log/traceLevel', '/v1/admin/log/trace', '/v1/admin/log/traceLevel'])
  t.same(row(resources, '/log/trace/{level}').aliases?.[2], '/v1/admin/log/traceLevel/{level}')
  await send('GET', '/log/trace')
  await send('PUT', '/log/trace/{level}', level('5'))
  t.equal(measures.counts.flat('logRequests'), 2n)
  t.same(measures.routes.all.find(({ name }) => name === '/log/trace[/{level}]')?.verbs, ['GET', 'DELETE', 'PUT'])
})

test('a change is a line at INFO, and one of its area while that is on', async (t) => {
  const { send, lines } = management()
  await send('PUT', '/log/trace/{level}', level('5'))
  await send('PUT', '/log/trace/{level}', level('242'))
  t.match(lines, [
    { level: 'INFO', message: 'trace levels: 5' },
    { level: 'INFO', message: 'trace levels: 242' },
    { level: 'admin', message: 'PUT: trace levels: 242' },
  ])
})

test('levels that are on for a while go back by themselves, and a call without that stays', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const { send, lines } = management()
  const levels = async () => Object(bodyOf(await send('GET', '/log/trace'))).tracelevels
  const set = (sent: string, seconds?: string) =>
    send('PUT', '/log/trace/{level}', {
      ...level(sent),
      parameters: new Map(seconds === undefined ? [] : [['for', seconds]]),
    })
  await set('210')
  t.same(bodyOf(await set('38,40', '3')), { tracelevels: '38,40' })
  mock.timers.tick(2999)
  t.equal(await levels(), '38, 40')
  mock.timers.tick(1)
  t.equal(await levels(), '210')
  t.match(lines.at(-1), { message: 'trace levels: 210, as before' })
  await set('40', '1')
  await set('41', '5')
  mock.timers.tick(4999)
  t.equal(await levels(), '41', 'the second takes the place of the first')
  mock.timers.tick(1)
  t.equal(await levels(), '210', 'it returns to what was before both')
  await set('40', '1')
  await set('42')
  mock.timers.tick(60_000)
  t.equal(await levels(), '42', 'nothing goes back')
  for (const seconds of ['0', '3601', '1.5', '', 'x', '-1']) {
    const response = await set('50', seconds)
    t.equal(response.status, 400, seconds)
    t.match(bodyOf(response), { description: 'for is no whole number of seconds from 1 to 3600' })
  }
  t.same(bodyOf(await set('9-3', '5')), { tracelevels: 'poorly formatted trace level string' })
  t.equal(await levels(), '42')
})

test('however often levels are put for a while, one timer waits, and none when they are put for good', async (t) => {
  const waiting = new Set<unknown>()
  const hook = createHook({
    init: (id, type) => {
      if (type === 'Timeout') waiting.add(id)
    },
    destroy: (id) => void waiting.delete(id),
  }).enable()
  t.teardown(() => hook.disable())
  const { send } = management()
  const timers = async (parameters: ReadonlyMap<string, string>) => {
    for (let sent = 0; sent < 100; sent += 1) await send('PUT', '/log/trace/{level}', { ...level('38'), parameters })
    await new Promise((resolve) => setImmediate(resolve)) // Ends of timers are told behind the turn.
    return waiting.size
  }
  t.equal(await timers(new Map([['for', '3600']])), 1)
  t.equal(await timers(new Map()), 0)
})
