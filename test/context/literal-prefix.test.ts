import fc from 'fast-check'
import { test } from 'tap'
import { literalPrefix } from '../../src/context/literal-prefix.js'
import { compilePattern } from '../../src/context/pattern.js'

test('what an expression begins with is seen up to the first character with a meaning', async (t) => {
  const prefixes: readonly (readonly [pattern: string, prefix: string | undefined])[] = [
    ['^Tank12', 'Tank12'],
    ['^Tank12$', 'Tank12'],
    ['^urn:ngsi-ld:Tank:1', 'urn:ngsi-ld:Tank:1'],
    ['^Tank[0-9]', 'Tank'],
    ['^Tank.*', 'Tank'],
    ['^Tank\\d', 'Tank'],
    ['^Tank+', 'Tank'],
    ['^Tank*', 'Tan'],
    ['^Tank?', 'Tan'],
    ['^Tank{0,2}', 'Tan'],
    ['^T*', undefined],
    ['^Tänk', 'T'],
    ['^(Tank)', undefined],
    ['^Tank|Silo', undefined],
    ['^Ta(nk|lk)', undefined],
    ['^a(?)?', undefined],
    ['^Tank(?)*', 'Tan'],
    ['^Tank+(?)?', 'Tan'],
    ['^Tank+?(?i)(?)?', 'Tan'],
    ['Tank', undefined],
    ['(?i)^Tank', undefined],
    ['(?m)^Tank', undefined],
    ['^', undefined],
    ['', undefined],
    ['.*', undefined],
  ]
  for (const [pattern, prefix] of prefixes) t.equal(literalPrefix(pattern), prefix, pattern)
})

test('every text that an expression finds begins with its prefix', async (t) => {
  let found = 0
  const pattern = fc.array(
    fc.constantFrom('^', 'a', 'b', 'ab', '*', '?', '+', '{0}', '{0,1}', '.', '(', ')', '|', '[ab]', '$', '\\b'),
    { maxLength: 7 },
  )
  const text = fc.array(fc.constantFrom('a', 'b', 'A', '\n'), { maxLength: 5 })
  fc.assert(
    fc.property(pattern, text, (parts, characters) => {
      const [expression, given] = [`^${parts.join('')}`, characters.join('')]
      const prefix = literalPrefix(expression)
      const compiled = compilePattern(expression)
      if (prefix === undefined || !compiled.ok || !compiled.value.test(given)) return true
      found += 1
      return given.startsWith(prefix)
    }),
    { numRuns: 20_000 },
  )
  t.ok(found > 20, `${found} found`)
})
