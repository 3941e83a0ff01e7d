import { test } from 'tap'
import { valueAt } from '../../src/context/value.js'

test('keys reach into objects and nowhere else', async (t) => {
  const value = { a: { b: ['x'], '': 'empty' }, 'c.d': null }
  t.equal(valueAt(value, []), value)
  t.same(valueAt(value, ['a', 'b']), ['x'])
  t.equal(valueAt(value, ['a', '']), 'empty')
  t.equal(valueAt(value, ['c.d']), null)
  for (const keys of [['z'], ['a', 'b', '0'], ['a', 'b', 'length'], ['c.d', 'e'], ['constructor'], ['a', 'toString']]) {
    t.equal(valueAt(value, keys), undefined, keys.join('/'))
  }
})
