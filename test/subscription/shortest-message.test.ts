import fc from 'fast-check'
import { test } from 'tap'
import { shortestBody } from '../../src/subscription/shortest-message.js'
import { limitNow_ms } from '../pace.js'
import { RunningBroker } from '../running.js'

test('macros count for nothing in a text, and for one character where they are a value', async (t) => {
  t.equal(shortestBody({ payload: 'a${id}b%22${x}°' }), 5)
  t.equal(shortestBody({ json: ['${a}', 'x${b}y', { '${c}': 'é' }] }), '[0,"xy",{"${c}":"é"}]'.length + 1)
  t.equal(shortestBody({ json: ['${open'] }), '["${open"]'.length)
  t.same([shortestBody({ payload: null }), shortestBody({}), shortestBody({ ngsi: {} })], [0, 0, 0])
})

test('a text without macros is as long as it is', async () => {
  fc.assert(fc.property(fc.stringMatching(/^[a-z ]*$/), (payload) => shortestBody({ payload }) === payload.length))
})

test('macros are those that the pattern finds', async () => {
  const parts = fc.constantFrom('${', '}', '$', '{', 'a', '${x}')
  const text = fc.array(parts, { maxLength: 16 }).map((each) => each.join(''))
  fc.assert(
    fc.property(text, (payload) => shortestBody({ payload }) === payload.replace(/\$\{[^}]*\}/g, '').length),
    { numRuns: 10_000 },
  )
})

test('macros that do not end are looked through in linear time', async (t) => {
  const open = '${'.repeat(400_000)
  const began = performance.now()
  t.equal(shortestBody({ payload: open }), open.length)
  t.equal(shortestBody({ payload: `${open}}${open}` }), open.length)
  t.equal(shortestBody({ json: { a: [`x${open}`] } }), open.length + '{"a":["x"]}'.length)
  t.ok(performance.now() - began < limitNow_ms(1000))
})

test('a template whose notifications would all be dropped as too long is refused when it is stored', async (t) => {
  const broker = await RunningBroker.start(t, ['-notifMaxSize', '2000'])
  const subject = { entities: [{ idPattern: '.*' }] }
  const given = (custom: object) => ({ subject, notification: custom })
  const text = (payload: string) => given({ httpCustom: { url: 'http://localhost:1', payload } })
  const mqtt = (json: object) => given({ mqttCustom: { url: 'mqtt://localhost:1', topic: 't', json } })
  const refusal = (bytes: number) => ({
    error: 'BadRequest',
    description: `notification template has at least ${bytes} bytes, max notification size: 2000`,
  })

  const made = await broker.send('POST', '/v2/subscriptions', text(`${'x'.repeat(900)}\${${'a'.repeat(2000)}}`))
  t.equal(made.status, 201)
  const posted = await broker.send('POST', '/v2/subscriptions', text(`\${id}${'x'.repeat(2001)}`))
  t.match(posted, { status: 400, json: refusal(2001) })
  const patched = await broker.send('PATCH', made.headers.get('location') ?? '', mqtt(['y'.repeat(2000)]))
  t.match(patched, { status: 400, json: refusal(2004) })
})
