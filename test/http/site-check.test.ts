import { test } from 'tap'
import type { Use } from '../../src/broker/operations/api.js'
import { type KnownHosts, SiteCheck } from '../../src/http/management-access.js'
import { get, givenFrontEnd, statusOf } from './given.js'

const plain: KnownHosts = {
  names: ['hub.example', '*.lan'],
  machine: 'Machine.example',
  shared: undefined,
  isLoopback: false,
  hasToken: false,
}

function isRefused(
  headers: Record<string, string>,
  known: Partial<KnownHosts> = {},
  use: Use = 'read',
  ofOrion = false,
): boolean {
  return new SiteCheck({ ...plain, ...known }).refusal(use, headers, ofOrion) !== undefined
}

test('programs, which send neither Origin nor Sec-Fetch-Site, are let in under addresses and known names', async (t) => {
  const known = [
    ...['127.0.0.1:1026', '10.1.2.3', '[::1]:1026', '[fe80::1]', 'localhost:1026', 'LOCALHOST.', 'rigel.localhost'],
    ...['machine.example:1026', 'hub.example', 'Hub.Example.:80', 'a.lan', 'orion:1026'],
  ]
  for (const host of known) t.notOk(isRefused({ host }), host)
  t.notOk(isRefused({}), 'HTTP/1.0 needs no host')
  for (const host of [
    'evil.example',
    'evil.example:1026',
    'xhub.example',
    'lan.evil',
    '1.2.3.4.evil.example',
    'a:b:c',
  ]) {
    t.ok(isRefused({ host }), host)
    t.notOk(isRefused({ host }, { hasToken: true }), `${host} with a token`)
  }
})

test('what Orion has programs use under any name, browsers under known ones only', async (t) => {
  const host = 'evil.example'
  for (const use of ['read', 'write'] as const) {
    t.notOk(isRefused({ host }, {}, use, true))
    t.ok(isRefused({ host, origin: `http://${host}` }, {}, use, true), 'a page that was made to resolve to the broker')
    t.ok(isRefused({ host, 'sec-fetch-site': 'same-origin' }, {}, use, true))
    t.notOk(isRefused({ host: 'hub.example', origin: 'http://hub.example' }, {}, use, true))
  }
})

test('where only this machine reaches the broker, a name without a dot is no better than others', async (t) => {
  t.ok(isRefused({ host: 'orion:1026' }, { isLoopback: true }))
  t.notOk(isRefused({ host: 'localhost:1026' }, { isLoopback: true }))
})

test('what a page of another site caused is refused, with a token too', async (t) => {
  const host = 'localhost:1026'
  for (const known of [{}, { hasToken: true }]) {
    for (const site of ['cross-site', 'same-site', 'x']) t.ok(isRefused({ host, 'sec-fetch-site': site }, known), site)
    for (const site of ['same-origin', 'none']) t.notOk(isRefused({ host, 'sec-fetch-site': site }, known), site)
    const foreign = ['http://evil.example', 'null', '', 'http://localhost:3000', 'http://localhost', 'file://', 'x']
    for (const origin of foreign) t.ok(isRefused({ host, origin }, known), origin)
    for (const origin of ['http://localhost:1026', 'HTTP://LOCALHOST:1026', 'https://hub.example:8443']) {
      t.notOk(isRefused({ host, origin }, known), origin)
    }
  }
  t.notOk(isRefused({ host: 'hub.example', origin: 'https://hub.example' }), 'behind a proxy that ends TLS')
  t.notOk(isRefused({ host: 'a.lan:443', origin: 'https://a.lan' }), 'the port of the scheme')
})

test('an origin that may share the interfaces for clients may read, and change nothing', async (t) => {
  for (const shared of ['__ALL', 'https://panel.example']) {
    const headers = { host: 'localhost', origin: 'https://panel.example', 'sec-fetch-site': 'cross-site' }
    t.notOk(isRefused(headers, { shared }))
    t.ok(isRefused(headers, { shared }, 'write'))
    t.ok(isRefused({ ...headers, host: 'evil.example' }, { shared }))
  }
  t.ok(isRefused({ host: 'localhost', origin: 'https://panel.example' }, { shared: 'https://other.example' }))
  t.ok(isRefused({ host: 'localhost', 'sec-fetch-site': 'cross-site' }, { shared: '__ALL' }))
})

test('a refusal says which header it is about, cut where it is long', async (t) => {
  const check = new SiteCheck(plain)
  t.match(check.refusal('read', { host: 'evil.example' }, false), /Host: evil\.example\); .*-adminHosts/)
  t.match(
    check.refusal('read', { host: 'a', origin: `http://${'x'.repeat(5000)}` }, false),
    /\(Origin: http:\/\/x{93}\.\.\.\); -adminHosts/,
  )
})

test('management refuses other sites with 403, what is public and the interfaces for clients do not', async (t) => {
  const { talk, meter } = await givenFrontEnd(t)
  const foreign = ['Origin: http://evil.example', 'Sec-Fetch-Site: cross-site']
  for (const header of foreign) {
    const response = await talk(get('/statistics', header).replace('Host: h', 'Host: localhost'))
    t.equal(statusOf(response), 403)
    t.match(
      response,
      /\r\n\r\n\{"error":"Forbidden","description":"the management takes no requests from pages of other/,
    )
    for (const path of ['/version', '/health/live', '/v1/echo/a']) t.equal(statusOf(await talk(get(path, header))), 200)
    t.equal(statusOf(await talk(get('/v2', header))), 200)
  }
  const rebound = get('/admin/slow').replace('Host: h', 'Host: evil.example')
  for (const path of ['/admin/slow', '/%61dmin/slow', '/admin/%73low', '/admin/slow/', '/admin/metrics%2F'])
    t.equal(statusOf(await talk(rebound.replace('/admin/slow', path))), 403, path)
  const byPage = rebound.replace('Host:', 'Origin: http://evil.example\r\nHost:')
  t.equal(statusOf(await talk(byPage.replace('GET /admin/slow', 'PUT /log/trace/1'))), 403)
  for (const path of ['/version', '/statistics'])
    t.equal(statusOf(await talk(rebound.replace('/admin/slow', path))), 200, path)
  t.equal(statusOf(await talk(rebound.replace('GET /admin/slow', 'PUT /log/trace/1'))), 200)
  t.equal(meter.events.filter((event) => event === 'forbidden').length, 8)
})

test('with a token its lack is what is said, and any host will do', async (t) => {
  const { talk } = await givenFrontEnd(t, { adminToken: 'kite-harbour-lantern-7' })
  const request = get('/statistics', 'Authorization: Bearer kite-harbour-lantern-7').replace(
    'Host: h',
    'Host: evil.example',
  )
  t.equal(statusOf(await talk(request)), 200)
  t.equal(statusOf(await talk(get('/statistics', 'Origin: http://evil.example'))), 401)
  t.equal(statusOf(await talk(request.replace('Host:', 'Origin: http://elsewhere.example\r\nHost:'))), 403)
})
