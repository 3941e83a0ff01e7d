import { test } from 'tap'
import { Expressions } from '../../src/model/expression/expressions.js'
import { type Names, scopeOf, tableWith } from './given.js'

const names: Names = {
  a: 7,
  b: 2,
  s: 'heat',
  nil: null,
  list: [5, 6],
  rows: [{ n: 1 }, { n: 2 }, { n: 3, m: 'x' }],
  o: { k: 1, in: 2, 'a.b': 3, deep: { n: 4 } },
  limit: 2,
  'oil-temp': 88,
  'urn:x': 'colon',
  true: 'attribute',
}

const table = tableWith(names)

table('literals are numbers, texts in either quotation marks, words, arrays and objects', [
  ['1.5', 1.5],
  ['1.50', 1.5],
  ['007', 7],
  ["'a'", 'a'],
  ['"a"', 'a'],
  ["'it\\'s'", "it's"],
  ['"say \\"so\\""', 'say "so"'],
  ['"it\'s"', "it's"],
  ["'\\d\\\\'", '\\d\\'],
  ["''", ''],
  ["'a\nb'", 'a\nb'],
  ['false', false],
  ['null', null],
  ['[]', []],
  ["[1, 'a', [null]]", [1, 'a', [null]]],
  ['{}', {}],
  ["{ a: 1, 'b c': { d: a } }", { a: 1, 'b c': { d: 7 } }],
  ['{ a: 1, a: 2 }', { a: 2 }],
])

table('what is no expression is null', [
  ['', null],
  ['  ', null],
  ['a b', null],
  ['a +', null],
  ['+ a', null],
  ['(a', null],
  ['a)', null],
  ['[1,]', null],
  ['[1', null],
  ['{ a }', null],
  ['{ a: 1', null],
  ['{ 1: 1 }', null],
  ["'a", null],
  ["'a\\'", null],
  ['a ? 1', null],
  ['a ? : 1', null],
  ['a.', null],
  ['a.1', null],
  ['a[', null],
  ['list[]', null],
  ['a|', null],
  ['s|indexOf(', null],
  ['.n', null],
  ['(.n)', null],
  ['a # b', null],
  ['1.', null],
  ['1e3', null],
  ['a = 1', null],
  ['a & b', null],
  ['in', null],
  ['in in o', null],
])

table('a name as a whole is looked up before the text is read', [
  ['oil-temp', 88],
  [' oil-temp ', 88],
  ['urn:x', 'colon'],
  ['true', 'attribute'],
  ['oil-temp + 1', null],
])

table('members, indexes and what is missing', [
  ['o.k', 1],
  ['o.in', 2],
  ["o['a.b']", 3],
  ["o['k']", 1],
  ['o.deep.n', 4],
  ['list[1]', 6],
  ['list[a - 6]', 6],
  ['rows[1].n', 2],
  ['o.gone', null],
  ['o.gone == null', true],
  ['o.gone.more', null],
  ['o.gone + 1', null],
  ['list[9]', null],
  ['list[-1]', null],
  ['list[0.5]', null],
  ["list['0']", null],
  ['list[true]', null],
  ['list[gone]', null],
  ["list[9] || 'none'", 'none'],
  ['list[0].x', null],
  ['list.length', null],
  ['o.constructor', null],
  ["o['__proto__']", null],
  ['s[0]', null],
  ['nil.x', null],
  ['{ a: { b: 5 } }.a.b', 5],
  ['[1, 2][1]', 2],
])

table('filters take the elements for which they hold', [
  ['rows[.n >= 2]', [{ n: 2 }, { n: 3, m: 'x' }]],
  ['rows[.n == 9]', []],
  ["rows[.m == 'x'][0].n", 3],
  ['rows[.n > limit]', [{ n: 3, m: 'x' }]],
  ['rows[.m]', [{ n: 3, m: 'x' }]],
  ['rows[!.m]', [{ n: 1 }, { n: 2 }]],
  ['rows[.n > gone]', []],
  ['rows[.n + list[0] == 6]', [{ n: 1 }]],
  ['rows[.n in [1, 3]]', [{ n: 1 }, { n: 3, m: 'x' }]],
  ['list[.n]', []],
  ['[{ r: rows, n: 2 }][.r[.n > 2][0].n == 3][0].n', 2],
  ['[{ r: rows, n: 2 }][.n == 2 && .r[.n == 1] && .n == 2][0].n', 2],
  ['o[.n > 1]', null],
  ['nil[.n > 1]', null],
  ['gone[.n > 1]', null],
])

table('operators have ranks and go from left to right', [
  ['2+3*4', 14],
  ['(2+3)*4', 20],
  ['10-4-3', 3],
  ['2*3^2', 18],
  ['2^3^2', 64],
  ['7%4*2', 6],
  ['2^3%5', 3],
  ['8/4*2', 4],
  ['7//2', 3],
  ['-7//2', -4],
  ['-2^2', 4],
  ['1-2+3', 2],
  ['a+b == 9', true],
  ['1 < 2 == true', true],
  ['a>b && b>5', false],
  ['true || false && false', false],
  ['false && true || true', true],
  ["1+1 > 1 && 'a'+'b' == 'ab'", true],
  ["'a' in 'ab' == true", true],
])

