import fc from 'fast-check'
import { test } from 'tap'
import type { Value } from '../../src/model/context/entity.js'
import { Expressions } from '../../src/model/expression/expressions.js'
import { hasMacro } from '../../src/model/expression/macros.js'
import {
  type Fallback,
  Filler,
  filledPatch,
  type PatchTemplate,
  percentDecoded,
} from '../../src/model/expression/template.js'
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

function text(template: string, fallback: Fallback = 'null'): unknown {
  const filled = filler().text(template, fallback)
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

const patchNames = { id: 'Vat-3', type: 'Vat', heat: 2, a: 100, metadata: { heat: { probe: 'top' } }, none: null }

function filled(patch: Partial<PatchTemplate>, max_bytes = 1_000_000) {
  const template = { id: undefined, type: undefined, attributes: [], ...patch }
  const result = filledPatch(template, new Expressions(100_000), scopeOf(patchNames, { max_bytes }))
  if (!result.ok) return result.error
  const { id, type, values } = result.value
  return { id, type, values: Object.fromEntries(values) }
}

function attribute(name: string, value: Value, priority?: number) {
  return { name, value, priority }
}

test('attributes are computed by ascending priority, each a name for the later ones', async (t) => {
  t.strictSame(
    filled({ attributes: [attribute('b', '${a*10}'), attribute('a', '${heat+1}', 1), attribute('c', '${a+b}')] }),
    { id: undefined, type: undefined, values: { a: 3, b: 30, c: 33 } },
  )
})

test('those of equal priority are computed as they are written, and id and type come last', async (t) => {
  const attributes = [attribute('b', '${a+1}', 5), attribute('a', '${heat*10}', 5), attribute('c', '${a+b}', 6)]
  t.strictSame(filled({ id: '${type}:${c}', type: '${b}', attributes }), {
    id: 'Vat:121',
    type: '101',
    values: { b: 101, a: 20, c: 121 },
  })
})

test('attributes without a priority see what the entity has, and what others have added before', async (t) => {
  const attributes = [attribute('heat', '${heat} C'), attribute('n', '${heat}'), attribute('m', '${n + 1}')]
  t.match(filled({ id: '${heat}', attributes }), { id: '2 C', values: { heat: '2 C', n: 2, m: 3 } })
})

test('an attribute with a priority sees what those without one have made, when they are written before it', async (t) => {
  const attributes = [attribute('heat', '${heat + 1}'), attribute('n', '${heat}', 100_000), attribute('a', '${n}')]
  t.match(filled({ attributes }), { values: { heat: 3, n: 3, a: 3 } })
  t.match(filled({ attributes: [attribute('heat', 9, 1), attribute('n', '${heat}')] }), { values: { n: 9 } })
})

test('id and type are texts whatever the kind, and stay when they are null', async (t) => {
  const identified = (id: string) => filled({ id })
  t.match(identified('${heat}'), { id: '2' })
  t.match(identified('${heat == 2}'), { id: 'true' })
  t.match(identified('${[1]}'), { id: '[1]' })
  t.match(identified('plant:${id}'), { id: 'plant:Vat-3' })
  t.match(identified('plant:${gone}'), { id: 'plant:null' })
  t.match(identified('${gone}'), { id: undefined })
  t.match(identified('${none}'), { id: undefined })
  t.match(identified("${''}"), { id: '' })
  t.match(identified('Tank'), { id: 'Tank' })
  t.match(identified('at ${id'), { id: 'at ${id' })
})

test('an attribute does not hide the metadata', async (t) => {
  const attributes = [attribute('metadata', 'mine', 1), attribute('p', '${metadata.heat.probe}')]
  t.match(filled({ attributes }), { values: { metadata: 'mine', p: 'top' } })
})

test('a patch that becomes too long is told', async (t) => {
  const attributes = [attribute('a', 'x'.repeat(9), 1), attribute('b', '${a + a}'), attribute('c', ['${a}', '${a}'])]
  t.match(filled({ attributes }, 20), { kind: 'filledTooLong' })
  t.match(filled({ id: '${a}${a}', attributes: attributes.slice(0, 1) }, 15), { kind: 'filledTooLong' })
})
