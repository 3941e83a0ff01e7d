import { readFileSync } from 'node:fs'
import { type Counter, countedBy, sum, threadsBusy } from '../counters.js'
import type { NodesUnderTest } from './nodes.js'

/** In which units the kernel counts the processor time of a process: hundredths of a second on all systems that we know. */
const tick_ms = 10

/** What brokers count. */
const brokerCounters: readonly Counter[] = [
  ...threadsBusy,
  { name: 'records', samples: /^rigel_cluster_appended_records_total (\S+)$/gm },
  { name: 'append_requests', samples: /^rigel_cluster_append_request_duration_seconds_count (\S+)$/gm },
  { name: 'logged_bytes', samples: /^rigel_log_appended_bytes_total\{.*\} (\S+)$/gm },
]

/** What etcd counts. */
const etcdCounters: readonly Counter[] = [
  { name: 'etcd_received_bytes', samples: /^etcd_network_client_grpc_received_bytes_total (\S+)$/gm },
  { name: 'etcd_sent_bytes', samples: /^etcd_network_client_grpc_sent_bytes_total (\S+)$/gm },
  { name: 'etcd_peer_bytes', samples: /^etcd_network_peer_sent_bytes_total\{.*\} (\S+)$/gm },
  { name: 'etcd_fsyncs', samples: /^etcd_disk_wal_fsync_duration_seconds_count (\S+)$/gm },
]

/** What a cluster has spent: since its start, or between two moments. */
export interface Spent {
  /** Processor time of each broker by the name of its node. */
  readonly brokers_ms: ReadonlyMap<string, number>
  /** Of all members of etcd together. */
  readonly etcd_ms: number
  /** What all brokers, and all members of etcd, have counted, by name. */
  readonly counted: ReadonlyMap<string, number>
}

/** The processor time that a process and its threads have taken, on Linux. */
export function processorTime_ms(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The name of the program stands in parentheses and may have spaces. Behind it are user time and system time, the 12th and 13th.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * tick_ms
}

/** What the nodes that run and all members of etcd have spent since their start. */
export async function spentBy(nodes: NodesUnderTest): Promise<Spent> {
  const pids = nodes.etcd.urls.flatMap((_, number) => nodes.etcd.pid(number) ?? [])
  const counted = [
    ...(await countedBy(brokerCounters, nodes.urls)),
    ...(await countedBy(etcdCounters, nodes.etcd.urls)),
  ]
  return {
    brokers_ms: new Map(nodes.names.map((name) => [name, processorTime_ms(nodes.broker(name).pid)])),
    etcd_ms: sum(pids.map(processorTime_ms)),
    counted: new Map(counted),
  }
}

/** What was spent from one moment to a later one, by the same processes. */
export function spentBetween(before: Spent, after: Spent): Spent {
  return {
    brokers_ms: combined(after.brokers_ms, before.brokers_ms, -1),
    etcd_ms: after.etcd_ms - before.etcd_ms,
    counted: combined(after.counted, before.counted, -1),
  }
}

/** What was spent at several times, together. */
export function spentInAll(times: readonly Spent[]): Spent {
  const nothing: ReadonlyMap<string, number> = new Map()
  return {
    brokers_ms: times.reduce((all, { brokers_ms }) => combined(brokers_ms, all, 1), nothing),
    etcd_ms: sum(times.map(({ etcd_ms }) => etcd_ms)),
    counted: times.reduce((all, { counted }) => combined(counted, all, 1), nothing),
  }
}

/** Of all brokers together. */
export function brokersTime_ms({ brokers_ms }: Spent): number {
  return sum([...brokers_ms.values()])
}

function combined(
  one: ReadonlyMap<string, number>,
  other: ReadonlyMap<string, number>,
  sign: 1 | -1,
): ReadonlyMap<string, number> {
  return new Map([...one].map(([name, value]) => [name, value + sign * (other.get(name) ?? 0)]))
}
