import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import fc from 'fast-check'
import { test } from 'tap'
import { RunningBroker } from './running.js'
import { runs } from './runs.js'
import { unicodeText } from './unicode-text.js'

const valid = [
  '{"contextElements":[{"type":"T","id":"E","attributes":[{"name":"a","type":"t","value":"1","metadatas":[{"name":"ID","value":"i"}]}]}],"updateAction":"APPEND"}',
  '{"entities":[{"id":"E.*","isPattern":"true"}],"restriction":{"scopes":[{"type":"FIWARE::StringQuery","value":"a==1..3;b~=x"}]}}',
  '{"attributes":[{"name":"a","value":{"x":[1,null,{"y":"z"}]}}]}',
  '{"value":"1","metadatas":[{"name":"location","value":"WGS84"}]}',
]
const targets = [
  '/v1/updateContext',
  '/v1/queryContext?limit=5&details=on',
  '/v1/contextEntities/E',
  '/v1/contextEntities/E/attributes/a/i',
  '/v1/contextEntities/type/T/id/E',
  '/v1/contextEntityTypes/T',
  '/v1/contextTypes?collapse=true',
  '/log/trace/1-5,7',
  '/admin/log?level=WARN',
  '/admin/stats?semWait=true',
  '/statistics',
  '/nothing',
]

/** A text with some of its characters replaced, doubled or left out. */
function damaged(texts: readonly string[]): fc.Arbitrary<string> {
  const wound = fc.record({ at: fc.nat(400), cut: fc.nat(3), put: unicodeText({ maxLength: 3 }) })
  return fc.tuple(fc.constantFrom(...texts), fc.array(wound, { maxLength: 3 })).map(([text, wounds]) =>
    wounds.reduce((whole, { at, cut, put }) => {
      const where = at % (whole.length + 1)
      return whole.slice(0, where) + put + whole.slice(where + cut)
    }, text),
  )
}

const header = fc.constantFrom(
  'Content-Type: application/json',
  'Content-Type: text/plain',
  'Accept: application/json;q=x',
  'Accept: */*',
  'Fiware-Service: Acme',
  'Fiware-Service: a-b',
  'Fiware-ServicePath: /a, /b/#',
  'Fiware-ServicePath: a',
  'Fiware-Correlator: \u00e9',
  'Expect: 100-continue',
  'Transfer-Encoding: chunked',
  'Connection: close',
)

const request = fc
  .record({
    verb: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD', 'BREW'),
    target: fc.oneof(fc.constantFrom(...targets), damaged(targets)),
    headers: fc.uniqueArray(header, { maxLength: 4 }),
    body: fc.oneof(damaged(valid), fc.constant('')),
  })
  .map(({ verb, target, headers, body }) => {
    const lines = [`${verb} ${target} HTTP/1.1`, 'Host: x', ...headers, `Content-Length: ${Buffer.byteLength(body)}`]
    return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`)
  })

/** What the broker answers to some bytes until it is silent or hangs up. */
async function responseTo(port: number, bytes: Buffer): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
    if (text.includes('\r\n\r\n')) socket.end()
  })
  socket.setTimeout(300, () => socket.destroy())
  socket.on('error', () => {})
  socket.write(bytes)
  await once(socket, 'close')
  return text
}

test('nothing that clients send is a fault of the broker, and nothing ends it', async (t) => {
  const broker = await RunningBroker.start(t, ['-multiservice', '-partitions', '2'])
  await fc.assert(
    fc.asyncProperty(fc.array(request, { minLength: 8, maxLength: 8 }), async (requests) => {
      const responses = await Promise.all(requests.map((bytes) => responseTo(broker.port, bytes)))
      for (const response of responses) assert.doesNotMatch(response, /^HTTP\/1\.1 50[0-24-9]/)
    }),
    { numRuns: runs(60) },
  )
  await broker.becomesReady()
  t.notMatch(broker.output, /"lvl":"(ERROR|FATAL)"/)
  await broker.endsInOrder(t)
})
