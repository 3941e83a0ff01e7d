import fc from 'fast-check'
import { test } from 'tap'
import { compileOccurrences } from '../../src/model/context/occurrences.js'
import { StepBudget, unbounded } from '../../src/model/context/step-budget.js'
import { runs } from '../runs.js'

function occurrences(regex: string, text: string): readonly string[] | undefined {
  const compiled = compileOccurrences(regex)
  return compiled.ok ? compiled.value.in(text, unbounded())?.map(({ start, end }) => text.slice(start, end)) : undefined
}

test('all occurrences are found, from left to right', async (t) => {
  t.same(occurrences('[0-9]+', 'a12b3'), ['12', '3'])
  t.same(occurrences('^a', 'aa'), ['a'])
  t.same(occurrences('a$', 'aa'), ['a'])
  t.same(occurrences('x', 'aa'), [])
  t.same(occurrences('a|ab', 'abab'), ['a', 'a'])
  t.same(occurrences('.', '\u{1f525}b'), ['\u{1f525}', 'b'])
})

test('what is refused as a pattern is refused here', async (t) => {
  for (const pattern of ['[', '(a)\\1', 'x{1000}{1000}', '[a-z]{600}', 'a\0', 'x'.repeat(2049)]) {
    t.same(
      compileOccurrences(pattern),
      { ok: false, error: { kind: 'patternMalformed', pattern } },
      pattern.slice(0, 20),
    )
  }
})

test('the occurrences are those that JavaScript finds', async (t) => {
  const regex = fc
    .array(fc.constantFrom('a', 'b', '.', 'a*', 'b+', '(?:ab|a)', '[ab]', '[^a]', '\\d', 'a?', '^', '$', '|'), {
      maxLength: 6,
    })
    .map((parts) => parts.join(''))
    .filter((text) => !/^\||\|\||\|$/.test(text))
  fc.assert(
    fc.property(regex, fc.string({ unit: fc.constantFrom('a', 'b', 'c', '1', '\n'), maxLength: 30 }), (given, text) => {
      const theirs = text.match(new RegExp(given, 'g')) ?? []
      const ours = occurrences(given, text)
      if (JSON.stringify(ours) !== JSON.stringify(theirs))
        throw new Error(`${given} in ${JSON.stringify(text)}: ${ours}`)
    }),
    { numRuns: runs(3000) },
  )
  t.pass('the same')
})

test('a search that takes more steps than the budget has gives nothing', async (t) => {
  const text = 'a'.repeat(10_000)
  for (const [regex, steps] of [
    ['a', 100_000],
    ['a.*z|a', 1_000_000],
    ['(a|aa)+b', 10_000],
  ] as const) {
    const compiled = compileOccurrences(regex)
    t.ok(compiled.ok && compiled.value.in(text, new StepBudget(steps)) === undefined, regex)
  }
  const plain = compileOccurrences('[a-z]+')
  t.same(plain.ok && plain.value.in(text, new StepBudget(200_000)), [{ start: 0, end: 10_000 }])
})
