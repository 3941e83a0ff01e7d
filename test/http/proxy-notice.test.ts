import { request } from 'node:http'
import { test } from 'tap'
import { ProxyNotice } from '../../src/http/proxy-notice.js'
import { Switches } from '../../src/shared-memory/switches.js'
import { RunningBroker } from '../running.js'
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

/** Sends requests for a host, each on a connection of its own. */
async function askFor(broker: RunningBroker, host: string): Promise<void> {
  for (let times = 0; times < 8; times += 1) {
    await new Promise<void>((resolve, reject) => {
      const headers = { Host: host }
      const sent = request(
        { host: '127.0.0.1', port: broker.port, path: '/v2/entities', headers, agent: false },
        (response) => {
          response.resume().on('close', () => resolve())
        },
      )
      sent.on('error', reject).end()
    })
  }
}

test('a broker behind such a proxy', async (t) => {
  const folder = t.testdir()
  const noticed = /a request for another host came from this machine \(Host: city\.example\)/g
  const found = async (name: string, flags: readonly string[]) => {
    const broker = await RunningBroker.startOn(t, `${folder}/${name}`, ['-httpThreads', '2', ...flags])
    await askFor(broker, 'localhost')
    await askFor(broker, 'city.example')
    await broker.end('SIGTERM')
    return broker.output.match(noticed)?.length ?? 0
  }
  t.equal(await found('plain', []), 1, 'says so once')
  t.equal(await found('local', ['-localIp', '127.0.0.1']), 1, 'also where nobody else reaches its port')
  t.equal(await found('token', ['-adminToken', 'a-token-of-the-management']), 0, 'not with a token')
  t.equal(await found('open', ['-adminOpen']), 0, 'nor where all is open anyway')
})
