import { numberOf } from '../../number-of.js'
import { type Milliseconds, now } from '../../time.js'
import { FrequentEvent } from './frequent-event.js'
import type { LineContext, Log } from './log.js'
import { alarmSubject } from './secrets.js'

/** The conditions that raise alarms [management 10.7]. */
export const alarmKinds = [
  'BadInput',
  'NotificationError',
  'ForwardingError',
  'MqttConnectionError',
  'DatabaseError',
] as const
type AlarmKind = (typeof alarmKinds)[number]

/** What only some alarms of a kind are about: a lack of space. */
type AlarmCause = 'room'

/** The alarms of one kind: active now, and raised and released since the start. */
export interface AlarmCount {
  readonly active: number
  readonly raised: number
  readonly released: number
  /** How often a condition has come back while its release was held. */
  readonly relapsed: number
}
export type AlarmCounts = Readonly<Record<AlarmKind, AlarmCount>>

/** An active alarm: its cause, since when it is active, and how often it has occurred [console: data]. */
export interface ActiveAlarm {
  readonly kind: AlarmKind
  /** An address or URL without secrets; absent where the kind says it all. */
  readonly subject?: string | undefined
  readonly since: Milliseconds
  readonly occurrences: number
  readonly last: Milliseconds
  /** The reason of the last occurrence. */
  readonly reason: string
  /** Whether the condition is over, while the release is held. */
  readonly isOver: boolean
}

/** Beyond this number the oldest alarm is forgotten [management 10.7]. */
const mostKept = 10_000

/**
 * The least time between the raising and the release of an alarm. Some clients send good and bad requests in turns: holding the
 * release gives each of them two lines a minute, not two for each pair of requests.
 */
const hold_ms: Partial<Readonly<Record<AlarmKind, number>>> = { BadInput: 60_000 }

/**
 * How many lines there may be in 10 s about the alarms of a kind. A client names the subject of its BadInput itself, by a header of
 * proxies: it could cause a line, or two, with each bad request.
 */
const limitedKinds: readonly (readonly [kind: AlarmKind, mostLines: number])[] = [['BadInput', 20]]

interface AlarmSettings {
  /** Repetitions are logged as well (`-relogAlarms`). */
  readonly relog: boolean
  /** Called at every change of the counts. */
  readonly changed?: (counts: AlarmCounts) => void
  /** The limit of kept alarms; lower in tests. */
  readonly mostKept?: number
}

