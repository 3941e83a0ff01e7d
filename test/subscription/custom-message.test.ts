import fc from 'fast-check'
import { test } from 'tap'
import type { Value } from '../../src/model/context/entity.js'
import { Expressions } from '../../src/model/expression/expressions.js'
import { templateText } from '../../src/model/expression/json-template.js'
import { Filler } from '../../src/model/expression/template.js'
import {
  contentTypeOf,
  filledBody,
  filledHttp,
  filledTopic,
  shortestBody,
} from '../../src/model/subscription/custom-message.js'
import type { HttpTemplate } from '../../src/model/subscription/terms.js'
import { scopeOf } from '../expression/given.js'
import { staysWithin } from '../pace.js'
import { RunningBroker } from '../running.js'

const names = {
  ...{ id: 'Vat-3', type: 'Vat', heat: 71.5, level: 40, none: null, empty: '', lines: 'one\ntwo', first: 'b' },
  target: 'http://there:8080/here',
}

interface Filled extends HttpTemplate {
  readonly url?: string
}

function filled({ url: given = 'http://there/in', ...template }: Filled, more: Readonly<Record<string, Value>> = {}) {
  const filler = new Filler(new Expressions(100_000), scopeOf({ ...names, ...more }, { max_bytes: 1000 }))
  const result = filledHttp(given, template, filler)
  if (!result.ok) return result.error
  const { url, headers } = result.value
  return { url, headers: Object.fromEntries(headers) }
}

/** The text of a body and its content type, or why there is none. */
function bodyFilled(template: HttpTemplate, more: Readonly<Record<string, Value>> = {}) {
  const filler = new Filler(new Expressions(100_000), scopeOf({ ...names, ...more }, { max_bytes: 1000 }))
  const result = filledBody(template, filler)
  return result.ok ? [result.value, contentTypeOf(template)] : result.error
}

test('the URL is filled in, with the query in the order of its names and not encoded', async (t) => {
  t.match(filled({ url: 'http://there/vats/${id}', qs: { kind: '${type}' } }), {
    url: 'http://there/vats/Vat-3?kind=Vat',
  })
  t.match(filled({ url: '${target}' }), { url: 'http://there:8080/here' })
  t.match(filled({ url: 'http://there/${none}x' }), { url: 'http://there/x' })
  const qs = {
    ...{ z: '1', '${first}': '2', m: '${heat}', a: 'x=y z', no: '${none}', '': 'x', e: '', '${none}': 'x' },
  }
  t.match(filled({ qs }), { url: 'http://there/in?a=x=y z&b=2&m=71.5&z=1' })
})

test('a URL that is none once it is filled in makes the message undeliverable', async (t) => {
  t.same(filled({ url: '${gone}' }), { kind: 'urlInvalid', url: '' })
  t.same(filled({ url: '${target}' }, { target: 'http://:0/x' }), { kind: 'urlInvalid', url: 'http://:0/x' })
  t.same(filled({ url: '${target}' }, { target: 'mqtt://bus' }), { kind: 'urlInvalid', url: 'mqtt://bus' })
})

test('headers are filled in and decoded, their names are in lower case', async (t) => {
  const headers = {
    ...{ 'X-Area': 'hall%3D${level}', 'x-${first}': 'yes', authorization: 'Basic YWJj%3D%3D' },
    ...{ 'x-gone': '${none}', 'x-part': 'v-${none}', Accept: '', 'x-${none}': '1' },
  }
  t.match(filled({ headers }), {
    headers: {
      'x-area': 'hall=40',
      'x-b': 'yes',
      authorization: 'Basic YWJj==',
      'x-part': 'v-null',
      accept: '',
      'x-null': '1',
    },
  })
  t.notMatch(filled({ headers }), { headers: { 'x-gone': /.*/ } })
})

test('a value that is one macro leaves its header out when it is null; an empty text is a value', async (t) => {
  const headers = { 'User-Agent': '${empty}', Accept: '${none}', 'x-gone': '${gone}', 'x-part': '${empty}${empty}' }
  t.strictSame(filled({ headers }), { url: 'http://there/in', headers: { 'user-agent': '', 'x-part': '' } })
})

test('what frames and identifies a message cannot be changed', async (t) => {
  const own = ['Fiware-Correlator', 'Ngsiv2-AttrsFormat', 'Content-Length', 'Transfer-Encoding', 'Connection']
  const more = ['Rigel-Notification-Id', 'CONNECTION', 'Keep-Alive', 'Expect', 'Upgrade']
  const headers = Object.fromEntries([...own, ...more].map((name) => [name, 'mine']))
  t.strictSame(filled({ headers }), { url: 'http://there/in', headers: {} })
})

