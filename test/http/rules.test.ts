import fc from 'fast-check'
import { test } from 'tap'
import { Admission, Overload, type Permit, permitShare } from '../../src/http/admission.js'
import { parseAccept } from '../../src/http/headers.js'
import { kindOf, parseParameters, segmentsOf } from '../../src/http/target.js'
import { SharedSemaphore } from '../../src/threads/shared-memory/semaphore.js'
import { until } from '../until.js'

test('what a path belongs to is seen from its first segments', async (t) => {
  const kinds = ['/V1/x', '/v1/ADMIN/x', '/Log', '/admin', '/Admin', '/version', '/Version', '/v2', '/V2', '/']
  t.same(
    kinds.map((path) => kindOf(segmentsOf(path))),
    ['ngsi1', 'management', 'management', 'management', 'other', 'version', 'other', 'ngsi2', 'other', 'other'],
  )
})

test('URI parameters are decoded, and the last of one name counts', async (t) => {
  const parsed = parseParameters('a=1&b=x+%2B&a=2&!exist=&flag')
  t.same(parsed.ok && [...parsed.value], [
    ['a', '2'],
    ['b', 'x +'],
    ['!exist', ''],
    ['flag', ''],
  ])
  t.equal(parseParameters('a=%').ok, false)
})

test('an Accept header is met when one of its known types is JSON', async (t) => {
  const verdict = (accept: string) => {
    const accepted = parseAccept(accept)
    return accepted.ok ? accepted.value : accepted.error.text
  }
  t.equal(verdict('text/plain,,,Application/JSON ,,'), 'json')
  t.equal(verdict('image/png;level=1, */*;q=0.1'), 'json')
  t.equal(verdict('text/*;q=1'), 'text')
  t.equal(verdict('text/html, image/png'), 'no acceptable mime-type in accept header')
  t.equal(verdict(' '), 'empty accept header')
  t.equal(verdict('application/json;charset=utf-8'), 'q missing in accept header')
  t.equal(verdict('application/json;q'), 'missing equal-sign after q in accept header')
  t.equal(verdict('application/json; q='), 'qvalue in accept header is missing')
  t.equal(verdict('application/json;q=1.x'), 'qvalue in accept header is not a number')
})

test('permits are shared out wholly', async (t) => {
  const shares = (permits: number, frontEnds: number) =>
    Array.from({ length: frontEnds }, (_, index) => permitShare(permits, frontEnds, index))
  t.same(shares(10, 4), [3, 3, 2, 2])
  t.same(shares(1, 3), [1, 0, 0])
})

test('permits are given first come, first served, never more than there are, whatever order they come back in', async () => {
  const steps = fc.array(fc.oneof(fc.constant('ask' as const), fc.nat(20)), { maxLength: 60 })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), steps, (permits, all) => {
      const waits: bigint[] = []
      const meter = { on: true, free: () => waits.push(0n), waited: (wait: bigint) => waits.push(wait) }
      const admission = new Admission(new SharedSemaphore(SharedSemaphore.memory(permits)), permits, meter, {
        permits: () => {},
        tracing: false,
        waited: () => {},
        refused: () => {},
      })
      const started: number[] = []
      const gone = new Set<number>()
      const requests: Permit[] = []
      for (const step of all) {
        if (step === 'ask') {
          const number = requests.length
          requests.push(admission.ask(() => started.push(number)))
        } else if (step < requests.length) {
          gone.add(step)
          requests[step]?.leave()
        }
        const working = started.filter((number) => !gone.has(number)).length
        const waiting = requests.some((_, number) => !gone.has(number) && !started.includes(number))
        if (working > permits || (waiting && working < permits)) return false
      }
      return (
        waits.length === started.length && started.every((number, at) => at === 0 || number > (started[at - 1] ?? 0))
      )
    }),
  )
})

test('a permit that comes back in one front end is given to the first that waits, in whichever it is', async (t) => {
  const memory = SharedSemaphore.memory(1)
  const meter = { on: false, free: () => {}, waited: () => {} }
  const taken = [0, 0]
  const [one, two] = [0, 1].map((at) => {
    const permits = (_: number, count: number): void => {
      taken[at] = count
    }
    return new Admission(new SharedSemaphore(memory), 1 - at, meter, {
      permits,
      tracing: false,
      waited: () => {},
      refused: () => {},
    })
  })
  if (!one || !two) throw new Error('there are two')
  const started: string[] = []
  const first = one.ask(() => started.push('one, first'))
  const second = two.ask(() => started.push('two, second'))
  const third = two.ask(() => started.push('two, third'))
  const fourth = one.ask(() => started.push('one, fourth'))
  t.same(started, ['one, first'])
  first.leave()
  await until(() => started.length === 2)
  t.same(started, ['one, first', 'two, second'])
  third.leave()
  second.leave()
  await until(() => started.length === 3)
  t.same(started, ['one, first', 'two, second', 'one, fourth'], 'who gave up passes the permit on')
  t.same(taken, [1, 0])
  fourth.leave()
  t.equal(new SharedSemaphore(memory).free, 1)
})

test('permits that come back from another front end are given to those that wait before a new request', async (t) => {
  const memory = SharedSemaphore.memory(2)
  const meter = { on: false, free: () => {}, waited: () => {} }
  const quiet = { permits: () => {}, tracing: false, waited: () => {}, refused: () => {} }
  const one = new Admission(new SharedSemaphore(memory), 1, meter, quiet)
  // Who waits for longer than a nanosecond keeps others out.
  const two = new Admission(new SharedSemaphore(memory), 1, meter, quiet, new Overload(1n))
  const elsewhere = [one.ask(() => {}), one.ask(() => {})]
  const started: string[] = []
  const permits = [two.ask(() => started.push('waits'))]
  for (const permit of elsewhere) permit.leave()
  // The other front end has not been told of it yet.
  permits.push(
    two.ask(
      () => started.push('new'),
      () => started.push('refused'),
    ),
  )
  t.same(started, ['waits', 'new'])
  for (const permit of permits) permit.leave()

  const all = [one.ask(() => {}), one.ask(() => {})]
  permits.push(two.ask(() => permits.push(two.ask(() => started.push('third')))))
  permits.push(two.ask(() => started.push('second')))
  for (const permit of all) permit.leave()
  permits.push(two.ask(() => started.push('fourth')))
  t.same(started, ['waits', 'new', 'second'], 'what the first begins stands behind the second')
  for (let rounds = 0; rounds < 4; rounds += 1) for (const permit of [...permits]) permit.leave()
  await until(() => started.length === 5)
  t.same(started, ['waits', 'new', 'second', 'third', 'fourth'])
})
