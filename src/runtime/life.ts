import { rmSync, writeFileSync } from 'node:fs'
import { getHeapStatistics } from 'node:v8'
import { DiedOpening } from '../broker/coordinator/partitions.js'
import { failureText, faultText, isBehind, isStartGivenUp, systemFaultText } from '../faults.js'
import { openManagementPort, type Setting, warningsOf } from '../flags/command-line.js'
import type { Options } from '../flags/settings.js'
import { type ListenRefusal, readTls } from '../http/listen.js'
import { descriptors, halfTheProcessors, memoryLimit_bytes } from '../machine.js'
import { errorFacts } from '../observe/log/log.js'
import type { MainLog } from '../observe/log/main-log.js'
import { err, ok, type Result } from '../result.js'
import { type DataFolder, isNewFolder, openDataFolder } from '../storage/folder/data-folder.js'
import { readTextFile } from '../text-file.js'
import type { Switches } from '../threads/shared-memory/switches.js'
import { announcement, readyText, startLine } from './announcement.js'
import { mapsOf, readersOf } from './broker-plan.js'
import { Core } from './core.js'
import { exitCodes } from './exit-codes.js'
import { givenUpText } from './orderly-end.js'
import { portHolder } from './port-holder.js'
import { configuredKeys } from './reload-files.js'
import { descriptorShares, withinShares } from './resources/descriptors-needed.js'
import { memoryNeeded, memoryWarnings } from './resources/memory-needed.js'
import { watchStart } from './start-watch.js'

/** The exit codes after a second signal: 128 plus the number of the signal. */
const signalCodes = { SIGINT: 130, SIGTERM: 143 } as const

/** How long the partitions may take to finish their turns when the process has to end at once. */
const abruptLimit_ms = 2_000
/** How long the partitions may take to end after a refused start: they first finish opening their stores. */
const refusedLimit_ms = 30_000

/** The life of the process from its start to its end [management 12]. */
export class Life {
  readonly #options: Options
  readonly #settings: readonly Setting[]
  readonly #log: MainLog
  readonly #switches: Switches
  readonly #terminal: NodeJS.WritableStream | undefined
  #releasePidFile: (() => void) | undefined
  #folder: DataFolder | undefined
  #core: Core | undefined
  #started: Promise<void> | undefined
  #ending = false
  #leaving = false
  #isReady = false
  /** Whether a signal has ended the start before all logs were recovered. */
  #isGivenUp = false

  /** `terminal`: where a person reads the output, if there is one. */
  constructor(
    { options, settings }: { readonly options: Options; readonly settings: readonly Setting[] },
    log: MainLog,
    switches: Switches,
    terminal?: NodeJS.WritableStream,
  ) {
    this.#terminal = terminal
    this.#options = options
    this.#settings = settings
    this.#log = log
    this.#switches = switches
  }

  /**
   * Starts all parts in order. A failure ends the process with its code and leaves nothing behind [management 12.1].
   */
  start(): Promise<void> {
    this.#started = this.#begin()
    return this.#started
  }

