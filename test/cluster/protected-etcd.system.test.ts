import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import { freePort } from '../../bench/free-port.js'
import { items, member } from '../../bench/ngsi.js'
import { FarEnd, responding } from '../far-end.js'
import { RunningBroker } from '../running.js'
import { until } from '../until.js'
import { EtcdMembers, noEtcd } from './etcd-members.js'
import { freshName } from './given.js'
import { nodeFlags, tokenFlags } from './given-nodes.js'

/** What empties etcd: all keys from the first to the last. */
const everything = { key: 'AA==', range_end: 'AA==' }
const erase = '/v3/kv/deleterange'

const quickRetries = ['-notifRetryMin', '50', '-notifRetryMax', '100']

/** The keys that stay while the cluster stands, and one of somebody else: records are forgotten when they are not needed any more. */
function standing(etcd: EtcdMembers, prefix: string): readonly string[] {
  const kept = ['/elsewhere', ...['cluster', 'setting/', 'head/'].map((name) => `${prefix}/${name}`)]
  return kept.flatMap((name) => etcd.control(['get', '--prefix', '--keys-only', name]).split('\n')).filter((key) => key)
}

function change(broker: RunningBroker, value: string) {
  const attributes = [{ name: 'level', type: 'Number', value }]
  return broker.update('APPEND', { id: 'Tank1', type: 'Tank', isPattern: 'false', attributes })
}

/** Creates a subscription to the tank; gives where it is shown. */
async function subscribe(broker: RunningBroker, notification: object): Promise<string> {
  const body = { subject: { entities: [{ id: 'Tank1', type: 'Tank' }] }, notification }
  const { status, text, location } = await created(broker, '/v2/subscriptions', body)
  if (status !== 201 || location === null) throw new Error(`${status} ${text}`)
  return location
}

