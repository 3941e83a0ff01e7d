import { test } from 'tap'
import { isReference } from '../../../src/ngsi1/parse/text-rules.js'

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
