import { test } from 'tap'
import { timedOut } from '../../src/delivery/http-client/response-handler.js'
import type { AttemptOutcome } from '../../src/delivery/queue/outgoing.js'
import { outcomeOf, outcomeOfFault, trouble } from '../../src/delivery/queue/outgoing.js'
import { AttemptLines } from '../../src/delivery/senders/attempt-lines.js'
import { Switches } from '../../src/threads/shared-memory/switches.js'
import { type Line, notedLog } from '../http/given.js'
import { notice, subscriptionId } from './given.js'

const one = subscriptionId(1)
const http = { kind: 'http', url: 'http://r.example/in', headers: [], body: { length: 2 } } as const
const mqtt = {
  kind: 'mqtt',
  url: 'mqtt://m.example',
  topic: 'a/b',
  qos: 0,
  retain: false,
  body: { length: 2 },
} as const

/** The line of an attempt that ended so. */
function lineOf(outgoing: Parameters<AttemptLines['ended']>[0], outcome: AttemptOutcome): string | undefined {
  const lines: Line[] = []
  const switches = new Switches()
  switches.set('infoPayloadMaxSize', 100)
  const parts = { log: notedLog(lines, switches), switches, transaction: () => '1' }
  new AttemptLines(parts, notice(one, 'a', '{}'), '{}').ended(outgoing, outcome, 1n)
  return lines[0]?.message
}

test('an attempt that was accepted is delivered; one that failed says what the receiver did', async (t) => {
  const failed = (outcome: AttemptOutcome) => lineOf(http, outcome)?.replace(/^(Notif \w+) .*payload .*: \{\}, /, '$1 ')
  const withCode = (code: string) => failed(outcomeOfFault(Object.assign(new Error('it failed'), { code })))
  t.equal(failed(outcomeOf(204, '2xx')), 'Notif delivered response code: 204')
  t.equal(failed(outcomeOf(404, '2xx')), 'Notif failed response code: 404')
  t.equal(failed(outcomeOf(503, '2xx')), 'Notif failed response code: 503')
  t.equal(withCode('ECONNREFUSED'), 'Notif failed reason: connection refused')
  t.equal(withCode('ENOTFOUND'), 'Notif failed reason: name not resolved')
  t.equal(withCode('ETIMEDOUT'), 'Notif failed reason: timed out')
  t.equal(failed(outcomeOfFault(timedOut)), 'Notif failed reason: timed out')
})

test('the line of an attempt has the method of a custom notification, and over MQTT the broker and the topic', async (t) => {
  t.match(
    lineOf({ ...http, method: 'PUT' }, outcomeOf(200, '2xx')),
    /: PUT http:\/\/r\.example\/in, payload \(2 bytes\): \{\}, /,
  )
  const start = `(subId: ${one}): broker: m.example:1883, topic: a/b, payload (2 bytes): {}`
  t.equal(lineOf(mqtt, { kind: 'accepted' }), `MQTT Notif delivered ${start}`)
  t.equal(lineOf(mqtt, trouble('connection refused')), `MQTT Notif failed ${start}, reason: connection refused`)
})
