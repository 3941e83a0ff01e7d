import { test } from 'tap'
import { endsHere, hasPassedMany, hopsOf, viaOf } from '../src/hosts.js'

test('a message names all who passed it on, this broker last', async (t) => {
  t.equal(viaOf(undefined, 'a'), '1.1 rigel-a')
  t.equal(viaOf('', 'a'), '1.1 rigel-a')
  t.equal(viaOf('1.1 rigel-b, 1.0 cache (old one)', 'a'), '1.1 rigel-b, 1.0 cache (old one), 1.1 rigel-a')
  t.same(hopsOf('1.1 rigel-b,, 1.0\tcache (old one) '), ['rigel-b', 'cache'])
  t.same(hopsOf(''), [])
})

test('what was here before goes no further, nor what ten others have had', async (t) => {
  const others = (number: number) => Array.from({ length: number }, (_, at) => `1.1 rigel-${at}`).join(', ')
  t.notOk(endsHere(undefined, 'a'))
  t.notOk(endsHere('1.1 rigel-b, 1.1 rigel-aa', 'a'))
  t.ok(endsHere('1.1 rigel-b, 1.1 rigel-a, 1.1 proxy', 'a'))
  t.notOk(endsHere(others(9), 'a'))
  t.ok(endsHere(others(10), 'a'))
  t.notOk(hasPassedMany(others(9)))
  t.ok(hasPassedMany(others(10)))
  t.ok(endsHere(`1.1 ${'x'.repeat(5000)}`, 'a'), 'a header that is too long to be stored with every notification')
})
