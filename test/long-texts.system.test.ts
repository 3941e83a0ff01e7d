import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'tap'
import { FarEnd, finalResponse, responding } from './far-end.js'
import { limitNow_ms } from './pace.js'
import { type Reply, RunningBroker } from './running.js'
import { until } from './until.js'

/*
 * Requests of less than 1 MiB whose work once grew with the square of their length, or with its cube: each took from seconds to
 * days, in a thread that all clients share.
 */

const digits = '7'.repeat(900_000)
/** No number, as the last character shows. */
const almostNumber = `${digits}x`
/** What may stand in a URI, whose limit is lower. */
const almostShortNumber = `${'7'.repeat(30_000)}x`
const slashes = '/'.repeat(30_000)

/** Processor time that is enough on any machine for work that grows with the length of a request, and far too little for the square of it. */
const longest_ms = 5000

/** What a broker replies, unless it works on that for too long. */
async function repliedSoon<Replied>(broker: RunningBroker, sent: Promise<Replied>): Promise<Replied | undefined> {
  const [began_ms, limit_ms] = [broker.worked_ms, limitNow_ms(longest_ms)]
  let [isOver, reply]: [boolean, Replied | undefined] = [false, undefined]
  const replied = (found?: Replied): void => {
    ;[isOver, reply] = [true, found]
  }
  sent.then(replied, () => replied())
  await until(() => isOver || broker.worked_ms - began_ms > limit_ms, 'the broker replies')
  return reply
}

interface Sent {
  readonly what: string
  readonly send: (broker: RunningBroker) => Promise<Pick<Reply, 'status' | 'text'>>
  readonly status: number
  readonly text: RegExp
}

const sent: readonly Sent[] = [
  {
    what: 'the value of a header of an unknown verb that is all spaces',
    send: ({ port }) => written(port, `FOO / HTTP/1.1\r\nX:${' '.repeat(60_000)}\x7f\r\n\r\n`),
    status: 400,
    text: /Connection: close/i,
  },
  {
    what: 'a value of digits in plain text',
    send: (broker) =>
      broker.send('PUT', '/v2/entities/E/attrs/a/value', almostNumber, { 'Content-Type': 'text/plain' }),
    status: 400,
    text: /attribute value type not recognized/,
  },
  {
    what: 'a distance of digits',
    send: (broker) =>
      broker.send('GET', `/v2/entities?georel=near;maxDistance:${almostShortNumber}&geometry=point&coords=1,2`),
    status: 400,
    text: /BadRequest/,
  },
  {
    what: 'coordinates of digits',
    send: (broker) =>
      broker.send('GET', `/v2/entities?georel=near;maxDistance:1&geometry=point&coords=1,${almostShortNumber}`),
    status: 400,
    text: /BadRequest/,
  },
  {
    what: 'a distance of digits in a batch query',
    send: (broker) =>
      broker.send('POST', '/v2/op/query', { expression: place(`near;maxDistance:${almostNumber}`, '1,2') }),
    status: 400,
    text: /BadRequest/,
  },
  {
    what: 'coordinates of digits in a batch query',
    send: (broker) =>
      broker.send('POST', '/v2/op/query', { expression: place('near;maxDistance:1', `1,${almostNumber}`) }),
    status: 400,
    text: /BadRequest/,
  },
  {
    what: 'the radius of an area of NGSIv1',
    send: (broker) =>
      broker.send('POST', '/v1/queryContext', {
        entities: [{ id: 'E' }],
        restriction: {
          scopes: [
            {
              type: 'FIWARE::Location',
              value: { circle: { centerLatitude: '1', centerLongitude: '2', radius: almostNumber } },
            },
          ],
        },
      }),
    status: 200,
    text: /"code":"400"/,
  },
  {
    what: 'a service path of slashes',
    send: (broker) => broker.send('GET', '/v2/entities', undefined, { 'Fiware-ServicePath': `${slashes}x` }),
    status: 400,
    text: /too many components in ServicePath/,
  },
  {
    what: 'a service path of slashes, in NGSIv1',
    send: (broker) => broker.send('GET', '/v1/contextEntities/E', undefined, { 'Fiware-ServicePath': `${slashes}x` }),
    status: 200,
    text: /too many components in ServicePath/,
  },
  {
    what: 'a template of macros that do not end',
    send: (broker) =>
      broker.send(
        'POST',
        '/v2/subscriptions',
        subscription({ url: 'http://localhost:9', payload: '${'.repeat(400_000) }),
      ),
    status: 201,
    text: /^$/,
  },
  {
    what: 'a template of JSON with macros that do not end',
    send: (broker) =>
      broker.send(
        'POST',
        '/v2/subscriptions',
        subscription({ url: 'http://localhost:9', json: { a: '${'.repeat(400_000) } }),
      ),
    status: 201,
    text: /^$/,
  },
]

