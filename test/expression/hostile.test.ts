import fc from 'fast-check'
import { test } from 'tap'
import { Expressions } from '../../src/model/expression/expressions.js'
import { Filler, filledPatch } from '../../src/model/expression/template.js'
import { staysWithin } from '../pace.js'
import { runs } from '../runs.js'
import { unicodeText } from '../unicode-text.js'
import { type Names, resultOf, scopeOf } from './given.js'

const names: Names = { a: 1, s: 'heat', list: [1, 2, 3], rows: [{ n: 1 }, { n: 2 }], o: { k: { k: 1 } }, nil: null }

/** Far above what two million steps take, and far below what an unbounded evaluation would. */
const soon_ms = 3000

const words = ['a', 's', 'list', 'rows', 'o', 'nil', 'gone', 'true', 'null', 'in', '.n', '.k', '1', '0.5', "'x'", '"y"']
const signs = ['&&', '||', '==', '!=', '<', '+', '-', '*', '/', '//', '%', '^', '!', '?', ':', ',', '.', '|', '${', '}']
const brackets = ['(', ')', '[', ']', '{', '}', ' ']
const transformations = ['|len', "|split('')", '|toString', '|toJson', '|arrSum', "|matchRegex('.')", '|keys', '|now']

const tokens = fc.array(fc.constantFrom(...words, ...signs, ...brackets, ...transformations), { maxLength: 60 })
const nearlyRight = tokens.map((parts) => parts.join(''))
const anything = fc.oneof(unicodeText({ maxLength: 200 }), nearlyRight)

test('whatever the text, there is a result, a JSON value, and the same again', async (t) => {
  fc.assert(
    fc.property(anything, (text) => {
      const result = resultOf(text, names)
      if (JSON.stringify(result) === undefined) throw new Error(`no JSON value: ${text}`)
      if (JSON.stringify(resultOf(text, names)) !== JSON.stringify(result)) throw new Error(`another result: ${text}`)
    }),
    { numRuns: runs(20_000) },
  )
  t.pass('always a result')
})

test('whatever the template, it is filled in or refused', async (t) => {
  const template = fc.array(fc.oneof(fc.constantFrom('${', '}', '%', '%C2%B0'), nearlyRight), { maxLength: 10 })
  fc.assert(
    fc.property(template, (parts) => {
      const filler = new Filler(new Expressions(10_000), scopeOf(names))
      filler.text(parts.join(''), 'null')
      filler.value([parts.join(''), { a: parts }])
    }),
    { numRuns: runs(5000) },
  )
  t.pass('filled in or refused')
})

test('what is nested up to 64 deep is evaluated, and what is deeper is wrong', async (t) => {
  const nested = (open: string, inner: string, close: string, depth: number) =>
    open.repeat(depth) + inner + close.repeat(depth)
  for (const [open, inner, close] of [
    ['(', '1', ')'],
    ['[', '1', ']'],
    ['{a:', '1', '}'],
    ['list[', '0', ']'],
    ['s|indexOf(', "'h'", ')'],
    ['true ? ', '1', ' : 0'],
  ] as const) {
    t.not(resultOf(`[${nested(open, inner, close, 63)}] == 1`, names), null, `${open} within the limit`)
    t.equal(resultOf(`[${nested(open, inner, close, 64)}] == 1`, names), null, `${open} beyond the limit`)
    t.equal(resultOf(nested(open, inner, close, 1300).slice(0, 8192), names), null, `${open} far beyond`)
  }
})

test('what is long and not deep is evaluated, up to 8192 characters', async (t) => {
  t.equal(resultOf(`1${'+1'.repeat(4095)}`), 4096)
  t.equal(resultOf(`1${'+1'.repeat(4095)} `), 4096)
  t.equal(resultOf(`1${'+1'.repeat(4095)}  `), null)
  t.equal(resultOf(`${'-'.repeat(8190)}1`), 1)
  t.equal(resultOf(`${'!'.repeat(8191)}1`), false)
  t.equal(resultOf(`${'0?1:'.repeat(2047)}7`), 7)
  t.equal(resultOf(`o${'.k'.repeat(4000)}`, names), null)
  t.strictSame(
    resultOf(`[${'1,'.repeat(4000)}1]`),
    Array.from({ length: 4001 }, () => 1),
  )
})

