import { once } from 'node:events'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import { type Test, test } from 'tap'
import { linkOver, ThreadLink } from '../../src/threads/calls/link.js'
import { LinkedThread } from '../../src/threads/calls/linked-thread.js'
import { methodsOf, type Operations } from '../../src/threads/calls/service.js'
import { until } from '../until.js'
import { type ThreadOperations, type ThreadReports, threadOperations, threadReports } from './fixtures/linked.js'

/** Both ends of a link in this thread; the far one gives each question to the test, which answers when it likes. */
function linked(t: Test) {
  const { port1, port2 } = new MessageChannel()
  t.teardown(() => port1.close())
  const heard: string[] = []
  const open = new Map<string, (response: string) => void>()
  const far: ThreadOperations = {
    ask: (what) => {
      heard.push(`asked ${what}`)
      return new Promise((resolve) => open.set(what, resolve))
    },
    take: (port) => port.postMessage('taken'),
    die: () => {},
    end: () => {},
  }
  const back = linkOver<ThreadReports>(port2, threadReports, methodsOf(far, threadOperations))
  const near: ThreadReports = { report: (what) => heard.push(`told ${what}`) }
  return { far: linkOver<ThreadOperations>(port1, threadOperations, methodsOf(near, threadReports)), back, heard, open }
}

test('two questions of one kind have their own responses, whichever is answered first', async (t) => {
  const { far, heard, open } = linked(t)
  const requests = [far.ask('first'), far.ask('second')]
  await until(() => open.size === 2, 'both questions are open')
  open.get('second')?.('response of the second')
  open.get('first')?.('response of the first')
  t.same(await Promise.all(requests), ['response of the first', 'response of the second'])
  t.same(heard, ['asked first', 'asked second'])
})

test('what is told before a question is answered is heard before the response', async (t) => {
  const { far, back, heard, open } = linked(t)
  const request = far.ask('state').then((response) => heard.push(response))
  await until(() => open.size === 1, 'the question is open')
  back.report('one')
  back.report('two')
  open.get('state')?.('response')
  await request
  t.same(heard, ['asked state', 'told one', 'told two', 'response'])
})

test('a port among what is told is handed over', async (t) => {
  const { far } = linked(t)
  const { port1, port2 } = new MessageChannel()
  t.teardown(() => port1.close())
  const taken = once(port1, 'message')
  far.take(port2)
  t.same((await taken)[0], 'taken')
})

const nobody: ThreadReports = { report: () => {} }

/** A thread of the program's kind, and what it has said. */
function thread(t: Test) {
  const reported: string[] = []
  const near: ThreadReports = { report: (what) => reported.push(what) }
  const linked: LinkedThread<object, ThreadOperations> = new LinkedThread({
    ...{ entry: new URL('fixtures/linked.js', import.meta.url), task: {} },
    ...{ far: threadOperations, offered: methodsOf(near, threadReports) },
  })
  t.teardown(() => linked.close())
  return { linked, reported }
}

test('what a thread has not answered when it dies is refused with its fault, and so is what is asked then', async (t) => {
  const { linked } = thread(t)
  t.equal(await linked.far.ask('x'), 'x')
  const never = linked.far.ask('never')
  linked.far.die()
  await t.rejects(never, { message: /told to die/ })
  await t.rejects(linked.ended, { message: /told to die/ })
  await t.rejects(linked.far.ask('again'), { message: /told to die/ })
})

for (const { program, fault } of [
  { program: "setTimeout(() => { throw new Error('too early') })", fault: /^too early$/ },
  { program: 'process.exit(3)', fault: /ended before its task/ },
]) {
  test(`a thread that dies while it loads its program is refused: ${program}`, async (t) => {
    const folder = t.testdir({ 'early.mjs': `${program}; await new Promise(() => setInterval(() => {}, 1000))` })
    const entry = pathToFileURL(join(folder, 'early.mjs'))
    const linked = new LinkedThread<object, ThreadOperations>({
      ...{ entry, task: {}, far: threadOperations, offered: methodsOf(nobody, threadReports) },
    })
    t.teardown(() => linked.close())
    const asked = linked.far.ask('x')
    await t.rejects(linked.ended, { message: fault })
    await t.rejects(asked, { message: fault })
  })
}

test('a fault of what was asked ends the thread', async (t) => {
  const { linked } = thread(t)
  const open = linked.far.ask('never')
  await t.rejects(linked.far.ask('fault'), { message: /cannot be answered/ })
  await t.rejects(open, { message: /cannot be answered/ })
})

