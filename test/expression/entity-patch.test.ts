import { test } from 'tap'
import type { Value } from '../../src/context/entity.js'
import { filledPatch, type PatchTemplate } from '../../src/expression/entity-patch.js'
import { Expressions } from '../../src/expression/expressions.js'
import { scopeOf } from './given.js'

const names = { id: 'Vat-3', type: 'Vat', heat: 2, a: 100, metadata: { heat: { probe: 'top' } }, none: null }

function filled(patch: Partial<PatchTemplate>, max_bytes = 1_000_000) {
  const template = { id: undefined, type: undefined, attributes: [], ...patch }
  const result = filledPatch(template, new Expressions(100_000), scopeOf(names, { max_bytes }))
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
