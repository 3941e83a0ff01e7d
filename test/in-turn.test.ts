import { test } from 'tap'
import { InTurn, SharedTurns } from '../src/in-turn.js'

/** Work that ends when it is told to. */
function held(): { readonly work: () => Promise<void>; readonly end: () => void; readonly fail: () => void } {
  let end = (): void => {}
  let fail = (): void => {}
  const promise = new Promise<void>((resolve, reject) => {
    end = resolve
    fail = () => reject(new Error('it failed'))
  })
  return { work: () => promise, end, fail }
}

test('work begins when all before it has ended, be it well or not', async (t) => {
  const turns = new InTurn()
  const [first, second] = [held(), held()]
  const begun: string[] = []
  const one = turns.run(() => first.work())
  const two = turns.run(() => {
    begun.push('second')
    return second.work()
  })
  const three = turns.run(async () => begun.push('third'))
  await new Promise(setImmediate)
  t.same([begun, turns.isIdle], [[], false])
  first.fail()
  await t.rejects(one, { message: 'it failed' })
  await new Promise(setImmediate)
  t.same(begun, ['second'])
  second.end()
  await Promise.all([two, three])
  t.same([begun, turns.isIdle], [['second', 'third'], true])
})

test('the end of everything is no failure of the last one', async (t) => {
  const turns = new InTurn()
  const last = held()
  const failing = turns.run(() => last.work())
  let hasEnded = false
  const ended = turns.ended().then(() => {
    hasEnded = true
  })
  await new Promise(setImmediate)
  t.notOk(hasEnded)
  last.fail()
  await t.rejects(failing)
  await ended
})

test('a failure that nobody waits for is not swallowed', async (t) => {
  const turns = new InTurn()
  const heard: unknown[] = []
  const listeners = process.listeners('unhandledRejection')
  process.removeAllListeners('unhandledRejection')
  process.on('unhandledRejection', (fault) => heard.push(fault))
  t.teardown(() => {
    process.removeAllListeners('unhandledRejection')
    for (const handler of listeners) process.on('unhandledRejection', handler)
  })
  void turns.run(async () => {
    throw new Error('nobody waits')
  })
  await turns.run(async () => {})
  await new Promise(setImmediate)
  t.match(heard, [{ message: 'nobody waits' }])
})

test('work is shared by those who ask for it before it begins, and nobody gets what is older than the question', async (t) => {
  const [first, second] = [held(), held()]
  const left = [first, second]
  let begun = 0
  const turns = new SharedTurns(async () => {
    begun += 1
    await left.shift()?.work()
    return begun
  })
  const early = [turns.shared(), turns.shared()]
  await new Promise(setImmediate)
  const late = [turns.shared(), turns.shared()]
  t.equal(begun, 1)
  first.end()
  t.same(await Promise.all(early), [1, 1])
  await new Promise(setImmediate)
  t.equal(begun, 2)
  second.fail()
  for (const each of late) await t.rejects(each, { message: 'it failed' })
  t.equal(await turns.shared(), 3)
})

test('who asks behind other work does not share what begins before it', async (t) => {
  const order: string[] = []
  const turns = new SharedTurns(async () => order.push('shared'))
  await Promise.all([
    ...[turns.shared(), turns.shared(), turns.alone(async () => order.push('alone'))],
    ...[turns.shared(), turns.shared()],
  ])
  t.same(order, ['shared', 'alone', 'shared'])
})
