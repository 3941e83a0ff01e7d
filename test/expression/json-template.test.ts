import fc from 'fast-check'
import { test } from 'tap'
import type { Value } from '../../src/model/context/entity.js'
import { unbounded } from '../../src/model/context/step-budget.js'
import { isObject } from '../../src/model/context/value.js'
import { Expressions } from '../../src/model/expression/expressions.js'
import {
  type JsonTemplate,
  macrosIn,
  readJsonTemplate,
  shortestJson,
  type TemplateText,
  templateText,
} from '../../src/model/expression/json-template.js'
import { Filler } from '../../src/model/expression/template.js'
import { atOnce } from '../../src/slices.js'
import { staysWithin } from '../pace.js'
import { scopeOf } from './given.js'

const names = { id: 'Vat-3', heat: 71.5, none: null, quoted: '"\\é\n', list: [1, { a: '${id}' }] }

const pieces = fc.constantFrom(
  '${id}',
  '${heat}',
  '${none}',
  '${quoted}',
  '${list}',
  '${',
  '}',
  '"',
  '\\',
  'é',
  'a',
  ':',
)
const text = fc.array(pieces, { maxLength: 5 }).map((each) => each.join(''))
const json = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    ...[text, fc.constantFrom(0, 1.5, true, null)],
    ...[fc.array(tie('value'), { maxLength: 4 }), fc.dictionary(text, tie('value'), { maxKeys: 4 })],
  ),
})).value
const template = json.filter((value) => isObject(value) || Array.isArray(value)) as fc.Arbitrary<readonly Value[]>

function read(text: TemplateText): JsonTemplate {
  return atOnce(readJsonTemplate(text))
}

function filler(budget = unbounded()): Filler {
  return new Filler(new Expressions(10_000), { ...scopeOf(names), budget })
}

test('a JSON template is filled in as text as it is as a value', async () => {
  fc.assert(
    fc.property(template, (value) => {
      const filled = filler().value(value)
      const expected = filled.ok ? { ok: true, value: JSON.stringify(filled.value) } : filled
      const made = filler().json(read(templateText(value)))
      return JSON.stringify(made) === JSON.stringify(expected)
    }),
    { numRuns: 5000 },
  )
})

test('macros in the names of members are not filled in, and none of them is an expression', async (t) => {
  const made = read(templateText({ '${a}': '${b} and ${c}', 'x"${d}': ['\\"${e}'] }))
  t.same([...macrosIn(made)], ['b', 'c', 'e'])
  t.equal(shortestJson(made), '{"${a}":" and ","x\\"${d}":["\\\\\\""]}'.length)
})

test('a template of 60,000 members without macros is not looked at member by member', async (t) => {
  const members = Array.from({ length: 60_000 }, (_, at) => [`k${at}`, 'v'] as const)
  const written = templateText(Object.fromEntries(members))
  const isShort = await staysWithin(20, () => {
    const made = read(written)
    t.same(filler().json(made), { ok: true, value: written })
    t.equal(shortestJson(made), written.length)
  })
  t.ok(isShort)
})

test('texts of quotation marks, backslashes and macros are read in linear time', async (t) => {
  for (const piece of ['\\"${a}', '"', '\\', '${', '"${a}"']) {
    const written = templateText([piece.repeat(200_000), '${a}'])
    t.ok(await staysWithin(1000, () => void read(written)), piece)
  }
})
