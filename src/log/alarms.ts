import { traceArea } from '../trace-area.js'
import { alarmSubject } from './kept-name.js'
import type { LineContext, Log } from './log.js'

/** What can be wrong for a while [management 10.7]. */
export const alarmKinds = ['BadInput', 'NotificationError', 'ForwardingError', 'DatabaseError'] as const
export type AlarmKind = (typeof alarmKinds)[number]

/** The alarms of one kind: active now, and raised and released since the start. */
export interface AlarmCount {
  readonly active: number
  readonly raised: number
  readonly released: number
}
export type AlarmCounts = Readonly<Record<AlarmKind, AlarmCount>>

/** Beyond this number the oldest alarm is forgotten [management 10.7]. */
const mostKept = 10_000

/** The alarms of the process, in its main thread. */
export class Alarms {
  readonly #log: Log
  readonly #relog: boolean
  readonly #mostKept: number
  /** The oldest first; how often each has occurred. */
  readonly #active = new Map<string, Alarm>()
  readonly #counts = { BadInput: zero(), NotificationError: zero(), ForwardingError: zero(), DatabaseError: zero() }

  /** `relog`: repetitions are logged as well (`-relogAlarms`). */
  constructor(log: Log, relog: boolean, kept = mostKept) {
    this.#log = log
    this.#relog = relog
    this.#mostKept = kept
  }

  /**
   * The condition has occurred. The subject is an address or URL; that of a DatabaseError is not shown, it only tells
   * the conditions of several partitions apart.
   */
  raise(kind: AlarmKind, of: string, reason: string, context?: LineContext): void {
    const subject = alarmSubject(of)
    const key = `${kind} ${subject}`
    const held = this.#active.get(key)
    if (held !== undefined) {
      held.occurrences += 1
      const text = `Repeated ${shown(kind, subject)}: ${reason}`
      if (this.#relog && this.#log.shows(levelOf(kind))) this.#say(kind, text, context)
      else this.#trace(text, held.occurrences, context)
      return
    }
    this.#active.set(key, { kind, occurrences: 1 })
    this.#counts[kind].active += 1
    this.#counts[kind].raised += 1
    const text = `Raising alarm ${shown(kind, subject)}: ${reason}`
    this.#say(kind, text, context)
    this.#trace(text, 1, context)
    if (this.#active.size > this.#mostKept) this.#forgetOldest()
  }

  /** The condition is over; costs next to nothing when there was none. */
  release(kind: AlarmKind, of: string, context?: LineContext): void {
    if (this.#active.size === 0) return
    const subject = alarmSubject(of)
    const key = `${kind} ${subject}`
    const held = this.#active.get(key)
    if (held === undefined) return
    this.#active.delete(key)
    this.#counts[kind].active -= 1
    this.#counts[kind].released += 1
    const text = `Releasing alarm ${shown(kind, subject)}`
    this.#say(kind, text, context)
    this.#trace(text, held.occurrences, context)
  }

  /** A copy, for summaries and metrics. */
  get counts(): AlarmCounts {
    return structuredClone(this.#counts)
  }

  #forgetOldest(): void {
    for (const [key, { kind }] of this.#active) {
      this.#active.delete(key)
      this.#counts[kind].active -= 1
      return
    }
  }

  #say(kind: AlarmKind, text: string, context: LineContext | undefined): void {
    if (levelOf(kind) === 'ERROR') this.#log.error('alarm', text, undefined, context)
    else this.#log.warn('alarm', text, undefined, context)
  }

  #trace(text: string, occurrences: number, context: LineContext | undefined): void {
    if (this.#log.traces[traceArea.alarm] === 1) this.#log.trace('alarm', text, { occurrences }, context)
  }
}

interface Alarm {
  readonly kind: AlarmKind
  occurrences: number
}

function zero(): { active: number; raised: number; released: number } {
  return { active: 0, raised: 0, released: 0 }
}

function levelOf(kind: AlarmKind): 'ERROR' | 'WARN' {
  return kind === 'DatabaseError' ? 'ERROR' : 'WARN'
}

function shown(kind: AlarmKind, subject: string): string {
  return kind === 'DatabaseError' ? kind : `${kind} ${subject}`
}
