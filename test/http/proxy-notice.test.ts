import { test } from 'tap'
import { ProxyNotice } from '../../src/http/management-access.js'
import { Switches } from '../../src/threads/shared-memory/switches.js'
import { type Line, notedLog } from './given.js'

/** What is logged about one request. */
function linesAbout(host: string | undefined, peer: string, headers: Record<string, string> = {}): readonly Line[] {
  const lines: Line[] = []
  const notice = new ProxyNotice(ProxyNotice.memory(), 'Silo', notedLog(lines, new Switches()))
  notice.look({ headers: { ...(host !== undefined && { host }), ...headers }, peer: () => peer })
  return lines
}

test('a request from loopback for a host that is elsewhere shows a proxy that does not say for whom it asks', async (t) => {
  for (const host of ['city.example', 'city.example:443', '198.51.100.7:1026', '[2001:db8::7]', 'rigel', 'a:b:c']) {
    for (const peer of ['127.0.0.1', '::1', '::ffff:127.0.0.1']) {
      t.match(linesAbout(host, peer), [{ level: 'WARN', message: /-adminToken or -adminPort$/ }], `${host} ${peer}`)
    }
    t.same(linesAbout(host, '192.0.2.2'), [], 'it is from elsewhere, and taken so')
    for (const name of ['x-forwarded-for', 'forwarded', 'x-real-ip']) {
      t.same(linesAbout(host, '127.0.0.1', { [name]: '203.0.113.9' }), [], 'it says for whom')
    }
  }
})

test('this machine may be asked for by each of its own names', async (t) => {
  const own = [
    'localhost',
    'LOCALHOST:1026',
    'a.localhost',
    '127.0.0.1:1026',
    '127.1.2.3',
    '[::1]:1026',
    '0.0.0.0',
    'silo:1026',
    '',
  ]
  for (const host of [...own, undefined]) t.same(linesAbout(host, '127.0.0.1'), [], host ?? 'no host')
})

test('it is said once, by whichever front end, and a long name is cut', async (t) => {
  const lines: Line[] = []
  const memory = ProxyNotice.memory()
  const frontEnds = [1, 2].map(() => new ProxyNotice(memory, 'silo', notedLog(lines, new Switches())))
  for (const host of ['localhost', `${'x'.repeat(5000)}.example`, 'other.example', 'localhost']) {
    for (const frontEnd of frontEnds) frontEnd.look({ headers: { host }, peer: () => '::1' })
  }
  t.equal(lines.length, 1)
  t.ok((lines[0]?.message.length ?? 0) < 500)
})
