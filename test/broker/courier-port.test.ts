import { once } from 'node:events'
import { MessageChannel } from 'node:worker_threads'
import { type Test, test } from 'tap'
import { CourierPort } from '../../src/broker/front-end/courier-port.js'
import type {
  StreamInstruction,
  StreamPiece,
  StreamReport,
  StreamRequest,
} from '../../src/delivery/streams/stream-message.js'
import { subscriptionId } from '../given-subscription.js'
import { until } from '../until.js'

const request: StreamRequest = {
  subscription: subscriptionId(),
  ...{ after: undefined, group: undefined, isExplicit: false },
}

/** A front end's port, and the courier behind it, which opens every stream. */
function connected(t: Test) {
  const { port1, port2 } = new MessageChannel()
  const instructions: StreamInstruction[] = []
  const report = (report: StreamReport): void => port2.postMessage(report)
  port2.on('message', (instruction: StreamInstruction) => {
    instructions.push(instruction)
    if (instruction.kind === 'open') report({ kind: 'opened', stream: instruction.stream })
  })
  const courier = new CourierPort()
  courier.connect(port1)
  t.teardown(() => courier.close())
  return { courier, instructions, report, port1, port2 }
}

test('a report that cannot be read ends the streams that are open, and others open behind it', async (t) => {
  const { courier, instructions, report, port1, port2 } = connected(t)
  const before: StreamPiece[] = []
  t.match(await courier.open(request, (piece) => before.push(piece)), { ok: true })
  // The courier does not answer a confirmation here.
  const confirmed = courier.confirm(request.subscription, { tag: '', sent: new Map(), ofGroup: undefined })
  // As the port says it of a message that has come.
  port1.emit('messageerror', new Error('it cannot be read'))
  t.same(before, [{ kind: 'ended', why: 'interrupted' }], 'its client asks again')
  t.match(await confirmed, { ok: false, error: 'away' })

  const after: StreamPiece[] = []
  const opened = await courier.open(request, (piece) => after.push(piece))
  t.match(opened, { ok: true })
  t.match(instructions, [{ kind: 'open' }, { kind: 'confirm' }, { kind: 'closed', stream: 1 }, { kind: 'open' }])
  const stream = instructions.flatMap((each) => (each.kind === 'open' ? [each.stream] : [])).at(-1) ?? 0
  report({ kind: 'events', stream: 1, text: 'late', notices: 1 })
  report({ kind: 'events', stream, text: 'new', notices: 1 })
  await until(() => after.length > 0)
  t.match(after, [{ kind: 'events', text: 'new' }])
  t.equal(before.length, 1, 'nothing comes on the stream that has ended')
  port2.close()
})

test('without a courier nothing opens, and what was open ends', async (t) => {
  const { courier, port1, port2 } = connected(t)
  const pieces: StreamPiece[] = []
  await courier.open(request, (piece) => pieces.push(piece))
  port2.close()
  await once(port1, 'close')
  t.same(pieces, [{ kind: 'ended', why: 'interrupted' }])
  t.match(await courier.open(request, () => {}), { ok: false, error: 'away' })
})
