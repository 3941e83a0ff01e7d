import { createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { type Test, test } from 'tap'
import { Destinations, type Resolve } from '../../src/delivery/http-client/destinations.js'
import { HttpSender } from '../../src/delivery/senders/http-sender.js'
import { ProtectedEndpoints, type ProtectedService } from '../../src/threads/shared-memory/protected-endpoints.js'
import { listening } from '../far-end.js'

/** Names and what they mean; a name that is not here cannot be resolved. */
type Names = Readonly<Record<string, readonly string[]>>

function resolving(names: Names): Resolve {
  return (name, _options, callback) => {
    const found = names[name.replace(/\.$/, '')]
    if (found === undefined) callback(Object.assign(new Error(name), { code: 'ENOTFOUND' }), [])
    else
      callback(
        null,
        found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      )
  }
}

/** Where nobody may connect to these services, whatever else is allowed. */
function keeping(services: readonly ProtectedService[], names: Names = {}): Destinations {
  const endpoints = new ProtectedEndpoints()
  endpoints.put('test', services)
  const allow = { networks: [], names: ['*.example', 'localhost'] }
  const all = (['ipv4', 'ipv6'] as const).map((family) => ({
    family,
    address: family === 'ipv4' ? '0.0.0.0' : '::',
    prefix: 0,
  }))
  return new Destinations({ allow: { ...allow, networks: all }, deny: undefined }, endpoints, resolving(names))
}

/** What a connection to a host and port gets: addresses, of a host that is one itself; or the code or text of its fault. */
async function reached(destinations: Destinations, host: string, port: number): Promise<readonly string[] | string> {
  const { hostname } = new URL(`http://${host}/`)
  try {
    const lookup = await destinations.lookupFor(hostname, port)
    if (/^[[\d]/.test(hostname)) return [hostname]
    return await new Promise((resolve, reject) =>
      lookup(hostname, { all: true }, (fault, found) => {
        if (fault !== null) reject(fault)
        else resolve(typeof found === 'string' ? [found] : found.map(({ address }) => address))
      }),
    )
  } catch (fault) {
    return fault instanceof Error && 'code' in fault ? String(fault.code) : String(fault)
  }
}

const denied = 'DESTINATION_DENIED'

/** This machine, as somebody may write it. */
const here = [
  ...['127.0.0.1', '127.8.8.8', '127.1', '0x7f.1', '0x7F000001', '2130706433', '017700000001', '0177.0.0.01'],
  ...['0', '0.0.0.0', '0x0', '%31%32%37.1', '\uff11\uff12\uff17.0.0.1', '127\u30020\u30020\u30021'],
  ...['[::1]', '[::]', '[0:0:0:0:0:0:0:1]', '[::0.0.0.0]', '[::ffff:0:0]', '[::ffff:127.0.0.1]', '[::FFFF:7f00:1]'],
  ...['[0:0:0:0:0:ffff:127.0.0.1]', '[64:ff9b::127.0.0.1]', '[2002:7f00:1::]', '[::127.0.0.1]'],
]

/** The addresses of this machine, in the form of URLs. */
function interfaces(): readonly string[] {
  const all = Object.values(networkInterfaces()).flatMap((each) => each?.map(({ address }) => address) ?? [])
  return all.map((address) => (address.includes(':') ? `[${address}]` : address))
}

test('a service of this machine is reached by none of its addresses, whichever of them it has', async (t) => {
  for (const host of ['127.0.0.1', '::1', '0.0.0.0', '::', '127.0.0.5', '::ffff:127.0.0.1', 'self.example']) {
    const destinations = keeping([{ hosts: [host], ports: [2379] }], { 'self.example': ['127.0.1.1'] })
    for (const spelling of [...here, ...interfaces()]) {
      t.equal(await reached(destinations, spelling, 2379), denied, `${spelling} where ${host} is protected`)
      t.not(await reached(destinations, spelling, 2380), denied, `${spelling} at another port`)
    }
    t.same(await reached(destinations, '192.0.2.77', 2379), ['192.0.2.77'], 'another machine')
  }
})

test('a service is reached by no name and no spelling of its addresses', async (t) => {
  const names = {
    'etcd-0.example': ['192.0.2.7', '2001:db8::7'],
    'other.example': ['192.0.2.7'],
    'mixed.example': ['::ffff:192.0.2.7', '192.0.2.9', '64:ff9b::c000:207', '2001:0db8:0::0:7'],
    'far.example': ['192.0.2.9'],
  }
  const spellings = [
    ...['etcd-0.example', 'ETCD-0.Example', 'etcd-0.example.', 'other.example'],
    ...['192.0.2.7', '192.0.519', '0xc0.0.0x2.07', '3221225991', '[::ffff:192.0.2.7]', '[::ffff:c000:207]'],
    ...['[64:ff9b::192.0.2.7]', '[2002:c000:207::1]', '[::192.0.2.7]', '[2001:db8::7]', '[2001:DB8:0:0::7]'],
  ]
  const byName = keeping([{ hosts: ['etcd-0.example'], ports: [2379, 2380] }], names)
  const byAddress = keeping([{ hosts: ['::ffff:192.0.2.7', '2001:DB8::0:7'], ports: [2379, 2380] }], names)
  for (const destinations of [byName, byAddress]) {
    for (const spelling of spellings)
      for (const port of [2379, 2380])
        t.equal(await reached(destinations, spelling, port), denied, `${spelling}:${port}`)
    t.same(await reached(destinations, 'mixed.example', 2379), ['192.0.2.9'], 'what else a name means is left')
    t.same(await reached(destinations, 'far.example', 2379), ['192.0.2.9'])
    t.same(await reached(destinations, 'other.example', 1026), ['192.0.2.7'], 'another port')
  }
})

test('a name of a service counts with all addresses that it had, and where it never had one nobody connects to its port', async (t) => {
  const names: Record<string, readonly string[]> = {}
  const destinations = keeping([{ hosts: ['etcd-0.example'], ports: [2379] }], names)
  t.match(await reached(destinations, '192.0.2.7', 2379), 'cannot be resolved')
  t.equal(await reached(destinations, 'etcd-0.example', 2379), denied, 'the name itself')
  t.same(await reached(destinations, '192.0.2.7', 1026), ['192.0.2.7'], 'other ports do not wait for it')
})

test('what is protected later holds for all threads at once, and for connections that are open', async (t) => {
  const memory = ProtectedEndpoints.memory()
  const [writer, reader] = [new ProtectedEndpoints(memory), new ProtectedEndpoints(memory)]
  const { port, came } = await countingEnd(t)
  const sender = new HttpSender({
    ...{ timeout_ms: 60_000, accept: '2xx', kept: true, total: 4, perReceiver: 4, insecure: false },
    destinations: new Destinations({ allow: undefined, deny: undefined }, reader),
  })
  t.teardown(() => sender.close())
  const send = () =>
    sender.send({ kind: 'http', url: `http://127.0.0.1:${port}/`, headers: [], body: Buffer.from('{}') })
  t.match([await send(), await send()], [{ kind: 'accepted' }, { kind: 'accepted' }])
  t.same(came, { connections: 1, requests: 2 }, 'the connection was kept')
  writer.put('a', [{ hosts: ['192.0.2.1'], ports: [port] }])
  t.match(await send(), { kind: 'accepted' }, 'something else is protected')
  t.same(came, { connections: 2, requests: 3 }, 'it was looked at again')
  writer.put('b', [{ hosts: ['localhost'], ports: [port] }])
  t.match(await send(), { kind: 'refused', reason: 'destination not allowed' })
  t.same(came, { connections: 2, requests: 3 })
  writer.put('b', [])
  t.match(await send(), { kind: 'accepted' })
  t.equal(reader.services.length, 1, 'what another source has said stays')
})

test('the list has room for all hosts of all nodes, and what is too much of one service is left out', async (t) => {
  const endpoints = new ProtectedEndpoints()
  const hosts = Array.from({ length: 100 }, (_, number) => `${number}-${'x'.repeat(240)}.example`)
  const ports = Array.from({ length: 100 }, (_, number) => number + 1)
  endpoints.put(
    'nodes',
    Array.from({ length: 17 }, () => ({ hosts, ports })),
  )
  t.equal(endpoints.services.length, 17)
  t.same(endpoints.services[16], { hosts: hosts.slice(0, 64), ports: ports.slice(0, 64) })
  const before = endpoints.version
  endpoints.put('nodes', endpoints.services)
  t.equal(endpoints.version, before, 'the same again changes nothing')
})

/** A receiver that counts what comes. */
async function countingEnd(t: Test) {
  const came = { connections: 0, requests: 0 }
  const server = createServer((socket) => {
    came.connections += 1
    socket.on('error', () => undefined)
    socket.on('data', () => {
      came.requests += 1
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
    })
  })
  return { port: await listening(t, server), came }
}
