import fc from 'fast-check'
import { RE2JS } from 're2js'
import { test } from 'tap'
import { completeAutomaton } from '../../src/model/context/automaton.js'
import { lastingPattern } from '../../src/model/context/pattern.js'
import { runs } from '../runs.js'

const longest = 1024

const few = [
  'Silo[0-9]+',
  '(Room|Hall|Kitchen)-[0-9]{3}(a|b)?$',
  '[a-z]{80}[0-9]',
  '\\bRoom.*\\b[0-9]',
  'a.{5}[cd]',
  '(?i)tank.*x',
]
const many = ['a.{12}[cd]', 'a[ab]{100}[cd]', '^.*[ab]a[ab]{20}$', '(?i)[ab]*a[ab]{90}[ef]', '\\pL+[xyz]\\pL{9}']

const texts = fc
  .array(fc.constantFrom(...'abcdSiloRmHt0123-xyzäж中\n', '\u{1F600}', '\ud83d', 'Room-', 'a'.repeat(40)), {
    maxLength: 60,
  })
  .map((parts) => parts.join(''))

test('all states of a kept expression are made before it is searched for, or none', async (t) => {
  for (const text of [...few, ...many]) {
    const expression = RE2JS.compile(text)
    const { isComplete, transitions } = completeAutomaton(expression)
    t.equal(isComplete, few.includes(text), text)
    t.ok(transitions <= 4096)
    const { dfa } = expression.re2Input
    const before = [dfa.stateCount, dfa.memBudget]
    t.equal(dfa.stateCount > 0, isComplete, text)
    fc.assert(fc.property(texts, (searched) => expression.test(searched) === RE2JS.compile(text).test(searched)))
    t.same([dfa.stateCount, dfa.memBudget], before, `${text}: a search makes no state`)
  }
})

test('a kept pattern gives the results of the engine', async () => {
  const pieces = ['a', 'b', '.', '*', '^', '$', '-', '\n', 'é', '[ab]', '(a|b)', '{2}', '\\b', '|', '+', '.*', '.*$']
  const patterns = fc.array(fc.constantFrom(...pieces), { maxLength: 7 }).map((chosen) => chosen.join(''))
  fc.assert(
    fc.property(patterns, texts, (pattern, text) => {
      let engine: RE2JS
      try {
        engine = RE2JS.compile(pattern)
      } catch {
        return true
      }
      return lastingPattern(pattern).test(text) === engine.test(text)
    }),
    { numRuns: runs(2000) },
  )
})

test('what a kept pattern costs does not grow with its program where its states are few, and does where they are many', async (t) => {
  const steps = (text: string) => lastingPattern(text).steps(longest)
  t.ok(steps('Silo[0-9]+') < 3000)
  t.ok(steps('(Room|Hall|Kitchen)-[0-9]{3}(a|b)?$') < 4000)
  t.ok(steps('[a-z]{80}[0-9]') < 10_000, 'with its memory')
  t.ok(steps('^Silo.*$') < 100)
  t.ok(steps('a.{12}[cd]') > 15 * longest, 'each character meets each instruction')
  t.ok(steps('a[ab]{400}[cd]') > 400 * longest)
  t.ok(steps('(?i)a[ab]{240}[cd]') > 2 * steps('a[ab]{240}[cd]') * 0.9, 'each in its forms')
})
