import { setMaxListeners } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type Test, test } from 'tap'
import type { ProviderFailure, ProviderRequest, ProviderResponse } from '../../src/broker/providers/provider-request.js'
import { Providers, type ProvidersSettings } from '../../src/broker/providers/providers.js'
import { ResponseBudget } from '../../src/broker/providers/response-budget.js'
import { Destinations } from '../../src/delivery/http-client/destinations.js'
import type { RegistrationId } from '../../src/model/registration/registration.js'
import { LineLog } from '../../src/observe/log/log.js'
import { traceArea } from '../../src/observe/log/trace.js'
import type { SentRequest } from '../../src/observe/measure/service-metrics.js'
import { err, ok, type Result } from '../../src/result.js'
import { noSteps, type Steps } from '../../src/slices.js'
import { logLevels, Switches } from '../../src/threads/shared-memory/switches.js'
import { during, until } from '../until.js'

type Handle = Parameters<typeof createServer>[1]

async function listening(
  t: Test,
  handle: Handle,
  host = '127.0.0.1',
): Promise<{ readonly url: string; readonly server: Server }> {
  const server = createServer(handle ?? (() => undefined))
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  return { url: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`, server }
}

function opened(t: Test, settings: Partial<ProvidersSettings> = {}) {
  const switches = new Switches()
  const lines: string[] = []
  const attempts: (readonly [string, string | undefined])[] = []
  const sent: SentRequest[] = []
  const log = new LineLog(switches, ({ area, op, message, context }) => {
    lines.push(`${area ?? op} ${context?.corr} ${context?.trans}: ${message}`)
  })
  const providers = new Providers({
    limit_ms: 60_000,
    waitLimit_ms: 60_000,
    requestLimit_bytes: 1_000_000,
    insecure: false,
    log,
    shownPayload_bytes: () => 20,
    transaction: () => '7',
    count: () => undefined,
    attempted: (url, reason) => attempts.push([url, reason]),
    ended: (attempt) => sent.push(attempt),
    ...settings,
  })
  t.teardown(() => providers.close())
  return { providers, switches, lines, attempts, sent }
}

function request(provider: string, body = '{}'): ProviderRequest {
  return {
    registration: '5718a3b2c0de00112233aabc' as RegistrationId,
    provider,
    operation: 'query',
    path: 'queryContext',
    parameters: '',
    headers: { 'Fiware-Service': 'acme', 'Fiware-ServicePath': '/west' },
    body,
    context: { corr: 'c', trans: 'N/A', from: 'N/A', srv: 'acme', subsrv: '/west' },
  }
}

/** Reads the body as it stands; only an empty one is none. */
const whole = ({ body }: ProviderResponse): Steps<Result<string, ProviderFailure>> =>
  noSteps(body === '' ? err({ kind: 'responseEmpty' }) : ok(body))

const unreadable = (): Steps<Result<string, ProviderFailure>> => noSteps(err({ kind: 'responseUnreadable' }))

test('the operation goes behind the path of what is registered, which is a slash without one; a query of it stays', async (t) => {
  const targets: unknown[] = []
  const { url } = await listening(t, ({ url }, outgoing) => {
    targets.push(url)
    outgoing.end('ok')
  })
  const { providers, attempts } = opened(t)
  for (const path of ['', '/', '/v1', '/v1/', '/v1?key=secret#there']) await providers.ask(request(url + path), whole)
  const expected = ['//queryContext', '//queryContext', '/v1/queryContext', '/v1/queryContext']
  t.same(targets, [...expected, '/v1/queryContext?key=secret'])
  t.same(attempts.at(-1), [`${url}/v1/queryContext?key=secret`, undefined])
})

test('what is told of attempts is the URL without the parameters of each', async (t) => {
  const { url } = await listening(t, (_, outgoing) => outgoing.end('ok'))
  const { providers, attempts } = opened(t)
  for (const limit of [5, 7]) {
    const parameters = `limit=${limit}&offset=0`
    await providers.ask({ ...request(`${url}/v2`), path: 'op/query', parameters }, whole)
  }
  t.same(attempts, Array(2).fill([`${url}/v2/op/query`, undefined]))
})

test('redirects are not followed', async (t) => {
  let requests = 0
  const { url } = await listening(t, (_, outgoing) => {
    requests += 1
    outgoing.writeHead(302, { Location: '/elsewhere' }).end()
  })
  const { providers } = opened(t)
  t.same(await providers.ask(request(url), whole), { ok: false, error: { kind: 'responseEmpty' } })
  t.equal(requests, 1)
})

test('the time limit is for the request and the whole response, also when the response never ends', async (t) => {
  const { url } = await listening(t, (_, outgoing) => {
    outgoing.writeHead(200)
    const timer = setInterval(() => outgoing.write('x'), 5)
    outgoing.on('close', () => clearInterval(timer))
  })
  const { providers, attempts } = opened(t, { limit_ms: 60 })
  t.same(await providers.ask(request(url), whole), { ok: false, error: { kind: 'unreachable', reason: 'timeout' } })
  t.same(attempts, [[`${url}//queryContext`, 'timeout']])
})

