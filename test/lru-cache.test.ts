import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import { LruCache } from '../src/lru-cache.js'

/** Room for two entries of 100 bytes in either generation. */
const room = 1200

test('what was used lately is held, what was not is forgotten', async (t) => {
  const held = new LruCache<string[]>(room)
  const forgotten: string[] = []
  const use = (name: string): void => {
    if (held.get(name)) return
    forgotten.push(name)
    held.put(name, [name], 100)
  }
  for (const name of ['a', 'b', 'a', 'c', 'a', 'd', 'a']) use(name)
  t.same(forgotten, ['a', 'b', 'c', 'd'])
  for (const name of ['e', 'f', 'g', 'h', 'i', 'j']) use(name)
  use('a')
  t.equal(forgotten.at(-1), 'a')
})

test('what was put last under a name is held, until everything is forgotten', async (t) => {
  const held = new LruCache<string[]>(room)
  for (const name of ['a', 'b', 'c']) held.put(name, [name], 100)
  held.put('a', ['other'], 100)
  t.same(held.get('a'), ['other'])
  held.clear()
  t.equal(held.bytes, 0)
  t.same(
    ['a', 'b', 'c'].map((name) => held.get(name)),
    [undefined, undefined, undefined],
  )
})

test('what is too large is not held, nor what it replaces', async (t) => {
  const held = new LruCache<string[]>(room)
  held.put('a', ['small'], 10)
  held.put('a', ['large'], room)
  t.equal(held.get('a'), undefined)
  t.equal(held.bytes, 0)
})

test('it never holds more bytes than its limit, and always what was put last under a name or nothing', async () => {
  const step = fc.record({ name: fc.constantFrom('a', 'b', 'c', 'd', 'e'), bytes: fc.nat(1500), put: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), fc.integer({ min: 100, max: 5000 }), (steps, limit) => {
      const cache = new LruCache<{ readonly bytes: number }>(limit)
      const last = new Map<string, object>()
      for (const { name, bytes, put } of steps) {
        if (put) {
          const held = { bytes }
          last.set(name, held)
          cache.put(name, held, bytes)
        } else {
          const found = cache.get(name)
          assert.ok(found === undefined || found === last.get(name))
        }
        assert.ok(cache.bytes <= limit)
      }
    }),
  )
})
