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
  const held_bytes = async (): Promise<number> => {
    for (let works = 0; works < 50_000; works += 1) await lifetime.during(Promise.resolve(works))
    collect()
    return process.memoryUsage().heapUsed
  }
  const before_bytes = await held_bytes()
  const grown_bytes = (await held_bytes()) - before_bytes
  t.ok(grown_bytes < 5_000_000, `it has grown by ${grown_bytes} bytes; 15 MB with Promise.race`)
  lifetime.end(undefined)
})
