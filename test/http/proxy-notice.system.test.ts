import { request } from 'node:http'
import { test } from 'tap'
import { RunningBroker } from '../running.js'

/** Sends requests for a host, each on a connection of its own. */
async function sendTo(broker: RunningBroker, host: string): Promise<void> {
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
    await sendTo(broker, 'localhost')
    await sendTo(broker, 'city.example')
    await broker.end('SIGTERM')
    return broker.output.match(noticed)?.length ?? 0
  }
  t.equal(await found('plain', []), 1, 'says so once')
  t.equal(await found('local', ['-localIp', '127.0.0.1']), 1, 'also where nobody else reaches its port')
  t.equal(await found('token', ['-adminToken', 'a-token-of-the-management']), 0, 'not with a token')
  t.equal(await found('open', ['-adminOpen']), 0, 'nor where all is open anyway')
})