async function created(broker: RunningBroker, path: string, body: object) {
  const headers = { 'Content-Type': 'application/json' }
  const response = await fetch(`${broker.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  return { status: response.status, text: await response.text(), location: response.headers.get('Location') }
}

/** Waits until an attempt of a subscription has failed at a node whose management is at one of the URLs; gives the reason that it shows. */
async function failure(managements: readonly string[], location: string): Promise<string> {
  let reason: unknown
  await until(async () => {
    for (const management of managements) reason ??= await shownReason(management, location.replace(/^.*\//, ''))
    return reason !== undefined
  }, `an attempt of ${location} has failed`)
  return String(reason)
}

async function shownReason(management: string, id: string): Promise<unknown> {
  const response = await fetch(`${management}/admin/receivers?limit=1000`).catch(() => undefined)
  const json: unknown = await response?.json()
  const receiver = items(member(json, 'receivers')).find((each) => items(member(each, 'ids')).includes(id))
  return member(receiver, 'lastFailureReason')
}

/** How many members a node knows of its cluster. */
async function members(management: string): Promise<number> {
  const response = await fetch(`${management}/admin/cluster`)
  return items(member(await response.json(), 'nodes')).filter((node) => member(node, 'isMember') === true).length
}

const denied = 'refused: destination not allowed'

/** A receiver on all addresses of this machine that counts its connections. */
async function counting(t: Test): Promise<{ readonly port: number; readonly count: () => number }> {
  let connections = 0
  const server = createServer((socket: Socket) => {
    connections += 1
    socket.on('error', () => undefined)
    socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
  })
  server.listen(0)
  await once(server, 'listening')
  t.teardown(() => server.close())
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('it has no port')
  return { port: address.port, count: () => connections }
}

test('nothing that clients cause reaches etcd, whatever they call it', { skip: noEtcd }, async (t) => {
  t.setTimeout(300_000)
  const folder = t.testdir()
  const announcedOnly = await counting(t)
  const etcd = await EtcdMembers.start(t, 1, ['--advertise-client-urls', `http://127.0.0.1:${announcedOnly.port}`])
  const [[url = ''], [peerUrl = '']] = [etcd.urls, etcd.peers]
  const [port, peer] = [new URL(url).port, new URL(peerUrl).port]
  const cluster = freshName()
  const flags = [...nodeFlags(etcd, cluster, 'a'), ...tokenFlags(folder), ...quickRetries]
  const broker = await RunningBroker.startOn(t, join(folder, 'data'), flags)
  const elsewhere = await FarEnd.listen(t, responding(307, { Location: `http://localhost:${port}${erase}` }))
  const bystander = await counting(t)
  const custom = (to: string) => ({ httpCustom: { url: to, method: 'POST', json: everything } })
  const mqtt = (to: string) => ({ mqtt: { url: to, topic: 'a' } })
  const attacks: Record<string, object> = {}
  const hosts = ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '127.1', '2130706433', '0.0.0.0', '127.0.0.9', '[::]']
  for (const host of hosts) attacks[host] = custom(`http://${host}:${port}${erase}`)
  attacks['a redirect'] = custom(elsewhere.url())
  attacks['a plain notification'] = { http: { url: `http://127.0.0.1:${port}${erase}` } }
  attacks['the port of its peers'] = custom(`http://127.0.0.1:${peer}/members`)
  attacks['what a member announces'] = custom(`http://127.0.0.1:${announcedOnly.port}${erase}`)
  for (const host of ['127.0.0.1', 'localhost', '0x7f.1', '[::ffff:127.0.0.1]'])
    attacks[`mqtt ${host}`] = mqtt(`mqtt://${host}:${port}`)
  const locations = new Map<string, string>()
  for (const [name, notification] of Object.entries(attacks)) locations.set(name, await subscribe(broker, notification))
  const watched = await subscribe(broker, custom(`http://localhost:${bystander.port}/`))
  const prefix = `/rigel/${cluster}`
  etcd.control(['put', '/elsewhere', 'value'])
  const before = standing(etcd, prefix)
  t.equal(before.length, 6, 'the cluster, its nodes, three logs, and what is elsewhere')
  await until(async () => (await change(broker, '1')).status === 200, 'an update is taken')
  for (const [name, location] of locations) t.equal(await failure([broker.url], location), denied, name)
  await until(() => bystander.count() > 0, 'another port of this machine is reached')
  t.ok((await broker.send('GET', watched)).json, 'its subscription stands')

  for (const host of ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]']) {
    const provided = await created(broker, '/v2/registrations', {
      dataProvided: { entities: [{ id: `Far-${host}`, type: 'Tank' }], attrs: ['level'] },
      provider: { http: { url: `http://${host}:${port}/v3` } },
    })
    t.equal(provided.status, 201)
    await broker.send('GET', `/v2/entities/${encodeURIComponent(`Far-${host}`)}`)
  }
  await until(async () => {
    const alarms = (await broker.send('GET', '/admin/alarms')).text
    return /ForwardingError[^\n]*destination not allowed/.test(alarms + broker.output)
  }, 'an operator sees why')

  t.same(standing(etcd, prefix), before, 'all of it stands')
  t.equal(announcedOnly.count(), 0, 'nobody has connected to what was announced')

  const [id = ''] = etcd.control(['member', 'list']).split(',')
  etcd.control(['member', 'update', id, `--peer-urls=http://127.0.0.1:${bystander.port}`])
  await until(async () => {
    await change(broker, String(Math.random()))
    return (await shownReason(broker.url, watched.replace(/^.*\//, ''))) === denied
  }, 'what a member announces later is kept from notifications')
  t.equal((await change(broker, '2')).status, 200, 'the cluster takes updates')
  await broker.endsInOrder(t)
})

test('nothing that clients cause reaches the ports of nodes, also of one that has come later', {
  skip: noEtcd,
}, async (t) => {
  t.setTimeout(300_000)
  const folder = t.testdir()
  const etcd = await EtcdMembers.start(t, 1)
  const cluster = freshName()
  const nodes: RunningBroker[] = []
  const links: number[] = []
  const admins: number[] = []
  const managements = (): readonly string[] => admins.map((port) => `http://127.0.0.1:${port}`)
  const start = async (name: string): Promise<void> => {
    const [link, admin] = [await freePort(), await freePort()]
    const own = nodeFlags(etcd, cluster, name, { port: link, advertised: '127.0.0.1' })
    const more = [...tokenFlags(folder), '-adminPort', `${admin}`, ...quickRetries]
    nodes.push(await RunningBroker.startOn(t, join(folder, `data-${name}`), [...own, ...more]))
    links.push(link)
    admins.push(admin)
  }
  await start('a')
  const [first] = nodes
  if (first === undefined) throw new Error('there is no node')
  await start('b')
  const open = await counting(t)
  const to = (host: string, port: number) => ({ httpCustom: { url: `http://${host}:${port}/`, json: everything } })
  await until(async () => (await change(first, '0')).status === 200, 'the partitions have owners')
  for (const management of managements())
    await until(async () => (await members(management)) === 2, `${management} knows both nodes`)
  const locations: string[] = []
  for (const port of [...links, ...admins])
    for (const host of ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]'])
      locations.push(await subscribe(first, to(host, port)))
  await subscribe(first, to('localhost', open.port))
  await until(async () => (await change(first, '1')).status === 200, 'an update is taken')
  await until(() => open.count() > 0, 'another port is reached')
  for (const location of locations) {
    t.equal(await failure(managements(), location), denied, location)
  }
  // A node that is gone may be paused, and listen all the same.
  const [, second] = nodes
  if (second === undefined) throw new Error('two nodes were started')
  await second.endsInOrder(t)
  const late = await subscribe(first, to('127.0.0.1', links[1] ?? 0))
  await until(async () => (await change(first, '2')).status === 200, 'an update is taken')
  t.equal(await failure(managements(), late), denied, 'the port of a node that has left')
  await first.endsInOrder(t)
})
