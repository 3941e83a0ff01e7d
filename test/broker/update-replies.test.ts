import { test } from 'tap'
import { type Replied, repliesOf } from '../../src/broker/front-end/updates.js'
import type { UpdateElement } from '../../src/model/context/update.js'
import type { LostBatch } from '../../src/partition/mailbox/batch.js'
import type { FailedReply } from '../../src/partition/turn/commands.js'
import { err, ok } from '../../src/result.js'
import { atOnce } from '../../src/slices.js'
import { command, given, id, type } from '../given.js'

const elements: readonly UpdateElement[] = ['A', 'B'].map((name) => command('APPEND', name, [given('level', '1')]))
const cost = { turn: { decided_ns: 1, committed_ns: 1 }, entered: 0n }
const done = ok({
  reply: { kind: 'updated', items: [{ id: id('A'), type: type('') }], missing: [] },
  ...cost,
} as const)

function failed(why: FailedReply['why']): Replied[number] {
  return ok({ reply: { kind: 'failed', why }, ...cost })
}

function lost(kind: LostBatch['kind']): Replied[number] {
  return err({ kind })
}

const failures = [
  ['storageFull', failed('storageFull')],
  ['fault', failed('fault')],
  ['partitionLost', lost('partitionLost')],
  ['outcomeUnknown', lost('outcomeUnknown')],
] as const

for (const [why, failure] of failures) {
  test(`an element that fails by ${why} says so beside one that was carried out`, async (t) => {
    const replies = atOnce(repliesOf(elements, [done, failure]))
    t.match(replies, { ok: true, value: [{ items: [{ id: 'A' }] }, { items: [{ id: 'B', refusal: { why } }] }] })
    t.notOk(replies.ok && replies.value[0]?.items[0]?.refusal)
  })
}

test('an update of which nothing was carried out is refused as a whole', async (t) => {
  for (const why of ['storageFull', 'partitionLost'] as const) {
    const failure = why === 'storageFull' ? failed(why) : lost(why)
    t.same(atOnce(repliesOf(elements, [failure, failure])), { ok: false, error: { kind: why } })
  }
  t.throws(() => atOnce(repliesOf(elements, [failed('fault'), failed('fault')])), /the partition failed/)
})

test('an update of which anything may have been carried out says so as a whole', async (t) => {
  for (const other of [lost('partitionLost'), failed('storageFull'), failed('fault'), lost('outcomeUnknown')]) {
    t.same(atOnce(repliesOf(elements, [other, lost('outcomeUnknown')])), {
      ok: false,
      error: { kind: 'outcomeUnknown' },
    })
  }
})
