import fc from 'fast-check'
import { test } from 'tap'
import { recipientOf } from '../../src/delivery/queue/courier-protocol.js'
import {
  afterAcceptance,
  afterDeparture,
  afterFailure,
  mergedStats,
  noStats,
} from '../../src/delivery/queue/delivery-records.js'
import { Fifo } from '../../src/delivery/queue/notice-list.js'
import { refusal, retryAfter, trouble } from '../../src/delivery/queue/outgoing.js'
import { pauseAfter, Watermark } from '../../src/delivery/queue/subscription-queue.js'
import { headersOf, messageSize } from '../../src/delivery/senders/request.js'
import type { DeliveryStats } from '../../src/model/subscription/notice.js'
import { termsOf } from '../../src/model/subscription/patch.js'
import { at } from '../given.js'
import { inForce } from '../given-subscription.js'
import { runs } from '../runs.js'
import { notice, subscriptionId } from './given.js'

test('pauses double from the first to the longest, varied by up to a fifth', async (t) => {
  const limits = { min_ms: 500, max_ms: 60_000 }
  const middle = (failures: number) => Math.round(pauseAfter(failures, limits, 0, 0.5))
  t.same([1, 2, 3, 7, 8, 9, 2000].map(middle), [500, 1000, 2000, 32000, 60000, 60000, 60000])
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 60 }), fc.double({ min: 0, max: 0.999, noNaN: true }), (failures, chance) => {
      const pause = pauseAfter(failures, limits, 0, chance)
      const exact = Math.min(60_000, 500 * 2 ** (failures - 1))
      return pause >= exact * 0.8 - 1 && pause <= exact * 1.2 + 1
    }),
  )
  t.equal(pauseAfter(1, limits, 5000, 0.5), 5000)
  t.equal(pauseAfter(1, limits, 10, 0.5), 500, 'it is lengthened only')
  t.equal(pauseAfter(1, limits, 9_000_000, 0.5), 60_000)
})

test('Retry-After is a number of seconds or a date', async (t) => {
  const now = Date.parse('2026-02-03T09:12:44Z')
  t.equal(retryAfter('120', now), 120_000)
  t.equal(retryAfter('Tue, 03 Feb 2026 09:13:44 GMT', now), 60_000)
  t.equal(retryAfter('Tue, 03 Feb 2026 09:11:44 GMT', now), 0)
  for (const text of [undefined, '', '-1', '1.5', 'soon', '2026-02-03']) t.equal(retryAfter(text, now), undefined)
})

test('delivery stats count a notice once, whatever becomes of its attempts', async (t) => {
  const facts = { number: 4, at: at(10), fails: 1, attempted: at(10) }
  const failed = afterFailure(noStats, { ...facts, first: true, outcome: trouble('timeout') })
  t.same(failed, {
    sent: 1,
    discarded: 0,
    tried: [4],
    fails: 1,
    attempted: 10,
    lastFailure: 10,
    lastFailureReason: 'trouble: timeout',
  })
  const afterRefusal = afterFailure(failed, { ...facts, first: false, fails: 2, at: at(20), outcome: refusal('404') })
  t.match(afterRefusal, { sent: 1, tried: [4], fails: 2, lastFailure: 20, lastFailureReason: 'refused: 404' })
  const arrived = { number: 4, made: at(5), status: 204, at: at(30), attempted: at(30) }
  t.same(afterAcceptance(afterRefusal, { ...arrived, first: false }), {
    ...afterRefusal,
    ...{ sent: 1, tried: [], fails: 0, attempted: 30 },
    ...{ lastSuccess: 30, lastSuccessCode: 204, lastNotification: 5 },
  })
  t.match(afterAcceptance(afterRefusal, { ...arrived, number: 5, first: true }), { sent: 2, tried: [4] })
  t.notOk('lastSuccessCode' in afterAcceptance(noStats, { ...arrived, status: undefined, first: true }), 'over MQTT')
  t.match(afterDeparture(afterRefusal, { number: 4, made: at(5), discarded: true }), { tried: [], discarded: 1 })
})

test('what an outcome stores does not grow with the notices that wait after an attempt', async (t) => {
  let stats = noStats
  const facts = { first: true, outcome: refusal('404'), at: at(10), attempted: at(10) }
  for (let number = 1; number <= 5000; number += 1) stats = afterFailure(stats, { ...facts, number, fails: number })
  t.match(stats, { sent: 5000, fails: 5000 })
  t.ok(JSON.stringify(stats).length < 10_000)
  for (let number = 1; number <= 5000; number += 1) {
    stats = afterDeparture(stats, { number, made: at(5), discarded: false })
  }
  t.match(stats, { sent: 5000, tried: [] })
})

test('the delivery stats of several outboxes together say what the last attempt says', async (t) => {
  const stats = (more: Partial<DeliveryStats>): DeliveryStats => ({ ...noStats, ...more })
  t.same(mergedStats([]), { timesSent: 0, discarded: 0, failsCounter: 0 })
  const both = [
    stats({
      sent: 2,
      discarded: 1,
      fails: 3,
      attempted: at(50),
      lastFailure: at(50),
      lastFailureReason: 'refused: 404',
    }),
    stats({
      sent: 5,
      fails: 0,
      attempted: at(40),
      lastSuccess: at(40),
      lastSuccessCode: 200,
      lastNotification: at(30),
    }),
  ]
  const together = {
    ...{ timesSent: 7, discarded: 1, failsCounter: 3, lastNotification: 30 },
    ...{ lastSuccess: 40, lastSuccessCode: 200, lastFailure: 50, lastFailureReason: 'refused: 404' },
  }
  t.same(mergedStats(both), together)
  t.same(mergedStats([...both].reverse()), together)
})

test('a queue gives what was put into it, at both ends', async (t) => {
  const step = fc.oneof(
    fc.nat().map((number) => ({ push: number })),
    fc.nat().map((number) => ({ unshift: number })),
    fc.constant('shift' as const),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const fifo = new Fifo<{ readonly number: number }>()
      const model: number[] = []
      for (const taken of steps) {
        if (taken === 'shift') t.equal(fifo.shift()?.number, model.shift())
        else if ('push' in taken) {
          fifo.push({ number: taken.push })
          model.push(taken.push)
        } else {
          fifo.unshift({ number: taken.unshift })
          model.unshift(taken.unshift)
        }
        t.equal(fifo.size, model.length)
        t.equal(fifo.first?.number, model[0])
      }
    }),
    { numRuns: runs(50) },
  )
})

test('what is nearly full is told once, and again after it was less than half full', async (t) => {
  const mark = new Watermark()
  t.same(
    [80, 81, 100, 60, 90, 49, 81, 82].map((taken) => mark.passed(taken, 100)),
    [false, true, false, false, false, false, true, false],
  )
})

test('the size of a message is that of what is sent', async (t) => {
  const one = notice(subscriptionId(1), 'a', '{"ü":1}', { token: 'tok' })
  const headers = headersOf(one, 0, 1, '0011223344556677')
  const size = messageSize('http://a.example/in', headers, Buffer.byteLength(one.body))
  t.equal(size - messageSize('http://a.example/in', headers, 0), 8)
  t.ok(size > headers.join('').length && size < headers.join('').length + 200)
})

test('names to leave out are not shown of what was made before a subscription had them', async (t) => {
  const terms = termsOf({})
  const shown = (excepts: boolean) => {
    const notification = { ...terms.notification, excepts }
    return recipientOf(inForce({ attributes: ['a'], terms: { ...terms, notification } })).attributes
  }
  t.same([shown(false), shown(true)], [['a'], []])
})
