import { openSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import { err, ok, type Result } from '../result.js'
import type { Switches } from '../shared-memory/switches.js'
import { now } from '../time.js'
import { type FormName, forms } from './form.js'
import { type Facts, type Line, type LineContext, LineLog, lineWeight, shownLine } from './log.js'
import { LineSink, type SinkLimits, unblocked, writtenNow } from './sink.js'

/** Where lines go and in which form [management 10.2, 10.6]. */
export interface LogSettings {
  /** Form in the file, and on stdout unless lines there are for humans. */
  readonly logFormat: 'json' | 'pipe'
  readonly logForHumans: boolean
  readonly logDir: string | undefined
  readonly logAppend: boolean
}

/** The descriptors that stand for standard output and standard error. */
export interface Outputs {
  readonly stdout: number
  readonly stderr: number
  readonly limits?: SinkLimits
}

/** Why a log can not be opened: exit code 1 [management 10.6]. */
export interface LogDirUnusable {
  readonly kind: 'logDirUnusable'
  /** One line for stderr. */
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
    return ok(new MainLog(settings, switches, outputs, { path, descriptor: openSync(path, 'a') }))
  } catch (fault) {
    return err({
      kind: 'logDirUnusable',
      text: `the log directory '${logDir}' cannot be written (${codeOf(fault)})`,
    })
  }
}

/** The log of the main thread: writes its own lines and those that other threads hand over. */
export class MainLog extends LineLog {
  readonly #switches: Switches
  readonly #stderr: number
  readonly #targets: readonly Target[]
  readonly #file: { readonly path: string; readonly sink: LineSink } | undefined
  readonly #ports = new Set<MessagePort>()

  constructor(settings: LogSettings, switches: Switches, outputs: Outputs, file?: OpenFile) {
    super(switches, (line) => this.#write(line))
    this.#switches = switches
    this.#stderr = outputs.stderr
    const { descriptor, owned } = unblocked(outputs.stdout)
    const form = settings.logForHumans ? 'humans' : settings.logFormat
    const stdout = this.#target(form, descriptor, owned, outputs.limits)
    const target = file && this.#target(settings.logFormat, file.descriptor, true, outputs.limits)
    this.#file = file && target && { path: file.path, sink: target.sink }
    this.#targets = target === undefined ? [stdout] : [stdout, target]
  }

  /** Writes the lines that another thread hands over through this port, in their order. */
  take(port: MessagePort): void {
    this.#ports.add(port)
    port.on('message', (lines: readonly Line[]) => {
      this.#taken(lines)
      // The other side counts what is on the way and hands over no more than this side can bear.
      port.postMessage(lines.reduce((sum, line) => sum + lineWeight(line), 0))
    })
    port.on('close', () => this.#ports.delete(port))
    port.unref()
  }

  /** A line of a log summary, shown at every level [management 10.1]. */
  summary(op: string, message: string): void {
    this.line('SUMMARY', op, message)
  }

  /**
   * The reason why the process ends: written before this call returns. On stderr when the level hides it or standard
   * output does not take it [management 9.5].
   */
  override fatal(op: string, message: string, facts?: Facts, context?: LineContext): void {
    if (this.shows('FATAL')) super.fatal(op, message, facts, context)
    else this.#last({ ...blank, time: now(), op, ...shownLine(message, facts, context) })
  }

  /** Opens the file anew, so that it can be rotated [management 10.6]. */
  reopen(): void {
    if (this.#file === undefined) return
    try {
      this.#file.sink.replace(openSync(this.#file.path, 'a'))
    } catch (fault) {
      this.error('log:reopen', `${this.#file.path} cannot be opened anew (${codeOf(fault)})`)
    }
  }

  /** Writes everything that was logged until now, also what other threads have handed over; waits for a slow reader at most this long. */
  async flush(limit_ms = 1000): Promise<void> {
    this.#drainPorts()
    await Promise.all(this.#targets.map(({ sink }) => sink.flush(limit_ms)))
  }

  #target(name: FormName, descriptor: number, owned: boolean, limits: SinkLimits | undefined): Target {
    const form = forms[name]
    const sink: LineSink = new LineSink(
      descriptor,
      owned,
      (dropped) => {
        const message = `${dropped} lines were dropped because they could not be written fast enough`
        const line: Line = { ...blank, time: now(), level: 'WARN', op: 'log:dropped', message, facts: { dropped } }
        if (this.shows('FATAL')) sink.put(form(line, this.#switches.get('lineMaxSize')), true)
      },
      limits,
    )
    return { form, sink }
  }

  #write(line: Line): void {
    const maxSize = this.#switches.get('lineMaxSize')
    if (line.level === 'FATAL') this.#last(line)
    else for (const { form, sink } of this.#targets) sink.put(form(line, maxSize), line.level === 'ERROR')
  }

  #last(line: Line): void {
    const maxSize = this.#switches.get('lineMaxSize')
    this.#drainPorts()
    const shown = this.shows('FATAL')
    const [first] = shown ? this.#targets.map(({ form, sink }) => sink.putNow(form(line, maxSize))) : []
    if (first !== true) writtenNow(this.#stderr, Buffer.from(forms.json(line, maxSize)))
  }

  #taken(lines: readonly Line[]): void {
    for (const line of lines) this.#write(line)
  }

  #drainPorts(): void {
    for (const port of this.#ports) {
      for (let taken = receiveMessageOnPort(port); taken !== undefined; taken = receiveMessageOnPort(port)) {
        this.#taken(taken.message)
        port.postMessage(taken.message.length)
      }
    }
  }
}

interface OpenFile {
  readonly path: string
  readonly descriptor: number
}

interface Target {
  readonly form: (line: Line, maxSize: number) => string
  readonly sink: LineSink
}

const blank = { level: 'FATAL', facts: undefined, context: undefined, area: undefined, partition: undefined } as const

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
