import { test } from 'tap'
import { entityOperations, otherOperations } from './dimensions.js'
import { always } from './short-form.js'

test('each dimension has a name of its own, and those that are always grown are among them', async (t) => {
  const names = [...entityOperations, ...otherOperations].map(({ name }) => name)
  t.equal(new Set(names).size, names.length)
  t.same(
    [...always].filter((name) => !names.includes(name)),
    [],
  )
})
