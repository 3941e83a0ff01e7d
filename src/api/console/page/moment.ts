import type {
  LiveBuckets,
  LiveDistributions,
  LiveFrame,
  LiveHello,
  LivePartitions,
  LiveWaitDistribution,
} from '../live-frame.js'

/** A frame with the distributions of all partitions, also those that came with earlier frames. */
export interface WholeFrame {
  readonly frame: LiveFrame
  readonly distributions: ReadonlyMap<number, LiveDistributions>
}

/** The median and the 99th percentile of durations in seconds; NaN where there were none. */
export interface Spread {
  readonly p50_s: number
  readonly p99_s: number
  readonly mean_s: number
  readonly count: number
}

/** The route of the console's own requests and files, which are not those of clients. */
export const consoleRoute = 'console'

/** The resources that requests wait for, in the order of an update; reads need the last one. */
export const stageNames = ['request', 'mailbox', 'transaction', 'dbConnectionPool'] as const
export type StageName = (typeof stageNames)[number]

/** One partition between two frames. */
export interface PartitionMoment {
  readonly number: number
  /** The share of time in which its turns logged, synced and applied. */
  readonly commitShare: number
  readonly busy: number
  readonly mailboxDepth: number
  readonly commands: number
  readonly commit: Spread
  readonly sync: Spread
  readonly entities: number
  readonly used_bytes: number
  readonly restarts: number
  readonly isFull: boolean
}

/** The activity between two frames; rates are per second. */
export interface Moment {
  readonly time_ms: number
  readonly over_s: number
  readonly updates: number
  readonly reads: number
  /** One for each failed part of a response; one for a response that is an error as a whole. None of the console's own requests. */
  readonly errors: number
  readonly update: Spread
  readonly read: Spread
  readonly notified: number
  readonly undelivered: number
  /** For how long the oldest notification that is to be sent has waited. */
  readonly lag_s: number
  readonly rejected: number
  /** Undefined while waits are not measured. */
  readonly waits: Readonly<Record<StageName, Spread>> | undefined
  /** The buckets of the waits, for a heat map. */
  readonly waitBuckets: Readonly<Record<StageName, Float64Array>> | undefined
  readonly partitions: readonly PartitionMoment[]
  /** The utilisation of each thread, in the order of the hello. */
  readonly busy: readonly number[]
}

/** The activity between two frames of the same process. */
export function momentOf(hello: LiveHello, before: WholeFrame, now: WholeFrame): Moment {
  const { frame } = now
  const over_s = Math.max(0.001, (frame.time_ms - before.frame.time_ms) / 1000)
  const traffic = trafficOf(hello, before.frame, frame)
  const deliveries = (name: 'accepted' | 'simulated' | 'trouble' | 'refused' | 'dropped') =>
    (frame.deliveries[name] - before.frame.deliveries[name]) / over_s
  const busy = busyOf(before.frame, frame)
  const waits = waitsOf(hello, before.frame, frame)
  return {
    time_ms: frame.time_ms,
    over_s,
    updates: traffic.updates / over_s,
    reads: traffic.reads / over_s,
    errors: traffic.errors / over_s,
    update: traffic.update,
    read: traffic.read,
    notified: deliveries('accepted') + deliveries('simulated'),
    undelivered: deliveries('trouble') + deliveries('refused') + deliveries('dropped'),
    lag_s: waitingIn(frame).lag_s,
    rejected: (total(frame.rejected) - total(before.frame.rejected)) / over_s,
    waits: waits && mapStages((stage) => waits[stage].spread),
    waitBuckets: waits && mapStages((stage) => waits[stage].counts),
    partitions: partitionsOf(hello, before, now, over_s, busy),
    busy,
  }
}

/** The notifications that wait to be sent or are under way, and for how long the oldest of them; none that is withheld. */
export function waitingIn({ deliveries, time_ms }: Pick<LiveFrame, 'deliveries' | 'time_ms'>) {
  const { outboxes, withheld, oldest_ms } = deliveries
  const depth = outboxes.reduce((sum, [waiting]) => sum + waiting, 0)
  return {
    depth: Math.max(0, depth - withheld),
    lag_s: oldest_ms === null ? 0 : Math.max(0, time_ms - oldest_ms) / 1000,
  }
}

function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
}

/** The difference of two distributions, as a spread. */
function spreadOf(bounds: readonly number[], before: LiveBuckets, now: LiveBuckets, sum_s: number | undefined): Spread {
  const counts = bucketCounts(now, bounds.length)
  addCounts(counts, before, -1)
  return spreadOfCounts(bounds, counts, sum_s)
}

/** The spread of durations by their buckets, the last of which has no bound; with `sum_s` also their mean. */
export function spreadOfCounts(
  bounds: readonly number[],
  counts: Float64Array,
  sum_s: number | undefined,
  zeros = 0,
): Spread {
  const count = sumOf(counts) + zeros
  return {
    p50_s: quantileOf(bounds, counts, 0.5, zeros),
    p99_s: quantileOf(bounds, counts, 0.99, zeros),
    mean_s: count > 0 && sum_s !== undefined ? sum_s / count : Number.NaN,
    count,
  }
}

function trafficOf(hello: LiveHello, before: LiveFrame, now: LiveFrame) {
  const bounds = hello.durationBounds_s
  const counts = { updates: new Float64Array(bounds.length + 1), reads: new Float64Array(bounds.length + 1) }
  const sums = { updates: 0, reads: 0 }
  const own = hello.routes.findIndex(({ name }) => name === consoleRoute)
  let failed = 0
  const add = (frame: LiveFrame, times: 1 | -1) => {
    for (const { route, method, durations, total_s } of frame.requests) {
      const kind = kindOf(hello, route, method)
      if (kind === undefined) continue
      addCounts(counts[kind], durations, times)
      sums[kind] += times * total_s
    }
    for (const [route, , , count] of frame.errors) if (route !== own) failed += times * count
  }
  add(before, -1)
  add(now, 1)
  return {
    updates: sumOf(counts.updates),
    reads: sumOf(counts.reads),
    errors: failed,
    update: spreadOfCounts(bounds, counts.updates, sums.updates),
    read: spreadOfCounts(bounds, counts.reads, sums.reads),
  }
}

