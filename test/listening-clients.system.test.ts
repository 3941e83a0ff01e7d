import { once } from 'node:events'
import { test } from 'tap'
import { ThreadKiller, withDebugger } from './faults/thread-killer.js'
import { ListeningClient } from './listening-client.js'
import { Received, subscribedTo, Writer } from './listening-load.js'
import { RunningBroker } from './running.js'
import { until } from './until.js'

test('clients that do not read, die or read a byte at a time', async (t) => {
  t.setTimeout(550_000)
  const broker = await RunningBroker.start(t, ['-partitions', '2', '-httpThreads', '2'], { nodeOptions: withDebugger })

  await t.test('one that never reads holds back its own subscription, and loses nothing', async (t) => {
    const [stuck, other] = [await subscribedTo(broker, 'Tank'), await subscribedTo(broker, 'Tank')]
    const silent = await ListeningClient.open(t, broker, { path: `/v2/subscriptions/${stuck}/events` })
    silent.socket.pause()
    const reading = await ListeningClient.open(t, broker, { path: `/v2/subscriptions/${other}/events` })
    const writer = new Writer(broker, 'Tank', 'x'.repeat(60_000))
    await reading.until(() => reading.notifications.length >= 80)
    await writer.end()
    await reading.until(() => reading.notifications.length >= writer.count)
    const received = new Received()
    received.take(reading)
    t.same(received.missing(writer.acknowledged), [])
    reading.close()
    silent.close()
    const again = await ListeningClient.open(t, broker, { path: `/v2/subscriptions/${stuck}/events` })
    await again.until(() => again.notifications.length >= writer.count)
    const later = new Received()
    later.take(again)
    t.same(later.missing(writer.acknowledged), [])
    again.close()
  })

  await t.test('one that dies in the middle of an event finds it again', async (t) => {
    const id = await subscribedTo(broker, 'Pipe')
    const path = `/v2/subscriptions/${id}/events`
    const writer = new Writer(broker, 'Pipe', 'y'.repeat(5000))
    const received = new Received()
    let last = ''
    for (let deaths = 0; deaths < 5; deaths += 1) {
      const client = await ListeningClient.open(t, broker, {
        path,
        headers: last === '' ? {} : { 'Last-Event-ID': last },
      })
      await client.until(() => client.notifications.length >= 10)
      client.socket.resetAndDestroy()
      received.take(client)
      last = client.lastId ?? last
    }
    await writer.end()
    const client = await ListeningClient.open(t, broker, { path, headers: { 'Last-Event-ID': last } })
    const left = () => {
      const all = new Received()
      all.take(client)
      return received.missing(writer.acknowledged).filter((each) => all.missing(writer.acknowledged).includes(each))
    }
    await client.until(() => left().length === 0)
    received.take(client)
    t.same(received.missing(writer.acknowledged), [])
    client.close()
  })

  await t.test('one that reads a byte at a time gets everything', async (t) => {
    const id = await subscribedTo(broker, 'Valve')
    const client = await ListeningClient.open(t, broker, { path: `/v2/subscriptions/${id}/events` })
    client.readSlowly()
    const writer = new Writer(broker, 'Valve')
    await client.until(() => writer.count >= 20)
    await writer.end()
    await client.until(() => client.notifications.length >= writer.count)
    const received = new Received()
    received.take(client)
    t.same(received.missing(writer.acknowledged), [])
    client.close()
  })

  await t.test('when the courier dies the streams end, and clients go on with the next one', async (t) => {
    const id = await subscribedTo(broker, 'Pump')
    const path = `/v2/subscriptions/${id}/events`
    const client = await ListeningClient.open(t, broker, { path })
    const writer = new Writer(broker, 'Pump')
    await client.until(() => client.notifications.length >= 20)
    const killer = await ThreadKiller.connect(broker.output)
    await killer.kill('courier', 'throws')
    killer.close()
    await client.until(() => client.isOver)
    t.equal(client.end, 'interrupted')
    await client.until(() => writer.count >= 40)
    await writer.end()
    const received = new Received()
    received.take(client)
    const headers = { 'Last-Event-ID': client.lastId ?? '' }
    const again = await until(async () => {
      const client = await ListeningClient.open(t, broker, { path, headers })
      if (client.status === 200) return client
      t.equal(client.status, 503)
      return undefined
    }, 'there is a courier again')
    const missing = () => {
      const rest = new Received()
      rest.take(again)
      return received.missing(writer.acknowledged).filter((each) => rest.missing(writer.acknowledged).includes(each))
    }
    await again.until(() => missing().length === 0)
    received.take(again)
    t.same(received.missing(writer.acknowledged), [])
    again.close()
    await broker.endsInOrder(t)
  })
})

test('there are no more of them than may be, and one that goes makes room', async (t) => {
  const small = await RunningBroker.start(t, ['-sseListeners', '2', '-httpThreads', '2'])
  const [one, two, three] = [
    await subscribedTo(small, 'A'),
    await subscribedTo(small, 'B'),
    await subscribedTo(small, 'C'),
  ]
  const path = (id: string) => `/v2/subscriptions/${id}/events`
  const first = await ListeningClient.open(t, small, { path: path(one) })
  const second = await ListeningClient.open(t, small, { path: path(two) })
  const response = await small.send('GET', path(three))
  t.same([response.status, response.headers.get('retry-after')], [503, '10'])
  await until(
    async () => /^rigel_notification_streams 2$/m.test((await small.send('GET', '/metrics')).text),
    'both are counted',
  )
  const replacing = await ListeningClient.open(t, small, { path: path(two) })
  t.equal(replacing.status, 200, 'the one that it replaces makes room')
  await second.until(() => second.isOver)
  first.close()
  const third = await until(async () => {
    const client = await ListeningClient.open(t, small, { path: path(three) })
    return client.status === 200 && client
  }, 'the one that has gone makes room')
  const closed = once(third.socket, 'close')
  await small.endsInOrder(t)
  await closed
})
