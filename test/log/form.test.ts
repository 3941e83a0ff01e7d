import fc from 'fast-check'
import { test } from 'tap'
import { forms } from '../../src/observe/log/form.js'
import type { Line } from '../../src/observe/log/log.js'
import type { Milliseconds } from '../../src/time.js'
import { unicodeText } from '../unicode-text.js'

const context = { corr: '7c9e6679-7425', trans: '1-2-00000000007', from: '10.2.0.9', srv: 'acme', subsrv: '/halls' }

function line(changes: Partial<Line> = {}): Line {
  return {
    time: Date.parse('2026-02-03T09:12:44.118Z') as Milliseconds,
    ...{ level: 'INFO', op: 'main:start', message: 'ready', facts: undefined, context: undefined },
    ...{ area: undefined, partition: undefined, ...changes },
  }
}

test('a JSON line has its members in a fixed order', async (t) => {
  t.equal(
    forms.json(line({ context, op: 'http:answer' }), 1000),
    '{"time":"2026-02-03T09:12:44.118Z","lvl":"INFO","corr":"7c9e6679-7425","trans":"1-2-00000000007","from":"10.2.0.9",' +
      '"srv":"acme","subsrv":"/halls","comp":"Rigel","op":"http:answer","msg":"ready"}\n',
  )
  t.equal(
    forms.json(
      line({ level: 'DEBUG', area: 'storage.txn', partition: 2, facts: { commands: 3, commit_ns: '12' } }),
      1000,
    ),
    '{"time":"2026-02-03T09:12:44.118Z","lvl":"DEBUG","corr":"N/A","trans":"N/A","from":"N/A","srv":"N/A","subsrv":"N/A",' +
      '"comp":"Rigel","op":"main:start","msg":"ready","t":103,"area":"storage.txn","partition":2,"commands":3,"commit_ns":"12"}\n',
  )
})

test('a pipe line has the same fields as key and value', async (t) => {
  t.equal(
    forms.pipe(line({ area: 'alarm', facts: { dropped: 2, absent: undefined } }), 1000),
    'time=2026-02-03T09:12:44.118Z | lvl=INFO | corr=N/A | trans=N/A | from=N/A | srv=N/A | subsrv=N/A | comp=Rigel | ' +
      'op=main:start | msg=ready | t=243 | area=alarm | dropped=2\n',
  )
})

test('a line for humans is short', async (t) => {
  t.equal(
    forms.humans(line({ context, op: 'http:answer' }), 1000),
    '09:12:44.118 INFO  http:answer  ready [7c9e6679]\n',
  )
})

const access = {
  ...{ method: 'POST', path: '/v1/updateContext', route: '/v1/updateContext', status: 200, duration_ms: 3.149 },
  ...{ bytes_in: 20, bytes_out: 10, client: '10.2.0.9', tenant: 'acme', correlator: '7c9e6679-7425' },
}

test('the line of a request is one of verb, path, status and time for humans, with what else is known', async (t) => {
  const facts = { ...access, fault: 'no JSON' }
  t.equal(
    forms.humans(line({ context, op: 'http:answer', facts, message: 'Request received: …' }), 1000),
    '09:12:44.118 INFO  http:answer  POST /v1/updateContext 200 3.1 ms fault=no JSON [7c9e6679]\n',
  )
})

test('a line that is too long for the facts of its request keeps them all, with their texts cut', async (t) => {
  const path = `/v1/${'x'.repeat(20_000)}`
  const facts = { ...access, path, tenant: 'é'.repeat(3000) }
  const message = `Request received: POST ${path}, response code: 200`
  const text = forms.json(line({ context, op: 'http:answer', facts, message }), 16_384)
  t.ok(Buffer.byteLength(text) <= 16_385)
  const read = JSON.parse(text)
  t.same(Object.keys(read).slice(-10), Object.keys(access))
  t.match(read, {
    status: 200,
    bytes_in: 20,
    client: '10.2.0.9',
    path: /^\/v1\/x+\(\.\.\.\)$/,
    msg: /^Request received: POST/,
  })
})

test('a fact does not take the place of what every line has', async (t) => {
  const read = JSON.parse(forms.json(line({ facts: { msg: 'forged', lvl: 'NONE', n: 1 } }), 1000))
  t.match(read, { msg: 'ready', lvl: 'INFO', msg_: 'forged', lvl_: 'NONE', n: 1 })
})

test('a value of a client makes no field of a pipe line', async (t) => {
  t.notMatch(forms.pipe(line({ context: { ...context, corr: 'x | lvl=FATAL' } }), 1000), / \| lvl=FATAL/)
})

const anyText = fc.oneof(
  unicodeText({ maxLength: 300 }),
  fc.string({
    unit: fc.constantFrom('"', '\\', '\n', '\r', '\u2028', '\u0085', '\u007f', '\ud800', 'é', '😀'),
    maxLength: 200,
  }),
)

test('a line is one record of limited length, whatever clients send', async () => {
  fc.assert(
    fc.property(anyText, anyText, anyText, fc.integer({ min: 300, max: 700 }), (message, corr, fact, size) => {
      const one = line({ message, context: { ...context, corr, subsrv: corr }, facts: { fact } })
      for (const form of Object.values(forms)) {
        const text = form(one, size)
        if (/[\p{Cc}\u2028\u2029]/u.test(text.slice(0, -1)) || !text.endsWith('\n')) return false
        if (Buffer.byteLength(text) > size + 1) return false
      }
      return typeof JSON.parse(forms.json(one, size)) === 'object'
    }),
  )
})

test('a JSON line that is too long is cut inside of its message and as long as it may be', async (t) => {
  const message = 'a"😀\n\u2028'.repeat(500)
  for (let size = 300; size < 330; size += 1) {
    const text = forms.json(line({ message, facts: { n: 1 } }), size)
    const read = JSON.parse(text)
    t.ok(read.msg.endsWith('(...)') && message.startsWith(read.msg.slice(0, -5)))
    t.equal(read.n, 1, 'what follows the message is still there')
    t.ok(Buffer.byteLength(text) > size - 6, 'no room is left for another character')
  }
})

test('other lines that are too long are cut at their end', async (t) => {
  const text = forms.pipe(line({ message: 'ü'.repeat(500) }), 200)
  t.ok(text.endsWith('ü(...)\n'))
  t.ok(Buffer.byteLength(text) >= 200)
})

test('a limit below what every line needs still gives valid JSON', async (t) => {
  t.match(JSON.parse(forms.json(line({ message: 'long'.repeat(9), facts: { n: 1 } }), 1)), {
    msg: '(...)',
    lvl: 'INFO',
  })
})

test('a line just as long as the limit is not cut', async (t) => {
  const text = forms.json(line({ message: 'ä\n' }), 1000)
  t.equal(forms.json(line({ message: 'ä\n' }), Buffer.byteLength(text) - 1), text)
  t.match(JSON.parse(forms.json(line({ message: 'ä\n' }), Buffer.byteLength(text) - 2)).msg, /\(\.\.\.\)$/)
})