test('a request that is too long is not sent, a response that is too long is not read', async (t) => {
  let requests = 0
  const { url } = await listening(t, (_, outgoing) => {
    requests += 1
    outgoing.end('x'.repeat(2000))
  })
  const { providers } = opened(t, { requestLimit_bytes: 1000, responseLimit_bytes: 1000 })
  t.match(await providers.ask(request(url, 'x'.repeat(900)), whole), { error: { reason: 'request too long' } })
  t.equal(requests, 0)
  t.match(await providers.ask(request(url), whole), { error: { kind: 'unreachable' } })
  t.equal(requests, 1)
})

test('the limit of a request is its length on the wire, head included', async (t) => {
  let received = 0
  const { url, server } = await listening(t, (_, outgoing) => outgoing.end('ok'))
  server.on('connection', (socket) => socket.on('data', () => (received = socket.bytesRead)))
  await opened(t).providers.ask(request(url, '{"a":"ä"}'), whole)
  const { providers } = opened(t, { requestLimit_bytes: received - 1 })
  t.match(await providers.ask(request(url, '{"a":"ä"}'), whole), { error: { reason: 'request too long' } })
  const just = opened(t, { requestLimit_bytes: received })
  t.same(await just.providers.ask(request(url, '{"a":"ä"}'), whole), { ok: true, value: 'ok' })
})

test('connections to an origin and in all are bounded, and used again', async (t) => {
  const waiting: (() => void)[] = []
  let connections = 0
  const one = await listening(t, (_, outgoing) => waiting.push(() => outgoing.end('one')))
  const two = await listening(t, (_, outgoing) => outgoing.end('two'))
  one.server.on('connection', () => {
    connections += 1
  })
  const { providers } = opened(t, { permits: { perOrigin: 2, total: 4 } })
  const requests = Array.from({ length: 6 }, () => providers.ask(request(one.url), whole))
  // A provider that does not answer leaves room for others.
  t.same(await providers.ask(request(two.url), whole), { ok: true, value: 'two' })
  await during(Promise.all(requests), () => {
    t.ok(waiting.length <= 2)
    waiting.shift()?.()
  })
  t.equal(connections, 2)
})

test('a client waits for permits up to a time of its own; the time limit of a request begins when it is sent', async (t) => {
  let requests = 0
  const { url } = await listening(t, (_, outgoing) => {
    requests += 1
    setTimeout(() => outgoing.end('ok'), 120)
  })
  const { providers, attempts } = opened(t, { limit_ms: 200, waitLimit_ms: 300, permits: { perOrigin: 1 } })
  const share = providers.share()
  const responses = await Promise.all(Array.from({ length: 6 }, () => providers.ask(request(url), whole, share)))
  const sent = responses.filter(({ ok }) => ok).length
  t.ok(sent >= 2, 'the second began behind the first, and had its whole time')
  t.equal(requests, sent)
  t.match(responses.at(-1), { error: { reason: 'no turn in time: too many requests to context providers' } })
  t.same(attempts, Array(sent).fill([`${url}//queryContext`, undefined]), 'it says nothing about the provider')
})

test('one request to a thousand silent providers leaves permits for a request of somebody else', async (t) => {
  let silent = 0
  const count = () => {
    silent += 1
  }
  const { url: dead } = await listening(t, count, '0.0.0.0')
  const { url: live } = await listening(t, (_, outgoing) => outgoing.end('ok'))
  const { providers } = opened(t)
  const [share, leaving] = [providers.share(), new AbortController()]
  setMaxListeners(0, leaving.signal)
  const toDead = Array.from({ length: 1000 }, (_, at) => {
    const origin = dead.replace('127.0.0.1', `127.1.${at >> 8}.${at & 255}`)
    return providers.ask({ ...request(origin), gone: leaving.signal }, whole, share)
  })
  await until(() => silent >= 64)
  t.same(await providers.ask(request(live), whole), { ok: true, value: 'ok' })
  t.equal(silent, 64, 'one request holds no more')
  leaving.abort()
  await Promise.all(toDead)
})

