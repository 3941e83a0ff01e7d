import { test } from 'tap'
import { TypeSums } from '../../src/broker/services/partition-readers.js'
import { path, type } from '../given.js'

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
  t.same(sums.summaries(true)[1]?.attributeTypes, [[], ['Number', 'percent']])
  t.same(sums.summaries(), [
    { type: 'Silo', entities: 3, attributes: [] },
    { type: 'Tank', entities: 6, attributes: ['colour', 'level'] },
    { type: '', entities: 1, attributes: [] },
  ])
})
