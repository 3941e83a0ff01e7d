import type { ShownReceiver } from '../shapes.js'
import type { Tone } from './parts/small-parts.js'

/** The state of a receiver: whether its last attempt failed, or so much waits for so long that it is behind. */
export function receiverState(
  { accepted, lastFailure, lastSuccess, queueDepth, oldestQueued }: ShownReceiver,
  now_ms: number,
): { readonly tone: Tone; readonly text: string } {
  const isFailing =
    lastFailure !== undefined && (lastSuccess === undefined || Date.parse(lastFailure) > Date.parse(lastSuccess))
  if (isFailing) return { tone: 'bad', text: 'failing' }
  const age_s = oldestQueued === undefined ? 0 : (now_ms - Date.parse(oldestQueued)) / 1000
  const behind = backlogTone(queueDepth, age_s)
  if (behind !== undefined) return { tone: behind, text: 'behind' }
  return accepted === undefined ? { tone: 'plain', text: 'nothing sent yet' } : { tone: 'good', text: 'well' }
}

/** From these ages on it is a concern that notifications wait; few may wait longer than many. */
const long_s = { few: 30, many: 5, bad: 120 } as const
const many = 1000

/**
 * How bad it is that so many notifications wait for a receiver, the oldest for so long; undefined when it is no concern.
 * A burst that a receiver works off is none.
 */
export function backlogTone(depth: number, age_s: number): Extract<Tone, 'warning' | 'bad'> | undefined {
  if (depth === 0 || age_s < (depth >= many ? long_s.many : long_s.few)) return undefined
  return age_s >= long_s.bad ? 'bad' : 'warning'
}
