import type { LogFile, LogFolder } from '../../src/storage/wal/log-folder.js'
import type { Random } from '../fuzz/random.js'
import { SimulatedContent } from './simulated-content.js'

/** One thing that the log does to the disk. Reading is none. */
export type DiskEvent =
  | { readonly kind: 'make' | 'rename' | 'remove' | 'flush' | 'flushInPool'; readonly name: string }
  | { readonly kind: 'flushFolder' }
  | {
      readonly kind: 'write'
      readonly name: string
      readonly offset: number
      readonly length: number
      /** Whether the file becomes longer by it. */
      readonly grows: boolean
    }

/** What becomes of an event. `crash` is in its middle: of a write, any part is done. */
export type EventOutcome = 'works' | 'crash' | 'ENOSPC' | 'EDQUOT' | 'EFBIG' | 'EIO'

/** The machine has stopped; every operation throws this until it is restarted. */
export class Crash extends Error {
  override readonly name = 'Crash'
}

/** An open file. Each handle is told once of the flushes that have failed since it was opened. */
interface Handle {
  /** Under which it was opened. */
  readonly name: string
  readonly content: SimulatedContent
  reported: number
}

/** A name that begins or ceases to stand for a file. */
interface Naming {
  readonly content: SimulatedContent
  readonly changes: readonly (readonly [name: string, content: SimulatedContent | undefined])[]
}

interface PoolFlush {
  readonly handle: Handle
  readonly from: number
  readonly resolve: () => void
  readonly reject: (fault: Error) => void
}

/**
 * A folder in memory that can crash or fail at every event. The file system has a journal: changes of names reach the disk
 * in their order for each file, but not across files, and all of them when the folder is flushed. A flush in the pool ends
 * at a random later event.
 */
export class SimulatedDisk implements LogFolder {
  readonly free_bytes = Number.MAX_SAFE_INTEGER
  readonly path = '/simulated'
  /** What becomes of each event: to be set by the test. */
  outcome: (event: DiskEvent) => EventOutcome = () => 'works'
  /** Whether a file can be opened: to be set by the test. */
  hasDescriptors = true
  readonly #random: Random
  #names = new Map<string, SimulatedContent>()
  #namesOnDisk = new Map<string, SimulatedContent>()
  #namings: Naming[] = []
  #poolFlushes: PoolFlush[] = []
  #isDown = false
  #time = 0
  /** How often the machine was started: files that were opened before are closed by that. */
  #life = 0

  constructor(random: Random) {
    this.#random = random
  }

  /** Whether it has crashed and was not restarted. */
  get isDown(): boolean {
    return this.#isDown
  }

