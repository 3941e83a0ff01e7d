import { test } from 'tap'
import { brokerRefusal, needsTrust, openPatterns, trustCheck } from '../../src/http/management-access.js'
import { RunningBroker } from '../running.js'

test('what a broker has sent is known by its headers, among the entries that proxies add too', async (t) => {
  for (const via of ['1.1 rigel-5a3c', '1.1 varnish, 1.1 rigel-5a3c', '1.1 RIGEL-5a3c (comment)', '1.1\trigel-5']) {
    t.match(brokerRefusal({ via }), /\(Via\)$/, via)
  }
  for (const via of ['1.1 varnish', '', '1.1 my-rigel-proxy']) t.equal(brokerRefusal({ via }), undefined, via)
  t.match(brokerRefusal({ 'rigel-notification-id': '', via: '1.1 rigel-5' }), /\(Rigel-Notification-Id\)$/)
})

test('a request is from here when it comes from loopback and no proxy has added its headers', async (t) => {
  const isTrusted = trustCheck(false, false)
  for (const address of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1']) {
    t.ok(isTrusted({ headers: {}, peer: () => address }), address)
    for (const header of ['x-forwarded-for', 'forwarded', 'x-real-ip']) {
      t.notOk(isTrusted({ headers: { [header]: '127.0.0.1' }, peer: () => address }), header)
    }
  }
  for (const address of ['192.0.2.2', 'fd00::2', '::ffff:10.0.0.1', undefined]) {
    const request = { headers: {}, peer: () => address }
    t.notOk(isTrusted(request), `${address}`)
    t.ok(trustCheck(true, false)(request), 'a token has decided before')
    t.ok(trustCheck(false, true)(request), 'everybody may do all')
  }
})

test('below /admin/ nothing is open but reads of figures and settings of the log', async (t) => {
  for (const open of ['log', 'metrics', 'sem', 'stats', 'waits', 'cluster', 'cluster/nodes', 'live']) {
    t.notOk(needsTrust(`/admin/${open}`, 'GET'), open)
    for (const verb of ['PUT', 'DELETE', 'POST']) t.ok(needsTrust(`/admin/${open}`, verb), `${verb} ${open}`)
  }
  for (const closed of ['backup', 'log/tail', 'entities', 'config', 'later'])
    t.ok(needsTrust(`/admin/${closed}`, 'GET'))
  t.notOk(needsTrust('/log/trace', 'DELETE'))
})

test('the console is told of the same reads', async (t) => {
  const readable = (pattern: string) => ({ pattern, operations: { GET: {} } })
  const open = ['/admin/log', '/admin/cluster', '/admin/cluster/statistics']
  const others = ['/admin/log/tail', '/admin/entities', '/version']
  const resources = [...open, ...others].map(readable)
  t.same(openPatterns([...resources, { pattern: '/admin/sem', operations: {} }]), open)
})

test('GET /admin/metrics with reset=true needs what DELETE needs', async (t) => {
  const broker = await RunningBroker.start(t, ['-corsOrigin', '__ALL'])
  const send = (verb: string, path: string, headers: Record<string, string> = {}) =>
    broker.send(verb, path, undefined, headers)
  const elsewhere = { 'X-Forwarded-For': '203.0.113.9' }
  const otherSite = { Origin: 'https://other.example', 'Sec-Fetch-Site': 'cross-site' }
  await send('GET', '/v2/entities')

  for (const headers of [elsewhere, otherSite]) {
    const { status, json } = await send('GET', '/admin/metrics?reset=true', headers)
    t.equal(status, 403)
    t.match(json, { error: 'Forbidden' })
    t.equal((await send('DELETE', '/admin/metrics', headers)).status, 403)
    t.equal((await send('GET', '/admin/metrics?reset=TRUE', headers)).status, 200, 'only the value true resets')
  }
  const alarms = await send('GET', '/admin/alarms?kind=BadInput')
  t.match(
    Object(alarms.json).alarms,
    [{ subject: '127.0.0.1' }, { subject: elsewhere['X-Forwarded-For'] }],
    'who tries is seen',
  )
  const { json } = await send('GET', '/admin/metrics?reset=true')
  t.ok(Object(json).sum.sum.incomingTransactions >= 6, 'nothing was reset')
  t.equal(Object((await send('GET', '/admin/metrics', elsewhere)).json).sum.sum.incomingTransactions, 1)
})
