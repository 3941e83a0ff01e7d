import type { AddedStatistics, NodeStatistics } from '../../observe/measure/node-statistics.js'
import type { Result } from '../../result.js'
import type { ClusterState } from '../../storage/etcd/cluster-state.js'
import {
  type ClusterNodes,
  knownCoordinator,
  knownRoutes,
  listedNames,
  type ReadMode,
} from '../../storage/etcd/node-facts.js'

/** A node, for operators. */
interface ShownNode {
  readonly name: string
  readonly slot: number
  /** The id of its data folder. */
  readonly folder: string
  readonly isMember: boolean
  /** Seconds until the lease of a member ends unless it is renewed. */
  readonly leaseLeft_s?: number
  /** Whether a member is about to end. */
  readonly isLeaving?: boolean
  /** Whether the disk of a member has no room. */
  readonly isFull?: boolean
  /** The address at which other nodes reach a member; empty if it does not listen to them. */
  readonly address?: string
  /** The formats of records that a member reads. */
  readonly formats?: readonly number[]
  /** Nodes that a member cannot reach. */
  readonly unreachable?: readonly string[]
  /** The partitions that it owns, as far as is known. */
  readonly owns: readonly number[]
}

interface ShownReplica {
  readonly node: string
  /** The last record in its checkpoint; 0 if the node has reported nothing yet. */
  readonly checkpoint: number
  /** Records that it would have to apply if it were started now: not those up to which nothing has changed since its last checkpoint. */
  readonly behind: number
}

interface ShownPartition {
  readonly partition: number
  /** The owner; undefined while none is known. */
  readonly owner?: string
  /** The sequence of its election record in the log. */
  readonly since?: number
  /** The sequence of the last record of its log. */
  readonly last: number
  readonly replicas: readonly ShownReplica[]
}

/** The state of a cluster, for people and programs. */
export interface ShownCluster {
  readonly cluster: string
  readonly prefix: string
  readonly format: number
  /** The node that was asked; undefined where only etcd was. */
  readonly node?: string
  /** The coordinating node; undefined while it is not known. */
  readonly coordinator?: string
  readonly replicas: number
  /** How the node that was asked reads. */
  readonly reads?: ReadMode
  readonly nodes: readonly ShownNode[]
  readonly partitions: readonly ShownPartition[]
}

/** The broker that is asked about its cluster. */
interface OwnNode {
  readonly name: string
  readonly reads: ReadMode
}

/** The state of a cluster for operators. */
export function shownCluster(state: ClusterState, prefix: string, own?: OwnNode): ShownCluster {
  const { description, nodes } = state
  const coordinator = knownCoordinator(state.members.map(({ facts }) => facts))
  return {
    ...{ cluster: description.name, prefix, format: description.format },
    ...(own && { node: own.name }),
    ...(coordinator && { coordinator: coordinator.name }),
    replicas: nodes.replicas,
    ...(own && { reads: own.reads }),
    nodes: shownNodes(state, nodes),
    partitions: shownPartitions(state, nodes),
  }
}

function shownNodes({ members }: ClusterState, { nodes }: ClusterNodes): readonly ShownNode[] {
  const routes = knownRoutes(members.map(({ facts }) => facts))
  return nodes.map(({ name, slot, folder }) => {
    const owns = routes.flatMap(({ node, partition }) => (node === name ? partition : []))
    const member = members.find(({ facts }) => facts.name === name)
    if (member === undefined) return { name, slot, folder, isMember: false, owns }
    const { leaseLeft_s } = member
    const { isLeaving, isFull, address, formats, unreachable } = member.facts
    const lease = leaseLeft_s === undefined ? {} : { leaseLeft_s }
    const facts = { isLeaving, isFull, address, formats, unreachable }
    return { ...{ name, slot, folder, isMember: true }, ...lease, ...facts, owns }
  })
}

