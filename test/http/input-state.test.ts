import fc from 'fast-check'
import { test } from 'tap'
import { type InputEffect, type InputEvent, type InputState, inputTransitions } from '../../src/http/input-state.js'

const events = Object.keys(inputTransitions.flowing) as readonly InputEvent[]
const states = Object.keys(inputTransitions) as readonly InputState[]

test('nothing begins, is kept or is queued after the end', async (t) => {
  for (const event of events) t.same(inputTransitions.ended[event], ['ended', 'none'])
})

test('what has come is dropped once, when the end comes', async (t) => {
  for (const state of states) {
    for (const event of events) {
      const isEnd = event === 'end' && state !== 'ended'
      t.equal(inputTransitions[state][event][1] === 'drop', isEnd, `${state} ${event}`)
    }
  }
})

test('a request begins at once only while none is held, and a connection is queued once before each turn', async (t) => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...events), { maxLength: 40 }), (happening) => {
      let state = 'flowing' as InputState
      let holds = false
      let queued = 0
      for (const event of happening) {
        const transition: readonly [InputState, InputEffect] = inputTransitions[state][event]
        const [next, effect] = transition
        if (effect === 'begin' && holds) return false
        if (effect === 'keep') holds = true
        if (effect === 'queue') queued += 1
        if (effect === 'serve') queued -= 1
        if ((state === 'serving' && event === 'emptied') || effect === 'drop') holds = false
        state = next
        if (queued < 0 || queued > 1) return false
        if (effect === 'drop') queued = 0
      }
      return true
    }),
  )
  t.pass()
})
