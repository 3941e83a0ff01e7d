import { mock } from 'node:test'
import { type Test, test } from 'tap'
import { PermitLoans } from '../../src/threads/shared-memory/permit-loans.js'
import { SharedSemaphore } from '../../src/threads/shared-memory/semaphore.js'

const permits = 40

function given(t: Test) {
  mock.timers.enable({ apis: ['setInterval'] })
  let now_ms = 0
  mock.method(performance, 'now', () => now_ms)
  t.teardown(() => {
    mock.timers.reset()
    mock.restoreAll()
  })
  const semaphore = new SharedSemaphore(SharedSemaphore.memory(permits))
  const lent: number[] = []
  const loans = new PermitLoans(semaphore, permits, (count) => lent.push(count))
  t.teardown(() => loans.close())
  const pass = (time_ms: number): void => {
    now_ms += time_ms
    mock.timers.tick(time_ms)
  }
  /** Requests take permits; gives how many wait for one. */
  const ask = (count: number): number => {
    for (let asked = 0; asked < count; asked += 1) semaphore.enqueue()
    return semaphore.queued
  }
  return { semaphore, loans, pass, ask, lent }
}

test('requests that wait for a silent node leave their permits to others', async (t) => {
  const { semaphore, loans, pass, ask, lent } = given(t)
  const [silent, quick] = [loans.newWaits(), loans.newWaits()]
  for (let count = 0; count < permits; count += 1) t.ok(silent.begin())
  t.equal(ask(permits + 10), 10, 'ten wait for a permit')
  t.ok(quick.begin())
  quick.end(true)
  pass(900)
  t.equal(semaphore.queued, 10, 'it may yet answer')
  t.ok(silent.begin())
  pass(300)
  t.equal(semaphore.free, permits - 10, 'all permits were lent, and no more')

  t.equal(ask(permits), 10)
  t.notOk(silent.begin(), 'no more wait for it while others want permits')
  t.ok(quick.begin(), 'others do')
  for (let count = 0; count <= permits; count += 1) silent.end(true)
  pass(200)
  t.equal(semaphore.queued, permits + 10, 'what was lent is taken back')
  t.same(lent, [permits, 0], 'each is told')
  t.ok(silent.begin(), 'it has answered')
})

test('a node that was silent to the last request is so for the next one, until it answers', async (t) => {
  const { semaphore, loans, pass, ask } = given(t)
  const waits = loans.newWaits()
  t.ok(waits.begin())
  pass(5000)
  t.equal(semaphore.free, permits, 'nothing is lent that nobody wants')
  waits.end(false)
  ask(permits + 1)
  for (let count = 0; count < 16; count += 1) t.ok(waits.begin(), 'some try')
  t.notOk(waits.begin())
  waits.end(true)
  t.ok(waits.begin())
})

test('where no request waits for a permit, any number waits for a silent node', async (t) => {
  const { loans, pass, ask } = given(t)
  const waits = loans.newWaits()
  t.ok(waits.begin())
  pass(3000)
  ask(permits)
  for (let count = 0; count < 100; count += 1) t.ok(waits.begin())
})
