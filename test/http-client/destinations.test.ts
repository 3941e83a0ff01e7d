import type { LookupAddress } from 'node:dns'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { test } from 'tap'
import { Destinations, type Resolve } from '../../src/delivery/http-client/destinations.js'
import { meantAddress } from '../../src/delivery/http-client/meant-address.js'
import { HttpSender } from '../../src/delivery/senders/http-sender.js'
import { destinationList } from '../../src/flags/flag-values.js'

function list(text: string) {
  const parsed = destinationList.parse(text)
  if (!parsed.ok) throw new Error(parsed.error)
  return parsed.value
}

function rule(allow: string | undefined, deny?: string): Destinations {
  return new Destinations({
    allow: allow === undefined ? undefined : list(allow),
    deny: deny === undefined ? undefined : list(deny),
  })
}

/** Whether a host may be connected to as far as is known before its name is resolved. */
function mayConnect(destinations: Destinations, host: string, port: number): Promise<boolean> {
  return destinations.lookupFor(host, port).then(
    () => true,
    () => false,
  )
}

test('a list holds addresses, networks, names and domains', async (t) => {
  t.same(list('10.0.0.0/8, ::1,Hub.example.,*.lan'), {
    networks: [
      { family: 'ipv4', address: '10.0.0.0', prefix: 8 },
      { family: 'ipv6', address: '::1', prefix: 128 },
    ],
    names: ['hub.example', '*.lan'],
  })
  for (const wrong of [
    '',
    ',',
    'a,,b',
    '10.0.0.0/33',
    '10.0.0.256',
    '1.2.3',
    '::1/129',
    'a b',
    '*',
    'a.*.b',
    'http://a',
    'a:80',
    '-a',
    'fe80::1%eth0',
    '0x7f000001',
    '127.0x1',
  ])
    t.notOk(destinationList.parse(wrong).ok, wrong)
})

test('denied is denied, and with a list of what is allowed nothing else is', async (t) => {
  const open = rule(undefined)
  const inside = rule('10.0.0.0/8', '10.1.0.0/16')
  for (const host of ['10.2.0.1', '[::ffff:10.2.0.1]', 'any.name']) t.ok(await mayConnect(inside, host, 80), host)
  for (const host of ['10.1.0.1', '11.0.0.1', '[::1]', '[::ffff:10.1.0.1]'])
    t.notOk(await mayConnect(inside, host, 80), host)
  t.ok(await mayConnect(open, '10.1.0.1', 80))
  const names = rule(undefined, 'bad.example,*.worse.example')
  for (const host of ['bad.example', 'BAD.example.', 'a.worse.example', 'a.b.worse.example'])
    t.notOk(await mayConnect(names, host, 80), host)
  for (const host of ['good.bad.example', 'worse.example', 'notworse.example'])
    t.ok(await mayConnect(names, host, 80), host)
})

test('a name leads only to those of its addresses that are allowed', async (t) => {
  const found = async (destinations: Destinations, all: boolean) => {
    const lookup = await destinations.lookupFor('localhost', 80)
    return new Promise<string | readonly string[]>((resolve) => {
      lookup('localhost', { all }, (fault, found: string | LookupAddress[]) => {
        if (fault !== null) resolve(String(fault.code))
        else resolve(typeof found === 'string' ? found : found.map(({ address }) => address))
      })
    })
  }
  t.same(await found(rule('127.0.0.0/8'), true), ['127.0.0.1'])
  t.equal(await found(rule('127.0.0.1', '::1'), false), '127.0.0.1')
  t.equal(await found(rule(undefined, '127.0.0.0/8,::1'), true), 'DESTINATION_DENIED')
  t.equal(await found(rule('10.0.0.0/8'), false), 'DESTINATION_DENIED')
  t.not(await found(rule('localhost'), false), 'DESTINATION_DENIED', 'the name is allowed, wherever it leads')
  t.equal(await found(rule('localhost', '127.0.0.0/8,::1'), false), 'DESTINATION_DENIED', 'denial wins')
})

/** Hosts of URLs that lead to this machine, each as somebody may write it. */
const spellings = [
  ...[
    '127.0.0.1',
    '127.0.0.1.',
    '127.1',
    '0x7f.1',
    '0x7F000001',
    '2130706433',
    '017700000001',
    '0177.0.0.01',
    '127.0.1',
  ],
  ...[
    '0',
    '0.0.0.0',
    '0x0',
    '00.0',
    '0.0.0.0.',
    '%30',
    '%31%32%37.1',
    '\uff11\uff12\uff17.0.0.1',
    '127\u30020\u30020\u30021',
  ],
  ...['[::]', '[0:0:0:0:0:0:0:0]', '[::0.0.0.0]', '[::ffff:0:0]', '[::ffff:0.0.0.0]', '[0:0::0:0]'],
  ...['[::ffff:127.0.0.1]', '[::FFFF:7f00:1]', '[0:0:0:0:0:ffff:127.0.0.1]', '[64:ff9b::127.0.0.1]', '[2002:7f00:1::]'],
  ...['[::127.0.0.1]', '[64:ff9b::]'],
]