/** The alarms of the process, in its main thread. */
export class Alarms {
  readonly #log: Log
  readonly #settings: AlarmSettings
  /** The oldest first. */
  readonly #active = new Map<string, Alarm>()
  readonly #limited = new Map(limitedKinds.map(([kind, most]) => [kind, new FrequentEvent(undefined, most)]))
  readonly #counts = {
    BadInput: zero(),
    NotificationError: zero(),
    ForwardingError: zero(),
    MqttConnectionError: zero(),
    DatabaseError: zero(),
  }

  constructor(log: Log, settings: AlarmSettings) {
    this.#log = log
    this.#settings = settings
  }

  /**
   * The condition has occurred. The subject is an address or URL; that of a DatabaseError only tells the partitions apart and is
   * not shown.
   */
  raise(kind: AlarmKind, of: string, reason: string, context?: LineContext, cause?: AlarmCause): void {
    const subject = alarmSubject(of)
    const key = `${kind} ${subject}`
    const held = this.#active.get(key)
    if (held !== undefined) {
      this.#repeat(held, reason, `Repeated ${shown(kind, subject)}: ${reason}`, context)
      return
    }
    const at = now()
    const isOfRoom = cause === 'room'
    const alarm = { kind, subject, isOfRoom, occurrences: 1, raised: performance.now(), held: undefined }
    this.#active.set(key, { ...alarm, since: at, last: at, reason })
    this.#counts[kind].active += 1
    this.#counts[kind].raised += 1
    const text = `Raising alarm ${shown(kind, subject)}: ${reason}`
    this.#tell(kind, text, context)
    this.#log.trace('alarm', text, { occurrences: 1 }, context)
    if (this.#active.size > (this.#settings.mostKept ?? mostKept)) this.#forgetOldest()
    this.#changed()
  }

  /** The condition is over; cheap when there was none. The release of some kinds is held for a while. */
  release(kind: AlarmKind, of: string, context?: LineContext): void {
    if (this.#active.size === 0) return
    const subject = alarmSubject(of)
    const alarm = this.#active.get(`${kind} ${subject}`)
    if (alarm === undefined || alarm.held !== undefined) return
    const left_ms = alarm.raised + (hold_ms[kind] ?? 0) - performance.now()
    if (left_ms <= 0) this.#end(alarm, subject, context)
    else alarm.held = setTimeout(() => this.#end(alarm, subject, context), left_ms).unref()
  }

  get counts(): AlarmCounts {
    return structuredClone(this.#counts)
  }

  /** The active alarms, the newest first, at most this many. */
  list(most: number): readonly ActiveAlarm[] {
    return [...this.#active.values()].slice(-most).reverse().map(alarmShown)
  }

  /** The active alarms, the oldest first; to be read at once. */
  *active(): Iterable<Omit<ActiveAlarm, 'isOver'> & { readonly isOfRoom: boolean }> {
    for (const alarm of this.#active.values()) yield hidesSubject(alarm.kind) ? { ...alarm, subject: undefined } : alarm
  }

  #repeat(alarm: Alarm, reason: string, text: string, context: LineContext | undefined): void {
    const { kind } = alarm
    alarm.occurrences += 1
    alarm.last = now()
    alarm.reason = reason
    if (this.#settings.relog && this.#log.shows(levelOf(kind))) this.#say(kind, text, context)
    else this.#log.trace('alarm', text, { occurrences: alarm.occurrences }, context)
    if (alarm.held === undefined) return
    clearTimeout(alarm.held)
    alarm.held = undefined
    this.#counts[kind].relapsed += 1
    this.#changed()
  }

  #end(alarm: Alarm, subject: string, context: LineContext | undefined, note = ''): void {
    const { kind, occurrences } = alarm
    this.#active.delete(`${kind} ${subject}`)
    this.#counts[kind].active -= 1
    this.#counts[kind].released += 1
    const text = `Releasing alarm ${shown(kind, subject)}${note}`
    this.#tell(kind, text, context)
    this.#log.trace('alarm', text, { occurrences }, context)
    this.#changed()
  }

  #changed(): void {
    this.#settings.changed?.(this.#counts)
  }

  /** It counts as released, so that what was raised is either active or released. */
  #forgetOldest(): void {
    for (const alarm of this.#active.values()) {
      clearTimeout(alarm.held)
      this.#end(alarm, alarm.subject, undefined, ' (forgotten: too many others are active)')
      return
    }
  }

  /** An alarm has been raised or released. */
  #tell(kind: AlarmKind, text: string, context: LineContext | undefined): void {
    const limited = this.#limited.get(kind)
    const number = limited === undefined ? 1 : limited.happened()
    if (number === undefined) return
    const untold = number === 1 ? '' : ` (${numberOf(number - 1, 'line')} about other alarms ${kind} left out before)`
    this.#say(kind, `${text}${untold}`, context)
  }

  #say(kind: AlarmKind, text: string, context: LineContext | undefined): void {
    if (levelOf(kind) === 'ERROR') this.#log.error('alarm', text, undefined, context)
    else this.#log.warn('alarm', text, undefined, context)
  }
}

interface Alarm {
  readonly kind: AlarmKind
  readonly subject: string
  readonly isOfRoom: boolean
  readonly since: Milliseconds
  last: Milliseconds
  reason: string
  occurrences: number
  /** When it was raised, by `performance.now()`. */
  readonly raised: number
  /** While the condition is over and the release is held. */
  held: NodeJS.Timeout | undefined
}

