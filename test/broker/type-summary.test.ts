import { test } from 'tap'
import type { TypeSummary } from '../../src/broker/front-end/broker.js'
import { summariesIn, TypeSums } from '../../src/broker/front-end/type-sums.js'
import { atOnce } from '../../src/slices.js'
import { path, type } from '../given.js'

function summaries(sums: TypeSums, isDetailed: boolean): readonly TypeSummary[] {
  return atOnce(summariesIn(atOnce(sums.texts(isDetailed))))
}

test('counts of paths and partitions are added up, and what is new takes memory', async (t) => {
  const sums = new TypeSums()
  const add = (of: string, attribute: string | undefined, count: number) =>
    sums.add({ path: path('/'), type: type(of), attribute, count })
  add('', undefined, 1)
  add('Tank', undefined, 2)
  add('Tank', 'level', 2)
  add('Silo', undefined, 3)
  const { bytes } = sums
  add('Tank', undefined, 4)
  add('Tank', 'level', 1)
  t.equal(sums.bytes, bytes)
  add('Tank', 'colour', 1)
  t.ok(sums.bytes > bytes)
  sums.addType({ type: type('Tank'), attribute: 'level', attributeType: 'percent' })
  sums.addType({ type: type('Tank'), attribute: 'level', attributeType: 'Number' })
  sums.addType({ type: type('Tank'), attribute: 'level', attributeType: 'percent' })
  t.same(summaries(sums, true)[1]?.attributeTypes, [[], ['Number', 'percent']])
  t.same(summaries(sums, false), [
    { type: 'Silo', entities: 3, attributes: [] },
    { type: 'Tank', entities: 6, attributes: ['colour', 'level'] },
    { type: '', entities: 1, attributes: [] },
  ])
})

test('many types, and types of many attributes, cross in several texts and come back as they were', async (t) => {
  const name = (at: number) => at.toString().padStart(5, '0')
  const attributes = Array.from({ length: 5000 }, (_, at) => name(at))
  const sums = new TypeSums()
  const types = Array.from({ length: 5000 }, (_, at) => `T${name(at)}`)
  for (const of of types.toReversed()) sums.add({ path: path('/'), type: type(of), attribute: undefined, count: 1 })
  for (const attribute of attributes.toReversed()) {
    sums.add({ path: path('/'), type: type('T00007'), attribute, count: 1 })
    sums.addType({ type: type('T00007'), attribute, attributeType: 'Number' })
    sums.addType({ type: type('T00007'), attribute, attributeType: 'Large' })
  }
  for (const isDetailed of [false, true]) {
    const texts = atOnce(sums.texts(isDetailed))
    t.ok(texts.length >= 4 && texts.every((text) => text.length < 300_000), 'no text is long')
    const found = summaries(sums, isDetailed)
    t.same(
      found.map(({ type }) => type),
      types,
    )
    t.same(found[7]?.attributes, attributes)
    t.same(found[7]?.attributeTypes, isDetailed ? attributes.map(() => ['Large', 'Number']) : undefined)
    t.same(found[8], { type: 'T00008', entities: 1, attributes: [], ...(isDetailed && { attributeTypes: [] }) })
  }
})
