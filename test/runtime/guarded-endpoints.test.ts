import { test } from 'tap'
import type { Options } from '../../src/flags/settings.js'
import { GuardedEndpoints } from '../../src/runtime/guarded-endpoints.js'
import type { ListedNode, NodeFacts } from '../../src/storage/etcd/node-facts.js'
import type { LogSequence } from '../../src/storage/wal/record-log.js'
import { ProtectedEndpoints } from '../../src/threads/shared-memory/protected-endpoints.js'

const link = { port: 0, ip: '10.0.0.1', advertised: { host: 'a.example', port: 9027 }, tls: undefined, tokenFile: 'f' }

function clusterOf(more: Partial<NonNullable<Options['cluster']>>): NonNullable<Options['cluster']> {
  const none = { ca: undefined, cert: undefined, key: undefined, user: undefined, passwordFile: undefined }
  const reads = 'confirmed' as const
  return {
    ...{ name: 'c', urls: ['http://etcd-0:2379', 'http://[2001:db8::2]:2479'], prefix: '/rigel/c', node: 'a' },
    ...{ ...none, logMax_MiB: 64, rebalanceDelay_s: 10, reads, link, ...more },
  }
}

function facts(name: string, more: Partial<NodeFacts> = {}): NodeFacts {
  const none = { unreachable: [], isLeaving: false, isFull: false, owns: [], coordinates: 0 as LogSequence }
  const reached = { address: `${name}.example:1027`, hosts: [`192.0.2.${name.length}`], ports: [1027, 1028] }
  return { name, slot: 0, formats: [1], ...reached, ...none, ...more }
}

function listed(...names: readonly string[]): readonly ListedNode[] {
  return names.map((name, slot) => ({ name, slot, folder: name }))
}

test('the ports of this node that are not for clients are protected on this machine', async (t) => {
  const endpoints = new ProtectedEndpoints()
  new GuardedEndpoints(endpoints, { adminPort: undefined, adminIp: '127.0.0.1' })
  t.same(endpoints.services, [{ hosts: ['127.0.0.1', '127.0.0.1'], ports: [] }])
  const several = new ProtectedEndpoints()
  const guarded = new GuardedEndpoints(several, {
    ...{ adminPort: 1099, adminIp: '10.9.9.9' },
    cluster: clusterOf({}),
  })
  t.same(several.services[0], { hosts: ['127.0.0.1', '10.9.9.9', '10.0.0.1'], ports: [1099, 9027] })
  guarded.listens(34567)
  t.same(several.services[0]?.ports, [1099, 34567, 9027], 'the port that was any')
})

test('each host of etcd is protected at each of its ports, those of the flag and those that members announce', async (t) => {
  const endpoints = new ProtectedEndpoints()
  const guarded = new GuardedEndpoints(endpoints, {
    adminPort: undefined,
    adminIp: '127.0.0.1',
    cluster: clusterOf({}),
  })
  t.same(endpoints.services[1], { hosts: ['etcd-0', '2001:db8::2'], ports: [2379, 2479] })
  guarded.engine(['http://localhost:2379', 'https://10.0.0.9:2380', 'unix://nothing', 'none', 'https://etcd-9'])
  const { hosts, ports } = endpoints.services[1] ?? { hosts: [], ports: [] }
  for (const host of ['etcd-0', '2001:db8::2', 'localhost', '10.0.0.9', 'etcd-9']) t.ok(hosts.includes(host), host)
  for (const port of [2379, 2479, 2380, 443]) t.ok(ports.includes(port), `${port}`)
})

test('the ports of nodes are protected for as long as they are of the cluster, whether they are members or not', async (t) => {
  const endpoints = new ProtectedEndpoints()
  const guarded = new GuardedEndpoints(endpoints, {
    adminPort: undefined,
    adminIp: '127.0.0.1',
    cluster: clusterOf({}),
  })
  const nodes = () => endpoints.services.slice(2).map(({ hosts }) => hosts[0])
  guarded.members([facts('a'), facts('bb'), facts('ccc', { address: '' })])
  t.same(nodes(), ['a.example', 'bb.example', '192.0.2.3'])
  t.same(endpoints.services[3], { hosts: ['bb.example', '192.0.2.2'], ports: [1027, 1027, 1028] })
  guarded.members([facts('a')])
  t.same(nodes(), ['a.example', 'bb.example', '192.0.2.3'], 'who is no member may listen all the same')
  guarded.members([facts('a', { address: '[2001:db8::1]:1' })])
  t.same(nodes(), ['2001:db8::1', 'bb.example', '192.0.2.3'], 'what a node says last counts')
  guarded.listed(listed('a', 'ccc'))
  t.same(nodes(), ['2001:db8::1', '192.0.2.3'], 'a node was removed')
})
