import { once } from 'node:events'
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import { type Test, test } from 'tap'
import { PortCalls, servePort } from '../../src/thread/port-calls.js'

const module = new URL('../../src/thread/port-calls.js', import.meta.url).href

function deep(levels: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < levels; level += 1) value = [value]
  return value
}

/** The stack of this thread is smaller: it cannot read all that a thread with such a one can send. */
const stackSizeMb = 32
const tooDeepHere = 40_000

/** A thread that answers `{ deep: n }` with as many levels, `never` with nothing, and everything else with itself. */
function serving(t: Test): { readonly calls: PortCalls; readonly worker: Worker } {
  const { port1, port2 } = new MessageChannel()
  const worker = thread(
    t,
    port2,
    `servePort(workerData, async (question) => {
      if (question === 'never') return new Promise(() => {})
      return typeof question === 'object' && 'deep' in question ? deep(question.deep) : question
    })`,
  )
  t.teardown(() => port1.close())
  return { calls: new PortCalls(port1), worker }
}

function thread(t: Test, port: MessagePort, then: string): Worker {
  const program = `
    const { parentPort, workerData } = require('node:worker_threads')
    const deep = ${deep.toString()}
    import('${module}').then(({ PortCalls, servePort }) => { ${then} })`
  const worker = new Worker(program, {
    eval: true,
    workerData: port,
    transferList: [port],
    resourceLimits: { stackSizeMb },
  })
  t.teardown(() => worker.terminate())
  return worker
}

test('questions that this thread cannot read are refused; those around them are answered', async (t) => {
  const { port1, port2 } = new MessageChannel()
  t.teardown(() => port1.close())
  servePort(port1, async (question) => question)
  const asked = `[1, deep(${tooDeepHere}), 2, () => 3, deep(${tooDeepHere}), 4]`
  const worker = thread(
    t,
    port2,
    `const calls = new PortCalls(workerData)
    Promise.allSettled(${asked}.map((question) => calls.ask(question)))
      .then((outcomes) => parentPort.postMessage(outcomes.map(({ value, reason }) => value ?? reason.message)))`,
  )
  const [outcomes] = await once(worker, 'message')
  const unread = 'a question to another thread, or its answer, cannot be read'
  t.match(outcomes, [1, unread, 2, /could not be cloned/, unread, 4])
})

test('an answer that this thread cannot read refuses what is open, and what is asked then is answered', async (t) => {
  const { calls } = serving(t)
  t.equal(await calls.ask('first'), 'first')
  const never = calls.ask('never')
  const unreadable = calls.ask({ deep: tooDeepHere })
  await t.rejects(unreadable, { message: /cannot be read/ })
  await t.rejects(never, { message: /cannot be read/ })
  t.equal(await calls.ask('third'), 'third')
})

test('what cannot be answered in time, or by a thread that is gone, is refused', async (t) => {
  const { calls, worker } = serving(t)
  await t.rejects(calls.ask('never', 20), { message: /not answered in time/ })
  const refused = t.rejects(calls.ask('never'), { message: /is gone/ })
  await worker.terminate()
  await refused
  await t.rejects(calls.ask('again'), { message: /is gone/ })
})

test('an answer that cannot be sent is a fault of the question', async (t) => {
  const { port1, port2 } = new MessageChannel()
  t.teardown(() => port1.close())
  servePort(port1, async () => () => 1)
  await t.rejects(new PortCalls(port2).ask('x'), { message: /could not be cloned/ })
})
