import { setTimeout as delay } from 'node:timers/promises'
import { type Test, test } from 'tap'
import { EventStreams } from '../src/broker/front-end/event-stream.js'
import { ClientStreams } from '../src/broker/front-end/listening.js'
import type { StreamEnd, StreamPiece } from '../src/delivery/streams/stream-message.js'
import type { SubscriptionId } from '../src/model/subscription/subscription.js'
import { err, ok } from '../src/result.js'
import { ConnectionLimit } from '../src/threads/shared-memory/limits.js'
import { waiting } from './given.js'
import { until } from './until.js'

const request = {
  subscription: '0123456789abcdef01234567' as SubscriptionId,
  ...{ after: undefined, group: undefined, isExplicit: false },
}

/** A stream whose client is served, with what its courier gives, and how often its connection was cut. */
async function served(t: Test, ending_ms: number, room = new ConnectionLimit(ConnectionLimit.memory(1020))) {
  let [give, cuts] = [(_piece: StreamPiece): void => {}, 0]
  const courier = {
    open: async (_: object, take: (piece: StreamPiece) => void) => {
      give = take
      return ok({ took: () => {}, close: () => {} })
    },
    confirm: async () => ok(true),
  }
  const streams = new ClientStreams(new EventStreams(), courier, room, { beginning_ms: 10_000, ending_ms })
  const opened = await streams.open(request, waiting)
  if (!opened.ok) throw new Error(`no stream: ${opened.error}`)
  const [gone, never] = [new AbortController(), new AbortController()]
  t.teardown(() => gone.abort())
  const pieces = opened
    .value(gone.signal, never.signal, () => {
      cuts += 1
    })
    [Symbol.asyncIterator]()
  await pieces.next()
  const end = (why: StreamEnd): void => give({ kind: 'ended', why })
  return { streams, pieces, end, gone, cuts: () => cuts }
}

test('a client that does not read to the end of its stream is cut off, also where it ends for two reasons', async (t) => {
  const { end, cuts } = await served(t, 20)
  end('changed')
  end('removed')
  t.equal(cuts(), 0)
  await until(() => cuts() > 0)
  await delay(100)
  t.equal(cuts(), 1)
})

test('a client that reads to the end keeps its connection', async (t) => {
  const { pieces, end, cuts } = await served(t, 100)
  end('changed')
  end('removed')
  let read = ''
  for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) read += Buffer.from(next.value)
  t.match(read, 'the subscription has another receiver now')
  await delay(300)
  t.equal(cuts(), 0)
})

test('a client that others wait for is cut off at once', async (t) => {
  const { end, cuts } = await served(t, 60_000)
  end('slow')
  t.equal(cuts(), 1)
})

test('streams leave connections to other requests and to viewers', async (t) => {
  const room = new ConnectionLimit(ConnectionLimit.memory(36))
  const { streams, pieces, gone } = await served(t, 20, room)
  const two = [await streams.open(request, waiting), await streams.open(request, waiting)]
  t.same(
    two.map(({ ok }) => ok),
    [true, true],
  )
  t.same(
    await streams.open(request, waiting),
    { ok: false, error: 'full' },
    'three quarters of the four beside viewers',
  )
  gone.abort()
  await pieces.next()
  t.ok((await streams.open(request, waiting)).ok, 'one that has gone makes room')
  streams.end()
})

test('a stream that its courier refuses takes no connection', async (t) => {
  const room = new ConnectionLimit(ConnectionLimit.memory(1))
  const refusing = { open: async () => err('unknown' as const), confirm: async () => ok(true) }
  const streams = new ClientStreams(new EventStreams(), refusing, room)
  for (let tries = 0; tries < 2; tries += 1)
    t.same(await streams.open(request, waiting), { ok: false, error: 'unknown' })
})
