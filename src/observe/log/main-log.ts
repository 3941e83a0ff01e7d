import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import { systemFaultText } from '../../faults.js'
import { err, ok, type Result } from '../../result.js'
import { onMessages } from '../../threads/calls/messages.js'
import type { Switches } from '../../threads/shared-memory/switches.js'
import { now } from '../../time.js'
import { checkAppendable, LineDestination, unblocked, writeNow } from './destination.js'
import { type Form, type FormName, forms } from './form.js'
import { type Facts, type HandedLines, type Line, type LineContext, LineLog, lineWeight, shownLine } from './log.js'

/** The destination and form of lines [management 10.2, 10.6]. */
export interface LogSettings {
  /** The form in the file, and on stdout unless lines there are for humans. */
  readonly logFormat: 'json' | 'pipe'
  readonly logForHumans: boolean
  readonly logDir: string | undefined
  readonly logAppend: boolean
}

/** The descriptors for standard output and standard error. */
export interface Outputs {
  readonly stdout: number
  readonly stderr: number
}

/** Why a log cannot be opened: exit code 1 [management 10.6]. */
interface LogDirUnusable {
  readonly kind: 'logDirUnusable'
  readonly text: string
}

/** Opens the log of the process, in its main thread. */
export function openLog(
  settings: LogSettings,
  switches: Switches,
  outputs: Outputs = { stdout: 1, stderr: 2 },
): Result<MainLog, LogDirUnusable> {
  const { logDir, logAppend } = settings
  if (logDir === undefined) return ok(new MainLog(settings, switches, outputs))
  const path = join(logDir, 'contextBroker.log')
  try {
    if (!logAppend) keepOld(path)
    checkAppendable(path)
    return ok(new MainLog(settings, switches, outputs, path))
  } catch (fault) {
    return err({
      kind: 'logDirUnusable',
      text: `the log directory '${logDir}' (-logDir) cannot be written: ${systemFaultText(fault)}`,
    })
  }
}

/** The log of the main thread: writes its own lines and those that other threads hand over. */
export class MainLog extends LineLog {
  readonly #switches: Switches
  readonly #stderr: number
  readonly #stdout: Target
  readonly #file: Target | undefined
  readonly #ports = new Set<MessagePort>()
  readonly #listeners = new Set<(line: Line) => void>()
  #droppedElsewhere = 0
  /** Why the process ends, until it is known to be on standard output. */
  #reason: Line | undefined

  /** `file`: the path of the log file, if there is to be one. */
  constructor(settings: LogSettings, switches: Switches, outputs: Outputs, file?: string) {
    super(switches, (line) => this.#write(line))
    this.#switches = switches
    this.#stderr = outputs.stderr
    this.#stdout = this.#target(settings.logForHumans ? 'humans' : settings.logFormat, unblocked(outputs.stdout))
    this.#file = file === undefined ? undefined : this.#target(settings.logFormat, file)
  }

  /** Writes the lines that another thread hands over on this port, in order. */
  take(port: MessagePort): void {
    this.#ports.add(port)
    onMessages(port, (handed: HandedLines) => this.#take(handed, port))
    port.on('close', () => this.#ports.delete(port))
    port.unref()
  }

  /** Calls back with every written line, of all threads, until the returned function is called. */
  listen(listener: (line: Line) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** A line of life: what ran when. It says INFO and is shown at every level but NONE [management 10.1]. */
  life(op: string, message: string, facts?: Facts): void {
    if (this.shows('FATAL')) this.line('INFO', op, message, facts)
  }

  /** A line of a log summary, shown at every level [management 10.1]. */
  summary(op: string, message: string): void {
    this.line('SUMMARY', op, message)
  }

  /**
   * The reason why the process ends [management 9.5]. It goes to stderr when the level hides it, and after `flush` when standard
   * output has not taken it.
   */
  override fatal(op: string, message: string, facts?: Facts, context?: LineContext): void {
    if (this.shows('FATAL')) super.fatal(op, message, facts, context)
    else this.#writeToStderr({ ...bare, time: now(), op, ...shownLine(message, facts, context) })
  }

  /** The number of lines dropped since the start, by this thread and those that hand lines over. */
  get dropped(): number {
    return this.#droppedElsewhere + this.#stdout.destination.lost + (this.#file?.destination.lost ?? 0)
  }

  /** Reopens the file, so that it can be rotated [management 10.6]. */
  reopen(): void {
    this.#file?.destination.reopen()
  }

  /** Writes everything logged so far, other threads' lines included; waits for a slow reader at most this long. */
  async flush(limit_ms = 1000): Promise<void> {
    this.#drainPorts()
    const [written] = await Promise.all([
      this.#stdout.destination.flush(limit_ms),
      this.#file?.destination.flush(limit_ms),
    ])
    const reason = this.#reason
    this.#reason = undefined
    if (reason !== undefined && !written) this.#writeToStderr(reason)
  }

  #target(name: FormName, to: number | string): Target {
    const form = forms[name]
    const destination: LineDestination = new LineDestination(to, {
      caughtUp: (dropped) => {
        const message = `${dropped} lines were dropped because they could not be written fast enough`
        const line: Line = { ...bare, time: now(), level: 'WARN', op: 'log:dropped', message, facts: { dropped } }
        if (this.shows('FATAL')) destination.put(form(line, this.#switches.get('lineMaxSize')), true)
      },
      notReopened: (fault) => this.error('log:reopen', `${to} cannot be opened anew (${codeOf(fault)})`),
    })
    return { form, destination }
  }

  #write(line: Line): void {
    // Lines that other threads have logged before the end come before its reason.
    if (line.level === 'FATAL') this.#drainPorts()
    if (this.#listeners.size > 0) for (const listener of this.#listeners) listener(line)
    const maxSize = this.#switches.get('lineMaxSize')
    const matters = line.level === 'ERROR' || line.level === 'FATAL'
    const [taken] = [this.#stdout, this.#file].map((target) =>
      target?.destination.put(target.form(line, maxSize), matters),
    )
    if (line.level !== 'FATAL') return
    if (taken === true) this.#reason = line
    else this.#writeToStderr(line)
  }

  #writeToStderr(line: Line): void {
    writeNow(this.#stderr, forms.json(line, this.#switches.get('lineMaxSize')))
  }

  /** The other side counts the lines under way and hands over no more than this side can take. */
  #take({ lines, dropped }: HandedLines, port: MessagePort): void {
    this.#droppedElsewhere += dropped
    for (const line of lines) this.#write(line)
    port.postMessage(lines.reduce((sum, line) => sum + lineWeight(line), 0))
  }

  #drainPorts(): void {
    for (const port of this.#ports) {
      for (let taken = receiveMessageOnPort(port); taken !== undefined; taken = receiveMessageOnPort(port)) {
        this.#take(taken.message, port)
      }
    }
  }
}

interface Target {
  readonly form: Form
  readonly destination: LineDestination
}

const bare = { level: 'FATAL', facts: undefined, context: undefined, area: undefined, partition: undefined } as const

function keepOld(path: string): void {
  try {
    renameSync(path, `${path}.old`)
  } catch (fault) {
    if (codeOf(fault) !== 'ENOENT') throw fault
  }
}

function codeOf(fault: unknown): string {
  return fault instanceof Error && 'code' in fault ? String(fault.code) : String(fault)
}
