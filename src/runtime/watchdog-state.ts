import type { Nanoseconds } from '../time.js'

/** One look at a watched thread. */
export interface LookedAt {
  readonly row: number
  /** The system's number of the thread; it changes when a thread has ended and another one took its row. */
  readonly thread: number
  /** See `ThreadBeat`. */
  readonly isBeginning: boolean
  readonly beats: bigint
  readonly writingSince: Nanoseconds
  /** Whether the system still has the thread. */
  readonly isThere: boolean
  /** How long it has waited for a processor since its start; undefined where the system does not say. */
  readonly waited: Nanoseconds | undefined
}

/** What the looks so far say of a thread. */
interface Watched {
  readonly thread: number
  readonly beats: bigint
  readonly writingSince: Nanoseconds
  readonly waited: Nanoseconds | undefined
  /** How long it has shown no beat, of the time that counts. */
  readonly silent: Nanoseconds
  /** How long it has been inside the same write transaction, of the time that counts. */
  readonly writing: Nanoseconds
}

export interface WatchdogState {
  /** When threads were last looked at. */
  readonly looked: Nanoseconds | undefined
  /** By row. */
  readonly watched: ReadonlyMap<number, Watched>
}

export const nothingSeen: WatchdogState = { looked: undefined, watched: new Map() }

export interface StandStill {
  readonly row: number
  readonly why: 'silent' | 'writing' | 'endedWriting'
  readonly duration: Nanoseconds
}

export interface WatchdogLimits {
  /** How often threads are looked at. */
  readonly interval: Nanoseconds
  readonly silence: Nanoseconds
  /** How much longer a thread may be silent that loads its program: how long it waits for a processor is not known. */
  readonly beginning: Nanoseconds
}

/**
 * The state after a look at the threads, and the first thread that stands still. A false alarm is worse than a late one, so time
 * counts for a thread only where it could certainly have run:
 *
 * | between two looks                                           | counts                                     |
 * |-------------------------------------------------------------|--------------------------------------------|
 * | the look itself was late: the process was stopped           | nothing                                    |
 * | the thread has waited for a processor                       | the rest of the time                       |
 * | the thread has shown a beat                                 | no silence, and what was counted is over   |
 * | it is not inside the write transaction of the look before   | no writing, and what was counted is over   |
 * | another thread has taken its place                          | nothing, and what was counted is over      |
 * | it has ended, outside of a write transaction                | it is no longer watched                    |
 * | it has ended inside of one: the lock is never given back    | writing                                    |
 */
export function looked(
  { looked: before, watched }: WatchdogState,
  at: Nanoseconds,
  threads: readonly LookedAt[],
  { interval, silence, beginning }: WatchdogLimits,
): { readonly state: WatchdogState; readonly standStill: StandStill | undefined } {
  const gap = before === undefined ? 0n : at - before
  const counted = gap > 2n * interval ? 0n : gap
  const next = new Map<number, Watched>()
  let standStill: StandStill | undefined
  for (const thread of threads) {
    if (!thread.isThere && thread.writingSince === 0n) continue
    const seen = after(watched.get(thread.row), thread, counted)
    next.set(thread.row, seen)
    standStill ??= standingStill(thread, seen, thread.isBeginning ? silence + beginning : silence)
  }
  return { state: { looked: at, watched: next }, standStill }
}

function after(seen: Watched | undefined, found: LookedAt, counted: Nanoseconds): Watched {
  const { thread, beats, writingSince, waited } = found
  const begun = { thread, beats, writingSince, waited, silent: 0n, writing: 0n }
  if (seen === undefined || seen.thread !== thread) return begun
  const ran = ranFor(counted, seen.waited, waited)
  const isSilent = found.isThere && seen.beats === beats
  const isWriting = writingSince !== 0n && seen.writingSince === writingSince
  return {
    ...begun,
    silent: isSilent ? seen.silent + ran : 0n,
    writing: isWriting ? seen.writing + ran : 0n,
  }
}

/** How much of a time the thread could have run. */
function ranFor(counted: Nanoseconds, before: Nanoseconds | undefined, waited: Nanoseconds | undefined): Nanoseconds {
  if (waited === undefined) return counted
  // There is no earlier look to compare with.
  if (before === undefined) return 0n
  const left = counted - (waited - before)
  return left > 0n && left <= counted ? left : 0n
}

function standingStill(
  { row, isThere }: LookedAt,
  { silent, writing }: Watched,
  silence: Nanoseconds,
): StandStill | undefined {
  if (writing < silence && silent < silence) return undefined
  // A beat may be due just before a write transaction begins, so a thread that waits in one may be silent for one look
  // longer.
  if (writing > 0n) return { row, why: isThere ? 'writing' : 'endedWriting', duration: writing }
  return { row, why: 'silent', duration: silent }
}
