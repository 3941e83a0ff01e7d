import { once } from 'node:events'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import { test } from 'tap'
import { runs } from '../runs.js'
import { until } from '../until.js'
import { checkpointIn, givenRecords, UnsyncedEnvironment } from './given-checkpoints.js'

test('the pages of the last checkpoint are kept, whatever the thread reads, and it reads the last commit', async (t) => {
  const path = await givenRecords(t)
  const environment = new UnsyncedEnvironment(path)
  t.teardown(() => environment.close())
  environment.checkpoints.takeSync('first')
  const steps = {
    turn: () => environment.turn(1),
    read: () => environment.records.get(['', 7]),
    'read a part of a range': () => {
      for (const { key } of environment.records.getRange({ limit: 3 })) if (key !== undefined) break
    },
    'read all': () => environment.contents,
    'take one': () => environment.checkpoints.takeSync('next'),
    'take one meanwhile': () => environment.checkpoints.take('next'),
    'take one meanwhile, and go on': () => {
      if (!environment.checkpoints.isUnderWay) void environment.checkpoints.take('next')
    },
    wait: () => nextTurn(),
  } as const
  const names = Object.keys(steps) as (keyof typeof steps)[]
  let turns = 0
  const property = fc.asyncProperty(
    fc.array(fc.constantFrom(...names), { minLength: 5, maxLength: 60 }),
    async (run) => {
      for (const name of run) {
        if (name.startsWith('take')) await until(() => !environment.checkpoints.isUnderWay)
        await steps[name]()
        if (name === 'turn') turns += 1
        t.ok(environment.kept.includes(checkpointIn(path).transaction), `after: ${name}`)
        t.equal(environment.records.get(['last']), turns === 0 ? undefined : String(turns))
      }
      await until(() => !environment.checkpoints.isUnderWay)
      environment.turn(1)
      environment.turn(1)
      turns += 2
      t.equal(environment.records.get(['last']), String(turns))
      const { transaction } = checkpointIn(path)
      t.same(environment.kept, [transaction, environment.lastTransaction], 'that of the checkpoint and that of reads')
    },
  )
  await fc.assert(property, { numRuns: runs(60) })
})

test('a thread that dies lets go of its pages, and the one in its place takes over', async (t) => {
  const path = await givenRecords(t)
  const environment = new UnsyncedEnvironment(path) // Keeps the environment open in this process, as other threads do.
  t.teardown(() => environment.close())
  environment.checkpoints.close()
  for (const death of ['throw', 'exit', 'run out of memory', 'terminate']) {
    const before = environment.kept
    const worker = new Worker(new URL('./checkpoint-thread.js', import.meta.url), {
      workerData: path,
      resourceLimits: { maxOldGenerationSizeMb: 96 },
    })
    const ended = new Promise((resolve) => worker.on('error', () => {}).on('exit', resolve))
    const [kept] = await once(worker, 'message')
    t.ok(kept.length >= before.length + 2, `the thread keeps pages: ${kept}`)
    if (death === 'terminate') await worker.terminate()
    else worker.postMessage(death)
    await ended
    t.same(environment.kept, before, death)
    const next = new UnsyncedEnvironment(path)
    next.checkpoints.takeSync('of the next')
    next.turn()
    t.ok(next.kept.includes(checkpointIn(path).transaction))
    await next.close()
  }
})

test('whoever opens an environment behind a writer that has died keeps the pages of the checkpoint from the first commit on', async (t) => {
  const path = await givenRecords(t)
  const first = new UnsyncedEnvironment(path)
  t.teardown(() => first.root.close())
  first.checkpoints.takeSync('first')
  for (let n = 0; n < 5; n += 1) first.turn()
  first.checkpoints.close()
  const next = new UnsyncedEnvironment(path)
  t.teardown(() => next.close())
  for (let n = 0; n < 3; n += 1) {
    t.match(checkpointIn(path), { note: 'first' })
    t.ok(next.kept.includes(checkpointIn(path).transaction))
    next.turn()
  }
})

test('under random updates the file grows no further than by what is written between some checkpoints', async (t) => {
  const path = await givenRecords(t)
  const file = join(path, 'data.mdb')
  const environment = new UnsyncedEnvironment(path)
  t.teardown(() => environment.close())
  const interval = async (): Promise<number> => {
    for (let n = 0; n < 50; n += 1) {
      environment.turn()
      await nextTurn()
    }
    return statSync(file).size
  }
  environment.checkpoints.takeSync('begin')
  const begin = await interval()
  const grown = (await interval()) - begin
  t.ok(grown > 2 ** 20, `without checkpoints it grows by ${grown} bytes in each interval`)
  let largest = 0
  for (let n = 0; n < 40; n += 1) {
    const taken = environment.checkpoints.take(`interval ${n}`)
    largest = await interval()
    await taken
  }
  t.ok(largest < begin + 3 * grown, `from ${begin} to ${largest} bytes in 40 intervals`)
})