  async #begin(): Promise<void> {
    const { pidPath, dbPath } = this.#options
    this.#warnOfOptions()
    if (pidPath !== undefined) {
      const written = writePidFile(pidPath)
      if (!written.ok) return this.#leave(exitCodes.pidFile, written.error)
      this.#releasePidFile = written.value
    }
    const watch = watchStart(this.#options.threadSilence_s, (fault) => {
      const reason = `nobody watches the start of the broker (-threadSilence): ${faultText(fault)}`
      this.#log.warn('main:watch', reason, errorFacts(fault))
    })
    const partitions = await this.#requestedPartitions()
    if (!partitions.ok) return this.#leave(exitCodes.cluster, partitions.error)
    const folder = await openDataFolder(dbPath, {
      partitions: partitions.value,
      preferred: halfTheProcessors,
      everyPage_bytes: this.#options.dbCheckSize_MiB * 2 ** 20,
      maxReaders: readersOf(this.#options),
      maps: mapsOf(this.#options),
      prevents: (count) => {
        const shares = descriptorShares(this.#options, count, descriptors())
        return shares.ok ? undefined : shares.error
      },
      serves: { cluster: this.#options.cluster?.name },
      named: textsIn(this.#options),
      tell: (line) => this.#log.warn('storage:folder', line),
      goesOn: watch.goesOn,
    })
    if (!folder.ok) return this.#leave(exitCodes.dataFolder, folder.error.reason)
    this.#folder = folder.value
    const unusable = await unusableFiles(this.#options)
    if (unusable !== undefined) return this.#leave(...listenFailure(unusable))
    this.#log.life('main:start', ...startLine(this.#options, folder.value.partitions))
    this.#warnOfMemory(folder.value.partitions)
    const shares = descriptorShares(this.#options, folder.value.partitions, descriptors())
    if (!shares.ok) return this.#leave(exitCodes.dataFolder, shares.error)
    const { forwards, warning } = shares.value
    if (warning !== undefined) this.#log.warn('main:descriptors', warning)
    const given = { options: withinShares(this.#options, shares.value), settings: this.#settings, forwards }
    const fatal = (reason: string, code?: number): Promise<void> => this.#cannotGoOn(reason, code)
    const standsStill = (reason: string): Promise<void> => this.#killed(reason)
    const core = new Core(given, folder.value, this.#log, this.#switches, fatal, standsStill, watch.goesOn)
    this.#core = core
    if (this.#ending) core.giveUpStart()
    const joined = await core.join()
    if (!joined.ok) return this.#leave(exitCodes.cluster, joined.error)
    try {
      await core.open()
    } catch (fault) {
      if (isStartGivenUp(fault)) {
        this.#isGivenUp = true
        return
      }
      if (isBehind(fault)) return this.#leave(exitCodes.behind, faultText(fault))
      if (fault instanceof DiedOpening) {
        const reason = `partition ${fault.partition} could not be started: ${fault.message}`
        return this.#leave(exitCodes.internal, reason, errorFacts(fault.cause))
      }
      return this.#leave(exitCodes.dataFolder, `the data folder ${dbPath} cannot be used: ${failureText(fault)}`)
    }
    const listening = await core.listen()
    if (!listening.ok) return this.#leave(...listenFailure(listening.error))
    watch.end()
    const ready = { port: listening.value, partitions: folder.value.partitions }
    this.#log.life('main:ready', readyText(this.#options, ready), { startup_ms: Math.round(performance.now()) })
    this.#isReady = true
    this.#terminal?.write(announcement(this.#options, ready))
  }

  /**
   * The number of partitions to ask of the folder; undefined: the folder decides. A new folder of a cluster has as many
   * as the cluster.
   */
  async #requestedPartitions(): Promise<Result<number | undefined, string>> {
    const { cluster, partitions, dbPath } = this.#options
    if (cluster === undefined || !isNewFolder(dbPath)) return ok(partitions)
    // Loaded here: the connection to etcd takes a tenth of the processor time of a start.
    const { partitionsForNewFolder } = await import('./commands/cluster-look.js')
    return partitionsForNewFolder(cluster, partitions)
  }

  #warnOfOptions(): void {
    for (const warning of warningsOf(this.#options)) this.#log.warn('main:options', warning)
    const open = openManagementPort(this.#options)
    if (open === undefined || (this.#terminal !== undefined && this.#options.apiKeys === undefined)) return
    const how = 'see -adminToken, -adminPort'
    if (this.#options.apiKeys !== undefined && this.#options.adminOpen) {
      this.#log.warn(
        'main:options',
        `who has no key reads all data by the management interface on port ${open} (${how})`,
      )
      return
    }
    this.#log.warn(
      'main:options',
      this.#options.adminOpen
        ? `the management interface is open to everybody on port ${open} (${how})`
        : `the management interface on port ${open} shows figures and takes trace levels from everybody, stored data and changes are for this machine only (${how}, -adminOpen)`,
    )
  }

  /** Warns when the flags allow more memory than the machine has. */
  #warnOfMemory(partitions: number): void {
    const thereIs = { process_MiB: toMiB(memoryLimit_bytes()), heap_MiB: toMiB(getHeapStatistics().heap_size_limit) }
    for (const warning of memoryWarnings(memoryNeeded(this.#options, partitions), thereIs)) {
      this.#log.warn('main:memory', warning)
    }
  }

  /**
   * The first signal begins an orderly end, a second one ends the process at once [management 12.2]. A start that is
   * under way is completed first, since a half-started broker cannot be ended in order; but one that still recovers logs, which may take
   * long, is given up.
   */
  async signalled(signal: 'SIGINT' | 'SIGTERM'): Promise<void> {
    if (this.#ending) {
      this.#exit(signalCodes[signal], await this.#halted())
      return
    }
    this.#ending = true
    this.#log.life('main:stop', `${signal}: ending in order`)
    if (!this.#isReady) this.#core?.giveUpStart()
    await this.#endInOrder(exitCodes.ended)
  }

  async #endInOrder(code: number): Promise<void> {
    await this.#started
    if (this.#isGivenUp) return this.#endUnstarted(code)
    const givenUp = await this.#core?.drain(this.#options.shutdownTimeout_s * 1000)
    const what = givenUp && givenUpText(givenUp)
    if (what !== undefined) this.#log.warn('main:stop', `given up at the end of -shutdownTimeout: ${what}`)
    const halted = givenUp === undefined || givenUp.parts.length === 0 || (await this.#halted())
    const how = what === undefined ? 'ended in order' : `ended, not in order: ${what} given up`
    const kill = halted ? '' : '; a thread does not end, so the process kills itself'
    this.#log.life('main:stop', `${how}${kill}`, { uptime_s: Math.round(process.uptime()) })
    await this.#log.flush()
    this.#exit(code, halted)
  }

  /** No client has been served, and the logs have what is not recovered. */
  async #endUnstarted(code: number): Promise<void> {
    const halted = await this.#halted()
    this.#log.life('main:stop', 'ended before it was ready: the next start applies the rest of the log')
    await this.#log.flush()
    this.#exit(code, halted)
  }

  /**
   * Opens the log file anew, and reads key, certificate and API keys from their files again, which an operator may have
   * replaced. Unusable files change nothing.
   */
  async reload(): Promise<void> {
    this.#log.reopen()
    await this.#started
    await this.#core?.reload()
    this.#log.life('main:reload', 'SIGHUP: log file opened anew')
  }

  /** An internal error after which the broker cannot go on. */
  async broken(reason: string, fault: unknown): Promise<void> {
    if (!this.#leaving) await this.#leave(exitCodes.internal, `${reason}: ${faultText(fault)}`, errorFacts(fault))
  }

  async #cannotGoOn(reason: string, code: number = exitCodes.internal): Promise<void> {
    if (this.#leaving) return
    if (code !== exitCodes.behind) return this.#leave(code, reason)
    // The rest is intact: the other partitions are released, and the requests under way are answered.
    if (this.#ending) return
    this.#ending = true
    this.#log.error('main:stop', `${reason}; ending in order`)
    await this.#endInOrder(code)
  }

  async #leave(code: number, reason: string, facts = {}): Promise<void> {
    this.#leaving = true
    this.#log.fatal('main:fatal', reason, facts)
    const halted = await this.#halted()
    await this.#log.flush()
    this.#exit(code, halted)
  }

  /**
   * A thread stands still or holds a lock for good: the process ends without waiting for it, since an orderly exit
   * would hang.
   */
  async #killed(reason: string): Promise<void> {
    this.#leaving = true
    this.#log.fatal('main:fatal', `${reason}: the process ends at once (-threadSilence)`)
    await this.#log.flush()
    this.#exit(exitCodes.internal, false)
  }

  async #halted(): Promise<boolean> {
    // Later failures are consequences of this one.
    this.#leaving = true
    return this.#core === undefined || this.#core.halt(this.#isReady ? abruptLimit_ms : refusedLimit_ms)
  }

  /** While a thread is inside its write transaction only the system can end the process; that transaction is lost. */
  #exit(code: number, halted: boolean): void {
    try {
      this.#releasePidFile?.()
      if (!halted) process.kill(process.pid, 'SIGKILL')
      this.#folder?.release()
    } catch (fault) {
      this.#log.warn('main:exit', `a file of this process could not be removed: ${faultText(fault)}`)
    } finally {
      process.exit(code)
    }
  }
}

/** A certificate or keys that cannot be used are told before a recovery, which may take long [management 12.1]. */
async function unusableFiles(options: Options): Promise<ListenRefusal | undefined> {
  const tls = await readTls(options.https)
  if (!tls.ok) return tls.error
  const keys = configuredKeys(options)
  return keys.ok ? undefined : { kind: 'keysUnusable', reason: keys.error }
}

function listenFailure(refusal: ListenRefusal): readonly [code: number, reason: string] {
  switch (refusal.kind) {
    case 'portInUse': {
      const holder = portHolder(refusal.port)
      const who = holder === undefined ? '' : ` by process ${holder.pid} (${holder.command})`
      return [exitCodes.port, `port ${refusal.port} is in use${who}: end that, or give another port`]
    }
    case 'portUnusable':
      return [exitCodes.port, `port ${refusal.port} cannot be used: ${refusal.reason}`]
    case 'certificateUnusable':
    case 'keysUnusable':
      return [exitCodes.certificate, refusal.reason]
  }
}

function toMiB(bytes: number): number {
  return Math.floor(bytes / 2 ** 20)
}

/**
 * Writes a file with the number of this process; the function that it gives removes it [management 12.3]. A leftover of
 * a dead process is replaced; the file of a living process is a refusal.
 */
function writePidFile(path: string): Result<() => void, string> {
  try {
    const pid = heldPid(path)
    if (pid !== undefined && pid !== process.pid && lives(pid)) {
      return err(`PID-file '${path}' found, a broker seems to be running already (PID: ${pid})`)
    }
    writeFileSync(path, `${process.pid}\n`)
    return ok(() => rmSync(path, { force: true }))
  } catch (fault) {
    return err(`PID-file '${path}' (-pidpath) cannot be written: ${systemFaultText(fault)}`)
  }
}

function heldPid(path: string): number | undefined {
  try {
    const text = readTextFile(path).trim()
    return /^\d+$/.test(text) ? Number(text) : undefined
  } catch (fault) {
    if (fault instanceof Error && 'code' in fault && fault.code === 'ENOENT') return undefined
    throw fault
  }
}

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (fault) {
    return fault instanceof Error && 'code' in fault && fault.code === 'EPERM'
  }
}

/** All texts of the options: the paths of files are among them. */
function textsIn(options: unknown): readonly string[] {
  if (typeof options === 'string') return [options]
  return typeof options === 'object' && options !== null ? Object.values(options).flatMap(textsIn) : []
}
