import { setTimeout as delay } from 'node:timers/promises'
import { readDevice, updateDevice, updateDevices } from '../device.js'
import { createDevices, groupsOf } from '../fleet.js'
import type { Bench, Harness } from '../harness.js'
import type { LoadResult } from '../load.js'
import { fresh, type Request } from '../request.js'
import { medians, rounded, times } from '../rounds.js'
import type { Line } from '../table.js'
import { type NodeStart, NodesUnderTest, partitionOfDevice } from './nodes.js'
import { nodeStart } from './requirements.js'
import { brokersTime_ms, type Spent, spentBetween, spentBy, spentInAll } from './spent.js'

/** What do more nodes do, and what does each part of a cluster take for an update? */
export const cluster: Bench = {
  name: 'cluster',
  question:
    'updates and reads by number of nodes, with the processor time of each part and what etcd is given; needs etcd',
  run: async (harness) => {
    const start = nodeStart(harness, 'cluster', { isShared: true })
    if (start === undefined) return
    const { nodes } = harness.options
    for (const size of nodes) await measureConfirmed(harness, start, size, size === nodes.find((each) => each > 1))
    for (const size of nodes) await measureLocal(harness, start, size)
    start.shares?.remove()
  },
}

const warmUpConnections = 64

/** A load on nodes of a cluster. */
interface ClusterLoad {
  readonly case: string
  readonly connections: number
  readonly requests: readonly Request[]
  /** The names of the nodes that clients are connected to. */
  readonly at: readonly string[]
}

async function measureConfirmed(harness: Harness, start: NodeStart, size: number, hasWays: boolean): Promise<void> {
  await withNodes(harness, start, size, { flags: [], warmedUp: ['updates', 'reads'] }, async (nodes) => {
    await measureIdle(harness, nodes)
    for (const connections of harness.options.connections) {
      const load = { connections, at: nodes.names, requests: updatesOf(harness) }
      await measure(harness, nodes, { ...load, case: 'updates' })
    }
    await measureReads(harness, nodes, 'confirmed reads')
    if (hasWays) await measureWays(harness, nodes)
  })
}

async function measureLocal(harness: Harness, start: NodeStart, size: number): Promise<void> {
  await withNodes(harness, start, size, { flags: ['-clusterReads', 'local'], warmedUp: ['reads'] }, async (nodes) => {
    await measureReads(harness, nodes, 'local reads')
  })
}

/** With the most connections. */
function measureReads(harness: Harness, nodes: NodesUnderTest, name: string): Promise<void> {
  const connections = Math.max(...harness.options.connections)
  return measure(harness, nodes, { case: name, connections, requests: readsOf(harness), at: nodes.names })
}

function updatesOf({ options }: Harness): readonly Request[] {
  return Array.from({ length: options.devices }, (_, number) => updateDevice(number, fresh))
}

function readsOf({ options }: Harness): readonly Request[] {
  return Array.from({ length: options.devices }, (_, number) => readDevice(number))
}

/** Elements of a request of the warm-up: some are in each partition. */
const warmUpElements = 25

/** What is run to have it compiled, each for as long as a case is measured. */
type WarmUp = 'updates' | 'reads'

/**
 * Each thread of each broker compiles what it runs often: with single updates that takes minutes, since each partition has a thread on
 * each node. So there are updates of many elements before, and brokers are held to their share after it.
 */
async function warmUp(harness: Harness, nodes: NodesUnderTest, what: readonly WarmUp[]): Promise<void> {
  const { devices, duration_s } = harness.options
  const [url = '', ...others] = nodes.urls
  const task = { url, others, connections: warmUpConnections, checked: true, warmUp_s: 0, duration_s }
  if (what.includes('updates')) {
    const many = [...groupsOf(devices, warmUpElements)].map((numbers) => updateDevices(numbers, fresh))
    await harness.load('cluster, warm-up, many elements', { ...task, duration_s: duration_s * 2, requests: many })
    await harness.load('cluster, warm-up, updates', {
      ...task,
      duration_s: duration_s * 2,
      requests: updatesOf(harness),
    })
  }
  await harness.load('cluster, warm-up, reads', { ...task, requests: readsOf(harness) })
}

