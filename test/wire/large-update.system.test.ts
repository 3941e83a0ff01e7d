import { connect } from 'node:net'
import { test } from 'tap'
import { RunningBroker } from '../running.js'
import { during, until } from '../until.js'
import { type Client, tenantClient } from './client.js'

const flags = ['-multiservice', '-httpThreads', '2', '-partitions', '2']

function update(type: string, count: number): unknown {
  const contextElements = Array.from({ length: count }, (_, n) => ({ id: `${type}-${n.toString(36)}`, type }))
  return { contextElements, updateAction: 'APPEND' }
}

async function stored(client: Client, type: string): Promise<number> {
  const { text } = await client.send('GET', `/v1/contextEntities?entity::type=${type}&limit=1&details=on`)
  return Number(/Count: (\d+)/.exec(text)?.[1] ?? 0)
}

test('an update of as many elements as a body may have goes through, and others are answered meanwhile', async (t) => {
  const client = tenantClient(await RunningBroker.start(t, flags))
  const count = 12_000
  let [tries, others] = [0, 0]
  // The first may be answered before the large one is read, the last one after it; where the machine stands still there are no more.
  const areServed = async () => {
    tries += 1
    others = 0
    const type = `Large${tries}`
    const { status, text } = await during(client.send('POST', '/v1/updateContext', update(type, count)), async () => {
      await client.given({ id: 'Small', type: 'Small', attributes: [{ name: 'n', value: `${tries} ${others}` }] })
      others += 1
    })
    t.equal(status, 200)
    t.equal(text.match(/"code":"200"/g)?.length, count)
    t.ok(text.includes(`"id":"${type}-0"`) && text.indexOf(`"${type}-0"`) < text.indexOf(`"${type}-1"`))
    t.equal(await stored(client, type), count)
    return others > 3
  }
  await until(areServed, () => `small ones are answered meanwhile, one after the other: ${others} in try ${tries}`)
})

test('of several large updates those are refused that have no room, and of those nothing is stored', async (t) => {
  const client = tenantClient(await RunningBroker.start(t, [...flags, '-mailboxSize', '2000']))
  let tries = 0
  // On a machine that stands still they may come one after the other, and each have room.
  const someRefused = async () => {
    tries += 1
    const types = Array.from({ length: 12 }, (_, n) => `Type${n}Of${tries}`)
    const replies = await Promise.all(types.map((type) => client.send('POST', '/v1/updateContext', update(type, 1500))))
    for (const [at, { status, text, headers }] of replies.entries()) {
      const found = await stored(client, types[at] ?? '')
      if (status === 200) t.equal(found, 1500)
      else {
        t.equal(status, 503)
        t.match(text, /too many updates are waiting/)
        t.equal(headers.get('Retry-After'), '1')
        t.equal(found, 0, 'nothing of it is stored')
      }
    }
    const refusals = replies.filter(({ status }) => status === 503).length
    t.ok(refusals < types.length)
    return refusals > 0
  }
  await until(someRefused, 'some are refused')
  t.equal((await client.send('POST', '/v1/updateContext', update('Later', 1500))).status, 200)
})

test('what follows a large update on its connection is applied after it', async (t) => {
  const broker = await RunningBroker.start(t, ['-partitions', '1'])
  const client = tenantClient(broker)
  const socket = connect(broker.port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  let received = ''
  socket.on('data', (piece) => {
    received += piece
  })
  const rounds = 5
  for (let round = 0; round < rounds; round += 1) {
    const filler = { name: 'filler', type: '', value: Array.from({ length: 20_000 }, (_, at) => `${at}`) }
    socket.write(request([{ name: 'n', type: '', value: `large ${round}` }, filler]))
    socket.write(request([{ name: 'n', type: '', value: `small ${round}` }]))
    await until(() => received.split('HTTP/1.1 200').length > 2 * (round + 1), 'both are answered')
    const { text } = await client.send('GET', '/v1/contextEntities/Ordered/attributes/n')
    t.match(text, `small ${round}`)
  }
})

/** An update of one entity as it goes over a socket. */
function request(attributes: readonly unknown[]): string {
  const body = JSON.stringify({ contextElements: [{ id: 'Ordered', type: '', attributes }], updateAction: 'APPEND' })
  const head = `POST /v1/updateContext HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json`
  return `${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}
