import { test } from 'tap'
import { applyUpdate } from '../../src/model/context/apply.js'
import { changeBy } from '../../src/model/subscription/change.js'
import {
  decided,
  isCommitted,
  isSameProposal,
  isUndecided,
  proposed,
  verdictOn,
  versionsOf,
} from '../../src/model/subscription/decisions.js'
import { Matcher } from '../../src/model/subscription/matcher.js'
import type { Proposal, Subscription } from '../../src/model/subscription/subscription.js'
import { command, given, rendering, silentLog } from '../given.js'
import { subscription } from '../given-subscription.js'
import { lastOf, nthId, shortBody } from './given.js'

const standing = subscription({ id: nthId(1), reference: 'http://old' })
const by = { ...standing, reference: 'http://new' }

/** What a record becomes of it. */
function after(record: Subscription, proposal: Proposal, decision: 'committed' | 'withdrawn'): Subscription {
  const next = decided(proposed(record, proposal), decision)
  if (next === undefined) throw new Error('there is none any more')
  return next
}

test('a subscription that is created says nothing of decisions; what is withdrawn leaves it as it was', async (t) => {
  const creating = proposed(standing, { kind: 'create' })
  t.ok(isUndecided(creating))
  t.same(versionsOf(creating), {
    proposed: { subscription: creating, provisional: { change: 1, by: 'proposed' } },
  })
  t.same(decided(creating, 'committed'), standing)
  t.equal(decided(creating, 'withdrawn'), undefined)
  t.equal(decided(proposed(standing, { kind: 'remove' }), 'committed'), undefined)
  for (const proposal of [{ kind: 'remove' }, { kind: 'replace', by }] as const) {
    const { decisions, ...same } = after(standing, proposal, 'withdrawn')
    t.same(same, standing)
    t.same(decisions, { last: 2, withdrawn: [2, 2] })
  }
  const replaced = after(standing, { kind: 'replace', by }, 'committed')
  t.same(replaced, { ...by, decisions: { last: 2, withdrawn: [] } })
  t.ok(isCommitted(replaced))
  t.throws(() => proposed(proposed(standing, { kind: 'remove' }), { kind: 'remove' }), /not decided yet/)
  t.throws(() => decided(standing, 'committed'), /nothing is proposed/)
})

test('a proposal is the same as long as nothing else was decided', async (t) => {
  const record = proposed(standing, { kind: 'remove' })
  t.ok(isSameProposal(record, record))
  t.notOk(isSameProposal(undefined, record))
  t.notOk(isSameProposal(decided(record, 'withdrawn'), record))
  t.notOk(isSameProposal(proposed(after(standing, { kind: 'remove' }, 'withdrawn'), { kind: 'remove' }), record))
})

test('a notice of a version is valid when it was decided for, also after later changes', async (t) => {
  let record: Subscription = standing
  const outcomes = ['committed', 'withdrawn', 'withdrawn', 'committed', 'withdrawn'] as const
  for (const outcome of outcomes) record = after(record, { kind: 'replace', by }, outcome)
  t.same(record.decisions, { last: 6, withdrawn: [3, 4, 6, 6] })
  for (const [at, outcome] of outcomes.entries()) {
    const change = at + 2
    const [stood, was] = outcome === 'committed' ? (['void', 'valid'] as const) : (['valid', 'void'] as const)
    t.equal(verdictOn({ change, by: 'standing' }, record.decisions), stood)
    t.equal(verdictOn({ change, by: 'proposed' }, record.decisions), was)
  }
  for (const by of ['standing', 'proposed'] as const) {
    t.equal(verdictOn({ change: 7, by }, record.decisions, true), 'undecided')
  }
  t.equal(verdictOn({ change: 7, by: 'standing' }, record.decisions), 'valid', 'a change that nobody knows never was')
  t.equal(verdictOn({ change: 7, by: 'proposed' }, record.decisions), 'void')
  t.equal(verdictOn({ change: 1, by: 'proposed' }), 'valid', 'it is there, so it was created')
})

test('what is remembered of changes that were withdrawn has a bound', async (t) => {
  let record: Subscription = standing
  for (let times = 0; times < 200; times += 1) {
    record = after(record, { kind: 'remove' }, 'withdrawn')
    record = after(record, { kind: 'replace', by }, 'committed')
  }
  t.equal(record.decisions?.withdrawn.length, 128)
  t.equal(verdictOn({ change: 400, by: 'standing' }, record.decisions), 'valid')
})

/** A matcher of one subscription with a change that is undecided, both of whose clocks can be read. */
function undecided(record: Subscription) {
  const matcher = new Matcher({ legacyBody: shortBody, ...rendering, log: silentLog, memory_bytes: 10_000 })
  const clock = { moments: new BigInt64Array(new SharedArrayBuffer(16)), at: 0 }
  matcher.put({ subscription: record, clock })
  const update = (name: string, value: string) => {
    const next = command('APPEND', 'Silo1', [given(name, value)])
    for (const effect of applyUpdate([], next).effects) matcher.match(changeBy(next, effect), next)
    const notices = matcher.notices.map((notice) => ({
      body: 'body' in notice ? notice.body : undefined,
      provisional: 'provisional' in notice ? notice.provisional : undefined,
    }))
    matcher.commit()
    return notices
  }
  return { matcher, clock, update }
}

test('while a change is undecided both versions are notified, each on a clock of its own; what is alike is one notice', async (t) => {
  const next = { ...by, attributes: ['level'], throttling_ms: 3_600_000 }
  const { matcher, clock, update } = undecided(proposed(standing, { kind: 'replace', by: next }))
  t.same(update('level', '1'), [{ body: 'Silo1: level=1', provisional: undefined }], 'the URL is no part of it')
  t.same(update('level', '2'), [{ body: 'Silo1: level=2', provisional: { change: 2, by: 'standing' } }], 'throttled')
  t.same(update('colour', 'red'), [{ body: 'Silo1: colour=red', provisional: { change: 2, by: 'standing' } }])
  t.ok(lastOf({ ...clock, at: 1 }) > 0)
  t.not(matcher.isIdle, true)
  matcher.remove(standing.id)
  t.ok(matcher.isIdle, 'both are gone')
  t.same(update('level', '3'), [])
})

test('a subscription that is proposed only is notified provisionally, and one whose end is proposed goes on', async (t) => {
  const creating = undecided(proposed(standing, { kind: 'create' }))
  t.same(creating.update('level', '1'), [{ body: 'Silo1: level=1', provisional: { change: 1, by: 'proposed' } }])
  t.equal(lastOf(creating.clock), 0)
  const ending = undecided(proposed(standing, { kind: 'remove' }))
  t.same(ending.update('level', '1'), [{ body: 'Silo1: level=1', provisional: { change: 2, by: 'standing' } }])
})
