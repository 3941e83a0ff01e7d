import { member } from '../ngsi.js'

/** What the parts of a cluster take, as it was measured: each without what they take while nobody asks anything. */
export interface PartCosts {
  /** Processor time that a broker takes in a second while nobody asks anything. */
  readonly idle_ms: number
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
  const usable_us = nodes * (cores * use * 1e6 - costs.idle_ms * 1000)
  const processors_per_s = usable_us / update_us
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
    confirmed_reads_per_s: usable_us / costs.confirmed_us,
    local_reads_per_s: usable_us / costs.local_us,
  }
}

/** A cost with where it was measured, in the words of the JSON. */
export interface Input {
  readonly name: keyof PartCosts
  readonly value: number
  readonly from: string
}

/** A line of results that was found, with its figures. */
interface Found {
  /** A figure of processor time of a request, without what so many brokers, or etcd, take in that time anyway. */
  net_us(figure: string, idle: { readonly brokers: number } | 'etcd'): number
  figure(name: string): number
}

/** The costs in the results of `cluster`, with where each comes from. Throws when something was not measured. */
export function inputsIn(results: readonly unknown[]): readonly Input[] {
  const lines = results.filter((line) => member(line, 'bench') === 'cluster')
  const connections = Math.max(0, ...lines.map((line) => Number(member(line, 'connections') ?? 0)))
  const nodeCounts = lines.map((line) => Number(member(line, 'nodes')))
  const [fewest, most] = [Math.min(...nodeCounts), Math.max(...nodeCounts)]
  const find = (name: string, nodes?: number): Found => {
    const line = lines.find(
      (each) =>
        member(each, 'case') === name &&
        (member(each, 'connections') ?? connections) === connections &&
        (nodes === undefined || member(each, 'nodes') === nodes),
    )
    const figure = (figureName: string): number => {
      const value = member(line, figureName)
      if (typeof value === 'number') return value
      throw new Error(
        `the results have no ${figureName} of the case '${name}' of cluster, with ${connections} connections`,
      )
    }
    const net_us: Found['net_us'] = (figureName, idle) => {
      const whole_us = figure(figureName)
      const quiet = find('idle', figure('nodes'))
      const idle_ms =
        idle === 'etcd'
          ? quiet.figure('etcd_ms_in_a_s')
          : (quiet.figure('brokers_ms_in_a_s') / figure('nodes')) * idle.brokers
      return Math.max(0, whole_us - (idle_ms * 1000) / figure('rate_per_s'))
    }
    return { figure, net_us }
  }
  const one = { brokers: 1 }
  const atOwner = find('updates at their owner')
  const through = find('updates through another node')
  const copy_us = atOwner.net_us('other_us', one)
  const recordTime_us = (nodes: number): number => {
    const updates = find('updates', nodes)
    return updates.net_us('etcd_us', 'etcd') / updates.figure('records')
  }
  const growth_us = most === fewest ? 0 : (recordTime_us(most) - recordTime_us(fewest)) / (most - fewest)
  const follower_us = Math.max(0, growth_us)
  const read_us = (name: string): number => find(name, most).net_us('brokers_us', { brokers: most })
  const recordRates = [...new Set(nodeCounts)].map((nodes) => {
    const updates = find('updates', nodes)
    return updates.figure('records') * updates.figure('rate_per_s')
  })
  const idle_ms = find('idle', most).figure('brokers_ms_in_a_s') / most
  const at = (name: string, nodes: number): string => `case '${name}' of ${nodes} nodes`
  const owner = "case 'updates at their owner'"
  return [
    { name: 'idle_ms', value: idle_ms, from: `${at('idle', most)}: brokers_ms_in_a_s, of one` },
    { name: 'owner_us', value: atOwner.net_us('owner_us', one), from: `${owner}: owner_us, less idle` },
    {
      name: 'through_us',
      value: through.net_us('owner_us', one) + through.net_us('other_us', one) - copy_us,
      from: "case 'updates through another node': owner_us + other_us, less copy_us and idle",
    },
    { name: 'copy_us', value: copy_us, from: `${owner}: other_us, less idle` },
    {
      name: 'record_us',
      value: Math.max(0, recordTime_us(fewest) - follower_us * fewest),
      from: `${at('updates', fewest)}: etcd_us / records, less follower_us × ${fewest} and idle`,
    },
    { name: 'follower_us', value: follower_us, from: `growth of the same from ${fewest} to ${most} nodes, for each` },
    {
      name: 'confirmed_us',
      value: read_us('confirmed reads'),
      from: `${at('confirmed reads', most)}: brokers_us, less idle`,
    },
    { name: 'local_us', value: read_us('local reads'), from: `${at('local reads', most)}: brokers_us, less idle` },
    {
      name: 'logged_bytes',
      value: find('updates', most).figure('logged_bytes'),
      from: `${at('updates', most)}: logged_bytes`,
    },
    {
      name: 'records_per_s',
      value: Math.max(...recordRates),
      from: "case 'updates': the highest records × rate_per_s",
    },
  ]
}
