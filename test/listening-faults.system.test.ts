import { test } from 'tap'
import { ListeningClient } from './listening-client.js'
import { Received, subscribedTo, Writer } from './listening-load.js'
import { RunningBroker } from './running.js'

/** Also with a client that confirms: by flag, as it takes twice as long. */
const isLong = process.env['RIGEL_LISTENING'] === 'long'

for (const query of isLong ? ['', '?confirm=explicit'] : ['']) {
  test(`a client that goes on where it was loses nothing when the broker is killed three times ${query}`, async (t) => {
    t.setTimeout(550_000)
    const broker = await RunningBroker.start(t, ['-partitions', '2', '-httpThreads', '2', '-sseKeep', '1'])
    const id = await subscribedTo(broker, 'Room')
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
    await broker.endsInOrder(t)
  })
}