function shownPartitions(state: ClusterState, nodes: ClusterNodes): readonly ShownPartition[] {
  const routes = new Map(knownRoutes(state.members.map(({ facts }) => facts)).map((route) => [route.partition, route]))
  return Array.from({ length: state.description.partitions }, (_, partition) => {
    const last = state.heads.get(String(partition)) ?? 0
    const route = routes.get(partition)
    const replicas = listedNames(nodes).map((node) => {
      const checkpoint = state.checkpoints.get(node)?.get(String(partition)) ?? 0
      const covered = state.covered.get(node)?.get(String(partition)) ?? 0
      return { node, checkpoint, behind: Math.max(0, last - Math.max(checkpoint, covered)) }
    })
    return { partition, ...(route && { owner: route.node, since: route.epoch }), last, replicas }
  })
}

/** A cluster for people: what it is, its nodes, its partitions, and what is wrong with it, in lines. */
export function clusterText(shown: ShownCluster): string {
  const { cluster, prefix, nodes, partitions, coordinator } = shown
  const members = nodes.filter(({ isMember }) => isMember).length
  const what = `${nodes.length} nodes, ${members} of them members, ${partitions.length} partitions, coordinated by ${coordinator ?? 'none'}`
  const parts = [
    [`cluster ${cluster} at ${prefix}: ${what}`],
    table(['node', 'slot', 'lease', 'owns', 'address'], nodeRows(shown)),
    table(['partition', 'owner', 'since', 'last', 'replicas (records to apply at a start)'], partitionRows(shown)),
    troubles(shown),
  ]
  return `${parts
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`
}

function nodeRows({ nodes }: ShownCluster): readonly (readonly string[])[] {
  return nodes.map(({ name, slot, isMember, leaseLeft_s, isLeaving, isFull, address, owns }) => {
    const lease = leaseLeft_s === undefined ? 'yes' : `${leaseLeft_s} s`
    const more = [...(isLeaving === true ? [', leaves'] : []), ...(isFull === true ? [', disk full'] : [])]
    const state = isMember ? [lease, ...more].join('') : 'none'
    return [name, `${slot}`, state, `${owns.length}`, address === undefined || address === '' ? '-' : address]
  })
}

function partitionRows({ partitions }: ShownCluster): readonly (readonly string[])[] {
  return partitions.map(({ partition, owner, since, last, replicas }) => [
    `${partition}`,
    owner ?? '-',
    `${since ?? '-'}`,
    `${last}`,
    replicas.map(({ node, behind }) => `${node} ${behind}`).join(', ') || '-',
  ])
}

/** What needs the attention of an operator, one sentence each. */
function troubles({ nodes, partitions }: ShownCluster): readonly string[] {
  const away = nodes
    .filter(({ isMember }) => !isMember)
    .map(({ name }) => `node ${name} is no member: it does not run, or does not reach etcd`)
  const cutOff = nodes.flatMap(({ name, unreachable = [] }) =>
    unreachable.length === 0 ? [] : `node ${name} does not reach ${unreachable.join(', ')}`,
  )
  const without = partitions.filter(({ owner }) => owner === undefined).map(({ partition }) => partition)
  const ownerless = without.length === 0 ? [] : [`no node owns partitions ${without.join(', ')}`]
  return [...away, ...cutOff, ...ownerless]
}

/** Lines with columns of the same width. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const all = [head, ...rows]
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)))
  return all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

/** Gives the state of the cluster of this broker. */
export interface ClusterService {
  /** The current state in etcd; refuses with a sentence for the operator when etcd does not answer. */
  shown(): Promise<Result<ShownCluster, string>>
  /** The statistics of all nodes; takes two seconds when a node does not answer. */
  statistics(): Promise<ClusterStatistics>
}

/** The statistics of each node, and their sums. */
export interface ClusterStatistics {
  /** The node that was asked. */
  readonly node: string
  /** Each node with its statistics, or with the reason why they are missing. */
  readonly nodes: readonly {
    readonly name: string
    readonly statistics?: NodeStatistics
    readonly reason?: string
  }[]
  /** The sums over the nodes with statistics. */
  readonly all: AddedStatistics
}

/** The operations of the service, for callers behind a port. */
export const clusterOperations = { shown: 'ask', statistics: 'ask' } as const
