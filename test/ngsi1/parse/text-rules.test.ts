import { test } from 'tap'
import { isReference, parseDuration } from '../../../src/ngsi1/parse/text-rules.js'

test('durations are sums of their units, in whole seconds', async (t) => {
  const seconds = {
    PT5S: 5,
    PT1M: 60,
    PT1H: 3600,
    P1D: 86_400,
    P1W: 604_800,
    P1M: 2_592_000,
    P1Y: 31_536_000,
    P1Y1M1W1DT1H1M1S: 31_536_000 + 2_592_000 + 604_800 + 86_400 + 3600 + 60 + 1,
    'PT1.5S': 2,
    'PT0.4S': 0,
    P99Y: 99 * 31_536_000,
    PT: 0,
    P1DT: 86_400,
  }
  for (const [text, length_s] of Object.entries(seconds)) {
    t.same(parseDuration(text), { ok: true, value: length_s * 1000 }, text)
  }
})

test('no duration is one that was not given', async (t) => {
  t.same(parseDuration(''), { ok: true, value: undefined })
})

test('everything else is malformed', async (t) => {
  for (const text of ['P', '1D', 'P1', 'P1H', 'PT1D', 'PT1', 'P1.5D', 'PT1.S', 'P-1D', 'P1D ', 'p1d', 'PT1S1M', 'D']) {
    t.match(parseDuration(text), { ok: false }, text)
  }
})

test('the longest duration still gives a date', async (t) => {
  const duration = parseDuration('P99999999999999999999Y')
  t.ok(duration.ok && !Number.isNaN(new Date(Date.now() + (duration.value ?? 0)).getTime()))
})

const legal = [
  'http://alerts.example:8080/inbox',
  'https://alerts.example',
  'HTTP://Alerts.Example/',
  'http://localhost:1',
  'http://a:65535/x/y?z#f',
  'http://127.0.0.1:9/notify',
  'http://[::1]:1026/v1/notifyContext',
  'http://my_container:80/',
  'http://xn--bcher-kva.example.',
  'http://a?b',
]

for (const reference of legal) {
  test(`${reference} can be posted to`, async (t) => t.ok(isReference(reference)))
}

const illegal = [
  '',
  'alerts.example/inbox',
  '//alerts.example/inbox',
  'warehouse:eighty',
  'ftp://alerts.example/',
  'http:alerts.example',
  'http:/alerts.example',
  'http://',
  'http:///inbox',
  'http://:80/',
  'http://a:0/',
  'http://a:65536/',
  'http://a:/',
  'http://a:x/',
  'http://a:080000/',
  'http://user@a/',
  'http://a b/',
  'http://a..b/',
  'http://.a/',
  'http://-a/',
  'http://a-/',
  'http://a*b/',
  'http://10.0.0.256/',
  'http://[::g]/',
  'http://[::1/',
  `http://${'a'.repeat(64)}/`,
  `http://${'a.'.repeat(127)}/`,
  'http://a/b c',
  'http://a/b\nc',
  ' http://a/',
]

for (const reference of illegal) {
  test(`${JSON.stringify(reference).slice(0, 60)} can not be posted to`, async (t) => t.notOk(isReference(reference)))
}
