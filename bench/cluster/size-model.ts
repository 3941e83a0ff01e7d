import { member } from '../ngsi.js'

/** What the parts of a cluster take, as it was measured. */
export interface PartCosts {
  /** Processor time of an update that comes to its owner: its front end, its partition, its record. */
  readonly owner_us: number
  /** Of one that comes to another node: there and at the owner together, without the copy. */
  readonly through_us: number
  /** Of applying an update to a copy. */
  readonly copy_us: number
  /** Of all members of etcd for a record: with no node that follows, and for each that does. */
  readonly record_us: number
  readonly follower_us: number
  readonly confirmed_us: number
  readonly local_us: number
  /** What an update adds to the log. */
  readonly logged_bytes: number
  /** The most records that etcd took in a second. */
  readonly records_per_s: number
}

/** What is assumed of machines that were not measured. */
export interface Machines {
  readonly cores: number
  /** The part of their time that may be used: the rest is for peaks. */
  readonly use: number
  /** Updates that one record holds at most. */
  readonly updatesPerRecord: number
  readonly etcdMembers: number
}

/** What so many nodes do. */
export interface ClusterSize {
  readonly nodes: number
  /** Processor time of an update in all brokers together. */
  readonly update_us: number
  /** What the processors of the nodes can do. */
  readonly processors_per_s: number
  /** What the records can hold that etcd takes. */
  readonly records_per_s: number
  /** What the processors of etcd can do. */
  readonly etcd_per_s: number
  readonly updates_per_s: number
  readonly limit: string
  /** How full records are then. */
  readonly updates_per_record: number
  /** What etcd sends to all nodes then. */
  readonly sent_MiB_per_s: number
  readonly confirmed_reads_per_s: number
  readonly local_reads_per_s: number
}

/** Processor time of an update in all brokers of so many nodes, when clients are spread evenly. */
export function updateTime_us({ owner_us, through_us, copy_us }: PartCosts, nodes: number): number {
  return owner_us / nodes + (through_us * (nodes - 1)) / nodes + copy_us * (nodes - 1)
}

/** What so many nodes do, each with its cores, and etcd on machines of its own with as many. */
export function clusterSize(costs: PartCosts, machines: Machines, nodes: number): ClusterSize {
  const { cores, use, updatesPerRecord, etcdMembers } = machines
  const update_us = updateTime_us(costs, nodes)
  const processors_per_s = (nodes * cores * use * 1e6) / update_us
  const records_per_s = costs.records_per_s * updatesPerRecord
  const recordTime_us = costs.record_us + costs.follower_us * nodes
  const etcdRecords_per_s = (etcdMembers * cores * use * 1e6) / recordTime_us
  const etcd_per_s = etcdRecords_per_s * updatesPerRecord
  const limits = [
    { limit: 'processors of the nodes', rate: processors_per_s },
    { limit: 'records that etcd takes', rate: records_per_s },
    { limit: 'processors of etcd', rate: etcd_per_s },
  ] as const
  const least = limits.reduce((low, each) => (each.rate < low.rate ? each : low))
  const reads_per_s = (read_us: number): number => (nodes * cores * use * 1e6) / read_us
  return {
    nodes,
    update_us,
    processors_per_s,
    records_per_s,
    etcd_per_s,
    updates_per_s: least.rate,
    limit: least.limit,
    updates_per_record: Math.max(1, least.rate / Math.min(costs.records_per_s, etcdRecords_per_s)),
    sent_MiB_per_s: (least.rate * costs.logged_bytes * nodes) / 2 ** 20,
    confirmed_reads_per_s: reads_per_s(costs.confirmed_us),
    local_reads_per_s: reads_per_s(costs.local_us),
  }
}

/** A cost with where it was measured, in the words of the JSON. */
export interface Input {
  readonly name: keyof PartCosts
  readonly value: number
  readonly from: string
}

/** The costs in the results of `cluster`, with where each comes from. Throws when something was not measured. */
export function inputsIn(results: readonly unknown[]): readonly Input[] {
  const lines = results.filter((line) => member(line, 'bench') === 'cluster')
  const connections = Math.max(0, ...lines.map((line) => Number(member(line, 'connections') ?? 0)))
  const full = lines.filter((line) => member(line, 'connections') === connections)
  const nodeCounts = lines.map((line) => Number(member(line, 'nodes')))
  const [fewest, most] = [Math.min(...nodeCounts), Math.max(...nodeCounts)]
  const figure = (name: string, nodes: number | undefined, ...figures: readonly string[]): readonly number[] => {
    const line = full.find((each) => member(each, 'case') === name && (!nodes || member(each, 'nodes') === nodes))
    return figures.map((each) => {
      const value = member(line, each)
      if (typeof value === 'number') return value
      throw new Error(`the results have no ${each} of the case '${name}' of cluster, with ${connections} connections`)
    })
  }
  const [owner = 0, otherCopy = 0] = figure('updates at their owner', undefined, 'owner_us', 'other_us')
  const through = figure('updates through another node', undefined, 'owner_us', 'other_us')
  const recordTime = (nodes: number): number => {
    const [etcd = 0, records = 0] = figure('updates', nodes, 'etcd_us', 'records')
    return etcd / records
  }
  const follower = most === fewest ? 0 : Math.max(0, (recordTime(most) - recordTime(fewest)) / (most - fewest))
  const recordRates = full
    .filter((line) => member(line, 'case') === 'updates')
    .map((line) => Number(member(line, 'records')) * Number(member(line, 'rate_per_s')))
  const [confirmed = 0] = figure('confirmed reads', most, 'brokers_us')
  const [local = 0] = figure('local reads', most, 'brokers_us')
  const [logged = 0] = figure('updates', most, 'logged_bytes')
  const atOwner = "case 'updates at their owner'"
  const at = (name: string, nodes: number): string => `case '${name}' of ${nodes} nodes`
  return [
    { name: 'owner_us', value: owner, from: `${atOwner}: owner_us` },
    {
      name: 'through_us',
      value: through.reduce((sum, each) => sum + each, 0) - otherCopy,
      from: "case 'updates through another node': owner_us + other_us, less copy_us",
    },
    { name: 'copy_us', value: otherCopy, from: `${atOwner}: other_us` },
    {
      name: 'record_us',
      value: Math.max(0, recordTime(fewest) - follower * fewest),
      from: `${at('updates', fewest)}: etcd_us / records, less follower_us × ${fewest}`,
    },
    {
      name: 'follower_us',
      value: follower,
      from: `etcd_us / records, its growth from ${fewest} to ${most} nodes, for each`,
    },
    { name: 'confirmed_us', value: confirmed, from: `${at('confirmed reads', most)}: brokers_us` },
    { name: 'local_us', value: local, from: `${at('local reads', most)}: brokers_us` },
    { name: 'logged_bytes', value: logged, from: `${at('updates', most)}: logged_bytes` },
    {
      name: 'records_per_s',
      value: Math.max(...recordRates),
      from: "case 'updates': the highest records × rate_per_s",
    },
  ]
}
