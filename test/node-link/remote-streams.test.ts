import { test } from 'tap'
import type { StreamingCourier, StreamPiece, StreamRequest } from '../../src/delivery/streams/stream-message.js'
import type { SubscriptionId } from '../../src/model/subscription/subscription.js'
import { err, ok } from '../../src/result.js'
import { now } from '../../src/time.js'
import { until } from '../until.js'
import { GivenNode, linkTo } from './given.js'

const subscription = '5718a2f1c0de000000000001' as SubscriptionId
const after = { tag: '0a1b2c3d', ofGroup: new Map([['abc1', 7]]), sent: new Map([[1, 20]]) }
const request: StreamRequest = { subscription, after, group: 'g', isExplicit: true, since: now() }

/** The streams of a node as a test has them. */
class GivenStreams implements StreamingCourier {
  readonly requests: StreamRequest[] = []
  readonly confirmed: unknown[] = []
  readonly took: number[] = []
  closed = 0
  refusal: 'full' | undefined
  send: (piece: StreamPiece) => void = () => {}

  async open(wanted: StreamRequest, take: (piece: StreamPiece) => void) {
    this.requests.push(wanted)
    this.send = take
    if (this.refusal !== undefined) return err(this.refusal)
    // Something may be there at once.
    take({ kind: 'events', text: 'one', notices: 1 })
    return ok({
      took: (notices: number) => void this.took.push(notices),
      close: () => {
        this.closed += 1
      },
    })
  }

  async confirm(...given: readonly unknown[]) {
    this.confirmed.push(given)
    return ok(this.confirmed.length === 1)
  }
}

test('a stream of another node comes as its client takes it, until one of them ends it', async (t) => {
  const node = await GivenNode.start(t)
  const streams = new GivenStreams()
  node.services = { listening: streams }
  const link = linkTo(t, [node.address])
  const opened = async () => {
    const pieces: StreamPiece[] = []
    const stream = await link.stream('b', request, (piece) => pieces.push(piece))
    return { pieces, stream: stream.ok ? stream.value : t.fail(`it is refused: ${stream.error}`) }
  }
  const first = await opened()
  t.same(streams.requests, [request])
  streams.send({ kind: 'events', text: 'two\u2028\n', notices: 2 })
  await until(() => first.pieces.length === 1)
  if (typeof first.stream === 'object') first.stream.took(1)
  await until(() => first.pieces.length === 2)
  t.same(first.pieces[1], { kind: 'events', text: 'two\u2028\n', notices: 2 })
  if (typeof first.stream === 'object') first.stream.took(2)
  streams.send({ kind: 'ended', why: 'replaced' })
  await until(() => first.pieces.length === 3 && streams.closed === 1)
  t.same(first.pieces[2], { kind: 'ended', why: 'replaced' })
  t.same(streams.took, [1, 2])

  const second = await opened()
  if (typeof second.stream === 'object') second.stream.close()
  await until(() => streams.closed === 2)
  t.notOk(second.pieces.some(({ kind }) => kind === 'ended'))

  streams.refusal = 'full'
  t.same(await link.stream('b', request, () => {}), err('full'))
  streams.refusal = undefined
  const third = await opened()
  node.listener.close()
  if (typeof third.stream === 'object') third.stream.took(1)
  await until(() => third.pieces.some((piece) => piece.kind === 'ended' && piece.why === 'interrupted'))
  t.same(await link.stream('b', request, () => {}), err('away'))
  t.same(await link.stream('c', request, () => {}), err('away'))
})

test('what a client has is said to another node', async (t) => {
  const node = await GivenNode.start(t)
  const streams = new GivenStreams()
  const link = linkTo(t, [node.address])
  t.same(await link.confirm('b', subscription, after), err('away'))
  node.services = { listening: streams }
  t.same(await link.confirm('b', subscription, after), ok(true))
  t.same(await link.confirm('b', subscription, after), ok(false))
  t.same(streams.confirmed[0], [subscription, after])
  t.same(await link.confirm('c', subscription, after), err('away'))
})
