import { Agent, request } from 'node:http'
import { test } from 'tap'
import { RunningBroker } from './running.js'

/** One request on a connection of its own kind: each agent keeps one connection, which one front end has accepted. */
function send(agent: Agent, port: number, method: string, path: string, body = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = body === '' ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }
    const sent = request({ agent, port, host: '127.0.0.1', method, path, headers }, (response) => {
      let text = ''
      response.on('data', (chunk: Buffer) => {
        text += chunk.toString()
      })
      response.on('end', () => resolve(text))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

test('what was acknowledged is visible to the next read, whichever front end gets it', async (t) => {
  const broker = await RunningBroker.start(t, ['-partitions', '2', '-httpThreads', '3'])
  const agents = Array.from({ length: 8 }, () => new Agent({ keepAlive: true, maxSockets: 1 }))
  t.teardown(() => {
    for (const agent of agents) agent.destroy()
  })
  let stale = 0
  for (let n = 0; n < 200; n += 1) {
    const [writer, reader] = [agents[n % 8], agents[(n * 3 + 1) % 8]]
    if (!writer || !reader) continue
    const element = { id: `Pump${n % 5}`, attributes: [{ name: 'level', value: `v${n}` }] }
    const update = JSON.stringify({ contextElements: [element], updateAction: 'APPEND' })
    await send(writer, broker.port, 'POST', '/v1/updateContext', update)
    const one = await send(reader, broker.port, 'GET', `/v1/contextEntities/${element.id}`)
    const query = JSON.stringify({ entities: [{ id: `^${element.id}$`, isPattern: 'true' }] })
    const scanned = await send(reader, broker.port, 'POST', '/v1/queryContext', query)
    if (!one.includes(`"v${n}"`) || !scanned.includes(`"v${n}"`)) stale += 1
  }
  t.equal(stale, 0)
})
