import { test } from 'tap'
import { AttemptLines } from '../../src/delivery/attempt-lines.js'
import { type AttemptOutcome, refusal, trouble } from '../../src/delivery/outcome.js'
import type { Outgoing } from '../../src/delivery/outgoing.js'
import { type Line, LineLog } from '../../src/log/log.js'
import { logLevels, Switches } from '../../src/shared-memory/switches.js'
import { traceArea } from '../../src/trace-area.js'
import { notice, subscriptionId } from './given.js'

const body = '{"a":1}'
const http: Outgoing = {
  kind: 'http',
  url: 'http://me:pass@there/in',
  headers: ['X-Auth-Token', 't'],
  body: Buffer.from(body),
}
const mqtt: Outgoing = {
  ...{ kind: 'mqtt', url: 'mqtt://bus.example', user: 'plant', password: 's3cret', topic: 'plant/vats' },
  ...{ qos: 1, retain: false, body: Buffer.from(body) },
}

/** The lines of an attempt, with or without those that are traced. */
function linesOf(outgoing: Outgoing, outcome: AttemptOutcome, traced = false): readonly Line[] {
  const lines: Line[] = []
  const switches = new Switches()
  switches.set('logLevel', logLevels.indexOf('INFO'))
  switches.set('infoPayloadMaxSize', 5120)
  for (const area of ['notify.request', 'notify.response', 'payload.client.dump'] as const) {
    switches.traces[traceArea[area]] = Number(traced)
  }
  const log = new LineLog(switches, (line) => lines.push(line))
  const parts = { log, switches, transaction: () => '1-2-3' }
  const attempt = new AttemptLines(parts, notice(subscriptionId(1), 'e', body), body)
  attempt.begun(outgoing)
  attempt.ended(outgoing, outcome, 1_000_000n)
  return lines
}

function messages(...given: Parameters<typeof linesOf>): readonly string[] {
  return linesOf(...given).map(({ message }) => message)
}

const id = subscriptionId(1)

test('a notification over HTTP is told with its URL, its payload, and the status or the reason', async (t) => {
  const start = `Notif delivered (subId: ${id}): POST http://***@there/in, payload (7 bytes): {"a":1}, response code: `
  t.same(messages(http, { kind: 'accepted', status: 204 }), [`${start}204`])
  t.same(messages(http, refusal('404')), [`${start}refused: 404`])
})

test('one over MQTT is told with its broker, its topic and its payload, and the reason when it has failed', async (t) => {
  const line = `MQTT Notif delivered (subId: ${id}): broker: bus.example:1883, topic: plant/vats, payload (7 bytes): {"a":1}`
  t.same(messages(mqtt, { kind: 'accepted' }), [line])
  t.same(messages(mqtt, trouble('timeout')), [`${line}, reason: trouble: timeout`])
  t.match(messages({ ...mqtt, url: 'mqtt://[::1]:99' }, { kind: 'accepted' })[0], /broker: \[::1\]:99, topic/)
  t.match(linesOf(mqtt, { kind: 'accepted' })[0], { level: 'INFO', op: 'notif:delivery' })
})

test('traces show what is sent and what became of it, without user and password', async (t) => {
  t.same(messages(http, { kind: 'accepted', status: 200 }, true).slice(0, 3), [
    'POST http://***@there/in, 7 bytes',
    'POST http://***@there/in {"X-Auth-Token":"***"} {"a":1}',
    '200 after 0.001000000 s',
  ])
  const traced = messages(mqtt, { kind: 'accepted' }, true)
  t.same(traced.slice(0, 3), [
    'PUBLISH bus.example:1883 plant/vats, 7 bytes',
    'PUBLISH bus.example:1883 plant/vats {"a":1}',
    'acknowledged after 0.001000000 s',
  ])
  t.notMatch(traced.join(), /s3cret/)
})