table('the choice binds loosest, from the right, and takes one branch', [
  ['a>b ? a : b', 7],
  ["a<b ? 'x' : a==7 ? 'y' : 'z'", 'y'],
  ["a<b ? 'x' : a==8 ? 'y' : 'z'", 'z'],
  ['a>b ? b>a ? 1 : 2 : 3', 2],
  ["a>1 && b>5 ? 'x' : 'y'", 'y'],
  ['true ? 1 : gone', 1],
  ['false ? gone : 2', 2],
  ['true ? gone : 2', null],
  ['a ? b+1 : 0', 3],
  ['true ? o.k : 0', 1],
])

table('false are false, 0, the empty text and null', [
  ['0 || 5', 5],
  ["'' || 5", 5],
  ['null || 5', 5],
  ["false || 'x'", 'x'],
  ['nil ? 1 : 0', 0],
  ["'x' && 7", 7],
  ['0 && 7', 0],
  ["'0' ? 1 : 0", 1],
  ['[] ? 1 : 0', 1],
  ['{} ? 1 : 0', 1],
  ['list || 5', [5, 6]],
])

table('! and - before an operand', [
  ['!true', false],
  ['!!a', true],
  ['!nil', true],
  ['!gone', null],
  ['-a', -7],
  ['--a', 7],
  ['4 - -3', 7],
  ['-s', null],
  ['!-0', true],
  ['-b * 3', -6],
  ["-'2'|len", -1],
])

table('what is wrong makes everything around it wrong, but for the left of || and a condition', [
  ['gone', null],
  ['gone + 1', null],
  ['gone && 7', null],
  ['7 && gone', null],
  ['0 && gone', 0],
  ['gone || 7', 7],
  ['7 || gone', 7],
  ['0 || gone', null],
  ['(gone + 1) || 7', 7],
  ['gone && 7 || 5', 5],
  ['gone ? 1 : 0', 0],
  ['gone != null ? 1 : 0', 0],
  ['(gone == null) ? 0 : gone', null],
  ['(gone == null) ? 0 : 1', 1],
  ['[1, gone]', null],
  ['{ a: gone }', null],
  ['gone|len', null],
  ["s|replaceStr('a', gone)", null],
  ['gone.x', null],
  ['gone == gone', null],
  ["(s|melt) || 'cold'", 'cold'],
  ['(s|constructor) || 1', 1],
  ["(s + 1) || 'wrong'", 'wrong'],
])

table('values are equal by structure and never converted', [
  ["1 == '1'", false],
  ["1 != '1'", true],
  ['[1,{ a: 2 }] == [1,{ a: 2 }]', true],
  ['{ a: 1, b: 2 } == { b: 2, a: 1 }', true],
  ['{ a: 1 } == { a: 1, b: 2 }', false],
  ['[1,2] == [2,1]', false],
  ['[] == {}', false],
  ['null == false', false],
  ['nil == null', true],
  ['0 == false', false],
  ["'' == null", false],
])

table('two numbers or two texts have an order', [
  ['a > b', true],
  ['a >= 7', true],
  ['a < b', false],
  ['b <= 2', true],
  ["'b' > 'a'", true],
  ["'10' < '9'", true],
  ["'a' <= 'a'", true],
  ["1 < '2'", null],
  ['true > false', null],
  ['nil < 1', null],
  ['[1] < [2]', null],
])

table('in looks into texts, arrays and objects', [
  ["'ea' in s", true],
  ["'x' in s", false],
  ['5 in list', true],
  ["'5' in list", false],
  ['{ n: 1 } in rows', true],
  ['[5] in [[5]]', true],
  ["'k' in o", true],
  ["'x' in o", false],
  ["'toString' in o", false],
  ['1 in s', null],
  ['1 in o', null],
  ['1 in 1', null],
  ["'a' in nil", null],
])

table('numbers are doubles, and a result that is none is null', [
  ['a + b', 9],
  ['a - b', 5],
  ['a * (b + 1)', 21],
  ['a / b', 3.5],
  ['a % b', 1],
  ['-7 % 4', -3],
  ['b ^ 3', 8],
  ['4 ^ 0.5', 2],
  ["'x' + s", 'xheat'],
  ['0.1 + 0.2', 0.30000000000000004],
  ['1/0', null],
  ['0/0', null],
  ['1//0', null],
  ['1%0', null],
  ['10 ^ 400', null],
  ['(1/0) == null', true],
  ['(1/0) + 1', null],
  ['s + 1', null],
  ['s - s', null],
  ['list + list', null],
  ['nil + 1', null],
  ['true + 1', null],
])

test('a jexlExpression holds when it is true itself', async (t) => {
  const expressions = new Expressions(100_000)
  const holds = (text: string) => expressions.holds(text, scopeOf(names))
  for (const text of ['a > b', 'nil == null', '!nil']) t.ok(holds(text), text)
  for (const text of ['1', "'true'", 'a', 'a > 10', 'gone > 1', 'a >', 's|melt', 'list']) t.notOk(holds(text), text)
})

test('the same expression gives another result with other values', async (t) => {
  const expressions = new Expressions(100_000)
  t.equal(expressions.evaluate('a + 1', scopeOf({ a: 1 })), 2)
  t.equal(expressions.evaluate('a + 1', scopeOf({ a: 2 })), 3)
  t.equal(expressions.evaluate('a + 1', scopeOf({})), null)
  t.equal(expressions.evaluate('a +', scopeOf({ a: 2 })), null)
  t.equal(expressions.evaluate('a +', scopeOf({ 'a +': 2 })), 2)
})
