import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'tap'
import type { Reply, RunningBroker } from './running.js'
import { failingDisk, mayMount, mayMountImage, smallDisk } from './small-disk.js'
import { until } from './until.js'

const full = { orionError: { code: '503', reasonPhrase: 'Service Unavailable', details: 'storage full' } }

function entity(id: string, size: number) {
  return { id, type: 'Book', attributes: [{ name: 'page', type: 'text', value: 'x'.repeat(size) }] }
}

/** Updates until one of them is refused. */
async function untilRefused(broker: RunningBroker, name: string, size: number): Promise<Reply> {
  for (let n = 0; n < 500; n += 1) {
    const reply = await broker.update('APPEND', entity(`${name}${n}`, size))
    if (reply.status !== 200) return reply
  }
  throw new Error('there was room for everything')
}

test(
  'a full disk refuses what grows with 503, takes removals and reads, and all again when there is room',
  mayMount,
  async (t) => {
    const disk = smallDisk(t, 34)
    disk.take(10)
    const broker = await disk.broker(['-partitions', '1', '-dbFreeMin', '4'])
    for (const size of [200_000, 20_000]) {
      const reply = await untilRefused(broker, `Book${size}-`, size)
      t.equal(reply.status, 503)
      t.equal(reply.headers.get('retry-after'), '60')
      t.same(reply.json, full)
    }
    let more = 0
    // There is room again whenever files of the log have gone.
    const isRefused = async (): Promise<boolean> => {
      more += 1
      return (await broker.update('APPEND', entity(`Fill${more}`, 20_000))).status === 503
    }
    await until(async () => (await isRefused()) && (await broker.isFull()), 'it says that its storage is full')
    t.equal((await broker.send('GET', '/v1/contextEntities/Book200000-0')).status, 200)
    for (let n = 0; n < 20; n += 1) {
      t.equal(
        (await broker.send('DELETE', `/v1/contextEntities/Book200000-${n}`)).text,
        '{"code":"200","reasonPhrase":"OK"}',
      )
    }
    await until(async () => (await broker.update('APPEND', entity('Leaf', 200_000))).status === 200)
    t.match(await untilRefused(broker, 'More', 500_000), { status: 503 })
    disk.clear()
    await until(async () => (await broker.send('GET', '/health/ready')).status === 200, 'nobody has to write for that')
    t.equal((await broker.update('APPEND', entity('Last', 500_000))).status, 200)
    t.equal(await broker.end('SIGKILL'), 'SIGKILL')
    await broker.run()
    for (const id of ['Leaf', 'Last', 'Book200000-30']) {
      t.match((await broker.send('GET', `/v1/contextEntities/${id}`)).json, { statusCode: { code: '200' } }, id)
    }
    t.notMatch(broker.output, /"status":500/)
  },
)

test(
  'of many at one time on a full disk each is answered with 200 and is there, or with 503 and is not',
  mayMount,
  async (t) => {
    const disk = smallDisk(t, 16)
    const broker = await disk.broker(['-partitions', '2', '-dbFreeMin', '4'])
    const replies = await Promise.all(
      Array.from({ length: 200 }, async (_, n) => {
        await delay(n * 2)
        return broker.update('APPEND', entity(`Book${n}`, 100_000)).catch((fault: unknown) => {
          throw new Error(broker.output, { cause: fault })
        })
      }),
    )
    t.ok(replies.some(({ status }) => status === 503))
    t.notMatch(broker.output, /Write error|no room for the commit/, 'LMDB has met no full disk')
    await broker.end('SIGKILL')
    await broker.run()
    for (const [n, { status }] of replies.entries()) {
      const held = await broker.send('GET', `/v1/contextEntities/Book${n}`)
      t.match(held.json, { statusCode: { code: status === 200 ? '200' : '404' } }, `Book${n}: ${status}`)
    }
  },
)

