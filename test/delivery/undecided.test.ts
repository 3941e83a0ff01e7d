import { test } from 'tap'
import type { Provisional } from '../../src/model/subscription/decisions.js'
import { FarEnd } from '../far-end.js'
import { at } from '../given.js'
import { until } from '../until.js'
import { courier, notice, nth, outboxes, recipient, subscriptionId } from './given.js'

const [one, two] = [subscriptionId(1), subscriptionId(2)]

function of(change: number, by: Provisional['by']): { readonly provisional: Provisional } {
  return { provisional: { change, by } }
}

test('nothing of a subscription is sent while a change of it is undecided; then what the version has made that holds, in order', async (t) => {
  for (const [decisions, sent] of [
    [{ last: 2, withdrawn: [] }, ['earlier', 'like both', 'new 1', 'later', 'new 2']],
    [{ last: 2, withdrawn: [2, 2] }, ['earlier', 'old 1', 'like both', 'later', 'old 2']],
  ] as const) {
    const end = await FarEnd.listen(t)
    const known = recipient(one, end.url('/before'))
    const other = recipient(two, end.url('/other'))
    const boxes = outboxes(t, 1, t.testdir())
    const running = courier(t, { recipients: [known, other], outboxes: boxes })
    const box = nth(boxes.partitions, 0)
    await running.start()
    await running.courier.hold(one)
    box.enqueue(
      notice(one, 'tank', 'earlier'),
      notice(one, 'tank', 'old 1', { ...of(2, 'standing'), made: at(8_000_000_000_000) }),
      notice(one, 'tank', 'like both'),
      notice(one, 'tank', 'new 1', { ...of(2, 'proposed'), made: at(8_000_000_000_000) }),
      notice(two, 'tank', 'of another'),
    )
    running.ring()
    await until(() => end.bodies.length === 1)
    t.same(end.bodies, ['of another'])
    running.courier.put({ ...known, reference: end.url('/after'), decisions })
    // A partition that has not heard of it yet.
    box.enqueue(
      notice(one, 'tank', 'later'),
      notice(one, 'tank', 'old 2', of(2, 'standing')),
      notice(one, 'tank', 'new 2', of(2, 'proposed')),
    )
    running.ring()
    await until(() => box.numbers.length === 0)
    const after = end.received.filter(({ url }) => url === '/after').map(({ body }) => body)
    t.same(after, sent)
    t.equal(end.received.length, sent.length + 1, 'nothing went to the address of before')
    t.match(box.stats(one), { sent: 5, discarded: 0 })
    await running.drain()
  }
})

test('what an outbox held is judged by what was decided before the courier began', async (t) => {
  const end = await FarEnd.listen(t)
  const boxes = outboxes(t, 1)
  const box = nth(boxes.partitions, 0)
  box.enqueue(
    notice(one, 'tank', 'old', of(2, 'standing')),
    notice(one, 'tank', 'new', { ...of(2, 'proposed'), made: at(7_000_000_000_000) }),
    notice(one, 'tank', 'old', of(3, 'standing')),
    notice(one, 'tank', 'new', of(3, 'proposed')),
  )
  const known = recipient(one, end.url(), { decisions: { last: 3, withdrawn: [2, 2] } })
  const running = courier(t, { recipients: [known], outboxes: boxes })
  await running.start()
  await until(() => box.numbers.length === 0)
  t.same(end.bodies, ['old', 'new'])
  t.ok((box.stats(one)?.lastNotification ?? 0) < 7_000_000_000_000, 'what is void has left no trace')
})

test('what a version has made that does not hold displaces nothing, and does not let anything end', async (t) => {
  const end = await FarEnd.listen(t)
  const known = recipient(one, end.url())
  const running = courier(t, { recipients: [known], partitions: 1, settings: { queueMax: 2 } })
  const box = nth(running.partitions, 0)
  await running.start()
  await running.courier.hold(one)
  box.enqueue(notice(one, 'a', 'first', of(2, 'standing')), notice(one, 'a', 'second'))
  for (let times = 0; times < 5; times += 1) box.enqueue(notice(one, 'a', 'void', of(2, 'proposed')))
  running.ring()
  await until(async () => (await running.state(one))?.queueDepth === 7)
  running.courier.put({ ...known, decisions: { last: 2, withdrawn: [2, 2] } })
  await until(() => box.numbers.length === 0)
  t.same(end.bodies, ['first', 'second'])
  t.match(box.stats(one), { sent: 2, discarded: 0 })
})