  names(): readonly string[] {
    return [...this.#names.keys()]
  }

  open(name: string): LogFile {
    if (!this.hasDescriptors) throw systemError('EMFILE')
    const held = this.#names.get(name)
    if (held) return this.#fileOf(name, held)
    this.#event({ kind: 'make', name })
    const content = new SimulatedContent()
    this.#name(content, [[name, content]])
    return this.#fileOf(name, content)
  }

  rename(from: string, to: string): void {
    const content = this.#contentOf(from)
    this.#event({ kind: 'rename', name: from })
    this.#name(content, [
      [from, undefined],
      [to, content],
    ])
  }

  remove(name: string): void {
    const content = this.#contentOf(name)
    this.#event({ kind: 'remove', name })
    this.#name(content, [[name, undefined]])
  }

  flush(): void {
    this.#event({ kind: 'flushFolder' })
    this.#namesOnDisk = new Map(this.#names)
    this.#namings = []
  }

  close(): void {}

  /** Ends the flushes in the pool that are under way. */
  endFlushes(): void {
    while (this.#poolFlushes.length > 0) this.#endFlush()
  }

  /** Stops the machine, or the process. */
  crash(): void {
    this.#isDown = true
    for (const { reject } of this.#poolFlushes.splice(0)) reject(new Crash())
  }

  /** Starts it again; without power, what was not flushed is partly lost. */
  restart(lost: 'process' | 'power'): void {
    this.crash()
    this.#isDown = false
    this.#life += 1
    if (lost === 'power') this.#losePower()
  }

  #losePower(): void {
    const isLost = new Set<SimulatedContent>()
    for (const { content, changes } of this.#namings) {
      if (this.#random.once(3)) isLost.add(content)
      if (!isLost.has(content)) for (const change of changes) setName(this.#namesOnDisk, change)
    }
    this.#names = new Map(this.#namesOnDisk)
    this.#namings = []
    for (const content of new Set(this.#names.values())) content.losePower(this.#random)
  }

  #contentOf(name: string): SimulatedContent {
    const content = this.#names.get(name)
    if (content === undefined) throw Object.assign(new Error(`ENOENT: ${name}`), { code: 'ENOENT' })
    return content
  }

  /** The name that an open file has by now. */
  #nameOf({ name, content }: Handle): string {
    for (const [each, held] of this.#names) if (held === content) return each
    return name
  }

  #name(content: SimulatedContent, changes: Naming['changes']): void {
    for (const change of changes) setName(this.#names, change)
    this.#namings.push({ content, changes })
  }

  #fileOf(name: string, content: SimulatedContent): LogFile {
    const life = this.#life
    const handle: Handle = { name, content, reported: content.failures }
    const poolHandle: Handle = { ...handle }
    let isClosed = false
    const event = (happened: DiskEvent, partly?: () => void): void => {
      if (isClosed || life !== this.#life) throw Object.assign(new Error(`EBADF: ${name}`), { code: 'EBADF' })
      this.#event(happened, partly)
    }
    return {
      get size_bytes() {
        return content.size_bytes
      },
      read: (offset, into) => content.read(offset, into.length).copy(into),
      write: (offset, bytes) => {
        const { length } = bytes
        const part = (): Uint8Array => bytes.subarray(0, this.#random.once(2) ? 0 : this.#random.below(length + 1))
        const grows = offset + length > content.size_bytes
        event({ kind: 'write', name: this.#nameOf(handle), offset, length, grows }, () =>
          content.write(offset, part(), this.#time),
        )
        content.write(offset, bytes, this.#time)
      },
      flush: () => {
        event({ kind: 'flush', name: this.#nameOf(handle) }, () => fail(handle, this.#random))
        content.flush()
        report(handle)
      },
      flushInPool: async () => {
        if (isClosed) throw new Error(`EBADF: ${name}`)
        await new Promise<void>((resolve, reject) => {
          this.#poolFlushes.push({ handle: poolHandle, from: this.#time, resolve, reject })
        })
      },
      close: () => {
        isClosed = true
      },
    }
  }

  #endFlush(): void {
    const flush = this.#poolFlushes.shift()
    if (flush === undefined) return
    try {
      const { content } = flush.handle
      this.#decide({ kind: 'flushInPool', name: this.#nameOf(flush.handle) }, () => fail(flush.handle, this.#random))
      content.flush(flush.from)
      report(flush.handle)
      flush.resolve()
    } catch (fault) {
      flush.reject(fault instanceof Error ? fault : new Error(String(fault)))
    }
  }

  #event(event: DiskEvent, partly?: () => void): void {
    if (this.#poolFlushes.length > 0 && this.#random.once(3)) this.#endFlush()
    this.#decide(event, partly)
  }

  #decide(event: DiskEvent, partly = () => {}): void {
    if (this.#isDown) throw new Crash()
    this.#time += 1
    const outcome = this.outcome(event)
    if (outcome === 'works') return
    const isFlush = event.kind === 'flush' || event.kind === 'flushInPool'
    // In the middle of a flush nothing is certain anyway.
    if (outcome !== 'crash' || !isFlush) partly()
    if (outcome !== 'crash') throw systemError(outcome)
    this.crash()
    throw new Crash()
  }
}

function fail(handle: Handle, random: Random): void {
  handle.content.failFlush(random)
  handle.reported = handle.content.failures
}

function report(handle: Handle): void {
  if (handle.reported === handle.content.failures) return
  handle.reported = handle.content.failures
  throw systemError('EIO')
}

function systemError(code: string): Error {
  return Object.assign(new Error(code), { code })
}

function setName(
  names: Map<string, SimulatedContent>,
  [name, content]: readonly [string, SimulatedContent | undefined],
): void {
  if (content) names.set(name, content)
  else names.delete(name)
}