test(
  'on a full disk subscriptions and registrations are refused with 503, and nothing is notified again and again',
  mayMount,
  async (t) => {
    const heard: string[] = []
    const receiver = createServer((request, response) => {
      heard.push(String(request.headers['rigel-notification-id']))
      response.end()
    }).listen(0, '127.0.0.1')
    await once(receiver, 'listening')
    t.teardown(() => receiver.close())
    const address = receiver.address()
    const reference = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/`
    const disk = smallDisk(t, 34)
    disk.take(10)
    const flags = ['-partitions', '1', '-dbFreeMin', '4', '-logDir', disk.path, '-logLevel', 'INFO']
    // A receiver that answers late is no reason to send again.
    const broker = await disk.broker([...flags, '-httpTimeout', '60000'])
    const subscription = (id: string) => ({
      entities: [{ type: 'Book', isPattern: 'false', id }],
      reference,
      duration: 'P1Y',
      notifyConditions: [{ type: 'ONCHANGE' }],
      restriction: { attributeExpression: 'x'.repeat(50_000) },
    })
    t.equal((await broker.send('POST', '/v1/subscribeContext', subscription('Told'))).status, 200)
    for (let n = 0; n < 20; n += 1) t.equal((await broker.update('APPEND', entity('Told', 1000 + n))).status, 200)
    await untilRefused(broker, 'Book', 100_000)
    const posted = async (path: string, body: unknown): Promise<Reply> => {
      for (let n = 0; n < 3000; n += 1) {
        const reply = await broker.send('POST', path, body)
        if (reply.status !== 200) return reply
      }
      throw new Error('there was room for everything')
    }
    t.match(await posted('/v1/subscribeContext', subscription('x')), { status: 503 })
    const contextRegistrations = [
      {
        entities: Array.from({ length: 500 }, (_, n) => ({
          type: 'Room',
          isPattern: 'false',
          id: `R${n}${'x'.repeat(200)}`,
        })),
        attributes: [{ name: 'a', type: 'b', isDomain: 'false' }],
        providingApplication: 'http://127.0.0.1:1/v1',
      },
    ]
    const registered = await posted('/v1/registry/registerContext', { contextRegistrations, duration: 'P1M' })
    t.match(registered, { status: 503 })
    await delay(1500)
    t.equal(new Set(heard).size, heard.length, 'each was sent once')
    const lines = broker.output.split('\n').filter((line) => line.includes('"lvl":"ERROR"'))
    t.ok(lines.length < 60, `${lines.length} lines`)
    disk.clear()
    await until(async () => (await broker.update('APPEND', entity('Told', 1))).status === 200)
    await until(async () => (await broker.send('POST', '/v1/subscribeContext', subscription('New'))).status === 200)
    await broker.endsInOrder(t)
    t.equal(new Set(heard).size, heard.length)
  },
)

test(
  'a broker starts on a disk without any room, answers reads, refuses what writes, and takes it when there is room',
  mayMount,
  async (t) => {
    const disk = smallDisk(t, 24)
    const broker = await disk.broker(['-partitions', '1', '-dbFreeMin', '4'])
    t.equal((await broker.update('APPEND', entity('Kept', 10_000))).status, 200)
    for (const left of [0, 300_000]) {
      await broker.endsInOrder(t)
      disk.leave(left)
      await broker.run()
      t.match((await broker.send('GET', '/v1/contextEntities/Kept')).json, { statusCode: { code: '200' } })
      t.match((await broker.send('POST', '/v1/queryContext', { entities: [{ id: 'Kept' }] })).json, {
        contextResponses: [{ contextElement: { id: 'Kept' } }],
      })
      const refusal = await broker.update('APPEND', entity('New', 1000))
      t.equal(refusal.status, 503)
      t.same(refusal.json, full)
      await broker.reportsFull()
      disk.clear()
      await until(async () => (await broker.update('APPEND', entity('New', 1000))).status === 200)
      await until(async () => (await broker.send('GET', '/health/ready')).status === 200)
    }
    await broker.endsInOrder(t)
  },
)

test('a disk that fails ends the broker with a line that names the file', mayMountImage, async (t) => {
  const disk = failingDisk(t, 12, 128)
  const broker = await disk.broker(['-partitions', '1', '-dbFreeMin', '1'])
  const acknowledged: string[] = []
  for (let n = 0; n < 400; n += 1) {
    const reply = await broker.update('APPEND', entity(`Book${n}`, 100_000)).catch(() => undefined)
    if (reply === undefined) break
    t.not(reply.status, 500)
    if (reply.status === 200) acknowledged.push(`Book${n}`)
  }
  t.equal(await broker.ended(), 70, `${acknowledged.length} were acknowledged`)
  t.match(broker.output, /"lvl":"FATAL".*partition-0\/(?:data\.mdb|log\/\d+\.log) cannot be used any more: .*E[A-Z]+/)
})
