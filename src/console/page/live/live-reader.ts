import type {
  LiveBuckets,
  LiveDeliveries,
  LiveDistributions,
  LiveFailing,
  LiveFrame,
  LiveHello,
  LivePartition,
  LivePartitionWait,
  LiveRequests,
  LiveThreadCounts,
  LiveWaitDistribution,
  LiveWaits,
} from '../../live-frame.js'
import {
  Misread,
  type Reader,
  readFlag,
  readList,
  readMap,
  readMembers,
  readNumber,
  readOptional,
  readText,
} from '../raw.js'

const numbers: Reader<LiveBuckets> = readList(readNumber)

/** A tuple: an element for each reader. */
function tupleOf<Elements extends readonly unknown[]>(
  ...readers: { readonly [At in keyof Elements]: Reader<Elements[At]> }
): Reader<Elements> {
  return (raw) => {
    if (!Array.isArray(raw) || raw.length < readers.length) throw new Misread(`no list of ${readers.length}`)
    // One element for each reader, of the type that it gives.
    return readers.map((reader, at) => reader(raw[at])) as unknown as Elements
  }
}

/** Null, or what is read. */
function orNull<Value>(reader: Reader<Value>): Reader<Value | null> {
  const read = readOptional(reader)
  return (raw) => read(raw) ?? null
}

const kinds = ['frontEnd', 'partition', 'queryThread', 'courier'] as const

const threadKind: Reader<(typeof kinds)[number]> = (raw) => {
  const found = kinds.find((kind) => kind === raw)
  if (found === undefined) throw new Misread('no kind of thread')
  return found
}

/** Reads the event `hello` of `/admin/live`. */
export const readHello: Reader<LiveHello> = readMembers({
  version: readText,
  gitHash: readText,
  host: readText,
  processStart_ms: readNumber,
  interval_ms: readNumber,
  partitions: readNumber,
  isDurable: readFlag,
  isReadOnly: readFlag,
  durationBounds_s: numbers,
  routes: readList(readMembers({ name: readText, updates: readList(readText), reads: readList(readText) })),
  methods: readList(readText),
  statusCodes: readList(readText),
  errorCodes: readList(readText),
  rejections: readList(readText),
  forwardResults: readList(readText),
  threads: readList(readMembers({ kind: threadKind, number: readNumber })),
  mailboxSize: readNumber,
  map_bytes: readNumber,
  keepFree_bytes: readNumber,
  memoryLimit_bytes: readNumber,
})

const requests: Reader<LiveRequests> = readMembers({
  route: readNumber,
  method: readNumber,
  codes: numbers,
  durations: numbers,
  total_s: readNumber,
})

const triple = tupleOf<readonly [number, number, number]>(readNumber, readNumber, readNumber)

const wait: Reader<LiveWaitDistribution> = readMembers({
  count: readNumber,
  waited: readNumber,
  total_ns: readText,
  max_ns: readText,
  buckets: numbers,
})

const partitionWait = tupleOf<LivePartitionWait>(readNumber, readNumber, readText, readText)

const waits: Reader<LiveWaits> = readMembers({
  since_ms: readNumber,
  request: wait,
  dbConnectionPool: wait,
  transaction: wait,
  mailbox: wait,
  partitions: readList(
    tupleOf<readonly [LivePartitionWait, LivePartitionWait, LivePartitionWait]>(
      partitionWait,
      partitionWait,
      partitionWait,
    ),
  ),
})

const zeroOrOne: Reader<0 | 1> = (raw) => (readNumber(raw) === 0 ? 0 : 1)

const partition = tupleOf<LivePartition>(
  readNumber,
  readNumber,
  readNumber,
  readNumber,
  readNumber,
  readNumber,
  readNumber,
  readNumber,
  zeroOrOne,
)

const distributions: Reader<LiveDistributions> = readMembers({
  partition: readNumber,
  commits: numbers,
  syncs: numbers,
  dbConnectionPool: numbers,
  transaction: numbers,
  mailbox: numbers,
})

const failing: Reader<LiveFailing> = readMembers({
  receiver: readText,
  since_ms: readNumber,
  failures: readNumber,
  reason: readText,
})

const deliveries: Reader<LiveDeliveries> = readMembers({
  accepted: readNumber,
  dropped: readNumber,
  simulated: readNumber,
  trouble: readNumber,
  refused: readNumber,
  attempts: numbers,
  queueWaits: numbers,
  outboxes: readList(tupleOf<readonly [number, number]>(readNumber, readNumber)),
  oldest_ms: orNull(readNumber),
  failing: orNull(readList(failing)),
})

const pairs = readMap(tupleOf<readonly [number, number]>(readNumber, readNumber))

/** Reads an event `frame` of `/admin/live`. */
export const readFrame: Reader<LiveFrame> = readMembers({
  processStart_ms: readNumber,
  sequence: readNumber,
  time_ms: readNumber,
  requests: readList(requests),
  sizes: readList(triple),
  errors: readList(triple),
  rejected: numbers,
  forwards: numbers,
  now: readMembers({
    connections: readNumber,
    inFlight: readNumber,
    permitsFree: readNumber,
    permitsTaken: readNumber,
    permitsQueued: readNumber,
    queriesWaiting: readNumber,
    queriesRunning: readNumber,
  }),
  waits: orNull(waits),
  partitions: readList(partition),
  distributions: readList(distributions),
  threads: readList(tupleOf<LiveThreadCounts>(readNumber, readNumber, readNumber, readNumber)),
  deliveries,
  alarms: (raw) => Object.fromEntries(pairs(raw)),
  memory: readMembers({ used_bytes: readNumber, resident_bytes: readNumber, left_bytes: readNumber }),
  disk: readMembers({ free_bytes: orNull(readNumber), left_bytes: orNull(readNumber), fullestMap: readNumber }),
  logLinesDropped: readNumber,
})