function kindOf({ routes, methods }: LiveHello, route: number, method: number): 'updates' | 'reads' | undefined {
  const name = methods[method] ?? ''
  if (routes[route]?.updates.includes(name)) return 'updates'
  return routes[route]?.reads.includes(name) ? 'reads' : undefined
}

function busyOf(before: LiveFrame, now: LiveFrame): readonly number[] {
  return now.threads.map(([busy_ms, looked_ms], at) => {
    const [busyBefore_ms = 0, lookedBefore_ms = 0] = before.threads[at] ?? []
    const share = (busy_ms - busyBefore_ms) / (looked_ms - lookedBefore_ms)
    return Number.isFinite(share) ? Math.min(1, Math.max(0, share)) : Number.NaN
  })
}

interface StageWaits {
  readonly spread: Spread
  readonly counts: Float64Array
}

function mapStages<Value>(value: (stage: StageName) => Value): Readonly<Record<StageName, Value>> {
  return {
    request: value('request'),
    mailbox: value('mailbox'),
    transaction: value('transaction'),
    dbConnectionPool: value('dbConnectionPool'),
  }
}

/** Waits count since the last reset: a frame from before it cannot be subtracted. */
function waitsOf(
  { durationBounds_s: bounds }: LiveHello,
  { waits: before }: LiveFrame,
  { waits: now }: LiveFrame,
): Readonly<Record<StageName, StageWaits>> | undefined {
  if (now === null) return undefined
  const known = before?.since_ms === now.since_ms ? before : undefined
  return mapStages((stage) => {
    const [was, is]: readonly (LiveWaitDistribution | undefined)[] = [known?.[stage], now[stage]]
    const counts = bucketCounts(is?.buckets ?? [], bounds.length)
    if (was !== undefined) addCounts(counts, was.buckets, -1)
    const count = (is?.count ?? 0) - (was?.count ?? 0)
    const total_s = Number(BigInt(is?.total_ns ?? 0) - BigInt(was?.total_ns ?? 0)) / 1e9
    const zeros = Math.max(0, count - sumOf(counts))
    return { spread: spreadOfCounts(bounds, counts, total_s, zeros), counts }
  })
}

function partitionsOf(
  hello: LiveHello,
  before: WholeFrame,
  now: WholeFrame,
  over_s: number,
  busy: readonly number[],
): readonly PartitionMoment[] {
  const bounds = hello.durationBounds_s
  const threads = new Map(
    hello.threads.flatMap(({ kind, number }, at) => (kind === 'partition' ? [[number, busy[at] ?? Number.NaN]] : [])),
  )
  const partitions = now.frame.partitions
  return Array.from({ length: hello.partitions }, (_, number) => {
    const figure = (name: keyof LivePartitions) => partitions[name][number] ?? 0
    const grown = (name: keyof LivePartitions) => figure(name) - (before.frame.partitions[name][number] ?? 0)
    const commit_s = grown('commit_s')
    const [was, is] = [before.distributions.get(number), now.distributions.get(number)]
    return {
      number,
      commitShare: Math.min(1, Math.max(0, commit_s) / over_s),
      busy: threads.get(number) ?? Number.NaN,
      mailboxDepth: figure('mailboxDepth'),
      commands: grown('commands') / over_s,
      commit: spreadOf(bounds, was?.commits ?? [], is?.commits ?? [], commit_s),
      sync: spreadOf(bounds, was?.syncs ?? [], is?.syncs ?? [], undefined),
      entities: figure('entities'),
      used_bytes: figure('used_bytes'),
      restarts: figure('restarts'),
      isFull: figure('isFull') === 1,
    }
  })
}

/** The counts of all buckets from their sent form: one more than there are bounds. */
export function bucketCounts(sent: LiveBuckets, bounds: number): Float64Array {
  const counts = new Float64Array(bounds + 1)
  addCounts(counts, sent, 1)
  return counts
}

/** Adds the sent form to counts (1) or subtracts it (-1). */
export function addCounts(counts: Float64Array, sent: LiveBuckets, times: 1 | -1): void {
  const [first = 0] = sent
  for (let at = 1; at < sent.length; at += 1) {
    const bucket = first + at - 1
    if (bucket < counts.length) counts[bucket] = (counts[bucket] ?? 0) + times * (sent[at] ?? 0)
  }
}

function sumOf(counts: Float64Array): number {
  return counts.reduce((sum, count) => sum + count, 0)
}

/**
 * The quantile of a share of the values, in the unit of the bounds: within a bucket values count as evenly distributed; beyond
 * the last bound the result is that bound. NaN without values. `zeros` values of 0 are added.
 */
export function quantileOf(bounds: readonly number[], counts: Float64Array, share: number, zeros = 0): number {
  const all = sumOf(counts) + zeros
  if (all <= 0) return Number.NaN
  let left = share * all - zeros
  if (left <= 0) return 0
  for (const [bucket, count] of counts.entries()) {
    if (count <= 0) continue
    const low = bucket === 0 ? 0 : (bounds[bucket - 1] ?? 0)
    if (left <= count) return low + ((bounds[bucket] ?? low) - low) * (left / count)
    left -= count
  }
  return bounds.at(-1) ?? Number.NaN
}
