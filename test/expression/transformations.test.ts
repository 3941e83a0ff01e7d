import { test } from 'tap'
import { type Names, resultOf, tableWith } from './given.js'

const names: Names = {
  s: 'foo bar',
  x: 3.16,
  nil: null,
  on: true,
  list: [3, 1, 8],
  even: [4, 1, 3, 2],
  mixed: [1, 'a'],
  empty: [],
  texts: ['b', 'a', 'C'],
  o: { x: 1, y: 'z' },
  values: ['es', 'fr'],
  numbers: [10, 20],
  choices: ['Spain', 'France'],
  thresholds: [0, 10],
  levels: ['low', 'mid', 'high'],
  astral: 'a\u{1f525}b',
}

const table = tableWith(names)

table('texts: case, spaces, length', [
  ['s|uppercase', 'FOO BAR'],
  ["'FOO'|lowercase", 'foo'],
  ["'  q '|trim", 'q'],
  ['s|len', 7],
  ["''|len", 0],
  ['astral|len', 3],
  ['  s | trim | uppercase | len ', 7],
  ['s|len()', 7],
])

table('texts: parts', [
  ["s|split(' ')", ['foo', 'bar']],
  ["s|split('')", ['f', 'o', 'o', ' ', 'b', 'a', 'r']],
  ["astral|split('')", ['a', '\u{1f525}', 'b']],
  ["(s|split(' '))[1]", 'bar'],
  ["s|split(' ')[1]", 'bar'],
  ["s|split('x')", ['foo bar']],
  ["s|indexOf('b')", 4],
  ["s|indexOf('z')", null],
  ["s|indexOf('')", 0],
  ["astral|indexOf('b')", 2],
  ["s|includes('ba')", true],
  ["s|includes('Bar')", false],
  ['s|substring(2,5)', 'o b'],
  ['s|substring(0,7)', 'foo bar'],
  ['s|substring(3,3)', ''],
  ['s|substring(2,8)', null],
  ['s|substring(-1,2)', null],
  ['s|substring(4,2)', null],
  ['s|substring(0.5,2)', null],
  ['s|substring(2)', null],
  ['astral|substring(1,2)', '\u{1f525}'],
])

table('texts: replacement, by text and by regular expression', [
  ["s|replaceStr('o','0')", 'f00 bar'],
  ["s|replaceStr('o','')", 'f bar'],
  ["s|replaceStr('x','y')", 'foo bar'],
  ["'a.b.c'|replaceStr('.','$&')", 'a$&b$&c'],
  ["'ab'|replaceStr('','-')", '-a-b-'],
  ["'a12b3'|replaceRegex('[0-9]+','#')", 'a#b#'],
  ["'a12b3'|replaceRegex('\\d','$1')", 'a$1$1b$1'],
  ["'aaa'|replaceRegex('^a','b')", 'baa'],
  ["'ab'|replaceRegex('x*','-')", '-a-b-'],
  ["'ab'|replaceRegex('(','-')", null],
  ["'a12b3'|matchRegex('[0-9]+')", ['12', '3']],
  ["'a12b3'|matchRegex('x')", []],
  ["'a12b3'|matchRegex('[a-z](\\d+)')", ['a12', 'b3']],
  ["'abc'|matchRegex('a.c|b')", ['abc']],
  ["'a1'|matchRegex('[')", null],
  ["'aa'|matchRegex('(a)\\1')", null],
])

table('texts: numbers, JSON and dates in them', [
  ["'30'|parseInt", 30],
  ["'-7'|parseInt", -7],
  ["'2.5'|parseInt", null],
  ["'30 rpm'|parseInt", null],
  ["''|parseInt", null],
  ["'2.5'|parseFloat", 2.5],
  ["'1e3'|parseFloat", 1000],
  ["'1e999'|parseFloat", null],
  ["'x'|parseFloat", null],
  ['\'[1,{"a":null}]\'|toJson', [1, { a: null }]],
  ["'[1'|toJson", null],
  ["'[1e999]'|toJson", null],
  ["'2024-07-10T10:22:29+00:00'|getTime", 1720606949],
  ["'2024-07-10T12:22:29+02:00'|getTime", 1720606949],
  ["'soon'|getTime", null],
  ['1720606949|toIsoString|getTime', 1720606949],
])

table('numbers', [
  ['x|floor', 3],
  ['x|ceil', 4],
  ['x|round', 3],
  ['2.5|round', 3],
  ['(-2.5)|round', -3],
  ['x|toFixed(1)', 3.2],
  ['x|toFixed(0)', 3],
  ['x|toFixed', null],
  ['x|toFixed(-1)', null],
  ['x|toFixed(101)', null],
  ["x|toFixed('1')", null],
  ['1|log', 0],
  ['0|log', null],
  ['100|log10', 2],
  ['8|log2', 3],
  ['16|sqrt', 4],
  ['(-1)|sqrt', null],
  ['1720606949|toIsoString', '2024-07-10T10:22:29+00:00'],
  ['1720606949.9|toIsoString', '2024-07-10T10:22:29+00:00'],
  ['(-1)|toIsoString', '1969-12-31T23:59:59+00:00'],
  ['(10^14)|toIsoString', null],
  ['(10^12)|toIsoString', null],
  ['0|now', 1720606949],
  ['10|now', 1720606959],
  ['0|now(-9)', 1720606940],
  ['(10|now) - (0|now)', 10],
  ["0|now('x')", null],
])

