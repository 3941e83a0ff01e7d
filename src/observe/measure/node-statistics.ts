import { faultText } from '../../faults.js'
import { err, ok, type Result } from '../../result.js'
import { countersOf } from './counters.js'
import type { Measures } from './measures.js'
import { standingOf } from './meters.js'

/** The sums of one node, by group and name. */
const groups = {
  /** As in `GET /statistics`: since the last reset, except for the size. */
  notifQueue: ['in', 'out', 'reject', 'sentOk', 'sentError', 'timeInQueue', 'size'],
  /** For the partitions that it owns, since its start: turns with changes, operations in them, logged bytes. */
  turns: ['count', 'operations', 'logged_bytes'],
  /** On average since its start. */
  throughput: ['operations_per_sec', 'notifications_per_sec'],
  /** The number owned now, and since its start how many were handed over to it, taken over by it, and taken over from it. */
  partitions: ['owned', 'handedOver', 'takenOver', 'lost', 'replicaLag_records'],
} as const

type Group = keyof typeof groups
type Sums = { readonly [Name in Group]: Readonly<Record<(typeof groups)[Name][number], number>> }

/** The statistics of one node of a cluster, or the sums of several. */
export interface AddedStatistics extends Sums {
  /** The flat counters of `GET /statistics` since the last reset, without zeros. */
  readonly counters: Readonly<Record<string, number>>
}

export interface NodeStatistics extends AddedStatistics {
  readonly uptime_in_secs: number
  readonly measuring_interval_in_secs: number
}

/** The number of records of a partition's log that its replica on this node does not show yet. */
export function replicaLag_records(head: number, applied: number): number {
  return Math.max(0, head - applied)
}

/** The statistics of this node. `applied`, in a cluster: the appliedIndex of each partition here. */
export function nodeStatistics(measures: Measures, applied: readonly (() => number)[]): NodeStatistics {
  const { counts, node, replicas, delivery, partitions, startedAt, threads } = measures
  const at = process.hrtime.bigint()
  const seconds = (duration: bigint): number => Number(duration / 1_000_000n) / 1000
  const uptime = seconds(at - startedAt)
  const turns = partitions.distribution('commitOperations')
  const queue = delivery.read()
  const from = counts.since
  const perSecond = (events: number): number => (uptime === 0 ? 0 : rounded(events / uptime))
  return {
    uptime_in_secs: Math.floor(uptime),
    measuring_interval_in_secs: Math.floor(seconds(at - from.at)),
    counters: Object.fromEntries(
      countersOf('flat').flatMap(({ name }) => {
        const counted = Number(counts.flat(name, from))
        return counted === 0 ? [] : [[name, counted]]
      }),
    ),
    notifQueue: { ...queue, timeInQueue: seconds(queue.timeInQueue) },
    turns: {
      count: turns.counts.at(-1) ?? 0,
      operations: turns.sum,
      logged_bytes: partitions.value('logged_bytes'),
    },
    throughput: {
      operations_per_sec: perSecond(turns.sum),
      notifications_per_sec: perSecond(delivery.sums.value('notifications.accepted')),
    },
    partitions: {
      owned: standingOf(node)?.owned ?? threads.partitions,
      handedOver: replicas.value('elections.handover'),
      takenOver: replicas.value('elections.takeover'),
      lost: replicas.value('lost'),
      replicaLag_records: sum(applied, (appliedIndex, partition) =>
        replicaLag_records(replicas.value('head', partition), appliedIndex()),
      ),
    },
  }
}

/** The sums over several nodes. */
export function addedStatistics(nodes: readonly NodeStatistics[]): AddedStatistics {
  const counters: Record<string, number> = {}
  for (const node of nodes) {
    for (const [name, counted] of Object.entries(node.counters)) counters[name] = (counters[name] ?? 0) + counted
  }
  return {
    counters,
    notifQueue: added('notifQueue', nodes),
    turns: added('turns', nodes),
    throughput: added('throughput', nodes),
    partitions: added('partitions', nodes),
  }
}

/** Parses the statistics of another node; refuses with a text for the operator when they are malformed. */
export function parseNodeStatistics(text: string): Result<NodeStatistics, string> {
  try {
    const raw: unknown = JSON.parse(text)
    return ok({
      uptime_in_secs: numberAt(raw, 'uptime_in_secs'),
      measuring_interval_in_secs: numberAt(raw, 'measuring_interval_in_secs'),
      counters: Object.fromEntries(
        Object.keys(memberAt(raw, 'counters')).map((name) => [name, numberAt(memberAt(raw, 'counters'), name)]),
      ),
      notifQueue: sumsAt(raw, 'notifQueue'),
      turns: sumsAt(raw, 'turns'),
      throughput: sumsAt(raw, 'throughput'),
      partitions: sumsAt(raw, 'partitions'),
    })
  } catch (fault) {
    return err(`what it answers are no statistics: ${faultText(fault)}`)
  }
}

function added<Name extends Group>(group: Name, nodes: readonly NodeStatistics[]): Sums[Name] {
  return sumsOf(group, (name) => rounded(sum(nodes, (node) => numberAt(node[group], name))))
}

function sumsAt<Name extends Group>(raw: unknown, group: Name): Sums[Name] {
  const member = memberAt(raw, group)
  return sumsOf(group, (name) => numberAt(member, name))
}

function sumsOf<Name extends Group>(group: Name, value: (name: string) => number): Sums[Name] {
  // Each name of the group has a number.
  return Object.fromEntries(groups[group].map((name) => [name, value(name)])) as Sums[Name]
}

function memberAt(raw: unknown, name: string): object {
  const member: unknown = typeof raw === 'object' && raw !== null ? Reflect.get(raw, name) : undefined
  if (typeof member !== 'object' || member === null) throw new Error(`${name} is missing`)
  return member
}

function numberAt(raw: unknown, name: string): number {
  const value: unknown = typeof raw === 'object' && raw !== null ? Reflect.get(raw, name) : undefined
  if (typeof value !== 'number' || !(value >= 0)) throw new Error(`${name} is no number`)
  return value
}

function sum<Each>(all: readonly Each[], value: (each: Each, at: number) => number): number {
  return all.reduce((total, each, at) => total + value(each, at), 0)
}

/** Rounds away the noise of binary fractions. */
function rounded(value: number): number {
  return Math.round(value * 1000) / 1000
}