test('the number of idle connections is limited, the one used longest ago makes room', async (t) => {
  const { url, server } = await listening(t, (_, outgoing) => outgoing.end('ok'), '0.0.0.0')
  const closed: (string | undefined)[] = []
  server.on('connection', (socket) => {
    const { localAddress } = socket
    socket.on('close', () => closed.push(localAddress))
  })
  const { providers } = opened(t, { permits: { total: 8 } })
  // Every address of 127/8 is this machine.
  for (const host of [1, 2, 3, 1, 4, 5, 6, 7, 8, 9, 10]) {
    t.match(await providers.ask(request(url.replace('127.0.0.1', `127.0.0.${host}`)), whole), { ok: true })
  }
  await until(() => closed.length >= 2)
  t.same(closed, ['127.0.0.2', '127.0.0.3'])
})

test('the path of a provider is asked as it is registered, without its fragment', async (t) => {
  const asked: (string | undefined)[] = []
  const { url } = await listening(t, (incoming, outgoing) => {
    asked.push(incoming.url)
    outgoing.end('ok')
  })
  const { providers, attempts } = opened(t)
  const cases = [
    ['', '//queryContext'],
    ['/a/../b/', '/a/../b/queryContext'],
    ['/{a}/é b', '/{a}/%C3%A9%20b/queryContext'],
    ['/a?b={"c":1}?#d', '/a/queryContext?b={"c":1}?'],
  ] as const
  for (const [path] of cases) t.match(await providers.ask(request(`${url}${path}`), whole), { ok: true }, path)
  t.same(
    asked,
    cases.map(([, target]) => target),
  )
  t.same(
    attempts.map(([named]) => named),
    cases.map(([, target]) => `${url}${target}`),
  )
  t.match(await providers.ask(request('mailto:somebody'), whole), { error: { reason: 'no URL of http or https' } })
})

test('destinations that are not allowed are not asked, by name or by address', async (t) => {
  let requests = 0
  const { url } = await listening(t, (_, outgoing) => {
    requests += 1
    outgoing.end('ok')
  })
  const networks = [
    { family: 'ipv4', address: '127.0.0.0', prefix: 8 } as const,
    { family: 'ipv6', address: '::1', prefix: 128 } as const,
  ]
  const destinations = new Destinations({ allow: undefined, deny: { networks, names: [] } })
  const { providers } = opened(t, { destinations })
  for (const denied of [url, url.replace('127.0.0.1', 'localhost')]) {
    t.match(await providers.ask(request(denied), whole), { error: { reason: 'destination not allowed' } })
  }
  t.equal(requests, 0)
})

test('an alarm is raised by whatever is no response and released by one', async (t) => {
  let body = ''
  const { url } = await listening(t, (_, outgoing) => outgoing.end(body))
  const { providers, attempts } = opened(t)
  const send = () =>
    providers.ask(request(url), (response) => (['', 'good'].includes(response.body) ? whole(response) : unreadable()))
  await send()
  body = 'bad'
  await send()
  body = 'good'
  await send()
  t.same(
    attempts.map(([, reason]) => reason),
    ['empty answer', 'no NGSI in the response', undefined],
  )
})

test('what is measured of a request are service, path, sizes and failure', async (t) => {
  const { url } = await listening(t, ({ url }, outgoing) => {
    outgoing.writeHead(url?.startsWith('/bad') ? 500 : 200).end('ä')
  })
  const { providers, sent } = opened(t)
  await providers.ask(request(url, '{"a":"ä"}'), whole)
  await providers.ask(request(`${url}/bad`), whole)
  await providers.ask(request('nowhere'), whole)
  const common = { service: 'acme', servicePath: '/west' }
  t.same(sent, [
    { ...common, request_bytes: 10, response_bytes: 2, failed: false },
    { ...common, request_bytes: 2, response_bytes: 2, failed: true },
    { ...common, request_bytes: 2, response_bytes: 0, failed: true },
  ])
})

test('a line tells of every request, traces of its parts, without secrets', async (t) => {
  const { url } = await listening(t, (_, outgoing) => outgoing.end('good morning to you all'))
  const { providers, lines, switches } = opened(t)
  await providers.ask(request(url), whole)
  t.same(lines, [])
  switches.set('logLevel', logLevels.indexOf('INFO'))
  switches.set('infoPayloadMaxSize', 20)
  await providers.ask(request(url), whole)
  const id = '5718a3b2c0de00112233aabc'
  t.same(lines.splice(0), [
    `forward:answer c 7: Request forwarded (regId: ${id}): POST ${url}//queryContext, request payload (2 bytes): {}, response payload (23 bytes): good morning to you (...), response code: 200`,
  ])
  switches.set('logLevel', logLevels.indexOf('WARN'))
  for (const area of ['forward', 'forward.error', 'payload.forward.in', 'payload.forward.out'] as const) {
    switches.traces[traceArea[area]] = 1
  }
  await providers.ask(request(url), unreadable)
  t.same(lines.splice(0), [
    'payload.forward.out c 7: {}',
    'payload.forward.in c 7: good morning to you (...)',
    `forward c 7: passed on to ${url}//queryContext: 200`,
    `forward.error c 7: ${url}//queryContext failed: no NGSI in the response`,
  ])
  await providers.ask(request('http://me:pass@127.0.0.1:1/v1?token=secret'), whole)
  t.notMatch(lines.join(), /pass@|secret/)
})