async function withNodes(
  harness: Harness,
  start: NodeStart,
  size: number,
  { flags, warmedUp }: { readonly flags: readonly string[]; readonly warmedUp: readonly WarmUp[] },
  work: (nodes: NodesUnderTest) => Promise<void>,
): Promise<void> {
  await NodesUnderTest.with(start, async (nodes) => {
    harness.report.progress(`cluster, ${size} nodes, starting them`)
    await nodes.startAll(
      Array.from({ length: size }, (_, number) => `n${number}`),
      flags,
    )
    const [url = ''] = nodes.urls
    await createDevices(url, harness.options.devices, 0)
    await warmUp(harness, nodes, warmedUp)
    nodes.holdToShares()
    await work(nodes)
  })
}

/**
 * What each of several nodes takes for an update of what the first of them owns: sent to the owner itself, and through another
 * node. The others only keep replicas.
 */
async function measureWays(harness: Harness, nodes: NodesUnderTest): Promise<void> {
  const [owner = '', other = ''] = nodes.names
  const owners = await nodes.owners()
  const owned = Array.from({ length: harness.options.devices }, (_, number) => number).filter(
    (number) => owners[partitionOfDevice(number, nodes.partitions)] === owner,
  )
  const requests = owned.map((number) => updateDevice(number, fresh))
  const connections = Math.max(...harness.options.connections)
  const parts = { owner: [owner], other: [other], replica: nodes.names.slice(2) }
  await measure(harness, nodes, { case: 'updates at their owner', connections, requests, at: [owner] }, parts)
  await measure(harness, nodes, { case: 'updates through another node', connections, requests, at: [other] }, parts)
}

/** What a cluster takes while nobody asks anything, in milliseconds of processor time in a second. */
async function measureIdle(harness: Harness, nodes: NodesUnderTest): Promise<void> {
  const before = await spentBy(nodes)
  await delay(harness.options.duration_s * 1000)
  const spent = spentBetween(before, await spentBy(nodes))
  const per_s = (value: number): number => rounded(value / harness.options.duration_s)
  harness.report.add({
    ...lineStart(harness, nodes, 'idle'),
    duration_s: harness.options.duration_s,
    brokers_ms_in_a_s: per_s(brokersTime_ms(spent)),
    etcd_ms_in_a_s: per_s(spent.etcd_ms),
    records_in_a_s: per_s(spent.counted.get('records') ?? 0),
  })
}

/** Adds a load to the report; with parts the processor time of a node of each of them. */
async function measure(
  harness: Harness,
  nodes: NodesUnderTest,
  load: ClusterLoad,
  parts: Readonly<Record<string, readonly string[]>> = {},
): Promise<void> {
  const { duration_s, rounds } = harness.options
  const [url = '', ...others] = load.at.map((name) => nodes.broker(name).url)
  const task = { url, others, connections: load.connections, requests: load.requests, checked: true }
  const results: LoadResult[] = []
  const spent: Spent[] = []
  for (let round = 1; round <= rounds; round += 1) {
    const title = `cluster, ${load.case}, ${nodes.names.length} nodes, ${load.connections} connections, round ${round}`
    const before = await spentBy(nodes)
    results.push(await harness.load(title, { ...task, ...times(duration_s / rounds) }))
    spent.push(spentBetween(before, await spentBy(nodes)))
  }
  const all = spentInAll(spent)
  const sent = results.reduce((sum, result) => sum + result.sent, 0)
  const each = (value: number): number => rounded(value / sent)
  const figures = medians(results)
  const part = (names: readonly string[]): number =>
    names.reduce((sum, name) => sum + (all.brokers_ms.get(name) ?? 0), 0) / Math.max(1, names.length)
  harness.report.add({
    ...lineStart(harness, nodes, load.case),
    connections: load.connections,
    rounds,
    ...figures,
    // Of a request, the warm-up included; that of the load by the rate of its rounds.
    brokers_us: each(brokersTime_ms(all) * 1000),
    ...Object.fromEntries(Object.entries(parts).map(([name, names]) => [`${name}_us`, each(part(names) * 1000)])),
    etcd_us: each(all.etcd_ms * 1000),
    load_us: rounded((Number(figures['generator_cpu_ratio']) * 1e6) / Number(figures['rate_per_s'])),
    ...Object.fromEntries([...all.counted].map(([name, value]) => [name, each(value)])),
  })
}

function lineStart(harness: Harness, nodes: NodesUnderTest, name: string): Line {
  const { names, partitions } = nodes
  return { bench: 'cluster', case: name, nodes: names.length, partitions, share: harness.options.share ?? 'none' }
}
