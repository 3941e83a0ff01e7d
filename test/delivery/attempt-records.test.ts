import { test } from 'tap'
import { AttemptRecords } from '../../src/delivery/queue/attempt-records.js'
import { outcomeOf, trouble } from '../../src/delivery/queue/outgoing.js'
import type { Milliseconds } from '../../src/time.js'
import { subscriptionId } from './given.js'

const one = subscriptionId(1)
const accepted = outcomeOf(204, '2xx')

function at(moment: number): Milliseconds {
  return moment as Milliseconds
}

/** What is shown of a response with this body, of which the first 256 bytes are kept. */
function shown(body: string | Buffer, secrets: readonly string[] = []): string | undefined {
  const bytes = Buffer.from(body)
  const records = new AttemptRecords()
  const start = { text: bytes.toString('latin1', 0, 256), isCut: bytes.length > 256, secrets }
  records.ended(one, accepted, 1, at(1), { start })
  return records.of(one)[0]?.response
}

test('the last 16 attempts of a subscription are remembered, the newest first, each with its moment, duration and result', async (t) => {
  const records = new AttemptRecords()
  t.same(records.of(one), [])
  for (let number = 1; number <= 5; number += 1) records.ended(one, accepted, 0, at(number))
  t.same(
    records.of(one).map((attempt) => attempt.at),
    [5, 4, 3, 2, 1],
  )
  for (let number = 6; number <= 40; number += 1) records.ended(one, accepted, 0, at(number))
  records.ended(one, outcomeOf(503, '2xx'), 20.25, at(1000))
  records.ended(one, trouble('timeout'), 500, at(2000))
  t.equal(records.of(one).length, 16)
  t.same(records.of(one).slice(0, 3), [
    { at: 1500, duration_ms: 500, result: 'trouble', reason: 'timeout' },
    { at: 980, duration_ms: 20.25, result: 'trouble', status: 503 },
    { at: 40, duration_ms: 0, result: 'accepted', status: 204 },
  ])
  t.equal(records.of(one).at(-1)?.at, 27)
  records.forget(one)
  t.same(records.of(one), [])
})

test('beyond the number of all subscriptions together those are forgotten whose last attempt was longest ago', async (t) => {
  const records = new AttemptRecords(40)
  const numbers = () => [1, 2, 3, 4, 5].map((each) => records.of(subscriptionId(each)).length)
  for (let time = 0; time < 20; time += 1) {
    for (const each of [1, 2]) records.ended(subscriptionId(each), accepted, 0, at(time))
  }
  for (let time = 0; time < 8; time += 1) records.ended(subscriptionId(3), accepted, 0, at(time))
  records.ended(subscriptionId(1), accepted, 0, at(30))
  t.same(numbers(), [16, 16, 8, 0, 0])
  records.ended(subscriptionId(4), accepted, 0, at(31))
  t.same(numbers(), [16, 0, 8, 1, 0])
  records.forget(subscriptionId(1))
  for (let time = 0; time < 16; time += 1) records.ended(subscriptionId(5), accepted, 0, at(time))
  t.same(numbers(), [0, 0, 8, 1, 16], 'what was forgotten has made room')
})

test('a response is shown once its body has ended, cut at 256 bytes', async (t) => {
  const records = new AttemptRecords()
  const response = {}
  records.ended(one, accepted, 1, at(1), response)
  t.notOk('response' in Object(records.of(one)[0]))
  Object.assign(response, { start: { text: 'ok', isCut: false, secrets: [] } })
  t.equal(records.of(one)[0]?.response, 'ok')
  t.equal(shown('y'.repeat(256)), 'y'.repeat(256))
  t.equal(shown('y'.repeat(257)), `${'y'.repeat(256)}(...)`)
  t.equal(shown('{\r\n  "error": "none"\n}'), '{ "error": "none" }')
})

test('a response is text, whatever its bytes are', async (t) => {
  t.equal(shown('gr\u00fcn \u{1f600}'), 'gr\u00fcn \u{1f600}')
  t.equal(shown(`${'y'.repeat(255)}\u00fc`), `${'y'.repeat(255)}(...)`, 'half a character is none')
  t.equal(shown(Buffer.from([0x41, 0xff, 0xc3, 0x42, 0xc3])), 'A\ufffd\ufffdB\ufffd')
  t.equal(shown('\u001b[31mred\u0000\u007f\u009b\tend'), '\ufffd[31mred\ufffd\ufffd\ufffd\tend')
  const bytes = Buffer.from(Array.from({ length: 2000 }, (_, index) => (index * 37) % 256))
  t.ok(Buffer.byteLength(shown(bytes) ?? '') < 270, 'replacement characters have three bytes, and count them')
})

test('what is secret in a response is hidden, also where it is cut', async (t) => {
  t.equal(shown('see http://user:pw@host/x?token=abc&a=1'), 'see http://***@host/x?token=***&a=1')
  t.equal(shown(`${'y'.repeat(240)} http://user:secret@host/`), `${'y'.repeat(240)} http://***(...)`)
  const secrets = ['Bearer ab/cd', 'ab/cd']
  t.equal(shown('you sent Bearer ab/cd, as {"a":"ab\\/cd"}', secrets), 'you sent ***, as {"a":"***"}')
  t.equal(shown(`${'y'.repeat(252)}ab/cd`, secrets), `${'y'.repeat(252)}***(...)`)
  t.equal(shown('grab', secrets), 'grab', 'a response that has ended has no half of a secret')
})
