import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'tap'
import { ListeningClient } from './listening-client.js'
import { RunningBroker } from './running.js'

const rooms = 8

async function subscribed(broker: RunningBroker, type: string): Promise<string> {
  const { headers } = await broker.send('POST', '/v2/subscriptions', {
    subject: { entities: [{ idPattern: '.*', type }] },
    notification: { http: { url: 'sse:' }, attrsFormat: 'keyValues' },
  })
  return headers.get('location')?.split('/').at(-1) ?? ''
}

/** Writes numbers to rooms in turn for as long as it is told to; those that were acknowledged, by room. */
class Writer {
  readonly acknowledged = new Map<string, number[]>()
  #isOver = false
  /** The last number that was written. */
  n: number
  readonly #done: Promise<void>

  constructor(broker: RunningBroker, type: string, text = '', after = 0) {
    this.n = after
    this.#done = this.#write(broker, type, text)
  }

  get count(): number {
    return [...this.acknowledged.values()].reduce((sum, each) => sum + each.length, 0)
  }

  async #write(broker: RunningBroker, type: string, text: string): Promise<void> {
    while (!this.#isOver) {
      this.n += 1
      const { n } = this
      const id = `${type}${n % rooms}`
      const entity = { id, type, n: { type: 'Number', value: n }, text: { type: 'Text', value: text } }
      const reply = await broker
        .send('POST', '/v2/op/update', { actionType: 'append', entities: [entity] })
        .catch(() => undefined)
      if (reply?.status !== 204) continue
      const own = this.acknowledged.get(id)
      if (own === undefined) this.acknowledged.set(id, [n])
      else own.push(n)
    }
  }

  async end(): Promise<void> {
    this.#isOver = true
    await this.#done
  }
}

/** What a client has got, without what came again, by entity; throws where the order of an entity does not hold. */
class Received {
  readonly byRoom = new Map<string, number[]>()
  readonly #ids = new Set<string>()

  take(client: ListeningClient): void {
    for (const { data, fields } of client.notifications) {
      const name = fields.get('Rigel-Notification-Id') ?? ''
      if (this.#ids.has(name)) continue
      this.#ids.add(name)
      const { id, n } = JSON.parse(data).data[0]
      const own = this.byRoom.get(id) ?? []
      const last = own.at(-1)
      if (last !== undefined && last >= n) throw new Error(`${id}: ${n} came after ${last}`)
      own.push(n)
      this.byRoom.set(id, own)
    }
  }

  /** Those that were acknowledged and have not come. */
  missing(acknowledged: ReadonlyMap<string, readonly number[]>): readonly string[] {
    return [...acknowledged].flatMap(([room, numbers]) => {
      const own = new Set(this.byRoom.get(room))
      return numbers.filter((n) => !own.has(n)).map((n) => `${room} ${n}`)
    })
  }
}

/** Also with a client that confirms: by flag, as it takes twice as long. */
const isLong = process.env['RIGEL_LISTENING'] === 'long'

for (const query of isLong ? ['', '?confirm=explicit'] : ['']) {
  test(`a client that goes on where it was loses nothing when the broker is killed three times ${query}`, async (t) => {
    t.setTimeout(120_000)
    const broker = await RunningBroker.start(t, ['-partitions', '2', '-httpThreads', '2', '-sseKeep', '1'])
    const id = await subscribed(broker, 'Room')
    const path = `/v2/subscriptions/${id}/events${query}`
    const received = new Received()
    const writers: Writer[] = []
    let last: string | undefined
    for (let kills = 0; kills < 3; kills += 1) {
      const headers: Record<string, string> = last === undefined ? {} : { 'Last-Event-ID': last }
      const client = await ListeningClient.open(t, broker, { path, headers })
      const writer = new Writer(broker, 'Room', '', writers.at(-1)?.n)
      writers.push(writer)
      await client.until(() => client.notifications.length >= 120)
      const killed = broker.end('SIGKILL')
      await writer.end()
      await killed
      await client.until(() => client.isOver)
      received.take(client)
      last = client.lastId ?? last
      await broker.run()
    }
    const client = await ListeningClient.open(t, broker, { path, headers: { 'Last-Event-ID': last ?? '' } })
    const expected = new Map<string, number[]>()
    for (const { acknowledged } of writers) {
      for (const [room, numbers] of acknowledged) expected.set(room, [...(expected.get(room) ?? []), ...numbers])
    }
    await broker.send('POST', '/v2/op/update', {
      actionType: 'append',
      entities: [{ id: 'Last', type: 'Room', n: { type: 'Number', value: 0 } }],
    })
    await client.until(() => client.notifications.some(({ data }) => data.includes('"Last"')))
    received.take(client)
    t.same(received.missing(expected), [])
    client.close()
    t.equal(await broker.end('SIGTERM'), 0)
  })
}

test('clients that do not read, die or read a byte at a time', async (t) => {
  t.setTimeout(120_000)
  const broker = await RunningBroker.start(t, ['-partitions', '2', '-httpThreads', '2'])

  await t.test('one that never reads holds back its own subscription, and loses nothing', async (t) => {
    const [stuck, other] = [await subscribed(broker, 'Tank'), await subscribed(broker, 'Tank')]
    const silent = await ListeningClient.open(t, broker, { path: `/v2/subscriptions/${stuck}/events` })
    silent.socket.pause()
    const reading = await ListeningClient.open(t, broker, { path: `/v2/subscriptions/${other}/events` })
    const writer = new Writer(broker, 'Tank', 'x'.repeat(100_000))
    await reading.until(() => reading.notifications.length >= 150)
    await writer.end()
    await reading.until(() => reading.notifications.length === writer.count)
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
    const id = await subscribed(broker, 'Pipe')
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
    const id = await subscribed(broker, 'Valve')
    const client = await ListeningClient.open(t, broker, { path: `/v2/subscriptions/${id}/events` })
    client.readSlowly()
    const writer = new Writer(broker, 'Valve')
    await client.until(() => writer.count >= 20)
    await writer.end()
    await client.until(() => client.notifications.length === writer.count)
    const received = new Received()
    received.take(client)
    t.same(received.missing(writer.acknowledged), [])
    client.close()
  })

  await t.test('there are no more of them than may be, and one that goes makes room', async (t) => {
    t.equal(await broker.end('SIGTERM'), 0)
    const small = await RunningBroker.start(t, ['-sseListeners', '2', '-httpThreads', '2'])
    const [one, two, three] = [await subscribed(small, 'A'), await subscribed(small, 'B'), await subscribed(small, 'C')]
    const path = (id: string) => `/v2/subscriptions/${id}/events`
    const first = await ListeningClient.open(t, small, { path: path(one) })
    const second = await ListeningClient.open(t, small, { path: path(two) })
    const refused = await small.send('GET', path(three))
    t.same([refused.status, refused.headers.get('retry-after')], [503, '10'])
    const replacing = await ListeningClient.open(t, small, { path: path(two) })
    t.equal(replacing.status, 200, 'the one that it replaces makes room')
    await second.until(() => second.isOver)
    first.close()
    let third = await ListeningClient.open(t, small, { path: path(three) })
    for (const begun = Date.now(); third.status !== 200 && Date.now() - begun < 20_000; await delay(50)) {
      third = await ListeningClient.open(t, small, { path: path(three) })
    }
    t.equal(third.status, 200)
    const closed = once(third.socket, 'close')
    t.equal(await small.end('SIGTERM'), 0)
    await closed
  })
})
