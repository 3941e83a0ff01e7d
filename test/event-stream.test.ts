import { test } from 'tap'
import { EventQueue, EventStreams, encodedEvent } from '../src/broker/front-end/event-stream.js'

const text = (piece: Uint8Array | undefined) => Buffer.from(piece ?? []).toString()

async function nextOf(pieces: AsyncIterator<Uint8Array>): Promise<string> {
  const { value } = await pieces.next()
  return text(value)
}

test('an event is written as browsers read it: no line of its data can be taken for something else', async (t) => {
  t.equal(text(encodedEvent('frame', '{"a":1}')), 'event: frame\ndata: {"a":1}\n\n')
  t.equal(
    text(encodedEvent('x', 'one\ntwo\r\nthree\rid: 7', '5')),
    'event: x\nid: 5\ndata: one\ndata: two\ndata: three\ndata: id: 7\n\n',
  )
})

test('what waits has a limit, and of newest events only the newest waits', async (t) => {
  const queue = new EventQueue(10)
  const pieces = queue.pieces()
  t.equal(await nextOf(pieces), 'retry: 2000\n\n')
  t.ok(queue.put(Buffer.from('12345')))
  t.notOk(queue.put(Buffer.from('678901')), 'it would be more than may wait')
  queue.putNewest(Buffer.from('old'))
  queue.putNewest(Buffer.from('new'))
  t.equal(await nextOf(pieces), '12345')
  t.ok(queue.put(Buffer.from('678901')), 'there is room again')
  t.equal(await nextOf(pieces), '678901')
  t.equal(await nextOf(pieces), 'new')
  queue.end()
  t.notOk(queue.put(Buffer.from('late')))
  t.equal((await pieces.next()).done, true)
})

test('a silent stream sends comments, and an event that comes meanwhile goes out at once', async (t) => {
  const queue = new EventQueue(100, 5)
  const pieces = queue.pieces()
  await pieces.next()
  t.equal(await nextOf(pieces), ':\n\n')
  t.equal(await nextOf(pieces), ':\n\n')
  const waiting = nextOf(pieces)
  queue.put(Buffer.from('x'))
  t.equal(await waiting, 'x')
  queue.end()
  t.equal((await pieces.next()).done, true)
})

test('streams end when the broker does, or when their client goes; what fills them is told once', async (t) => {
  const streams = new EventStreams()
  const events: string[] = []
  const begin = (name: string) =>
    streams.body(() => {
      events.push(`${name} begins`)
      return () => events.push(`${name} stops`)
    })
  const uncut = () => {}
  const gone = new AbortController()
  const never = new AbortController().signal
  const first = begin('first')(gone.signal, never, uncut)[Symbol.asyncIterator]()
  const second = begin('second')(never, never, uncut)[Symbol.asyncIterator]()
  await first.next()
  await second.next()
  const ends = first.next()
  gone.abort()
  t.equal((await ends).done, true)
  t.same(events, ['first begins', 'second begins', 'first stops'])
  streams.end()
  t.equal((await second.next()).done, true)
  const late = begin('late')(never, never, uncut)[Symbol.asyncIterator]()
  t.equal((await late.next()).done, true)
  t.same(events, ['first begins', 'second begins', 'first stops', 'second stops'])
})