table('kinds and texts of any value', [
  ['s|typeOf', 'String'],
  ['1|typeOf', 'Number'],
  ['on|typeOf', 'Boolean'],
  ['list|typeOf', 'Array'],
  ['o|typeOf', 'Object'],
  ['nil|typeOf', 'null'],
  ['16|toString', '16'],
  ['s|toString', 'foo bar'],
  ['on|toString', 'true'],
  ['nil|toString', 'null'],
  ['o|toString', '{"x":1,"y":"z"}'],
  ["'a'|isNaN", true],
  ["'2.5'|isNaN", false],
  ['2.5|isNaN', false],
  ['list|isNaN', true],
])

table('choices', [
  ["'fr'|mapper(values,choices)", 'France'],
  ["'x'|mapper(values,choices)", null],
  ["'fr'|mapper(values,levels)", null],
  ["'fr'|mapper(numbers,choices)", null],
  ["'fr'|mapper(values)", null],
  ["'fr'|mapper('fr','x')", null],
  ['20|mapper(values,choices)', null],
  ['20|nMapper(numbers,choices)', 'France'],
  ['19.6|nMapper(numbers,choices)', 'France'],
  ['19.4|nMapper(numbers,choices)', null],
  ["'20'|nMapper(numbers,choices)", null],
  ['20|nMapper(values,choices)', null],
  ['(-1)|thMapper(thresholds,levels)', 'low'],
  ['0|thMapper(thresholds,levels)', 'mid'],
  ['5|thMapper(thresholds,levels)', 'mid'],
  ['10|thMapper(thresholds,levels)', 'high'],
  ['5|thMapper(thresholds,choices)', null],
  ['5|thMapper(values,levels)', null],
  ["'5'|thMapper(thresholds,levels)", null],
])

table('arrays and objects', [
  ['list|arrSum', 12],
  ['list|arrAvg', 4],
  ['list|arrMax', 8],
  ['list|arrMin', 1],
  ['list|arrMed', 3],
  ['even|arrMed', 2.5],
  ['list|arrSort', [1, 3, 8]],
  ['[10,9,1]|arrSort', [1, 9, 10]],
  ['texts|arrSort', ['C', 'a', 'b']],
  ['mixed|arrSort', null],
  ['empty|arrSort', []],
  ['mixed|arrReverse', ['a', 1]],
  ['list', [3, 1, 8]],
  ['o|keys', ['x', 'y']],
  ['o|values', [1, 'z']],
  ['list|keys', null],
  ['nil|values', null],
])

test('arrays without numbers, and empty ones, have no sum, average, ends or middle', async (t) => {
  for (const name of ['arrSum', 'arrAvg', 'arrMax', 'arrMin', 'arrMed']) {
    for (const input of ['empty', 'mixed', 'texts', 'o', 's', '1', 'nil']) {
      t.equal(resultOf(`${input}|${name}`, names), null, `${input}|${name}`)
    }
  }
})

test('an input or argument of another kind gives null, which is not wrong', async (t) => {
  const ofTexts = ['uppercase', 'lowercase', 'trim', "split(' ')", "indexOf('a')", "includes('a')"]
  const alike = ['substring(0,1)', "replaceStr('a','b')", "replaceRegex('a','b')", "matchRegex('a')", 'parseInt']
  const more = ['parseFloat', 'toJson', 'getTime']
  for (const each of [...ofTexts, ...alike, ...more]) {
    for (const input of ['1', 'on', 'nil', 'list', 'o']) {
      t.equal(resultOf(`${input}|${each}`, names), null, `${input}|${each}`)
      t.equal(resultOf(`(${input}|${each}) == null`, names), true, `${input}|${each}`)
    }
  }
  for (const input of ['1', 'on', 'nil', 'o']) t.equal(resultOf(`${input}|len`, names), null, `${input}|len`)
  t.equal(resultOf('[1, [2, 3]]|len', names), 2)
  for (const each of ['split', 'split(1)', 'indexOf(1)', 'includes(nil)', "replaceStr('a')", 'replaceStr(1,2)']) {
    t.equal(resultOf(`(s|${each}) == null`, names), true, each)
  }
  for (const each of ['floor', 'ceil', 'round', 'toFixed(1)', 'log', 'log10', 'log2', 'sqrt', 'now', 'toIsoString']) {
    for (const input of ["'1'", 'on', 'nil', 'list', 'o']) {
      t.equal(resultOf(`(${input}|${each}) == null`, names), true, `${input}|${each}`)
    }
  }
})
