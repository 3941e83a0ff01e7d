import { test } from 'tap'
import { member } from '../../bench/ngsi.js'
import { areCompared, columns, linesFrom, own } from './programs.js'

test('batch counts elements beside the records of raw lmdb, the elements of an echo, and another version', {
  skip: own.skip,
}, async (t) => {
  const lines = await linesFrom(t, 'batch', '--against', own.main, '--entities', '100')
  t.same(columns(lines, 'elements', 'connections'), [
    [1, 1],
    [1, 4],
    [10, 1],
    [10, 4],
    [100, 1],
    [100, 4],
  ])
  areCompared(t, lines)
  for (const line of lines) {
    const [elements, rate, counted] = ['elements', 'rate_per_s', 'elements_per_s'].map((name) => member(line, name))
    t.ok(Math.abs(Number(counted) - Number(rate) * Number(elements)) <= Number(elements), 'each request has them all')
    for (const figure of ['raw_lmdb_per_s', 'ratio', 'echo_per_s', 'echo_ratio']) {
      t.ok(Number(member(line, figure)) > 0, figure)
    }
  }
})

test('query asks by type, pattern and area, down to the last page', { skip: own.skip }, async (t) => {
  const lines = await linesFrom(t, 'query', '--entities', '100', '--connections', '4')
  t.same(columns(lines, 'case', 'offset'), [
    ['by type', 0],
    ['by type', 80],
    ['by pattern', 0],
    ['by pattern', 80],
    ['by area', 0],
    ['by area', 80],
    ['by pattern, one in 1,000', 0],
    ['by area, one in 100', 0],
    ['by area, one in 2,000', 0],
    ['by the beginning of ids, ten of them', 0],
  ])
})