test('requests with long texts that are almost right are answered at once', async (t) => {
  t.setTimeout(600_000)
  let broker = await RunningBroker.start(t)
  for (const { what, send, status, text } of sent) {
    const reply = await repliedSoon(broker, send(broker))
    if (reply === undefined) {
      // The next ones are asked of one that is not held up.
      await broker.end('SIGKILL')
      broker = await RunningBroker.start(t)
    }
    t.equal(reply?.status, status, what)
    t.match(reply?.text.slice(0, 1000), text, what)
  }
})

test('expressions that read numbers from long texts hold up no update', async (t) => {
  const end = await FarEnd.listen(t, responding(204))
  const broker = await RunningBroker.start(t, ['-partitions', '1'])
  const custom = { url: end.url(), payload: '${id} ${a|parseFloat} ${a|parseInt} ${a|isNaN}' }
  t.equal((await broker.send('POST', '/v2/subscriptions', subscription(custom))).status, 201)
  const began_ms = broker.worked_ms
  const entity = { id: 'E', type: 'T', a: { type: 'Text', value: almostNumber } }
  t.equal((await broker.send('POST', '/v2/entities?options=upsert', entity)).status, 204)
  const other = { id: 'Other', type: 'T', a: { type: 'Text', value: '1.5' } }
  t.equal((await repliedSoon(broker, broker.send('POST', '/v2/entities', other)))?.status, 201)
  await until(() => end.received.length >= 2)
  t.same(end.bodies.toSorted(), ['E null null true', 'Other 1.5 null false'])
  t.ok(broker.worked_ms - began_ms < 2 * limitNow_ms(longest_ms))
})

test('a head of an unknown verb may come byte by byte', async (t) => {
  const broker = await RunningBroker.start(t)
  const head = `FOO /${'a'.repeat(3000)} HTTP/1.1\r\nHost: a\r\nX:  b \t\r\n\r\n`
  const { text } = await written(broker.port, head, 1)
  t.match(text, /^HTTP\/1.1 (?:400|404|405) /)
  t.equal((await written(broker.port, 'FOO /\x7f', 1)).status, 400)
})

function place(georel: string, coords: string): object {
  return { georel, geometry: 'point', coords }
}

function subscription(httpCustom: object): object {
  return { subject: { entities: [{ idPattern: '.*' }] }, notification: { httpCustom } }
}

/** What is answered to bytes, up to the end of the connection; they are sent at once, or a few at a time. */
async function written(port: number, bytes: string, atOnce = bytes.length): Promise<Pick<Reply, 'status' | 'text'>> {
  const socket = connect(port, '127.0.0.1').setNoDelay().setEncoding('latin1')
  let text = ''
  socket.on('data', (piece: string) => {
    text += piece
  })
  await once(socket, 'connect')
  const closed = once(socket, 'close')
  for (let at = 0; at < bytes.length; at += atOnce) {
    await new Promise((resolve) => socket.write(Buffer.from(bytes.slice(at, at + atOnce), 'latin1'), resolve))
  }
  await closed
  text = finalResponse(text)
  return { status: Number(/^HTTP\/1.1 (\d+)/.exec(text)?.[1] ?? 0), text }
}
