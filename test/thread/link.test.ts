import { once } from 'node:events'
import { MessageChannel } from 'node:worker_threads'
import { type Test, test } from 'tap'
import { LinkedThread } from '../../src/mailbox/thread.js'
import { linkOver } from '../../src/thread/link.js'
import { methodsOf } from '../../src/thread/service.js'
import { until } from '../until.js'
import { type Answers, answers, type Words, words } from './fixtures/linked.js'

/** Both ends of a link in this thread; the far one gives each question to the test, which answers when it likes. */
function linked(t: Test) {
  const { port1, port2 } = new MessageChannel()
  t.teardown(() => port1.close())
  const heard: string[] = []
  const open = new Map<string, (answer: string) => void>()
  const far: Answers = {
    ask: (what) => {
      heard.push(`asked ${what}`)
      return new Promise((resolve) => open.set(what, resolve))
    },
    take: (port) => port.postMessage('taken'),
    die: () => {},
    end: () => {},
  }
  const back = linkOver<Words>(port2, words, methodsOf(far, answers))
  const near: Words = { say: (what) => heard.push(`told ${what}`) }
  return { far: linkOver<Answers>(port1, answers, methodsOf(near, words)), back, heard, open }
}

test('two questions of one kind have their own answers, whichever is answered first', async (t) => {
  const { far, heard, open } = linked(t)
  const asked = [far.ask('first'), far.ask('second')]
  await until(() => open.size === 2, 'both questions are open')
  open.get('second')?.('answer of the second')
  open.get('first')?.('answer of the first')
  t.same(await Promise.all(asked), ['answer of the first', 'answer of the second'])
  t.same(heard, ['asked first', 'asked second'])
})

test('what is told before a question is answered is heard before the answer', async (t) => {
  const { far, back, heard, open } = linked(t)
  const asked = far.ask('state').then((answer) => heard.push(answer))
  await until(() => open.size === 1, 'the question is open')
  back.say('one')
  back.say('two')
  open.get('state')?.('answer')
  await asked
  t.same(heard, ['asked state', 'told one', 'told two', 'answer'])
})

test('a port among what is told is handed over', async (t) => {
  const { far } = linked(t)
  const { port1, port2 } = new MessageChannel()
  t.teardown(() => port1.close())
  const taken = once(port1, 'message')
  far.take(port2)
  t.same((await taken)[0], 'taken')
})

/** A thread of the program's kind, and what it has said. */
function thread(t: Test) {
  const said: string[] = []
  const near: Words = { say: (what) => said.push(what) }
  const linked: LinkedThread<object, Answers> = new LinkedThread({
    ...{ entry: new URL('fixtures/linked.js', import.meta.url), task: {} },
    ...{ far: answers, offered: methodsOf(near, words) },
  })
  t.teardown(() => linked.close())
  return { linked, said }
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

test('a fault of what was asked ends the thread', async (t) => {
  const { linked } = thread(t)
  const open = linked.far.ask('never')
  await t.rejects(linked.far.ask('fault'), { message: /cannot be answered/ })
  await t.rejects(open, { message: /cannot be answered/ })
})

test('what a thread tells as its last is heard, and what it leaves open when it ends in order is refused', async (t) => {
  const { linked, said } = thread(t)
  const never = linked.far.ask('never')
  linked.far.end()
  await t.rejects(never, { message: /has ended without the answer/ })
  await linked.ended
  t.same(said, ['the end'])
})
