import { test } from 'tap'
import { EntityCache } from '../../src/partition/entity-cache.js'

test('what was used lately is held, what was not is loaded again, and the number held is bounded', async (t) => {
  const cache = new EntityCache(3)
  const loads: string[] = []
  const get = (name: string) =>
    cache.get(name, () => {
      loads.push(name)
      return []
    })
  for (const name of ['a', 'b', 'a', 'c', 'a', 'd', 'a']) get(name)
  t.same(loads, ['a', 'b', 'c', 'd'])
  for (const name of ['e', 'f', 'g', 'h', 'i', 'j']) get(name)
  get('a')
  t.equal(loads.at(-1), 'a')
})
