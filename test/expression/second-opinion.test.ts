import { Jexl } from '@pawel-up/jexl'
import fc from 'fast-check'
import { test } from 'tap'
import type { Value } from '../../src/model/context/entity.js'
import { runs } from '../runs.js'
import { type Names, resultOf } from './given.js'

/*
 * Expressions in which JEXL and this language mean the same: those of right kinds without anything missing, with parentheses
 * where `&&` meets `||`, and with small numbers, so that all of them stay finite.
 */
const names: Names = {
  a: 7,
  b: -2,
  c: 0.5,
  s: 'heat',
  e: '',
  on: true,
  off: false,
  list: [5, 6, 7],
  o: { k: 3, deep: { n: 4 } },
  rows: [{ n: 1 }, { n: 2 }, { n: 3 }],
}

const { number, condition, text } = fc.letrec<{ number: string; condition: string; text: string }>((tie) => {
  const number = tie('number')
  const condition = tie('condition')
  const text = tie('text')
  const chosen = (kind: fc.Arbitrary<string>) =>
    fc.tuple(condition, kind, kind).map(([when, then, otherwise]) => `((${when}) ? (${then}) : (${otherwise}))`)
  const chain = (kind: fc.Arbitrary<string>, operators: readonly string[]) =>
    fc
      .tuple(kind, fc.array(fc.tuple(fc.constantFrom(...operators), kind), { maxLength: 3 }))
      .map(([first, rest]) => [first, ...rest.map(([operator, operand]) => `${operator} ${operand}`)].join(' '))
  const divisor = fc.constantFrom('2', '3', '0.5')
  const enclosed = (kind: fc.Arbitrary<string>) => kind.map((inner) => `(${inner})`)
  return {
    number: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom('1', '2', '0.25', '-3', 'a', 'b', 'c', 'list[1]', 'o.k', "o['k']", 'o.deep.n'),
      chain(number, ['+', '-', '*']),
      fc.tuple(enclosed(number), fc.constantFrom('/', '//', '%'), divisor).map((parts) => parts.join(' ')),
      fc.tuple(fc.constantFrom('2', '3', '(0 - 2)'), fc.constantFrom('^ 2', '^ 3 % 5')).map((parts) => parts.join(' ')),
      enclosed(number),
      chosen(number),
      number.map((limit) => `rows[.n > (${limit}) || .n == 3][0].n`),
    ),
    condition: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom('true', 'false', 'on', 'off', "'ea' in s", '6 in list', '1 in list', "s == 'heat'", 'e == s'),
      fc.tuple(number, fc.constantFrom('==', '!=', '<', '<=', '>', '>='), number).map((parts) => parts.join(' ')),
      fc.tuple(text, fc.constantFrom('==', '!=', '<', '<=', '>', '>='), text).map((parts) => parts.join(' ')),
      chain(enclosed(condition), ['&&']),
      chain(enclosed(condition), ['||']),
      condition.map((inner) => `!(${inner})`),
      chosen(condition),
    ),
    text: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom("'x'", '"y"', 's', 'e', "'it\\'s'", "''"),
      chain(text, ['+']),
      enclosed(text),
      chosen(text),
    ),
  }
})

test('where JEXL and this language mean the same, its library gives the same', async (t) => {
  const jexl = new Jexl()
  const given: Record<string, unknown> = structuredClone(names)
  const expression = fc.oneof(
    number,
    condition,
    text,
    number.map((inner) => `[${inner}, { a: ${inner} }]`),
  )
  await fc.assert(
    fc.asyncProperty(expression, async (text) => {
      fc.pre(text.length <= 8192)
      const theirs: unknown = await jexl.eval(text, given)
      const ours: Value = resultOf(text, names)
      if (JSON.stringify(ours) !== JSON.stringify(theirs)) {
        throw new Error(`${text}: ${JSON.stringify(ours)} and ${JSON.stringify(theirs)}`)
      }
    }),
    { numRuns: runs(2000) },
  )
  t.pass('the same results')
})
