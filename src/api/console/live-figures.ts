import type { Resource, Verb } from '../../broker/operations/api.js'
import type { BucketReading } from '../../observe/measure/buckets.js'
import { verbs } from '../../observe/measure/counted-routes.js'
import { forwardResults } from '../../observe/measure/figures.js'
import type { Measures } from '../../observe/measure/measures.js'
import { rejections } from '../../observe/measure/requests.js'
import { errorCodes, statusCodes } from '../../observe/measure/route-table.js'
import type { WaitKind, WaitSums } from '../../observe/measure/waits.js'
import type { Baseline } from '../../threads/shared-memory/counter-table.js'
import type {
  LiveBuckets,
  LiveDistributions,
  LiveFrame,
  LivePartitions,
  LivePartitionWait,
  LiveRequests,
  LiveRoute,
  LiveWaitDistribution,
} from './live-frame.js'

/** One frame has the distributions of at most this many partitions: those of 256 would make it four times as large. */
const distributionsEach = 64

type Partitions = Pick<LiveFrame, 'waits' | 'distributions' | 'partitions'>

/** The figures of partitions and their waits; the sequence number of the frame selects the partitions whose distributions are in it. */
export function partitionsShown(measures: Measures, sequence: number): Partitions {
  const numbers = Array.from({ length: measures.threads.partitions }, (_, number) => number)
  // Read once, since another thread may reset the waits meanwhile.
  const from = measures.waits.since
  const waits = measures.isOn('semWait') ? numbers.map((number) => waitsOf(measures, number, from)) : []
  const turns = Math.ceil(numbers.length / distributionsEach)
  const inFrame = numbers.filter((number) => Math.floor(number / distributionsEach) === sequence % turns)
  return {
    waits: waits.length === 0 ? null : waitsShown(measures, waits, from),
    partitions: columnsShown(measures, numbers),
    distributions: inFrame.map((number) => distributionsShown(measures, number, waits[number])),
  }
}

type SummedWait = WaitSums & { readonly distribution: BucketReading }
type PartitionWaits = Readonly<Record<Exclude<WaitKind, 'request' | 'append'>, SummedWait>>

function waitsOf({ waits }: Measures, partition: number, from: Baseline): PartitionWaits {
  return {
    dbConnectionPool: waits.sums('dbConnectionPool', partition, from),
    transaction: waits.sums('transaction', partition, from),
    mailbox: waits.sums('mailbox', partition, from),
  }
}

function waitsShown(
  { waits, startedAt }: Measures,
  byPartition: readonly PartitionWaits[],
  from: Baseline,
): LiveFrame['waits'] {
  const over = (kind: keyof PartitionWaits) => waitShown(byPartition.map((partition) => partition[kind]))
  return {
    since_ms: Math.round(performance.timeOrigin) + Number((from.at - startedAt) / 1_000_000n),
    request: waitShown([waits.sums('request', 0, from)]),
    dbConnectionPool: over('dbConnectionPool'),
    transaction: over('transaction'),
    mailbox: over('mailbox'),
    partitions: byPartition.map((each) => [
      partitionWaitShown(each.dbConnectionPool),
      partitionWaitShown(each.transaction),
      partitionWaitShown(each.mailbox),
    ]),
  }
}

function waitShown(parts: readonly SummedWait[]): LiveWaitDistribution {
  let [count, waited, total, max] = [0n, 0n, 0n, 0n]
  for (const part of parts) {
    count += part.count
    waited += part.waited
    total += part.total
    if (part.max > max) max = part.max
  }
  const [first] = parts
  const counts = first?.distribution.counts.map((_, at) =>
    parts.reduce((sum, { distribution }) => sum + (distribution.counts[at] ?? 0), 0),
  )
  return {
    count: Number(count),
    waited: Number(waited),
    total_ns: String(total),
    max_ns: String(max),
    buckets: bucketsShown({ bounds: [], counts: counts ?? [], sum: 0 }),
  }
}

function partitionWaitShown({ count, waited, total, max }: WaitSums): LivePartitionWait {
  return [Number(count), Number(waited), String(total), String(max)]
}

