import type { LiveDistributions, LiveFrame, LiveHello, LiveHistory } from '../live-frame.js'
import { type Moment, momentOf, stageNames, type WholeFrame } from './moment.js'
import { Observable } from './observable.js'
import { type ChartedMoment, pastMoment } from './past-moments.js'
import { Series } from './series.js'
import { compareVersions, fromJson, isOutdated, paused, readOnly, sentenceOf } from './session.js'
import { readStream } from './stream-reader.js'

/** The current state of the broker. */
export interface Live {
  readonly hello: LiveHello
  readonly latest: WholeFrame
  /** The frame of ten seconds ago, or the first one; undefined with the first frame. */
  readonly earlier: WholeFrame | undefined
  /** The last ten seconds, or as many as there are; undefined with the first frame. */
  readonly recent: Moment | undefined
}

/** The state of the stream; while it is lost, since when, why, and when it is tried again. */
export type Connection =
  | { readonly kind: 'opening' }
  | { readonly kind: 'open' }
  | { readonly kind: 'lost'; readonly since_ms: number; readonly fault: string; readonly next_ms: number }

/** Undefined until the first frame. Keeps the last state while the console is paused or the stream is lost. */
export const live = new Observable<Live | undefined>(undefined)

/** The state of the stream that the figures come from. */
export const connection = new Observable<Connection>({ kind: 'opening' })

/** The last hour; also recorded while the console is paused. */
export const series = new Series()

/** Restarts of the broker that the console has seen, in milliseconds since 1970. */
export const restarts = new Observable<readonly number[]>([])

/** The number of restarts that are marked. */
const manyRestarts = 50
/** The number of frames that are kept, to subtract the first from the last. */
const recentFrames = 11

let hello: LiveHello | undefined
let frames: WholeFrame[] = []

/** Follows the live figures from now on. */
export function followLive(): void {
  readStream('/admin/live?history=all', {
    opened: () => connection.set({ kind: 'open' }),
    event: (name, text) => {
      if (name === 'hello') greet(fromJson(text))
      else if (name === 'history' && !isOutdated.value) recall(fromJson(text))
      else if (name === 'frame' && !isOutdated.value) take(fromJson(text))
    },
    lost: (fault, wait_ms) => {
      const { value } = connection
      const since_ms = value.kind === 'lost' ? value.since_ms : Date.now()
      const reason = fault === undefined ? 'the broker has ended the connection' : sentenceOf(fault)
      connection.set({ kind: 'lost', since_ms, fault: reason, next_ms: Date.now() + wait_ms })
    },
  })
}

function greet(greeting: LiveHello): void {
  compareVersions(greeting)
  if (hello !== undefined && hello.processStart_ms !== greeting.processStart_ms) {
    frames = []
    restarts.set([...restarts.value, greeting.processStart_ms].slice(-manyRestarts))
  }
  hello = greeting
  readOnly.set(greeting.isReadOnly)
}

/** What the broker has kept of the time before the page was opened, or in which it had no connection. */
function recall({ samples }: LiveHistory): void {
  if (hello === undefined) return
  for (const sample of samples) {
    const moment = pastMoment(hello, sample)
    const end_s = Math.floor(sample.time_ms / 1000)
    const begin_s = Math.floor(sample.time_ms / 1000 - sample.over_s)
    // What the page has seen itself is finer.
    for (let second = Math.max(begin_s, series.latest_s) + 1; second <= end_s; second += 1) record(second, moment)
  }
}

function take(frame: LiveFrame): void {
  if (hello === undefined) return
  const before = frames.at(-1)
  const distributions = new Map<number, LiveDistributions>(before?.distributions)
  for (const each of frame.distributions) distributions.set(each.partition, each)
  const whole = { frame, distributions }
  if (before !== undefined) record(Math.floor(frame.time_ms / 1000), momentOf(hello, before, whole))
  frames = [...frames, whole].slice(-recentFrames)
  const [first] = frames
  const recent = first === undefined || first === whole ? undefined : momentOf(hello, first, whole)
  if (!paused.value) live.set({ hello, latest: whole, earlier: first === whole ? undefined : first, recent })
}

/** The names of the series that are kept. */
export const courses = {
  busy: (thread: number) => `busy ${thread}`,
  waitBucket: (stage: string, bucket: number) => `wait ${stage} ${bucket}`,
} as const

function record(second: number, moment: ChartedMoment): void {
  const values: Record<string, number> = {
    updates: moment.updates,
    reads: moment.reads,
    errors: moment.errors,
    p50Update: moment.update.p50_s,
    p99Update: moment.update.p99_s,
    p99Read: moment.read.p99_s,
    notified: moment.notified,
    lag: moment.lag_s,
  }
  for (const [thread, share] of moment.busy.entries()) values[courses.busy(thread)] = share
  for (const stage of stageNames) {
    const counts = moment.waitBuckets?.[stage]
    if (counts === undefined) continue
    for (const [bucket, count] of counts.entries()) values[courses.waitBucket(stage, bucket)] = count
  }
  series.record(second, values)
}
