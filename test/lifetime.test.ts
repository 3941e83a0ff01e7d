import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { test } from 'tap'
import { Lifetime } from '../src/delivery/queue/lifetime.js'

test('whoever waits for work gets what it gives, or why the lifetime is over if that comes first', async (t) => {
  const lifetime = new Lifetime()
  t.equal(await lifetime.during(Promise.resolve(1)), 1)
  await t.rejects(lifetime.during(Promise.reject(new Error('failed'))), { message: 'failed' })
  const waiting = lifetime.during(new Promise(() => {}))
  lifetime.end(new Error('gone'))
  await t.rejects(waiting, { message: 'gone' })
  lifetime.end(new Error('again'))
  await t.rejects(lifetime.during(Promise.resolve(2)), { message: 'gone' }, 'as is everything that comes later')
})

test('nothing is kept of work that is done, however long the lifetime is', async (t) => {
  setFlagsFromString('--expose_gc')
  const collect: () => void = runInNewContext('gc')
  const lifetime = new Lifetime()
  const results: WeakRef<object>[] = []
  for (let works = 0; works < 1000; works += 1) {
    results.push(new WeakRef(await lifetime.during(Promise.resolve({ works }))))
  }
  // Until then a weak reference holds what it was made for.
  await setImmediate()
  collect()
  const held = results.filter((result) => result.deref() !== undefined).length
  t.ok(held < 10, `${held} are held; with Promise.race all of them`)
  lifetime.end(undefined)
})
