import { test } from 'tap'
import type { Value } from '../../src/model/context/entity.js'
import { compileOccurrences, type Occurrences } from '../../src/model/context/occurrences.js'
import { StepBudget } from '../../src/model/context/step-budget.js'
import { transformations, transformed } from '../../src/model/expression/transformations.js'
import { scopeOf } from './given.js'

type Given = readonly [input: Value, ...inputs: readonly Value[]]

const emoji = '\u{1f525}'
const few = 1000
const many = 8 * few
const most = 1_000_000_000

function numbers(length: number): readonly number[] {
  return Array.from({ length }, (_, at) => (at * 7919) % 10_007)
}

function object(length: number): Value {
  return Object.fromEntries(numbers(length).map((number, at) => [`k${at}`, number]))
}

/** What each transformation reads all of, at a size. */
const readsAll: Readonly<Record<string, (size: number) => readonly Given[]>> = {
  uppercase: (size) => [['\u03a3'.repeat(size)]],
  lowercase: (size) => [['\u03a3'.repeat(size)]],
  trim: (size) => [[' '.repeat(size)]],
  len: (size) => [[emoji.repeat(size)]],
  substring: (size) => [[emoji.repeat(size), 1, size - 1]],
  split: (size) => [
    [emoji.repeat(size), ''],
    [','.repeat(size), ','],
    ['a'.repeat(size), 'b'],
  ],
  indexOf: (size) => [[`${'a'.repeat(size)}b`, 'b']],
  includes: (size) => [['a'.repeat(size), 'b']],
  replaceStr: (size) => [
    ['a'.repeat(size), '', 'b'],
    ['a'.repeat(size), 'b', 'c'],
  ],
  parseInt: (size) => [['1'.repeat(size)]],
  parseFloat: (size) => [[`0.${'1'.repeat(size)}`]],
  isNaN: (size) => [['1'.repeat(size)]],
  toJson: (size) => [[`[${'[],'.repeat(size)}1]`], ['['.repeat(size)]],
  toString: (size: number): readonly Given[] => [
    [numbers(size)],
    [object(size)],
    ['"'.repeat(size * 16)],
    ['\ud800'.repeat(size)],
  ],
  matchRegex: (size) => [['a'.repeat(size), 'b+']],
  replaceRegex: (size) => [['a'.repeat(size), 'b+', '']],
  mapper: (size) => [['a', numbers(size).map(String), numbers(size)]],
  nMapper: (size) => [[-1, numbers(size), numbers(size)]],
  thMapper: (size) => [[1, numbers(size), numbers(size + 1)]],
  keys: (size) => [[object(size)]],
  values: (size) => [[object(size)]],
  arrSum: (size) => [[numbers(size)]],
  arrAvg: (size) => [[numbers(size)]],
  arrMax: (size) => [[numbers(size)]],
  arrMin: (size) => [[numbers(size)]],
  arrMed: (size) => [[numbers(size)]],
  arrSort: (size) => [[numbers(size)], [numbers(size).map(String)]],
  arrReverse: (size) => [[numbers(size)]],
}

/** Those whose inputs are short, or are read no further than they are. */
const readsLittle: Readonly<Record<string, readonly Given[]>> = {
  floor: [[1.5]],
  ceil: [[1.5]],
  round: [[1.5]],
  log: [[1.5]],
  log10: [[1.5]],
  log2: [[1.5]],
  sqrt: [[1.5]],
  now: [[0]],
  toFixed: [[1.5, 2]],
  toIsoString: [[0]],
  getTime: [['2024-07-10T10:22:29+00:00'], ['2'.repeat(many)]],
  typeOf: [[object(many)]],
}

function regexes(text: string): Occurrences | undefined {
  const compiled = compileOccurrences(text)
  return compiled.ok ? compiled.value : undefined
}

/** The steps that a transformation pays. */
function paid(name: string, [input, ...inputs]: Given): number {
  const budget = new StepBudget(most)
  transformed(name, input, inputs, { scope: { ...scopeOf({}), budget }, regexes })
  return most - budget.left
}

test('each transformation has a row here', async (t) => {
  t.strictSame([...transformations.keys()].sort(), [...Object.keys(readsAll), ...Object.keys(readsLittle)].sort())
})

test('a transformation costs what it reads: steps grow with the length of its input', async (t) => {
  for (const [name, rows] of Object.entries(readsAll)) {
    const large = rows(many)
    for (const [at, given] of rows(few).entries()) {
      // Compiling an expression costs as much whatever it is searched in.
      const beside = name.endsWith('Regex') ? paid(name, ['', ...given.slice(1)]) : 0
      const [less, more] = [paid(name, given) - beside, paid(name, large[at] ?? given) - beside]
      t.ok(less >= few / 8, `${name} ${at}: ${less} steps for ${few}`)
      t.ok(more >= 6 * less, `${name} ${at}: ${more} steps after ${less}`)
    }
  }
})

test('transformations of what is short cost more than a step, and no more than some microseconds', async (t) => {
  for (const [name, rows] of Object.entries(readsLittle)) {
    for (const given of rows) t.ok(paid(name, given) >= 1 && paid(name, given) <= 200, `${name}: ${paid(name, given)}`)
  }
  t.ok(paid('toFixed', [1.5, 100]) > 4 * paid('toFixed', [1.5, 2]))
})

test('a regular expression costs what its classes take to compile', async (t) => {
  const cost = (regex: string) => paid('matchRegex', ['', regex])
  t.ok(cost('(?i)[\u0100-\uffff]'.repeat(8)) > 4 * cost('(?i)[\u0100-\uffff]'))
  t.ok(cost('\\p{L}'.repeat(20)) > 4 * cost('\\p{L}'))
})

test('a transformation that cannot be paid does not run', async (t) => {
  for (const [name, rows] of Object.entries(readsAll)) {
    for (const [input, ...inputs] of rows(few)) {
      const scope = { ...scopeOf({}), budget: new StepBudget(few / 10) }
      t.equal(transformed(name, input, inputs, { scope, regexes }), null, name)
      t.ok(scope.budget.isSpent, name)
    }
  }
})

test('a text that would fall into more pieces than there are steps is not taken apart', async (t) => {
  const text = 'x'.repeat(100_000)
  for (const name of ['split', 'replaceStr']) {
    const budget = new StepBudget(20_000)
    t.equal(transformed(name, text, ['x', 'y'], { scope: { ...scopeOf({}), budget }, regexes }), null, name)
    // Each piece is paid for by itself, so the budget ends at the first one that it is too small for.
    t.ok(budget.isSpent && budget.left >= -2, `${name}: ${budget.left}`)
  }
})
