import { test } from 'tap'
import { kindOf, roomOf, unitsOf } from './plan.js'

test('the name of a file says what kind of test it is, and its folder the room', async (t) => {
  t.equal(kindOf('dist/test/wal/x.test.js'), 'quick')
  t.equal(kindOf('dist/test/wal/x.system.test.js'), 'system')
  t.equal(kindOf('dist/test/wal/given.js'), undefined)
  t.equal(roomOf('dist/test/context/geo/x.test.js'), 'context')
  t.equal(roomOf('dist/test/hash.test.js'), 'test')
})

test('where nothing has run yet, what usually takes long begins first', async (t) => {
  const files = ['dist/test/a/1.system.test.js', 'dist/test/torture.system.test.js']
  t.same(
    unitsOf(files, new Map()).map(({ name }) => name),
    ['torture.system', 'a/1.system'],
  )
})

test('the quick files of a room share a process, others have their own; what took long begins first', async (t) => {
  const files = [
    'dist/test/a/1.test.js',
    'dist/test/a/2.test.js',
    'dist/test/a/3.system.test.js',
    'dist/test/b/4.test.js',
  ]
  const units = unitsOf(files, new Map([['b', 9000]]))
  t.same(
    units.map(({ room, files: of }) => [room, of.length]),
    [
      ['b', 1],
      ['a', 2],
      ['a', 1],
    ],
  )
})