test('a result may be as long as a message, and not longer', async (t) => {
  const max_bytes = 100
  const evaluated = (text: string, given: Names) =>
    new Expressions(10_000).evaluate(text, scopeOf(given, { max_bytes }))
  const half = 'x'.repeat(50)
  t.equal(evaluated('h + h', { h: half }), half + half)
  t.equal(evaluated("h + h + 'x'", { h: half }), null)
  t.equal(evaluated('h', { h: '°'.repeat(50) }), '°'.repeat(50))
  t.equal(evaluated('h', { h: '°'.repeat(51) }), null)
  t.strictSame(evaluated('[h, n]', { h: half, n: 'y'.repeat(43) }), [half, 'y'.repeat(43)])
  t.equal(evaluated('[h, n]', { h: half, n: 'y'.repeat(44) }), null)
  t.equal(evaluated("h|replaceStr('x','yyy')", { h: half }), null)
  t.equal(evaluated("h|replaceRegex('x','yyy')", { h: half }), null)
  t.not(evaluated('{ a: h }', { h: { bb: half, c: 'z'.repeat(28) } }), null)
  t.equal(evaluated('{ a: h }', { h: { bb: half, c: 'z'.repeat(29) } }), null)
})

test('no expression takes long, whatever it multiplies', async (t) => {
  const long = 'a'.repeat(500_000)
  const given: Names = {
    long,
    half: `b${'a'.repeat(250_000)}`,
    many: Array.from({ length: 100_000 }, (_, at) => at),
    texts: Array.from({ length: 2000 }, () => 'a'.repeat(250)),
    nested: '['.repeat(200_000),
    wide: '{"a":1},'.repeat(50_000),
  }
  for (const text of [
    `long${'+long'.repeat(1600)}`,
    "long|replaceStr('a', long)",
    "long|replaceRegex('a', long)",
    'half in long',
    'long|replaceStr(half, long)',
    "long|split('')|len",
    "long|matchRegex('a.*z|a')",
    "long|matchRegex('(a|aa)+$')",
    "long|matchRegex('[a-z]{400}')",
    'many[.n in many]',
    'many[many[many[.x] == .y]]',
    `[${'many,'.repeat(1500)}many] == [${'many,'.repeat(100)}many]`,
    `[${'many,'.repeat(1500)}many]|toString|len`,
    'texts|arrSort|arrReverse|arrSort',
    `texts[texts[texts[.n]]]`,
    'nested|toJson',
    "('[' + wide + '1]')|toJson",
    `many${'|arrReverse'.repeat(700)}`,
    `long${'|uppercase'.repeat(700)}`,
  ]) {
    const evaluate = () => new Expressions(100_000).evaluate(text, scopeOf(given))
    t.ok(await staysWithin(soon_ms, evaluate), text.slice(0, 60))
  }
})

test('arrays that hold one another many times are measured as what they stand for', async (t) => {
  const attributes = Array.from({ length: 200 }, (_, at) => ({
    name: `a${at}`,
    value: at === 0 ? [1] : `\${[a${at - 1}, a${at - 1}]}`,
    priority: undefined,
  }))
  const patch = { id: undefined, type: undefined, attributes }
  const filled = filledPatch(patch, new Expressions(100_000), scopeOf({}, { max_bytes: 10_000 }))
  t.ok(filled.ok)
  if (filled.ok) {
    const sizes = [...filled.value.values.values()].map((value) => JSON.stringify(value).length)
    t.ok(Math.max(...sizes) <= 10_000)
    t.ok(Math.max(...sizes) > 2000)
  }
})

test('when the step budget is spent, results are null', async (t) => {
  const expressions = new Expressions(10_000)
  t.equal(expressions.evaluate('1 + 1', scopeOf({}, { steps: 20 })), 2)
  t.equal(expressions.evaluate('1 + 1', scopeOf({}, { steps: 5 })), null)
  t.equal(expressions.evaluate('gone || 1', scopeOf({}, { steps: 12 })), null)
  const scope = scopeOf({}, { steps: 1000 })
  t.equal(expressions.evaluate("'x'|matchRegex('x')", scope), null)
  t.equal(expressions.evaluate('1', scope), null)
})
