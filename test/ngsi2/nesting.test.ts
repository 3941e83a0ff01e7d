import { test } from 'tap'
import { parseQueryPayload } from '../../src/api/ngsi2/parse/query-body.js'
import { parseNewRegistration } from '../../src/api/ngsi2/parse/registration-body.js'
import { parseNewSubscription, parseSubscriptionPatch } from '../../src/api/ngsi2/parse/subscription-body.js'
import type { Result } from '../../src/result.js'
import { atOnce } from '../../src/slices.js'
import { RunningBroker } from '../running.js'

const description = 'attribute or metadata value has overpassed maximum nesting limit: 50'
const refusal = { error: 'BadRequest', description }

function nested(levels: number): string {
  return `${'['.repeat(levels)}1${']'.repeat(levels)}`
}

function notified(kind: 'httpCustom' | 'mqttCustom', template: string): string {
  const where = kind === 'httpCustom' ? '"url":"http://localhost:1"' : '"url":"mqtt://localhost:1","topic":"t"'
  return `{"subject":{"entities":[{"id":"Vat-1"}]},"notification":{"${kind}":{${where},${template}}}}`
}

test('a template of a notification may be nested 50 levels deep [NGSIv2 context 3.1]', async (t) => {
  const templates = {
    json: (levels: number) => `"json":${nested(levels)}`,
    ngsi: (levels: number) => `"ngsi":{"a":{"value":${nested(levels)}}}`,
  }
  for (const kind of ['httpCustom', 'mqttCustom'] as const) {
    for (const [name, template] of Object.entries(templates)) {
      for (const parse of [parseNewSubscription, parseSubscriptionPatch]) {
        t.ok(atOnce<Result<unknown, unknown>>(parse(notified(kind, template(50)))).ok, `${name} of ${kind}`)
        for (const levels of [51, 150, 2000, 9000]) {
          t.same(
            atOnce<Result<unknown, unknown>>(parse(notified(kind, template(levels)))),
            { ok: false, error: refusal },
            `${levels} levels of ${name}`,
          )
        }
      }
    }
  }
})

test('no payload that is read at once may be nested deeper than 200 levels, wherever it is', async (t) => {
  const subscription = notified('httpCustom', '"payload":"x"').replace(/}$/, `,"x":${nested(2000)}}`)
  t.same(atOnce(parseNewSubscription(subscription)), { ok: false, error: refusal })
  t.same(parseNewRegistration(`{"x":${nested(2000)}}`), { ok: false, error: refusal })
  const query = parseQueryPayload(`{"entities":[{"id":"Vat-1"}],"x":${nested(2000)}}`)
  t.match(query.ok || query.error, { status: 400, body: JSON.stringify({ error: 'ParseError', description }) })
})

test('hundreds of deeply nested templates are refused by every front end, which answer as before', async (t) => {
  const broker = await RunningBroker.shared()
  const subscribe = async (kind: 'httpCustom' | 'mqttCustom', levels: number): Promise<string> => {
    const response = await fetch(`${broker.url}/v2/subscriptions`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Connection: 'close', 'Fiware-Service': 'nesting' },
      body: notified(kind, `"json":${nested(levels)}`),
      signal: AbortSignal.timeout(20_000),
    })
    return `${response.status} ${await response.text()}`
  }
  const statuses = new Set<string>()
  for (let round = 0; round < 15; round += 1) {
    const requests = Array.from({ length: 20 }, (_, at) =>
      subscribe(at % 2 === 0 ? 'httpCustom' : 'mqttCustom', 2000 + 70 * at),
    )
    for (const status of await Promise.all(requests)) statuses.add(status)
  }
  t.same([...statuses], [`400 ${JSON.stringify(refusal)}`])
  for (let at = 0; at < 20; at += 1) {
    t.match(await subscribe('httpCustom', 1), /^201/)
    const { status } = await broker.send('GET', '/v2/entities')
    t.equal(status, 200)
  }
})