test('closing gives up what is under way', async (t) => {
  const { url, server } = await listening(t, () => undefined)
  const { providers } = opened(t)
  const requests = providers.ask(request(url), whole)
  await new Promise((resolve) => server.once('request', resolve))
  await providers.close()
  t.match(await requests, { ok: false, error: { kind: 'unreachable' } })
})

test('a response is read in slices: between them the thread does what else there is to do', async (t) => {
  const { url } = await listening(t, (_, outgoing) => void outgoing.end('good'))
  const { providers } = opened(t)
  let [turns, isRead] = [0, false]
  const turn = (): void => {
    turns += 1
    if (!isRead) setImmediate(turn)
  }
  function* slowly({ body }: ProviderResponse): Steps<Result<string, ProviderFailure>> {
    setImmediate(turn)
    for (let steps = 0; steps < 3; steps += 1) {
      const until_ms = performance.now() + 6
      while (performance.now() < until_ms);
      yield
    }
    isRead = true
    return ok(`${body} after ${turns} turns`)
  }
  t.same(await providers.ask(request(url), slowly), { ok: true, value: 'good after 3 turns' })
})

test('responses take room together, in however small pieces they come; the last of it is the last that is read', async (t) => {
  const { url } = await listening(t, async (_, outgoing) => {
    for (let sent = 0; sent < 300; sent += 1) outgoing.write('x')
    outgoing.end('y'.repeat(300))
  })
  const { providers } = opened(t, { responseLimit_bytes: 1000 })
  const room = providers.share()
  t.match(await providers.ask(request(url), whole, room), { ok: true, value: 'x'.repeat(300) + 'y'.repeat(300) })
  t.same(await providers.ask(request(url), whole, room), {
    ok: false,
    error: { kind: 'unreachable', reason: 'answer too long' },
  })
  t.ok((await providers.ask(request(url), whole, providers.share())).ok, 'the next request has room of its own')
})

test('all requests together have room for a limited size of responses, and it is free again when they are over', async (t) => {
  const all = new ResponseBudget(1000)
  const [one, two, three] = [new ResponseBudget(600, all), new ResponseBudget(600, all), new ResponseBudget(600, all)]
  t.same([one.take(600), two.take(500), two.take(400), three.take(1)], [true, false, true, false])
  one.end()
  t.same([one.take(1), three.take(600), three.take(1)], [false, true, false])
})

test('what a provider may do to whoever waits for it ends as no response, in time', async (t) => {
  const attacks: readonly (readonly [string, Handle])[] = [
    ['a head without end', (_, outgoing) => outgoing.writeHead(200, { 'X-Much': 'x'.repeat(100_000) }).end('late')],
    [
      'a body without end',
      (_, outgoing) => {
        const more = () => outgoing.write('z'.repeat(65_536), more)
        more()
      },
    ],
    [
      'a slow drip',
      (_, outgoing) => {
        const timer = setInterval(() => outgoing.write(' '), 5)
        outgoing.once('close', () => clearInterval(timer))
      },
    ],
    [
      'less than it says',
      (_, outgoing) => {
        outgoing.writeHead(200, { 'Content-Length': '1000' }).write('{}')
        outgoing.destroy()
      },
    ],
    ['no HTTP', (_, outgoing) => outgoing.socket?.end('+OK POP3 ready\r\n\r\n')],
  ]
  const { providers } = opened(t, { limit_ms: 400 })
  for (const [what, handle] of attacks) {
    const { url } = await listening(t, handle)
    t.match(await providers.ask(request(url), whole), { ok: false, error: { kind: 'unreachable' } }, what)
  }
})

test('connections that many providers would like to keep are bounded together', async (t) => {
  const open = new Set<unknown>()
  const ends = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const { url, server } = await listening(t, (_, outgoing) => {
        outgoing.writeHead(200, { Connection: 'keep-alive', 'Keep-Alive': 'timeout=600' }).end('{}')
      })
      server.keepAliveTimeout = 600_000
      server.on('connection', (socket) => {
        open.add(socket)
        socket.on('close', () => open.delete(socket))
      })
      return url
    }),
  )
  const { providers } = opened(t, { permits: { total: 4, perOrigin: 4 } })
  for (let round = 0; round < 3; round += 1) {
    await Promise.all(ends.flatMap((url) => Array.from({ length: 4 }, () => providers.ask(request(url), whole))))
  }
  await until(
    () => open.size <= 8,
    () => `8 of 32 are open: ${open.size}`,
  )
  for (const url of ends) t.match(await providers.ask(request(url), whole), { ok: true })
})
