import { test } from 'tap'
import { parseNotificationUrl } from '../../src/model/subscription/targets.js'

test('a URL has a scheme, a host, and may have a port and a path', async (t) => {
  t.same(parseNotificationUrl('http://alerts.example:8080/inbox?a'), {
    ...{ scheme: 'http', host: 'alerts.example', port: 8080, path: '/inbox?a' },
  })
  t.same(parseNotificationUrl('MQTT://bus'), { scheme: 'mqtt', host: 'bus', port: undefined, path: '' })
  for (const url of [
    'https://10.0.0.1/',
    'kafka://k:1',
    'http://[::1]:80/x',
    'http://a-b.c1.d/',
    'http://x:65535',
    `http://${'a'.repeat(63)}.b/`,
  ]) {
    t.ok(parseNotificationUrl(url), url)
  }
})

test('what is malformed is none', async (t) => {
  for (const url of [
    ...['', 'alerts', '//alerts.example', 'http:///inbox', 'ftp://x/', 'http:/x', 'http://', 'http://:0/x'],
    ...['http://x:in/', 'http://x:70000/', 'http://x:0/', 'http://x:/', 'http://a..b/', 'http://a./', 'http://.a/'],
    ...['http://-a/', 'http://a-/', 'http://a_b/', 'http://[::g]/', 'http://[1.2.3.4]/', 'http://999.1.1.1/'],
    ...['http://me@x/', 'http://x/a b', 'http://x/\n', 'http://x/#a', 'http://é/'],
    ...[`http://${'a'.repeat(64)}/`, `http://${'a.'.repeat(127)}a/`],
  ]) {
    t.equal(parseNotificationUrl(url), undefined, url)
  }
})