function alarmShown({ kind, subject, since, occurrences, last, reason, held }: Alarm): ActiveAlarm {
  return {
    ...{ kind, since, occurrences, last, reason, isOver: held !== undefined },
    ...(!hidesSubject(kind) && { subject }),
  }
}

/** Whether the subject of a kind only tells its alarms apart. */
function hidesSubject(kind: AlarmKind): boolean {
  return kind === 'DatabaseError'
}

function zero() {
  return { active: 0, raised: 0, released: 0, relapsed: 0 }
}

function levelOf(kind: AlarmKind): 'ERROR' | 'WARN' {
  return kind === 'DatabaseError' ? 'ERROR' : 'WARN'
}

function shown(kind: AlarmKind, subject: string): string {
  return hidesSubject(kind) ? kind : `${kind} ${subject}`
}

/** The counts of a summary since the start [management 10.7]. */
interface SummaryCounts {
  readonly transactions: number | bigint
  readonly alarms: AlarmCounts
}

/** The lines of a summary, with the differences from the one before. */
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

/** Writes a summary in every period until the returned function is called; none for 0. */
export function startSummaries(
  period_s: number,
  counts: () => SummaryCounts,
  log: { summary(op: string, message: string): void },
): () => void {
  if (period_s === 0) return () => {}
  let before = counts()
  let left_s = period_s
  // A timer cannot hold the longest period of `-logSummary`, so it is split.
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

/** A thread's report: a condition has occurred, with the reason, or is over. */
export interface AlarmReport {
  readonly kind: 'alarm'
  readonly alarm: AlarmKind
  readonly subject: string
  readonly reason: string | undefined
}

/** The most subjects whose last report "over" is remembered. */
const mostRemembered = 10_000

/**
 * Reports conditions of threads to the main thread, which keeps the alarms [management 10.7]. "Over" is reported only while an
 * alarm of that kind is active, once per subject and alarm: the usual case costs one look at shared memory.
 */
export class AlarmReports {
  /**
   * Per kind, the number of active alarms, and how often one was raised or came back while its release was held; written by the
   * main thread.
   */
  readonly #counts: Int32Array
  readonly #tell: (report: AlarmReport) => void
  /** By subject: how often alarms had been raised or had come back at its last report "over". */
  readonly #reportedOver = new Map<string, number>()

  static memory(): SharedArrayBuffer {
    return new SharedArrayBuffer(2 * alarmKinds.length * Int32Array.BYTES_PER_ELEMENT)
  }

  constructor(memory: SharedArrayBuffer, tell: (report: AlarmReport) => void) {
    this.#counts = new Int32Array(memory)
    this.#tell = tell
  }

  /** Whether an alarm of this kind is active, for whatever subject. */
  isActive(alarm: AlarmKind): boolean {
    return Atomics.load(this.#counts, 2 * alarmKinds.indexOf(alarm)) > 0
  }

  occurred(alarm: AlarmKind, subject: string, reason: string): void {
    this.#tell({ kind: 'alarm', alarm, subject: alarmSubject(subject), reason })
  }

  /** The condition does not hold for this subject. */
  over(alarm: AlarmKind, subject: string): void {
    if (!this.isActive(alarm)) return
    const raised = Atomics.load(this.#counts, 2 * alarmKinds.indexOf(alarm) + 1)
    const name = alarmSubject(subject)
    const key = `${alarm} ${name}`
    if (this.#reportedOver.get(key) === raised) return
    if (this.#reportedOver.size >= mostRemembered) this.#reportedOver.clear()
    this.#reportedOver.set(key, raised)
    this.#tell({ kind: 'alarm', alarm, subject: name, reason: undefined })
  }
}

/** Publishes the state of the alarms to all threads; for the main thread only. */
export function publishAlarms(memory: SharedArrayBuffer, counts: AlarmCounts): void {
  const cells = new Int32Array(memory)
  for (const [at, kind] of alarmKinds.entries()) {
    Atomics.store(cells, 2 * at, counts[kind].active)
    Atomics.store(cells, 2 * at + 1, counts[kind].raised + counts[kind].relapsed)
  }
}
