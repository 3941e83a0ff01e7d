import { type Reader, readFlag, readList, readMembers, readNumber, readOptional, readText } from '../raw.js'

/** Waits for one resource as `/admin/waits` has them: durations are seconds with nine decimals, as texts, so that no digit is lost. */
export interface WaitsOf {
  readonly count: number
  readonly waited: number
  readonly total: string
  readonly max: string
  readonly p50: string
  readonly p90: string
  readonly p99: string
  readonly p999: string
}

/** Waits for one resource, and for it in each partition, if each has one. */
export interface KindOfWait extends WaitsOf {
  readonly partitions?: readonly PartitionWaits[] | undefined
}

/** Waits for one resource in one partition. */
export type PartitionWaits = WaitsOf & { readonly partition: number }

/** All waits by their resources. */
export type KindsOfWaits = Readonly<Record<WaitName, KindOfWait>>

/** What `/admin/waits` says; nothing but that it is off while waits are not measured. */
export interface WaitsReading {
  readonly enabled: boolean
  /** For how long counting has gone on. */
  readonly interval_s: number
  readonly kinds: KindsOfWaits | undefined
}

/** The resource that `readWaits` reads. */
export const waitsPath = '/admin/waits?details=on'

/** The resources that requests wait for, in the order in which an update needs them; reads need the last one. */
export const waitNames = ['request', 'mailbox', 'transaction', 'dbConnectionPool'] as const
export type WaitName = (typeof waitNames)[number]

/** The figures of a wait, by the names that the broker has for them. */
export const waitFigures = ['count', 'waited', 'total', 'max', 'p50', 'p90', 'p99', 'p999'] as const
export type WaitFigure = (typeof waitFigures)[number]

const figures = {
  count: readNumber,
  waited: readNumber,
  total: readText,
  max: readText,
  p50: readText,
  p90: readText,
  p99: readText,
  p999: readText,
}

const kind: Reader<KindOfWait> = readMembers({
  ...figures,
  partitions: readOptional(readList(readMembers({ ...figures, partition: readNumber }))),
})

const reading = readMembers({
  enabled: readFlag,
  interval: readOptional(readText),
  waits: readOptional(readMembers({ request: kind, mailbox: kind, transaction: kind, dbConnectionPool: kind })),
})

/** Reads `/admin/waits` with its details. */
export const readWaits: Reader<WaitsReading> = (raw) => {
  const { enabled, interval = '0', waits } = reading(raw)
  return { enabled, interval_s: Number(interval), kinds: waits }
}

/** What a wait is for, what a high value means, and what can be turned. */
export const waitMeanings: Readonly<
  Record<
    WaitName,
    { readonly title: string; readonly what: string; readonly high: string; readonly turn: readonly string[] }
  >
> = {
  request: {
    title: 'Permit to work',
    what: 'One of the permits to work; a request has none while a query thread or a context provider works for it.',
    high: 'More arrives than is finished; the other waits say where it is stuck.',
    turn: ['-reqPoolSize'],
  },
  mailbox: {
    title: 'Mailbox',
    what: "From entering a partition's mailbox until its thread takes it out.",
    high: "High while the write transaction's is low: the thread does not get to run, so the processors are busy.",
    turn: ['rigel reshard -partitions'],
  },
  transaction: {
    title: 'Write transaction',
    what: "Its partition's write transaction, while the turn before is under way.",
    high: 'A slow disk, or one partition with more writes than it can take.',
    turn: ['-writeConcern', 'rigel reshard -partitions'],
  },
  dbConnectionPool: {
    title: 'Read handle',
    what: 'One of the read handles of a partition.',
    high: 'Long scans, or a small pool.',
    turn: ['-dbPoolSize'],
  },
}
