import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Authority } from '../node-link/certificates.js'
import { RunningBroker } from '../running.js'
import { until } from '../until.js'
import type { EtcdMembers } from './etcd-members.js'
import { attributeText, freshName } from './given.js'

/** A cluster of several nodes that reach each other: its name, and its nodes in the order in which they were started. */
export interface GivenNodes {
  readonly cluster: string
  readonly nodes: readonly RunningBroker[]
}

/** Starts nodes of a new cluster of several, one after the other; `more` are the flags of each, `shape` see `nodeFlags`. */
export async function givenNodes(
  t: Test,
  etcd: EtcdMembers,
  names: readonly string[],
  more: (name: string) => readonly string[],
  shape?: NodeShape,
): Promise<GivenNodes> {
  const cluster = freshName()
  const nodes: RunningBroker[] = []
  for (const name of names) {
    const flags = [...nodeFlags(etcd, cluster, name, shape), ...more(name)]
    nodes.push(await RunningBroker.startOn(t, join(t.testdirName, `data-${name}`), flags))
  }
  return { cluster, nodes }
}

/** Makes what nodes of tests know each other by: the flag that says so. */
export function tokenFlags(folder: string): readonly string[] {
  const file = join(folder, 'token')
  if (!existsSync(file)) writeFileSync(file, `${'t'.repeat(40)}\n`)
  return ['-clusterTokenFile', file]
}

/** Makes a certificate of a node that listens on this machine: the flags that say so. */
export function certificateFlags(folder: string, authority: Authority, name: string): readonly string[] {
  const files = { ca: authority.ca, ...authority.signed(['127.0.0.1']) }
  const path = (file: string): string => join(folder, `${name}-${file}.pem`)
  for (const [file, text] of Object.entries(files)) writeFileSync(path(file), text)
  return ['-clusterKey', path('key'), '-clusterCert', path('cert'), '-clusterCa', path('ca')]
}

/** Where a node listens for others and where they reach it, and how many front ends it has: for most tests one is enough. */
export interface NodeShape {
  readonly port?: number
  readonly advertised?: string
  readonly httpThreads?: number
}

/** The flags of a node of a cluster of several, without what nodes know each other by. */
export function nodeFlags(
  etcd: Pick<EtcdMembers, 'urls'>,
  cluster: string,
  name: string,
  { port = 0, advertised = '127.0.0.1', httpThreads = 1 }: NodeShape = {},
): readonly string[] {
  const size = ['-partitions', '2', '-httpThreads', `${httpThreads}`]
  const common = ['-cluster', cluster, '-clusterUrl', etcd.urls.join(','), ...size]
  const link = ['-clusterPort', `${port}`, '-clusterIp', '127.0.0.1', '-clusterAdvertise', advertised]
  return [...common, ...link, '-nodeName', name]
}

/** Nodes own their shares soon after they have come: for tests that are not about when. */
export const rebalancedSoon = ['-clusterRebalanceDelay', '1']

const tanks = Array.from({ length: 8 }, (_, number) => `Tank${number}`)

/** Sets the levels of eight tanks at a node, each as often as it takes: some are in each partition. */
export async function setLevels(node: RunningBroker, value: string): Promise<void> {
  await Promise.all(tanks.map((id) => until(() => setLevel(node, id, value), `${id} is set`)))
}

/** The levels of all of them, as a node answers now: nothing of one that it does not show. */
export function levelsOf(node: RunningBroker): Promise<readonly (string | undefined)[]> {
  return Promise.all(tanks.map((id) => attributeText(node, id, 'level')))
}

/** Resolves when a node shows a level of all of them. */
export function levelsShown(node: RunningBroker, value: string): Promise<true> {
  const areShown = async (): Promise<boolean> => (await levelsOf(node)).every((level) => level === value)
  return until(areShown, `${value.slice(0, 20)} is shown`)
}

/** Sets the level of a tank at a node; says whether it was carried out. */
export async function setLevel(node: RunningBroker, id: string, value: string): Promise<boolean> {
  const attributes = [{ name: 'level', type: 'Number', value }]
  const { status, text } = await node.update('APPEND', { id, type: 'Tank', isPattern: 'false', attributes })
  return status === 200 && /"code" ?: ?"200"/.test(text) && !/"code" ?: ?"[45]/.test(text)
}

/** What a broker that is not to come up has ended with, and its last words. */
export function startRefusal(t: Test, folder: string, flags: readonly string[]): Promise<string> {
  return RunningBroker.startOn(t, folder, flags).then(
    () => 'it has started',
    (fault: unknown) => (fault instanceof Error ? fault.message : String(fault)),
  )
}