function columnsShown(measures: Measures, numbers: readonly number[]): LivePartitions {
  const { partitions } = measures
  const column = (name: Parameters<typeof partitions.value>[0]) =>
    numbers.map((number) => partitions.value(name, number))
  const commits = numbers.map((number) => partitions.distribution('commitDurations', number))
  return {
    mailboxDepth: numbers.map((number) => measures.mailboxDepthOf(number)),
    commits: commits.map(({ counts }) => counts.at(-1) ?? 0),
    commands: numbers.map((number) => partitions.distribution('commitOperations', number).sum),
    commit_s: commits.map(({ sum }) => toMicroseconds(sum)),
    entities: column('entities'),
    used_bytes: column('used_bytes'),
    logged_bytes: column('logged_bytes'),
    restarts: column('restarts'),
    restarted_ms: column('restarted_ms'),
    isFull: column('isFull'),
  }
}

function distributionsShown(
  { partitions }: Measures,
  partition: number,
  waits: PartitionWaits | undefined,
): LiveDistributions {
  const shown = (buckets: BucketReading | undefined) => (buckets === undefined ? [] : bucketsShown(buckets))
  return {
    partition,
    commits: bucketsShown(partitions.distribution('commitDurations', partition)),
    syncs: bucketsShown(partitions.distribution('logDurations', partition)),
    dbConnectionPool: shown(waits?.dbConnectionPool.distribution),
    transaction: shown(waits?.transaction.distribution),
    mailbox: shown(waits?.mailbox.distribution),
  }
}

/** The routes by number, with the methods that read or change entities. */
export function routesShown({ routes }: Measures, resources: readonly Resource[]): readonly LiveRoute[] {
  return routes.all.map(({ name }) => {
    const own = resources.filter((resource) => (resource.countedAs ?? resource.pattern) === name && isOfEntities(name))
    const using = (use: 'read' | 'write') =>
      own.flatMap(({ operations }) =>
        (Object.keys(operations) as Verb[]).filter((verb) => operations[verb]?.use === use),
      )
    return { name, updates: using('write'), reads: using('read') }
  })
}

function isOfEntities(pattern: string): boolean {
  return /^\/v1\/(?!registry\/|admin\/)|^\/v2\/(?:entities|types|op)\b/.test(pattern) && !/subscri/i.test(pattern)
}

type Traffic = Pick<LiveFrame, 'requests' | 'sizes' | 'errors' | 'rejected' | 'forwards' | 'now'>

/** The requests of clients, with their errors, rejections and forwarded requests. */
export function trafficShown({ traffic, frontEnds, routes }: Measures): Traffic {
  const requests = routes.all.flatMap(({ index }) => verbs.flatMap((_, verb) => requestsShown(traffic, index, verb)))
  const requested = [...new Set(requests.map(({ route }) => route))]
  return {
    requests,
    sizes: requested.map((route) => [route, traffic.requestSizes(route).sum, traffic.responseSizes(route).sum]),
    errors: requests.flatMap(({ route, method }) =>
      errorCodes.flatMap((_, code) => {
        const count = traffic.errors(route, method, code)
        return count === 0 ? [] : [[route, method, code, count] as const]
      }),
    ),
    rejected: rejections.map((reason) => frontEnds.value(`rejected.${reason}`)),
    forwards: forwardResults.map((result) => frontEnds.value(`forwards.${result}`)),
    now: {
      connections: frontEnds.value('connections'),
      inFlight: frontEnds.value('inFlight'),
      permitsFree: frontEnds.value('permits.free'),
      permitsTaken: frontEnds.value('permits.taken'),
      permitsQueued: frontEnds.value('permitsQueued'),
      queriesWaiting: frontEnds.value('queriesWaiting'),
      queriesRunning: frontEnds.value('queriesRunning'),
    },
  }
}

function requestsShown(traffic: Measures['traffic'], route: number, method: number): readonly LiveRequests[] {
  const codes = statusCodes.flatMap((_, code) => {
    const count = traffic.responses(route, method, code)
    return count === 0 ? [] : [code, count]
  })
  if (codes.length === 0) return []
  const durations = traffic.durations(route, method)
  return [{ route, method, codes, durations: bucketsShown(durations), total_s: toMicroseconds(durations.sum) }]
}

/** The counts of buckets, see `LiveBuckets`. */
export function bucketsShown({ counts }: BucketReading): LiveBuckets {
  let first = 0
  while (first < counts.length && counts[first] === 0) first += 1
  const all = counts.at(-1) ?? 0
  if (all === 0) return []
  const shown = [first]
  let below = 0
  for (let bucket = first; below < all && bucket < counts.length; bucket += 1) {
    const sofar = counts[bucket] ?? 0
    shown.push(sofar - below)
    below = sofar
  }
  return shown
}

/** Seconds, rounded to microseconds. */
function toMicroseconds(seconds: number): number {
  return Math.round(seconds * 1e6) / 1e6
}
