import { writeSync } from 'node:fs'
import type { MessagePort } from 'node:worker_threads'
import { onMessages } from '../../threads/calls/messages.js'
import type { Switches } from '../../threads/shared-memory/switches.js'
import { type HandedLines, type Line, type LineContext, LineLog, type Log, lineWeight } from './log.js'

/** The most lines under way to the writing thread, long ones counted several times: for lines below ERROR, and for any. */
const usualUnderWay = 20_000
const mostUnderWay = 40_000
/** A tick that logs without end hands its lines over in parts. */
const batch = 500

/** The log of a thread other than the main one: the lines of a tick are handed over together, in order [management 10.2]. */
export function workerLog(port: MessagePort, switches: Switches, partition?: number): WorkerLog {
  return new WorkerLog(port, switches, partition)
}

class WorkerLog extends LineLog {
  readonly #port: MessagePort
  #gathered: Line[] = []
  #underWay = 0
  /** The dropped lines since the last line about them, and since the last handover. */
  #dropped = 0
  #unreported = 0

  constructor(port: MessagePort, switches: Switches, partition?: number) {
    super(switches, (line) => this.#put(line), partition)
    this.#port = port
    onMessages(port, (weight: number) => this.#taken(weight))
    port.unref()
  }

  /** Hands over the gathered lines, before the thread ends or is busy for long. */
  flush(): void {
    if (this.#gathered.length === 0) return
    const lines = this.#gathered
    this.#gathered = []
    const handed: HandedLines = { lines, dropped: this.#unreported }
    this.#unreported = 0
    this.#port.postMessage(handed)
  }

  #put(line: Line): void {
    const matters = line.level === 'ERROR' || line.level === 'FATAL'
    if (this.#underWay >= (matters ? mostUnderWay : usualUnderWay)) {
      this.#dropped += 1
      this.#unreported += 1
      return
    }
    this.#underWay += lineWeight(line)
    if (this.#gathered.push(line) === 1) setImmediate(() => this.flush())
    if (this.#gathered.length >= batch || line.level === 'FATAL') this.flush()
  }

  #taken(weight: number): void {
    this.#underWay -= weight
    if (this.#dropped === 0 || this.#underWay > usualUnderWay / 2) return
    const dropped = this.#dropped
    this.#dropped = 0
    const message = `${dropped} lines were dropped because the thread that writes the log did not keep up`
    this.warn('log:dropped', message, { dropped })
  }
}

/** Writes to standard error why the process ends at once, in place of the main thread, which stands still. */
export function tellReason(op: string, message: string): void {
  const line = { time: new Date().toISOString(), lvl: 'FATAL', comp: 'Rigel', op, msg: message }
  try {
    writeSync(2, `${JSON.stringify(line)}\n`)
  } catch {
    // Standard error is closed.
  }
}

/** The most damaged records that are remembered; beyond it the oldest ones are logged again. */
const mostNamed = 1000

/** Logs each damaged record that this thread meets once, and counts every time. */
export class DamageLog {
  readonly #log: Pick<Log, 'error'>
  readonly #count: () => void
  readonly #named = new Set<string>()

  constructor(log: Pick<Log, 'error'>, count: () => void) {
    this.#log = log
    this.#count = count
  }

  /** A damaged record was met; the message names its file, its key and the remedy. */
  met({ message }: Error, context?: LineContext): void {
    this.#count()
    const isNew = !this.#named.delete(message)
    this.#named.add(message)
    if (isNew) this.#log.error('storage:damage', message, undefined, context)
    if (this.#named.size <= mostNamed) return
    for (const oldest of this.#named) return void this.#named.delete(oldest)
  }
}
