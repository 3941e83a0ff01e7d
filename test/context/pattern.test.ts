import fc from 'fast-check'
import { RE2JS } from 're2js'
import { test } from 'tap'
import { compilePattern, literalPrefix, PatternsTogether } from '../../src/model/context/pattern.js'
import { staysWithin } from '../pace.js'
import { runs } from '../runs.js'

function matches(pattern: string, text: string): boolean | undefined {
  const compiled = compilePattern(pattern)
  return compiled.ok ? compiled.value.test(text) : undefined
}

test('a pattern matches anywhere in a text unless it is anchored, and minds the case', async (t) => {
  t.equal(matches('Silo', 'NorthSilo1'), true)
  t.equal(matches('silo', 'NorthSilo1'), false)
  t.equal(matches('^Silo[0-9]+$', 'Silo12'), true)
  t.equal(matches('^Silo[0-9]+$', 'NorthSilo12'), false)
  t.equal(matches('^Silo$', 'Silo1'), false)
  t.equal(matches('Kiosk-.*', 'MyKiosk-'), true)
  t.equal(matches('^Kiosk-.*', 'MyKiosk-'), false)
  t.equal(matches('\\d{2}', 'a12'), true)
})

test('a pattern that does not compile, has a NUL or needs backtracking is malformed', async (t) => {
  for (const pattern of ['Silo[', '*', 'a**', '\\', 'Silo\0', '\0', 'x(?=y)', '(a)\\1']) {
    t.same(compilePattern(pattern), { ok: false, error: { kind: 'patternMalformed', pattern } }, pattern)
  }
})

test('a pattern that would make a large program is malformed', async (t) => {
  for (const pattern of ['x{501}', '((x{10}){10}){10}', '[a-z]{500}[0-9]', 'a?'.repeat(600), 'x'.repeat(2049)]) {
    t.same(compilePattern(pattern), { ok: false, error: { kind: 'patternMalformed', pattern } }, pattern.slice(0, 20))
  }
  t.ok(compilePattern('x'.repeat(2048)).ok)
  t.ok(compilePattern('[a-z]{200}[0-9]').ok)
})

test('a pattern that would make a very large program is refused before it is made', async (t) => {
  const isSoon = await staysWithin(1000, () => {
    t.notOk(compilePattern('[a-z]{999}'.repeat(200)).ok)
    t.notOk(compilePattern('([a-z]{1,9}){2,999}'.repeat(100)).ok)
  })
  t.ok(isSoon)
  t.ok(compilePattern('\\{999}'.repeat(20)).ok, 'what only looks like a repetition')
  t.ok(compilePattern('[x{999}]'.repeat(20)).ok, 'what only looks like a repetition')
})

test('the patterns of a request are limited together, those that need no engine are not', async (t) => {
  const large = Array.from({ length: 60 }, (_, at) => `[a-z]{${200 + at}}`)
  t.ok(checkAll(large.slice(0, 30)).ok)
  t.match(checkAll(large), { ok: false, error: { kind: 'patternTooCostly' } })
  t.ok(checkAll(Array.from({ length: 10_000 }, (_, at) => `^Silo${at}$`)).ok)
  t.same(checkAll(['Silo', '*']), { ok: false, error: { kind: 'patternMalformed', pattern: '*' } })
})

function checkAll(patterns: Iterable<string>) {
  return new PatternsTogether().checkAll(patterns)
}

test('a pattern costs what its text and its program can make it cost', async (t) => {
  const steps = (pattern: string, characters: number) => {
    const compiled = compilePattern(pattern)
    return compiled.ok ? compiled.value.steps(characters) : undefined
  }
  t.equal(steps('^Probe-0[0-9].$', 1000), steps('^Probe-0[0-9].$', 100), 'anchored: over after a few characters')
  t.ok(Number(steps('^Probe-0[0-9].$', 1000)) < 5000)
  t.ok(Number(steps('Probe-0[0-9].-[a-z]$', 1000)) > 50_000, 'may begin anywhere')
  t.ok(Number(steps('^P|Probe-0[0-9].-[a-z]$', 1000)) > 50_000, 'one of its alternatives may')
  t.ok(Number(steps('^.*[ab]a[ab]{20}$', 1000)) > 50_000, 'repeats')
  t.ok(Number(steps('^Silo', 1000)) < 100, 'needs no engine')
})

test('a pattern on which a backtracking engine would never end gives its response', async (t) => {
  const text = 'a'.repeat(5000)
  t.equal(matches('(a+)+$', `${text}b`), false)
  t.equal(matches('(a|a)*b', text), false)
  t.equal(matches('a*a*a*a*a*a*a*b', text), false)
  t.equal(matches(`${'a?'.repeat(100)}${'a'.repeat(100)}$`, 'a'.repeat(100)), true)
})

const characters = ['a', 'b', '.', '*', '^', '$', '-', '\n', 'é', '\u{1F600}', '\ud83d', '\ude00', '|', '+', '.*']
const pieces = fc.array(fc.constantFrom(...characters), { maxLength: 6 }).map((chosen) => chosen.join(''))

test('a pattern that is searched without the engine gives the result of the engine', async () => {
  fc.assert(
    fc.property(pieces, pieces, (pattern, text) => {
      const compiled = compilePattern(pattern)
      if (compiled.ok) return compiled.value.test(text) === RE2JS.compile(pattern).test(text)
      try {
        RE2JS.compile(pattern)
        return false
      } catch {
        return true
      }
    }),
    { numRuns: runs(2000) },
  )
})

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