test('what a thread tells as its last is heard, and what it leaves open when it ends in order is refused', async (t) => {
  const { linked, reported } = thread(t)
  const never = linked.far.ask('never')
  linked.far.end()
  await t.rejects(never, { message: /has ended without the response/ })
  await linked.ended
  t.same(reported, ['the end'])
})

const module = new URL('../../src/threads/calls/link.js', import.meta.url).href

interface Services {
  readonly echo: { say(what: unknown): Promise<unknown> }
}
const services: Operations<Services> = { echo: { say: 'ask' } }

function deep(levels: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < levels; level += 1) value = [value]
  return value
}

/** The stack of this thread is smaller: it cannot read all that a thread with such a one can send. */
const stackSizeMb = 32
const tooDeepHere = 40_000
const unread = 'a request to another thread, or its response, cannot be read'

/** A thread that has the end of a port, a function that makes what is deep, and what a link needs. */
function threadWith(t: Test, port: MessagePort, then: string): Worker {
  const program = `
    const { parentPort, workerData } = require('node:worker_threads')
    const deep = ${deep.toString()}
    const services = ${JSON.stringify(services)}
    import('${module}').then(({ linkOver }) => { ${then} })`
  const worker = new Worker(program, {
    ...{ eval: true, workerData: port, transferList: [port], resourceLimits: { stackSizeMb } },
  })
  t.teardown(() => worker.terminate())
  return worker
}

/** An end that answers faults, before one that is asked for whatever the test likes. */
function echoOf(t: Test, send: (what: unknown) => Promise<unknown>): Services['echo'] {
  const { port1, port2 } = new MessageChannel()
  t.teardown(() => port1.close())
  const offered = methodsOf<Services>({ echo: { say: send } }, services)
  new ThreadLink<object>({ port: port1, far: {}, offered, answersFaults: true })
  return linkOver<Services>(port2, services, new Map(), 50).echo
}

test('a fault of what the main thread is asked, or of its response, is a refusal', async (t) => {
  const echo = echoOf(t, async (what) => {
    if (what === 'fault') throw new Error('nobody says that')
    return what === 'function' ? () => 1 : what
  })
  await t.rejects(echo.say('fault'), { message: /nobody says that/ })
  await t.rejects(echo.say('function'), { message: /could not be cloned/ })
  t.equal(await echo.say('x'), 'x')
})

test('what is not answered within the limit is refused', async (t) => {
  const echo = echoOf(t, () => new Promise(() => {}))
  await t.rejects(echo.say('x'), { message: /not answered in time/ })
})

test('questions that the main thread cannot read are refused; those around them are answered', async (t) => {
  const { port1, port2 } = new MessageChannel()
  t.teardown(() => port1.close())
  const offered = methodsOf<Services>({ echo: { say: async (what) => what } }, services)
  new ThreadLink<object>({ port: port1, far: {}, offered, answersFaults: true })
  const request = `[1, deep(${tooDeepHere}), 2, () => 3, deep(${tooDeepHere}), 4]`
  const worker = threadWith(
    t,
    port2,
    `const { echo } = linkOver(workerData, services, new Map())
    Promise.allSettled(${request}.map((what) => echo.say(what)))
      .then((outcomes) => parentPort.postMessage(outcomes.map(({ value, reason }) => value ?? reason.message)))`,
  )
  const [outcomes] = await once(worker, 'message')
  t.match(outcomes, [1, unread, 2, /could not be cloned/, unread, 4])
})

test('a response that the main thread cannot read refuses what is open, and what is asked then is answered', async (t) => {
  const { port1, port2 } = new MessageChannel()
  t.teardown(() => port1.close())
  const { far } = new ThreadLink<Services>({ port: port1, far: services, offered: new Map(), answersFaults: true })
  const response = `([what]) => what === 'never' ? new Promise(() => {}) : what.deep ? deep(what.deep) : what`
  threadWith(t, port2, `linkOver(workerData, {}, new Map([['echo.say', ${response}]]))`)
  t.equal(await far.echo.say('first'), 'first')
  const never = t.rejects(far.echo.say('never'), { message: unread })
  await t.rejects(far.echo.say({ deep: tooDeepHere }), { message: unread })
  await never
  t.equal(await far.echo.say('third'), 'third')
})
