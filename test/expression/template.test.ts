import fc from 'fast-check'
import { test } from 'tap'
import type { Value } from '../../src/context/entity.js'
import { Expressions } from '../../src/expression/expressions.js'
import { type Blank, Filler, hasMacro, percentDecoded } from '../../src/expression/template.js'
import { type Names, scopeOf } from './given.js'

const names: Names = {
  id: 'Vat-3',
  type: 'Vat',
  heat: 71.5,
  lid: null,
  on: true,
  text: 'say "so"',
  list: ['a', { n: 1 }],
  obj: { x: { y: 2 } },
  'oil-temp': 88,
}

function filler(max_bytes = 1_000_000): Filler {
  return new Filler(new Expressions(100_000), scopeOf(names, { max_bytes }))
}

function text(template: string, blank: Blank = 'null'): unknown {
  const filled = filler().text(template, blank)
  return filled.ok ? filled.value : filled.error
}

function value(template: Value): unknown {
  const filled = filler().value(template)
  return filled.ok ? filled.value : filled.error
}

test('macros in a text become texts: strings without quotation marks, other values as JSON', async (t) => {
  t.equal(text('plain'), 'plain')
  t.equal(text('/vats/${id}/${type}'), '/vats/Vat-3/Vat')
  t.equal(
    text('n=${heat} b=${on} l=${list} o=${obj} t=${text}'),
    'n=71.5 b=true l=["a",{"n":1}] o={"x":{"y":2}} t=say "so"',
  )
  t.equal(text('${oil-temp} and ${heat * 2}'), '88 and 143')
})

test('what is unknown or null becomes empty or null, as the field has it', async (t) => {
  t.equal(text('v-${none}-${lid}', 'null'), 'v-null-null')
  t.equal(text('v-${none}-${lid}', ''), 'v--')
  t.equal(text('${none}', ''), '')
  t.equal(text('${heat|melt} ${heat +}', 'null'), 'null null')
})

test('a macro ends at the first brace, but for a text that is one macro', async (t) => {
  t.equal(text('${${heat}}'), 'null}')
  t.equal(text('${{a: heat}.a}'), '71.5')
  t.equal(text('at ${{a: heat}.a}'), 'at null.a}')
  t.equal(text('a}b ${id}'), 'a}b Vat-3')
  t.equal(text('${id} }'), 'null')
  t.equal(text('${}'), 'null')
})

test('a macro without an end is told', async (t) => {
  t.same(text('at ${heat'), { kind: 'macroOpen' })
  t.same(text('${id} at ${heat'), { kind: 'macroOpen' })
  t.equal(text('$ {heat} $'), '$ {heat} $')
})

test('whether a text has a macro at all', async (t) => {
  t.ok(hasMacro('x ${id}'))
  t.ok(hasMacro('x ${id'))
  t.notOk(hasMacro('$id {id} }$'))
})

test('in JSON a text that is one macro becomes the value with its kind', async (t) => {
  t.strictSame(
    value({ n: '${heat}', z: '${lid}', g: '${gone}', b: '${on}', l: '${list}', o: '${obj}', t: '${text}' }),
    { n: 71.5, z: null, g: null, b: true, l: ['a', { n: 1 }], o: { x: { y: 2 } }, t: 'say "so"' },
  )
  t.strictSame(value('${heat + 1}'), 72.5)
  t.strictSame(value('${{ count: heat }}'), { count: 71.5 })
})

test('in JSON other texts are filled in as texts, at any depth, names of members are not', async (t) => {
  t.strictSame(
    value(['${id}-${type}', ' ${heat}', { '${id}': [{ say: 'at ${heat}' }], fixed: [1, true, null, 'x'] }]),
    ['Vat-3-Vat', ' 71.5', { '${id}': [{ say: 'at 71.5' }], fixed: [1, true, null, 'x'] }],
  )
  t.strictSame(value(['[${none}]', '${heat}${heat}', '${${heat}}']), ['[null]', '71.571.5', 'null}'])
})

test('in JSON a text with a macro that does not end stays as it stands', async (t) => {
  t.strictSame(value(['at ${heat', '${id} at ${heat', '${heat}']), ['at ${heat', '${id} at ${heat', 71.5])
})

test('members named as those that every object has are members like others', async (t) => {
  const template: Value = JSON.parse('{"__proto__":"${heat}","constructor":"${id}"}')
  t.equal(JSON.stringify(value(template)), '{"__proto__":71.5,"constructor":"Vat-3"}')
})

test('what becomes longer than a message may be is told', async (t) => {
  const long = filler(20)
  t.same(long.text('0123456789-${id}${id}', 'null'), { ok: false, error: { kind: 'filledTooLong' } })
  t.same(long.text('0123456789-${type}${type}', 'null'), { ok: true, value: '0123456789-VatVat' })
  t.same(long.text('x'.repeat(21), 'null'), { ok: false, error: { kind: 'filledTooLong' } })
  t.same(long.value(['${id}', '${id}', '${id}']), { ok: false, error: { kind: 'filledTooLong' } })
  t.same(long.value(['${id}', '${id}']), { ok: true, value: ['Vat-3', 'Vat-3'] })
})

test('percent sequences are decoded as UTF-8, and malformed ones stay', async (t) => {
  for (const [given, decoded] of [
    ['%22so%22', '"so"'],
    ['hall%3D2', 'hall=2'],
    ['%C2%B0C', '°C'],
    ['%f0%9f%94%a5!', '\u{1f525}!'],
    ['100%', '100%'],
    ['%zz%4', '%zz%4'],
    ['%FF%3C', '%FF<'],
    ['%C2x%3C', '%C2x<'],
    ['%E2%82%AC', '€'],
    ['%ED%A0%80', '%ED%A0%80'],
    ['%2541', '%41'],
    ['a+b', 'a+b'],
  ] as const) {
    t.equal(percentDecoded(given), decoded, given)
  }
})

test('what was percent-encoded is decoded to what it was', async () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (given) => {
      if (percentDecoded(encodeURIComponent(given)) !== given) throw new Error(given)
    }),
  )
})
