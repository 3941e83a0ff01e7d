import fc from 'fast-check'
import { test } from 'tap'
import { type CallEvent, type CallState, callStep, noCalls } from '../../src/thread/call-state.js'
import { runs } from '../runs.js'

const number = fc.integer({ min: 1, max: 12 })
const event: fc.Arbitrary<CallEvent> = fc.oneof(
  { weight: 6, arbitrary: fc.constant<CallEvent>({ kind: 'asked' }) },
  { weight: 4, arbitrary: number.map((at): CallEvent => ({ kind: 'answered', number: at })) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(number, fc.constantFrom('late', 'unreadable'))
      .map(([at, why]): CallEvent => ({ kind: 'failed', number: at, why })),
  },
  { weight: 1, arbitrary: fc.constant<CallEvent>({ kind: 'answerUnreadable' }) },
  { weight: 1, arbitrary: fc.constant<CallEvent>({ kind: 'gone' }) },
  { weight: 1, arbitrary: fc.constant<CallEvent>({ kind: 'replaced' }) },
)

test('every question has one outcome, and none is left when the far end is gone', async () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 40 }), (events) => {
      const outcomes = new Map<number, number>()
      let state: CallState = noCalls
      for (const happened of [...events, { kind: 'gone' } as const]) {
        const before = state
        const { state: after, effects } = callStep(before, happened)
        for (const effect of effects) {
          if (effect.kind === 'send') {
            if (outcomes.has(effect.number) || before.isGone) throw new Error('sent after its outcome, or to nobody')
          } else outcomes.set(effect.number, (outcomes.get(effect.number) ?? 0) + 1)
        }
        if (happened.kind === 'answered' && effects.some((effect) => effect.number !== happened.number)) {
          throw new Error('an answer is that of another question')
        }
        state = after
      }
      if (state.open.size > 0 || outcomes.size !== state.last) throw new Error('a question is left without an outcome')
      if ([...outcomes.values()].some((count) => count !== 1)) throw new Error('a question has two outcomes')
    }),
    { numRuns: runs(2000) },
  )
})

test('an answer that cannot be read refuses all questions that are open; a later answer to one of them means nothing', async (t) => {
  const asked = callStep(callStep(noCalls, { kind: 'asked' }).state, { kind: 'asked' }).state
  const failed = callStep(asked, { kind: 'answerUnreadable' })
  t.same(failed.effects, [
    { kind: 'refuse', number: 1, why: 'unreadable' },
    { kind: 'refuse', number: 2, why: 'unreadable' },
  ])
  t.same(callStep(failed.state, { kind: 'answered', number: 2 }).effects, [])
})
