import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { test } from 'tap'
import { RunningBroker } from './running.js'

test('a query that waits for a provider ends with its client, and gives its place back', async (t) => {
  t.setTimeout(300_000)
  const requests: IncomingMessage[] = []
  const provider = createServer((request) => requests.push(request)).listen(0, '127.0.0.1')
  await once(provider, 'listening')
  t.teardown(() => {
    provider.closeAllConnections()
    provider.close()
  })
  const address = provider.address()
  const port = typeof address === 'object' ? address?.port : 0
  // One request may wait for providers, for longer than the test waits.
  const flags = ['-partitions', '1', '-forwardMax', '1', '-httpTimeout', '50000']
  const broker = await RunningBroker.start(t, flags)
  const entities = [{ id: 'Silo1', type: 'Silo', isPattern: 'false' }]
  const contextRegistrations = [{ entities, providingApplication: `http://127.0.0.1:${port}/v1` }]
  await broker.send('POST', '/v1/registry/registerContext', { contextRegistrations, duration: 'P1M' })
  for (let n = 1; n <= 2; n += 1) {
    const body = JSON.stringify({ entities })
    const came = once(provider, 'request')
    const client = connect(broker.port, '127.0.0.1')
    client.write(`POST /v1/queryContext HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n`)
    client.write(`Content-Length: ${body.length}\r\n\r\n${body}`)
    await came
    const closed = once(requests[n - 1]?.socket ?? provider, 'close')
    client.resetAndDestroy()
    await closed
    t.equal(requests.length, n)
  }
})
