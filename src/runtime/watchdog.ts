import { existsSync, readFileSync } from 'node:fs'
import { tellReason } from '../observe/log/worker-log.js'
import type { ThreadBeats } from '../threads/shared-memory/thread-beats.js'
import type { Nanoseconds } from '../time.js'
import { type LookedAt, looked, nothingSeen, type StandStill, type WatchdogState } from './watchdog-state.js'

interface WatchdogParts {
  readonly beats: ThreadBeats
  /** The rows of the watched threads, and their names in log lines. */
  readonly threads: readonly { readonly row: number; readonly name: string }[]
  /** How long a thread may stand still; 0: for ever. */
  readonly silence_s: number
  /** Called with the reason as a text when a thread stands still. */
  readonly standsStill: (reason: string) => void
}

const look_ms = 1000

/** A thread loads its program in 0.3 s; with forty others that want the same processor, in twelve. */
const beginning_s = 30n

/** Watches the threads until the function that it gives is called. The calling thread is not watched. */
export function watchThreads({ beats, threads, silence_s, standsStill }: WatchdogParts): () => void {
  if (silence_s === 0) return () => {}
  const limits = {
    interval: BigInt(look_ms) * 1_000_000n,
    silence: BigInt(silence_s) * 1_000_000_000n,
    beginning: beginning_s * 1_000_000_000n,
  }
  const names = new Map(threads.map(({ row, name }) => [row, name]))
  let state: WatchdogState = nothingSeen
  const look = (): void => {
    const found = threads.flatMap(({ row }) => lookAt(beats, row))
    const next = looked(state, process.hrtime.bigint(), found, limits)
    state = next.state
    if (next.standStill === undefined) return
    clearInterval(timer)
    standsStill(standStillText(names.get(next.standStill.row) ?? 'a thread', next.standStill))
  }
  const timer = setInterval(look, look_ms).unref()
  return () => clearInterval(timer)
}

/** Ends the process because its main thread stands still; called by the thread that found this out. */
export function endAtOnce(reason: string): void {
  tellReason('main:fatal', `${reason}: the process ends at once (-threadSilence)`)
  process.kill(process.pid, 'SIGKILL')
}

function lookAt(beats: ThreadBeats, row: number): readonly LookedAt[] {
  const { isWatched, isBeginning, thread, beats: shown, writingSince } = beats.of(row)
  if (!isWatched && writingSince === 0n) return []
  return [{ row, thread, isBeginning, beats: shown, writingSince, ...systemView(thread) }]
}

/**
 * What the system says of a thread: the second number of `schedstat` is how long the thread was ready and had no
 * processor, in ns.
 */
function systemView(thread: number): { readonly isThere: boolean; readonly waited: Nanoseconds | undefined } {
  if (thread === 0) return { isThere: true, waited: undefined }
  const folder = `/proc/self/task/${thread}`
  try {
    const [, waited] = readFileSync(`${folder}/schedstat`, 'utf8').split(' ')
    return { isThere: true, waited: waited === undefined ? undefined : BigInt(waited) }
  } catch {
    return { isThere: existsSync(folder), waited: undefined }
  }
}

function standStillText(name: string, { why, duration }: StandStill): string {
  const duration_s = duration / 1_000_000_000n
  if (why === 'writing') return `${name} has been inside a write transaction for ${duration_s} s`
  if (why === 'endedWriting') return `${name} has ended inside a write transaction, which blocks all later ones`
  return `${name} has not answered for ${duration_s} s`
}
