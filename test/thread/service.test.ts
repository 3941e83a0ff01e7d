import { once } from 'node:events'
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import { type Test, test } from 'tap'
import { type Method, oneByOne, remote, type ServiceOperations, serve } from '../../src/thread/service.js'

const module = new URL('../../src/thread/service.js', import.meta.url).href

interface Services {
  readonly echo: { say(what: unknown): Promise<unknown> }
  readonly counter: { add(amount: number): Promise<number>; divide(by: number): Promise<number> }
}

const operations: ServiceOperations<Services> = {
  echo: { say: 'asked' },
  counter: { add: 'asked', divide: 'asked' },
}

function deep(levels: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < levels; level += 1) value = [value]
  return value
}

/** The stack of this thread is smaller: it cannot read all that a thread with such a one can send. */
const stackSizeMb = 32
const tooDeepHere = 40_000

/** A thread that answers `{ deep: n }` with as many levels, `never` with nothing, and everything else with itself. */
function serving(t: Test, longest_ms?: number): { readonly echo: Services['echo']; readonly worker: Worker } {
  const { port1, port2 } = new MessageChannel()
  const worker = thread(
    t,
    port2,
    `serve(workerData, operations, { echo: { say: async (what) => {
      if (what === 'never') return new Promise(() => {})
      return typeof what === 'object' && 'deep' in what ? deep(what.deep) : what
    } } })`,
  )
  t.teardown(() => port1.close())
  return { echo: remote<Services>(port1, operations, longest_ms).echo, worker }
}

function thread(t: Test, port: MessagePort, then: string): Worker {
  const program = `
    const { parentPort, workerData } = require('node:worker_threads')
    const deep = ${deep.toString()}
    const operations = ${JSON.stringify(operations)}
    import('${module}').then(({ remote, serve }) => { ${then} })`
  const worker = new Worker(program, {
    eval: true,
    workerData: port,
    transferList: [port],
    resourceLimits: { stackSizeMb },
  })
  t.teardown(() => worker.terminate())
  return worker
}

function served(t: Test, services: Partial<Services>): Services {
  const { port1, port2 } = new MessageChannel()
  t.teardown(() => port1.close())
  serve<Services>(port1, operations, services)
  return remote<Services>(port2, operations)
}

test('an owner is used over a port as if it were here, several calls at a time', async (t) => {
  const began: number[] = []
  let release = (): void => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  class OwnCounter {
    #sum = 0

    async add(amount: number): Promise<number> {
      began.push(amount)
      if (amount === 1) await released
      this.#sum += amount
      return this.#sum
    }

    async divide(by: number): Promise<number> {
      if (by === 0) throw new Error('nobody divides by zero')
      return this.#sum / by
    }
  }
  const { counter, echo } = served(t, { counter: new OwnCounter() })
  const slow = counter.add(1)
  t.equal(await counter.add(10), 10, 'a later call does not wait for an earlier one')
  release()
  t.equal(await slow, 11)
  t.same(began, [1, 10], 'each is begun in its turn')
  t.equal(await counter.divide(11), 1)
  await t.rejects(counter.divide(0), { message: /nobody divides by zero/ })
  await t.rejects(echo.say('x'), { message: /nobody serves say of echo/ })
})

test('calls that this thread cannot read are refused; those around them are answered', async (t) => {
  const { port1, port2 } = new MessageChannel()
  t.teardown(() => port1.close())
  serve<Services>(port1, operations, { echo: { say: async (what) => what } })
  const asked = `[1, deep(${tooDeepHere}), 2, () => 3, deep(${tooDeepHere}), 4]`
  const worker = thread(
    t,
    port2,
    `const { echo } = remote(workerData, operations)
    Promise.allSettled(${asked}.map((what) => echo.say(what)))
      .then((outcomes) => parentPort.postMessage(outcomes.map(({ value, reason }) => value ?? reason.message)))`,
  )
  const [outcomes] = await once(worker, 'message')
  const unread = 'a question to another thread, or its answer, cannot be read'
  t.match(outcomes, [1, unread, 2, /could not be cloned/, unread, 4])
})

test('an answer that this thread cannot read refuses what is open, and what is asked then is answered', async (t) => {
  const { echo } = serving(t)
  t.equal(await echo.say('first'), 'first')
  const never = echo.say('never')
  const unreadable = echo.say({ deep: tooDeepHere })
  await t.rejects(unreadable, { message: /cannot be read/ })
  await t.rejects(never, { message: /cannot be read/ })
  t.equal(await echo.say('third'), 'third')
})

test('what cannot be answered in time, or by a thread that is gone, is refused', async (t) => {
  await t.rejects(serving(t, 20).echo.say('never'), { message: /not answered in time/ })
  const { echo, worker } = serving(t)
  const refused = t.rejects(echo.say('never'), { message: /is gone/ })
  await worker.terminate()
  await refused
  await t.rejects(echo.say('again'), { message: /is gone/ })
})

test('an answer that cannot be sent is a fault of the call', async (t) => {
  const { echo } = served(t, { echo: { say: async () => () => 1 } })
  await t.rejects(echo.say('x'), { message: /could not be cloned/ })
})

test('what is called while something is under way is begun behind it, and nothing behind what has failed', async (t) => {
  const begun: string[] = []
  const ends: (() => void)[] = []
  const methods = oneByOne(
    new Map<string, Method>([
      ['say', ([what]: readonly unknown[]) => begun.push(String(what))],
      ['wait', () => new Promise<void>((resolve) => ends.push(resolve))],
      ['fail', () => Promise.reject(new Error('it cannot be done'))],
    ]),
  )
  const call = (name: string, ...request: readonly unknown[]): unknown => methods.get(name)?.(request)
  call('say', 1)
  call('wait')
  const said = call('say', 2)
  await new Promise(setImmediate)
  t.same(begun, ['1'])
  ends[0]?.()
  await said
  t.same(begun, ['1', '2'])
  const failed = call('fail')
  const behind = call('say', 3)
  await t.rejects(Promise.resolve(failed), { message: 'it cannot be done' })
  await t.rejects(Promise.resolve(behind), { message: 'it cannot be done' })
  t.same(begun, ['1', '2'])
})
