import { setTimeout as delay } from 'node:timers/promises'
import { createDevices } from '../fleet.js'
import type { Bench, Harness } from '../harness.js'
import { median, rounded } from '../rounds.js'
import { NodesUnderTest } from './nodes.js'
import { Probes, probedDevices } from './probes.js'
import { nodeStart } from './requirements.js'

const names = ['n0', 'n1', 'n2'] as const

/** A node is missed when its lease has ended, which takes six seconds; owners may show reads for as long without etcd. */
const least_ms = 10_000

/** It is over when no client has waited for so long. */
const calm_ms = 2_000
const patience_ms = 60_000

/** For how long do clients have no success when something dies? */
export const clusterPauses: Bench = {
  name: 'cluster-pauses',
  question:
    'how long updates and reads pause when a node, the leader of etcd or a machine with both is killed; needs etcd',
  run: async (harness) => {
    const start = nodeStart(harness, 'cluster-pauses', { isShared: false })
    if (start === undefined) return
    await NodesUnderTest.with(start, async (nodes) => {
      harness.report.progress('cluster-pauses, starting nodes')
      await nodes.startAll(names)
      await createDevices(nodes.broker(names[0]).url, probedDevices, 0)
      await measure(harness, nodes, 'a node is killed', (round) => ({ node: victim(round) }))
      await measure(harness, nodes, 'the leader of etcd is killed', () => ({ member: nodes.etcd.leader() }))
      await measure(harness, nodes, 'a machine with a node and a member of etcd is lost', (round) => ({
        node: victim(round),
        member: round % nodes.etcd.size,
      }))
    })
  },
}

/** What dies at one time. */
interface Victims {
  readonly node?: string
  /** A member of etcd. */
  readonly member?: number
}

/** Another one each time. */
function victim(round: number): string {
  return names[round % names.length] ?? names[0]
}

async function measure(
  harness: Harness,
  nodes: NodesUnderTest,
  name: string,
  victimsOf: (round: number) => Victims,
): Promise<void> {
  const { rounds } = harness.options
  const [updates_s, reads_s, failed]: [number[], number[], number[]] = [[], [], []]
  for (let round = 1; round <= rounds; round += 1) {
    harness.report.progress(`cluster-pauses, ${name}, round ${round}`)
    const victims = victimsOf(round)
    const survivors = nodes.names.filter((node) => node !== victims.node)
    const probes = new Probes(
      survivors.map((node) => nodes.broker(node).url),
      nodes.partitions,
    )
    try {
      await pause(probes, nodes, victims)
      updates_s.push(probes.longest_ms('update') / 1000)
      reads_s.push(probes.longest_ms('read') / 1000)
      failed.push(probes.failures('update') + probes.failures('read'))
    } finally {
      probes.end()
    }
    await restore(nodes, victims)
  }
  harness.report.add({
    ...{ bench: 'cluster-pauses', case: name, nodes: names.length, rounds },
    updates_median_s: rounded(median(updates_s)),
    updates_max_s: rounded(Math.max(...updates_s)),
    reads_median_s: rounded(median(reads_s)),
    reads_max_s: rounded(Math.max(...reads_s)),
    failed_requests: median(failed),
  })
}

/** Kills, and resolves when all clients have success again. */
async function pause(probes: Probes, nodes: NodesUnderTest, { node, member }: Victims): Promise<void> {
  await untilCalm(probes, performance.now() + calm_ms)
  probes.forget()
  await Promise.all([
    ...(node === undefined ? [] : [nodes.kill(node)]),
    ...(member === undefined ? [] : [nodes.etcd.kill(member)]),
  ])
  await untilCalm(probes, performance.now() + least_ms)
}

/** Resolves when all clients have had success for a while, at this moment at the earliest. */
async function untilCalm(probes: Probes, earliest_ms: number): Promise<void> {
  const begun_ms = performance.now()
  let waited_ms = begun_ms
  while (performance.now() < Math.max(earliest_ms, waited_ms + calm_ms)) {
    await delay(100)
    if (probes.waiting_ms > 1_000) waited_ms = performance.now()
    if (waited_ms > begun_ms + patience_ms) throw new Error(`for ${patience_ms / 1000} s some client had no success`)
  }
}

async function restore(nodes: NodesUnderTest, { node, member }: Victims): Promise<void> {
  if (member !== undefined) nodes.etcd.start(member)
  if (node !== undefined) await nodes.start(node)
  await nodes.etcd.untilAllHealthy()
  await nodes.untilPlaced()
}
