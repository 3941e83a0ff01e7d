import { type AlarmCounts, type AlarmKind, alarmKinds } from './alarms.js'
import { alarmSubject } from './kept-name.js'

/** What a thread says of a condition: it has occurred, for a reason, or is over. */
export interface AlarmReport {
  readonly kind: 'alarm'
  readonly alarm: AlarmKind
  readonly subject: string
  readonly reason: string | undefined
}

/** Subjects of which it is remembered that they were said to be well. */
const mostRemembered = 10_000

/**
 * How threads tell the main thread, which keeps the alarms, of conditions [management 10.7]. That all is well is worth a
 * message only while an alarm of that kind is active, once per subject and alarm: so what is usual costs one look.
 */
export class AlarmReports {
  /**
   * For each kind how many alarms are active, and how often one was raised, or came back while its release was held; written
   * by the main thread.
   */
  readonly #counts: Int32Array
  readonly #tell: (said: AlarmReport) => void
  /** How often alarms had been raised or come back when a subject was last said to be well. */
  readonly #saidWell = new Map<string, number>()

  static memory(): SharedArrayBuffer {
    return new SharedArrayBuffer(2 * alarmKinds.length * Int32Array.BYTES_PER_ELEMENT)
  }

  constructor(memory: SharedArrayBuffer, tell: (said: AlarmReport) => void) {
    this.#counts = new Int32Array(memory)
    this.#tell = tell
  }

  /** Whether there is an alarm of this kind, of whatever subject. */
  isActive(alarm: AlarmKind): boolean {
    return Atomics.load(this.#counts, 2 * alarmKinds.indexOf(alarm)) > 0
  }

  occurred(alarm: AlarmKind, subject: string, reason: string): void {
    this.#tell({ kind: 'alarm', alarm, subject: alarmSubject(subject), reason })
  }

  /** The condition does not hold of this subject. */
  over(alarm: AlarmKind, subject: string): void {
    if (!this.isActive(alarm)) return
    const raised = Atomics.load(this.#counts, 2 * alarmKinds.indexOf(alarm) + 1)
    const name = alarmSubject(subject)
    const key = `${alarm} ${name}`
    if (this.#saidWell.get(key) === raised) return
    if (this.#saidWell.size >= mostRemembered) this.#saidWell.clear()
    this.#saidWell.set(key, raised)
    this.#tell({ kind: 'alarm', alarm, subject: name, reason: undefined })
  }
}

/** Lets all threads know how the alarms stand; for the main thread only. */
export function publishAlarms(memory: SharedArrayBuffer, counts: AlarmCounts): void {
  const cells = new Int32Array(memory)
  for (const [at, kind] of alarmKinds.entries()) {
    Atomics.store(cells, 2 * at, counts[kind].active)
    Atomics.store(cells, 2 * at + 1, counts[kind].raised + counts[kind].relapsed)
  }
}
