import fc from 'fast-check'
import { test } from 'tap'
import { type ReceivedResponse, ResponseReader } from '../../bench/response-reader.js'

/** A response as a server sends it, in Latin-1 text of its bytes. */
function sent(body: string, framing: 'length' | 'chunks'): string {
  const bytes = Buffer.from(body, 'utf8').toString('latin1')
  if (framing === 'length') return `HTTP/1.1 200 OK\r\ncontent-length: ${bytes.length}\r\n\r\n${bytes}`
  const middle = Math.floor(bytes.length / 2)
  const chunks = [bytes.slice(0, middle), bytes.slice(middle)].filter((chunk) => chunk !== '')
  const written = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('')
  return `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${written}0\r\n\r\n`
}

/** The responses that come out of a text that arrives cut at these places. */
function read(text: string, cuts: readonly number[]): readonly ReceivedResponse[] {
  const reader = new ResponseReader()
  const places = [0, ...cuts.map((cut) => cut % text.length).toSorted((a, b) => a - b), text.length]
  const pieces = places.slice(1).map((end, place) => text.slice(places[place], end))
  return pieces.filter((piece) => piece !== '').flatMap((piece) => reader.take(piece) ?? [])
}

test('a response is the same wherever the network cuts it', async (t) => {
  const framing = fc.constantFrom('length' as const, 'chunks' as const)
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), framing, fc.array(fc.nat()), (body, framing, cuts) => {
      const responses = read(sent(body, framing), cuts)
      return responses.length === 1 && responses[0]?.status === 200 && responses[0].text === body
    }),
  )
  t.pass()
})

test('one reader reads one response after the other', async (t) => {
  const reader = new ResponseReader()
  t.equal(reader.take(sent('one', 'length'))?.text, 'one')
  t.equal(reader.take(sent('two', 'chunks'))?.text, 'two')
  t.equal(reader.take('HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n')?.closes, true)
})

test('what is no response to one request is a fault', async (t) => {
  const wrong = [
    ['HTTP/1.1 200 OK\r\n\r\nuntil the end', /without a length/],
    [`${sent('one', 'length')}${sent('two', 'length')}`, /more than one response/],
    ['SSH-2.0\r\nContent-Length: 0\r\n\r\n', /no HTTP response: SSH-2.0/],
    ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n', /chunk without a size/],
  ] as const
  for (const [text, message] of wrong) t.throws(() => new ResponseReader().take(text), { message })
})