test('every spelling of loopback and of the unspecified addresses is loopback', async (t) => {
  const denying = rule(undefined, '127.0.0.0/8')
  const elsewhere = rule('10.0.0.0/8')
  for (const spelling of spellings) {
    const { hostname } = new URL(`http://${spelling}:1026/`)
    t.notOk(await mayConnect(denying, hostname, 80), `${spelling} is ${hostname}`)
    t.notOk(await mayConnect(elsewhere, hostname, 80), `${spelling} is not allowed where only something else is`)
  }
  for (const spelling of ['[::1]', '[::]', '0', '[0:0:0:0:0:0:0:1]', '[::0.0.0.1]', '[::ffff:0:0]']) {
    const { hostname } = new URL(`http://${spelling}/`)
    t.notOk(await mayConnect(rule(undefined, '::1'), hostname, 80), `${spelling} is denied by ::1`)
  }
  t.ok(await mayConnect(rule('127.0.0.1'), '0.0.0.0', 80), 'what is connected to is allowed')
  t.ok(await mayConnect(rule('::1'), '[::]', 80))
  t.notOk(await mayConnect(rule('10.0.0.0/8'), '[64:ff9b::10.0.0.1]', 80), 'a translation is no address of the network')
  for (const named of ['0.0.0.0', '::', '0.0.0.0,::']) {
    t.notOk(
      await mayConnect(rule(undefined, named), named.includes('.') ? '127.0.0.1' : '[::1]', 80),
      `${named} means this machine`,
    )
  }
  for (const host of ['128.0.0.1', '[::2]', '[2001:db8::7f00:1]', '[::ffff:128.0.0.1]', '0x7f.example'])
    t.ok(await mayConnect(rule(undefined, '127.0.0.0/8,::1'), host, 80), host)
  t.same(meantAddress('fe80::1%eth0'), { connected: 'fe80::1', all: ['fe80::1'] })
})

/** A receiver at two addresses of this machine with one port; gives those that a connection came to. */
async function twoEnds(t: { teardown(end: () => unknown): void }) {
  const came: string[] = []
  const listen = async (host: string, port: number) => {
    const server = createServer((socket) => {
      came.push(host)
      socket.on('error', () => undefined)
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
    })
    server.listen(port, host)
    await once(server, 'listening')
    t.teardown(() => server.close())
    return (server.address() as AddressInfo).port
  }
  const port = await listen('127.0.0.2', 0)
  await listen('127.0.0.3', port)
  return { came, port }
}

test('the address that was checked is the one that is connected to, whatever the name means a moment later', async (t) => {
  const { came, port } = await twoEnds(t)
  let requests = 0
  const turning: Resolve = (_hostname, _options, callback) => {
    requests += 1
    callback(null, [{ address: requests === 1 ? '127.0.0.2' : '127.0.0.3', family: 4 }])
  }
  const mixed: Resolve = (_hostname, _options, callback) => {
    const addresses = ['0.0.0.0', '::', '127.0.0.3', '127.0.0.2']
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
  }
  const sent = (destinations: Destinations) => {
    const common = {
      timeout_ms: 60_000,
      accept: '2xx',
      kept: false,
      total: 1,
      perReceiver: 1,
      insecure: false,
    } as const
    const sender = new HttpSender({ ...common, destinations })
    t.teardown(() => sender.close())
    return sender.send({ kind: 'http', url: `http://rebinding.test:${port}/`, headers: [], body: Buffer.from('{}') })
  }
  const denied = { kind: 'refused', reason: 'destination not allowed' }
  const lists = { allow: list('127.0.0.2'), deny: undefined }
  const rebinding = new Destinations(lists, undefined, turning)
  t.match(await sent(rebinding), { kind: 'accepted' })
  t.same([requests, came], [1, ['127.0.0.2']], 'the name was resolved once')
  t.match(await sent(rebinding), denied, 'now it means something else')
  t.match(await sent(new Destinations(lists, undefined, mixed)), { kind: 'accepted' })
  t.match(await sent(new Destinations({ allow: undefined, deny: list('127.0.0.0/8') }, undefined, mixed)), denied)
  t.same(came, ['127.0.0.2', '127.0.0.2'])
})

test('names that are not found leave the look-ups of others to those that are', async (t) => {
  const silent: (() => void)[] = []
  let isSilent = false
  const resolve: Resolve = (hostname, _, callback) => {
    const fails = hostname.endsWith('.dead')
    const answer = () => {
      if (fails) callback(Object.assign(new Error('no answer'), { code: 'EAI_AGAIN' }), [])
      else callback(null, [{ address: '127.0.0.1', family: 4 }])
    }
    if (fails && isSilent) silent.push(answer)
    else answer()
  }
  const destinations = new Destinations({ allow: undefined, deny: undefined }, undefined, resolve)
  const lookup = await destinations.lookupFor('any', 80)
  const found = (name: string) =>
    new Promise<boolean>((answered) => lookup(name, {}, (fault) => answered(fault === null)))
  const dead = Array.from({ length: 60 }, (_, at) => `h${at}.dead`)
  t.equal(await found('live'), true)
  t.same(await Promise.all(dead.slice(0, 30).map(found)), Array(30).fill(false))
  isSilent = true
  const asked = dead.map(found)
  t.equal(await found('live'), true, 'it was found before')
  t.equal(silent.length, 12, 'of those that have failed and of those that are new')
  isSilent = false
  for (const answer of silent) answer()
  t.same(await Promise.all(asked), Array(60).fill(false))
  t.equal(await found('another'), true)
})
