import { test } from 'tap'
import { Generations } from '../src/generations.js'

test('what was used lately is held, what was not is forgotten, and the number held is bounded', async (t) => {
  const held = new Generations<string[]>(3)
  const forgotten: string[] = []
  const use = (name: string): void => {
    if (held.get(name)) return
    forgotten.push(name)
    held.put(name, [name])
  }
  for (const name of ['a', 'b', 'a', 'c', 'a', 'd', 'a']) use(name)
  t.same(forgotten, ['a', 'b', 'c', 'd'])
  for (const name of ['e', 'f', 'g', 'h', 'i', 'j']) use(name)
  use('a')
  t.equal(forgotten.at(-1), 'a')
})

test('what was put last under a name is held, until everything is forgotten', async (t) => {
  const held = new Generations<string[]>(3)
  for (const name of ['a', 'b', 'c', 'd']) held.put(name, [name])
  held.put('a', ['other'])
  t.same(held.get('a'), ['other'])
  held.clear()
  t.same(
    ['a', 'b', 'c', 'd'].map((name) => held.get(name)),
    [undefined, undefined, undefined, undefined],
  )
})
