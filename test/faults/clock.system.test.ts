import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'tap'
import { FarEnd, responding } from '../far-end.js'
import { RunningBroker } from '../running.js'
import { until } from '../until.js'
import { noFaketime, ShiftedClock } from './faketime.js'
import { underLoad } from './run.js'

test('a wall clock that jumps forth and back breaks no promise', { skip: noFaketime }, async (t) => {
  t.setTimeout(300_000)
  const clock = new ShiftedClock(join(t.testdir(), 'offset'))
  const { environment } = clock
  // With the smallest window notifications are read again, which takes their age from their date.
  const flags = ['-partitions', '2', '-httpThreads', '2', '-notifRetryMin', '50', '-notifWindow', '1']
  const broker = await RunningBroker.start(t, flags, { environment })
  const { history } = await underLoad(t, broker, async () => {
    // Not as far as subscriptions are in force, but much further than notifications are kept.
    for (const hours of [2400, -2400, 1, -1]) {
      clock.shift(`${hours < 0 ? '' : '+'}${hours}h`)
      await until(async () => Math.abs((await aheadBy(broker)) - hours) < 0.1, `the clock jumps by ${hours} hours`)
      await delay(500)
    }
  })
  t.equal(history.count('refused'), 0)
  t.equal(history.count('unknown'), 0)
  await broker.endsInOrder(t)
})

test('what was dated before a machine knew the time is sent once it does', { skip: noFaketime }, async (t) => {
  const end = await FarEnd.listen(t)
  end.respond = responding(503)
  const folder = t.testdir()
  const clock = new ShiftedClock(join(folder, 'offset'))
  // A machine without a battery for its clock begins near 1970.
  clock.shift('-490000h')
  const flags = ['-notifRetryMin', '50', '-notifRetryMax', '200']
  const broker = await RunningBroker.startOn(t, join(folder, 'data'), flags, { environment: clock.environment })
  t.ok((await aheadBy(broker)) < -480_000)
  const notification = { http: { url: end.url() } }
  const subscribed = await broker.send('POST', '/v2/subscriptions', {
    subject: { entities: [{ id: 'Lamp' }] },
    notification,
  })
  t.equal(subscribed.status, 201)
  t.equal((await broker.send('POST', '/v2/entities', { id: 'Lamp', type: 'Lamp', lit: { value: true } })).status, 201)
  await until(() => end.received.length > 0, 'the receiver has refused it')
  await broker.endsInOrder(t)
  clock.shift('+0')
  const before = end.received.length
  await broker.run()
  await until(
    () => end.received.length > before + 20,
    'it is sent again for seconds, in which what is too old is dropped',
  )
  end.respond = responding(204)
  const isAccepted = async (): Promise<boolean> => {
    const { json } = await broker.send('GET', '/v2/subscriptions')
    return JSON.stringify(json).includes('"lastSuccessCode":204')
  }
  await until(isAccepted, 'it is accepted')
})

/** By how many hours the dates of a broker's responses are ahead. */
async function aheadBy(broker: RunningBroker): Promise<number> {
  const { headers } = await broker.send('GET', '/version')
  return (Date.parse(headers.get('date') ?? '') - Date.now()) / 3_600_000
}
