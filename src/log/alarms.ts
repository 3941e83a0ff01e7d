import { alarmSubject } from './kept-name.js'
import type { LineContext, Log } from './log.js'

/** What can be wrong for a while [management 10.7]. */
export const alarmKinds = [
  'BadInput',
  'NotificationError',
  'ForwardingError',
  'MqttConnectionError',
  'DatabaseError',
] as const
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
  readonly #counts = {
    BadInput: zero(),
    NotificationError: zero(),
    ForwardingError: zero(),
    MqttConnectionError: zero(),
    DatabaseError: zero(),
  }

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
      else this.#log.trace('alarm', text, { occurrences: held.occurrences }, context)
      return
    }
    this.#active.set(key, { kind, occurrences: 1 })
    this.#counts[kind].active += 1
    this.#counts[kind].raised += 1
    const text = `Raising alarm ${shown(kind, subject)}: ${reason}`
    this.#say(kind, text, context)
    this.#log.trace('alarm', text, { occurrences: 1 }, context)
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
    this.#log.trace('alarm', text, { occurrences: held.occurrences }, context)
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

/** What a summary is made of: all numbers since the start [management 10.7]. */
interface SummaryCounts {
  readonly transactions: number | bigint
  readonly alarms: AlarmCounts
}

/** The lines of a summary, with what is new since the one before. */
export function summaryLines(counts: SummaryCounts, before: SummaryCounts): readonly string[] {
  const { alarms, transactions } = counts
  const fresh = BigInt(transactions) - BigInt(before.transactions)
  const active = (title: string, kind: keyof AlarmCounts) =>
    `${title} active alarms: ${alarms[kind].active}, ${changesOf(alarms[kind], before.alarms[kind])}`
  const database = alarms.DatabaseError.active === 0 ? 'ok' : 'erroneous'
  return [
    `Transactions: ${transactions} (new: ${fresh})`,
    `DB status: ${database}, ${changesOf(alarms.DatabaseError, before.alarms.DatabaseError)}`,
    active('Notification failure', 'NotificationError'),
    active('Forwarding failure', 'ForwardingError'),
    active('MQTT connection failure', 'MqttConnectionError'),
    active('Bad input', 'BadInput'),
  ]
}

/** Writes a summary in every period until the returned function is called; none with 0. */
export function startSummaries(
  period_s: number,
  counts: () => SummaryCounts,
  log: { summary(op: string, message: string): void },
): () => void {
  if (period_s === 0) return () => {}
  let before = counts()
  let left_s = period_s
  // A timer can not hold the longest period of `-logSummary`, so it is waited for in parts.
  const part_s = () => Math.min(left_s, 86400)
  let waited_s = part_s()
  let timer = setTimeout(tick, waited_s * 1000).unref()
  return () => clearTimeout(timer)

  function tick(): void {
    left_s -= waited_s
    if (left_s <= 0) {
      const now = counts()
      for (const line of summaryLines(now, before)) log.summary('log:summary', line)
      before = now
      left_s = period_s
    }
    waited_s = part_s()
    timer = setTimeout(tick, waited_s * 1000).unref()
  }
}

function changesOf(now: AlarmCount, before: AlarmCount): string {
  const text = (name: 'raised' | 'released') => `${name}: (total: ${now[name]}, new: ${now[name] - before[name]})`
  return `${text('raised')}, ${text('released')}`
}
