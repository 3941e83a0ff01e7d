import { test } from 'tap'
import type { Resource } from '../../src/broker/operations/api.js'
import { ApiKeys } from '../../src/flags/api-keys.js'
import { Admission, Overload } from '../../src/http/admission.js'
import { ProxyNotice } from '../../src/http/management-access.js'
import { ReplyInterleaving, ResponseBatch } from '../../src/http/response-writer.js'
import { ok } from '../../src/result.js'
import { ConnectionLimit } from '../../src/threads/shared-memory/limits.js'
import { HeldMemory, RequestMemory } from '../../src/threads/shared-memory/request-memory.js'
import { SharedSemaphore } from '../../src/threads/shared-memory/semaphore.js'
import { until } from '../until.js'
import { givenFrontEnd } from './given.js'

const ms = 1_000_000n

test('a burst waits; where waits stay long, nobody is let in behind one that has waited too long', async (t) => {
  const overload = new Overload(1000n * ms)
  t.notOk(overload.refuses(50n * ms, 0n), 'a burst has come')
  t.notOk(overload.refuses(60n * ms, 99n * ms))
  t.notOk(overload.isTooLong(60n * ms))
  t.ok(overload.refuses(61n * ms, 100n * ms))
  t.notOk(overload.isTooLong(61n * ms), 'who has been let in is served')
  t.notOk(overload.refuses(9n * ms, 101n * ms))
  t.ok(overload.refuses(10n * ms, 102n * ms), 'the overload goes on')
  t.notOk(overload.refuses(0n, 1103n * ms), 'a second without a refusal')
  t.notOk(overload.refuses(50n * ms, 1104n * ms))
})

test('nobody waits longer than the longest wait, unless there is none', async (t) => {
  const overload = new Overload(1000n * ms)
  t.ok(overload.refuses(1000n * ms, 0n), 'whatever came before')
  t.ok(new Overload(1000n * ms).isTooLong(1000n * ms))
  const none = new Overload(0n)
  t.notOk(none.refuses(10_000n * ms, 0n))
  t.notOk(none.isTooLong(10_000n * ms))
})

test('a request that waits is refused in time where no permit comes back, and those after it at once', async (t) => {
  let refusals = 0
  const semaphore = new SharedSemaphore(SharedSemaphore.memory(1))
  const count = () => {
    refusals += 1
  }
  const report = { permits: () => {}, tracing: false, waited: () => {}, refused: count }
  const alive = setInterval(() => {}, 1000) // A wait alone keeps no process from its end.
  t.teardown(() => clearInterval(alive))
  const meter = { on: false, free: () => {}, waited: () => {} }
  const admission = new Admission(semaphore, 1, meter, report, new Overload(20n * ms))
  const first = admission.ask(
    () => {},
    () => t.fail('the first one works'),
  )
  await new Promise<void>((resolve) => admission.ask(() => t.fail('there is no permit'), resolve))
  let next = false
  admission.ask(
    () => t.fail('there is none for it either'),
    () => {
      next = true
    },
  )
  t.ok(next, 'at once')
  t.ok(admission.turnsAway())
  const again = new Promise((resolve) => admission.ask(resolve))
  t.equal(refusals, 3, 'who goes on with its work is never refused')
  first.leave()
  await again
  t.notOk(admission.turnsAway(), 'nobody waits any more')
})

test('whoever has no key is told so, also where requests hold all the memory that they may', async (t) => {
  const apiKeys = new ApiKeys([])
  const requestMemory = RequestMemory.memory()
  new HeldMemory(new RequestMemory(2, requestMemory)).take(2 * 2 ** 20)
  const memory = {
    ...{ permits: SharedSemaphore.memory(1), connections: ConnectionLimit.memory(10), requestMemory },
    ...{ responseMemory: RequestMemory.memory(), proxies: ProxyNotice.memory(), rates: undefined },
  }
  const get = 'GET /v2/entities HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'
  const open = await givenFrontEnd(t, { requestMemory_MiB: 2 }, [], { memory })
  t.match(await open.talk(get), /^HTTP\/1\.1 503 [\s\S]*too many bytes of requests are waiting/)
  const closed = await givenFrontEnd(t, { requestMemory_MiB: 2 }, [], { memory, apiKeys })
  t.match(await closed.talk(get), /^HTTP\/1\.1 401 [\s\S]*the request needs a valid key/)
})

test('between many requests responses leave and replies are taken in, before the event loop comes round', async (t) => {
  const seen: string[] = []
  const departures = new ResponseBatch()
  const interleaving = new ReplyInterleaving(departures, () => seen.push('replies'))
  departures.add({ writeOut: () => seen.push('response') })
  for (let request = 0; request < 31; request += 1) interleaving.requestCame()
  t.same(seen, [])
  for (let request = 31; request < 64; request += 1) interleaving.requestCame()
  t.same(seen, ['response', 'replies', 'replies'])
})

test('a front end takes replies in between requests only where some wait for a permit', async (t) => {
  const responses: (() => void)[] = []
  const slow: Resource = {
    pattern: '/v1/slow',
    anyCase: true,
    operations: {
      GET: {
        use: 'read',
        prepare: () => ok(() => new Promise((resolve) => responses.push(() => resolve({ status: 200 })))),
      },
    },
  }
  let taken = 0
  const takeReplies = (): void => {
    taken += 1
  }
  const { talk } = await givenFrontEnd(t, { requestPermits: 1 }, [slow], { takeReplies })
  const request = 'GET /v1/slow HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
  const first = talk(request)
  await until(() => responses.length > 0)
  t.equal(taken, 0)
  const others = Array.from({ length: 70 }, () => talk(request))
  await until(() => taken >= 2)
  for (let released = 0; released < 71; released += 1) {
    await until(() => responses.length > 0)
    responses.pop()?.()
  }
  for (const response of await Promise.all([first, ...others])) t.match(response, /^HTTP\/1\.1 200 /)
})
