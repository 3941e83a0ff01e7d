import fc from 'fast-check'
import { RE2JS } from 're2js'
import { test } from 'tap'
import { compilePattern, mostCompileSteps, PatternsTogether } from '../../src/model/context/pattern.js'
import { compileSteps } from '../../src/model/context/pattern-cost.js'
import { runs } from '../runs.js'

test('what takes the engine long is refused by its text alone', async (t) => {
  for (const pattern of [
    `(?i)[${'b-\uffff'.repeat(100)}]`,
    '(?i)\\pL'.repeat(50),
    `(?i)[${'\\p{L}'.repeat(100)}]`,
    `[^${'\\pL\\P{N}'.repeat(100)}]`,
    '\\p{L}{400}\\p{N}{300}',
    '(?i)[a-\\x{fff0}][a-\\x{fff1}][a-\\x{fff2}][a-\\x{fff3}][a-\\x{fff4}]',
  ]) {
    t.same(compilePattern(pattern), { ok: false, error: { kind: 'patternTooCostly', pattern } }, pattern.slice(0, 40))
  }
})

test('what is too large without such classes is refused as every pattern that is too large', async (t) => {
  const nested = `${'(?:a{50}'.repeat(40)}${')'.repeat(40)}{11}`
  for (const pattern of ['x{1000}{1000}', `(?:${'abcdefghij'.repeat(100)}){1000}`, nested]) {
    const error = { kind: 'patternMalformed', pattern }
    t.same(compilePattern(pattern), { ok: false, error }, pattern.slice(0, 40))
    t.same(new PatternsTogether().check(pattern), { ok: false, error })
  }
})

test('what clients write costs little', async (t) => {
  for (const pattern of [
    '^urn:ngsi-ld:[A-Z]+:[0-9]+$',
    '(?i)^(silo|barn)[ _-]?[0-9]{1,4}$',
    '[a-z]{200}[0-9]',
    '(?i)[\\w.-]+@[\\w.-]+',
    '\\Qx{1000}\\E',
    '(?i)[^\\x{0}-\\x{10ffff}]',
    '^[[:alpha:]]+$',
  ]) {
    t.ok(compilePattern(pattern).ok, pattern)
    t.ok(compileSteps(pattern) * 20 <= mostCompileSteps, `${pattern}: ${compileSteps(pattern)}`)
  }
  t.ok(compileSteps('^[\\p{L}\\p{N}_-]+$') * 20 <= mostCompileSteps)
})

test('the patterns of a request are counted together, one that is there again is not', async (t) => {
  const patterns = new PatternsTogether()
  const first = Array.from({ length: 500 }, (_, at) => `^\\p{L}${at}`).find((text) => !patterns.check(text).ok)
  t.match(first, /^\^\\p\{L\}[4-6]\d$/)
  t.ok(patterns.check('^\\p{L}1').ok)
  t.ok(patterns.check('Silo').ok, 'needs no engine')
  t.ok(patterns.check('Silo.').ok, 'others may still be small enough')
})

const pieces = fc.constantFrom(
  ...[
    'a',
    'b|',
    '|',
    '.',
    '(',
    '(?:',
    '(?i)',
    '(?i:',
    '(?P<n>',
    ')',
    '*',
    '+',
    '?',
    '{2}',
    '{2,3}',
    '{3,}',
    '{',
    '}',
    '{,2}',
  ],
  ...[
    '\\pL',
    '\\P{Lu}',
    '\\w',
    '\\D',
    '\\b',
    '\\Q',
    '\\E',
    '\\x{41}',
    '\\101',
    '\\.',
    '\\n',
    '^',
    '$',
    '\u{1F600}',
    'k',
  ],
  ...['[', ']', '[^', '-', '[a-f]', '[]a]', '[^\\pL-z]', '[[:alpha:]_]', '[\\x{41}-\\x{5a}]', '[\\]-a]', '[a\\-z]'],
)

test('no program has more instructions than the cost of its text says', async () => {
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 12 }), (chosen) => {
      const pattern = chosen.join('')
      const size = programSize(pattern)
      return size === undefined || 2 * (size - around) <= compileSteps(pattern)
    }),
    { numRuns: runs(3000), examples: [[['(', ')', 'b|']], [['a', '{3,}', '\\Q', '\\E', '{2,3}']]] },
  )
})

/** One that fails, one for nothing at all, and the match. */
const around = 3

function programSize(pattern: string): number | undefined {
  try {
    return RE2JS.compile(pattern).programSize()
  } catch {
    return undefined
  }
}

test('no class by property has more ranges than are counted for it', async (t) => {
  for (const name of ['L', 'Lu', 'Ll', 'LC', 'Lo', 'M', 'Mn', 'N', 'P', 'S', 'Z', 'C', 'Cn', 'Assigned', 'Common']) {
    for (const pattern of [`\\p{${name}}`, `\\P{${name}}`, `(?i)\\p{${name}}`]) {
      t.ok(RE2JS.compile(pattern).re2Input.dfa.numClasses < 1600, pattern)
    }
  }
})

test('the scan of the text takes time with its length', async (t) => {
  for (const piece of [
    '(',
    ')',
    '[',
    '[^',
    '\\Q',
    '\\',
    '\\p',
    '\\p{',
    '(?P<',
    '(?i',
    '[[:',
    '{1',
    '{1,',
    '\\x{1',
    'a{9}',
    '[a-',
  ]) {
    t.ok(Number.isFinite(compileSteps(piece.repeat(2000))), piece)
  }
})
