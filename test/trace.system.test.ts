import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'tap'
import { RunningBroker } from './running.js'
import { isStill, until } from './until.js'

const update = { id: 'Pump4', attributes: [{ name: 'level', value: '1' }] }

interface TraceLine {
  readonly time: string
  readonly area: string
}

/** What was traced until now. */
function traced(broker: RunningBroker): readonly TraceLine[] {
  const lines = broker.output.split('\n').filter((line) => line.includes('"area"'))
  return lines.map((line) => JSON.parse(line) as TraceLine)
}

/** The areas that have spoken, once all that should be among them are there, and no line has come for a moment. */
async function areas(broker: RunningBroker, ...expected: readonly string[]): Promise<ReadonlySet<string>> {
  return until(async () => {
    await isSilent(broker)
    const spoken = new Set(traced(broker).map(({ area }) => area))
    return expected.every((area) => spoken.has(area)) && spoken
  }, `lines of the areas ${expected.join()}`)
}

/** Waits until the broker writes no lines. */
async function isSilent(broker: RunningBroker): Promise<void> {
  await until(
    isStill(60, () => broker.output.length),
    'the broker writes nothing',
  )
}

test('a single element is traced by the partition that parses it, with strict ids too', async (t) => {
  const broker = await RunningBroker.start(t, ['-partitions', '1', '-strictNgsiv1Ids', '-t', '40,42'])
  await broker.update('APPEND', update)
  t.same(await areas(broker, 'parse'), new Set(['parse']))
  const response = await broker.update('APPEND', { ...update, id: 'Pump?' })
  t.match(response.json, { errorCode: { code: '400' } })
  t.same(await areas(broker, 'parse', 'parse.check'), new Set(['parse', 'parse.check']))
})

test('the stages of an update are timed, by whichever thread they are done', async (t) => {
  const broker = await RunningBroker.start(t, ['-partitions', '1', '-statTiming'])
  const stages = ['jsonV1Parse', 'mongoBackend', 'mongoWriteWait', 'render', 'total']
  const spent = async () => {
    const { timing } = (await broker.send('GET', '/statistics')).json as {
      timing: { accumulated: object; last: Record<string, number> }
    }
    await broker.send('DELETE', '/statistics')
    return timing.last
  }
  for (const elements of [[update], [update, { ...update, id: 'Pump5' }]]) {
    await broker.update('APPEND', ...elements)
    const { total = 0, ...parts } = await spent()
    t.same(Object.keys({ ...parts, total }), stages)
    t.ok(Object.values(parts).reduce((sum, part) => sum + part) < total)
  }
  await broker.update('APPEND', { ...update, id: '' })
  t.match(await spent(), { jsonV1Parse: Number, total: Number })
  for (const actionType of ['append', 'burn']) {
    await broker.send('POST', '/v2/op/update', { actionType, entities: [{ id: 'Pump6', level: { value: 1 } }] })
    const { total = 0, ...parts } = await spent()
    t.same(Object.keys(parts)[0], 'jsonV2Parse', 'and no stage of the other interface')
    t.ok(Object.values(parts).reduce((sum, part) => sum + part) < total)
  }
})

test('a trace level that is on shows the lines of its area, of every thread, whatever the log level', async (t) => {
  const broker = await RunningBroker.start(t, ['-logLevel', 'ERROR', '-partitions', '1', '-httpThreads', '2'])
  await broker.update('APPEND', update)
  t.same(await areas(broker), new Set())
  const on = () => broker.send('PUT', '/log/trace/38,40,42,62,63,65,102-105,109,180,181,202,205')
  await on()
  await broker.update('APPEND', update, { ...update, id: 'Pump5' })
  await broker.send('POST', '/v1/queryContext', { entities: [{ id: 'Pump.*', isPattern: 'true' }] })
  await broker.send('POST', '/v1/queryContext', { entities: [] })
  await broker.send('GET', '/v1/contextEntities/Pump4')
  const expected = [
    ...['http.transaction', 'parse', 'parse.check', 'service.partition', 'service.fanout', 'service.take'],
    ...['storage.write', 'storage.txn', 'storage.commit', 'storage.index', 'storage.pool'],
    ...['payload.in', 'payload.out', 'wait.mailbox'],
  ]
  const spoken = await areas(broker, ...expected)
  for (const area of expected) t.ok(spoken.has(area), area)
  await broker.send('DELETE', '/log/trace')
  await delay(100)
  const wasOff = new Date().toISOString()
  await broker.update('UPDATE', update)
  const isOn = new Date().toISOString()
  await on()
  await broker.update('APPEND', update, { ...update, id: 'Pump5' })
  // Lines of a thread come in their order: these are behind all that it would have traced before.
  const again = ['http.transaction', 'service.take', 'storage.commit']
  const after = () => new Set(traced(broker).flatMap(({ time, area }) => (time > isOn ? [area] : [])))
  await until(() => again.every((area) => after().has(area)), `lines of ${again.join()} once more`)
  t.same(
    traced(broker).filter(({ time }) => time > wasOff && time < isOn),
    [],
  )
})

test('start, headers, subscriptions and the end are traced', async (t) => {
  const flags = [
    '-partitions',
    '1',
    '-corsOrigin',
    '__ALL',
    '-adminToken',
    'sixteen-characters',
    '-t',
    '30,34,45,50,80,120,212,244,245',
  ]
  const broker = await RunningBroker.start(t, flags)
  await broker.update('APPEND', update, { ...update, id: 'Pump5' })
  await broker.send('GET', '/v1/contextEntities/Pump4', undefined, { origin: 'http://page.example' })
  await broker.send('GET', '/statistics')
  await broker.send('POST', '/v1/subscribeContext', {
    entities: [{ id: 'Pump4', type: '' }],
    reference: 'http://127.0.0.1:1/',
    duration: 'PT1H',
    notifyConditions: [{ type: 'ONCHANGE', condValues: ['level'] }],
  })
  await broker.endsInOrder(t)
  const expected = [
    'http.tenant',
    'http.cors',
    'parse.dump',
    'render',
    'worker',
    'shutdown',
    'subscription.sync',
    'config',
    'security',
  ]
  const spoken = await areas(broker, ...expected)
  for (const area of expected) t.ok(spoken.has(area), area)
})