test('a header that cannot be sent makes the message undeliverable', async (t) => {
  const header = (name: string, value: string) => filled({ headers: { [name]: value } })
  t.same(header('x-line', '${lines}'), { kind: 'headerInvalid', name: 'x-line' })
  t.same(header('x-line', 'a%0D%0Ab: c'), { kind: 'headerInvalid', name: 'x-line' })
  t.same(header('x ${lines}', 'a'), { kind: 'headerInvalid', name: 'x one\ntwo' })
  t.same(header('', 'a'), { kind: 'headerInvalid', name: '' })
  t.same(header('x-line', 'a%7Fb'), { kind: 'headerInvalid', name: 'x-line' })
})

test('a header is sent as UTF-8, byte by byte', async (t) => {
  for (const [value, text] of [
    ['%C2%B0', '°'],
    ['${money} é', '€ é'],
    ['%F0%9F%94%A5', '🔥'],
  ] as const) {
    const result = filled({ headers: { 'x-high': value } }, { money: '€' })
    t.match(result, { headers: { 'x-high': Buffer.from(text).toString('latin1') } }, text)
  }
})

test('the body is text, JSON, nothing or the usual one', async (t) => {
  t.strictSame(bodyFilled({ payload: 'heat of %22${id}%22 is ${heat} (%C2%B0C), lid ${lid}' }), [
    'heat of "Vat-3" is 71.5 (°C), lid null',
    'text/plain; charset=utf-8',
  ])
  t.strictSame(bodyFilled({ json: templateText({ t: '${heat}', pair: ['${heat}', '${level}'], gone: '${lid}' }) }), [
    '{"t":71.5,"pair":[71.5,40],"gone":null}',
    'application/json; charset=utf-8',
  ])
  t.strictSame(bodyFilled({ payload: null }), ['', ''])
  t.strictSame(bodyFilled({}), [undefined, undefined])
  t.strictSame(bodyFilled({ payload: '' }), [undefined, undefined])
})

test('a macro that does not end drops the message, in all fields but JSON', async (t) => {
  const open = { kind: 'macroOpen' }
  t.same(filled({ url: 'http://there/${id' }), open)
  t.same(filled({ qs: { a: '${id' } }), open)
  t.same(filled({ qs: { '${id': 'a' } }), open)
  t.same(filled({ headers: { a: '${id' } }), open)
  t.same(filled({ headers: { '${id': 'a' } }), open)
  t.same(bodyFilled({ payload: '${id' }), open)
  t.match(bodyFilled({ json: templateText(['${id']) }), ['["${id"]'])
})

test('a message that becomes too long is told', async (t) => {
  const long = 'x'.repeat(600)
  t.same(bodyFilled({ payload: '${a}${a}' }, { a: long }), { kind: 'filledTooLong' })
  t.same(bodyFilled({ json: templateText(['${a}', '${a}']) }, { a: long }), { kind: 'filledTooLong' })
})

test('the topic of a message over MQTT is filled in', async (t) => {
  const filler = new Filler(new Expressions(100_000), scopeOf(names))
  const topic = (text: string) => filledTopic(text, filler)
  t.strictSame(topic('plant/${type}/${none}${id}'), { ok: true, value: 'plant/Vat/Vat-3' })
  t.match(topic('${none}'), { ok: false, error: { kind: 'topicInvalid', topic: '' } })
  t.match(topic("a/${'#'}"), { ok: false, error: { kind: 'topicInvalid', topic: 'a/#' } })
  t.match(topic('a/${id'), { ok: false, error: { kind: 'macroOpen' } })
})

test('macros count for nothing in a text, and for one character where they are a value', async (t) => {
  t.equal(shortestBody({ payload: 'a${id}b%22${x}°' }), 5)
  t.equal(shortestBody({ json: templateText(['${a}', 'x${b}y', { '${c}': 'é' }]) }), '[0,"xy",{"${c}":"é"}]'.length + 1)
  t.equal(shortestBody({ json: templateText(['${open']) }), '["${open"]'.length)
  t.same([shortestBody({ payload: null }), shortestBody({}), shortestBody({ ngsi: templateText({}) })], [0, 0, 0])
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
  const isLinear = await staysWithin(1000, () => {
    t.equal(shortestBody({ payload: open }), open.length)
    t.equal(shortestBody({ payload: `${open}}${open}` }), open.length)
    t.equal(shortestBody({ json: templateText({ a: [`x${open}`] }) }), open.length + '{"a":["x"]}'.length)
  })
  t.ok(isLinear)
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
