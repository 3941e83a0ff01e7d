import { strict as assert } from 'node:assert'
import { LocalLog, type LocalLogSettings } from '../../src/storage/wal/local-log.js'
import type { LogPosition } from '../../src/storage/wal/log-scan.js'
import type { Appended, LogSequence } from '../../src/storage/wal/record-log.js'
import { Random } from '../fuzz/random.js'
import { DiskTroubles } from './disk-troubles.js'
import { Crash, SimulatedDisk } from './simulated-disk.js'

/** How records are appended: durable by the thread or in the pool, flushed soon, or some of them durable by the thread and others soon. */
const flushes = ['thread', 'pool', 'soon', 'mixed'] as const

/** A copy of the store as it was behind a record, and where the log goes on from there. */
interface Checkpoint {
  readonly records: readonly Buffer[]
  readonly position: LogPosition
}

/**
 * A store with a log before it, on a simulated disk: what it does and what happens to it follow from a seed. The store is the
 * list of its records; its checkpoints are copies that become durable at some time. After every recovery its records have to
 * be those that were acknowledged, in order, and behind them at most what was under way.
 */
export class History {
  /** What happened, for whoever looks for the reason of a failure. */
  readonly story: string[] = []
  readonly #random: Random
  readonly #disk: SimulatedDisk
  readonly #flush: (typeof flushes)[number]
  readonly #settings: LocalLogSettings
  /** Whether records say nothing but their sequence, so that one that was lost is appended again as it was. */
  readonly #isRepetitive: boolean
  readonly #troubles: DiskTroubles
  readonly #timers: (() => void)[]
  #log: LocalLog | undefined
  /** All that may be in the log. */
  #records: Buffer[] = []
  /** How many of them have to be. */
  #sure = 0
  /** Whether the last one is durable when its append returns. */
  #isSure = true
  /** How many there were when the last flush in the pool began. */
  #flushing = 0
  #checkpoint: Checkpoint | undefined
  /** One that may be durable at any time. */
  #nextCheckpoint: Checkpoint | undefined
  #made = 0

  /** @param timers what is waiting for its time; the history lets it pass */
  constructor(seed: number, timers: (() => void)[]) {
    this.#random = new Random(seed)
    this.#timers = timers
    const random = this.#random
    this.#disk = new SimulatedDisk(random)
    this.#flush = random.pick(flushes)
    this.#settings = {
      durable: this.#flush !== 'soon',
      failed: () => {},
      segment_bytes: random.pick([4096, 4096, 4096, 8192, 8192, 16384, 65536]),
    }
    this.#isRepetitive = random.once(3)
    this.#troubles = new DiskTroubles(random, this.story)
    this.story.push(`seed ${seed}, ${this.#flush}, segments of ${this.#settings.segment_bytes} bytes`)
  }

  /** Plays it; throws an `AssertionError` when a promise of the log is broken. */
  async play(): Promise<void> {
    const lives = 1 + this.#random.below(4)
    for (let life = 0; life < lives; life += 1) {
      this.#disk.outcome = (event) => this.#troubles.outcome(event)
      if (this.#reopened()) await this.#live()
      this.#stop()
    }
    this.#disk.outcome = () => 'works'
    assert(this.#reopened(), 'a log opens when nothing fails')
    this.#opened().close()
    this.#disk.restart('power')
    this.#sure = this.#records.length
    assert(this.#reopened(), 'a log opens that was closed')
  }

  #opened(): LocalLog {
    if (this.#log === undefined) throw new Error('the log is not open')
    return this.#log
  }

  #stop(): void {
    const lost = this.#random.pick<'power' | 'process'>(['power', 'power', 'process'])
    this.story.push(`restarted without its ${lost}`)
    this.#disk.restart(lost)
    this.#timers.length = 0
    this.#troubles.end()
    this.#flushing = 0
    this.#log = undefined
    if (this.#nextCheckpoint && this.#random.once(2)) this.#checkpoint = this.#nextCheckpoint
    this.#nextCheckpoint = undefined
  }

  /** Whether it could be opened, after which the records of the store are what the log and the checkpoint say. */
  #reopened(): boolean {
    try {
      this.#log = this.#checkpoint ? this.#recovered(this.#checkpoint) : this.#begun()
      return true
    } catch (fault) {
      this.#expectFailure(fault)
      return false
    }
  }

  #begun(): LocalLog {
    const log = LocalLog.begin(this.#disk, 0 as LogSequence, this.#settings)
    this.#checkpoint = { records: [], position: log.position }
    return log
  }

  #recovered(checkpoint: Checkpoint): LocalLog {
    const opened = LocalLog.open(this.#disk, checkpoint.position, this.#settings)
    if (!opened.ok) assert.fail(`the log is not damaged: ${JSON.stringify(opened.error)}`)
    const { log } = opened.value
    const records = [...checkpoint.records]
    for (const { sequence, bytes } of log.records(checkpoint.position.sequence)) {
      assert.equal(sequence, records.length + 1, 'records have neither gaps nor repetitions')
      records.push(Buffer.from(bytes))
    }
    this.story.push(`recovered ${records.length} records from ${JSON.stringify(checkpoint.position)}`)
    assert.equal(log.last, records.length)
    assert(records.length >= this.#sure, `${this.#sure} records are durable, ${records.length} are there`)
    assert(records.length <= this.#records.length, `${this.#records.length} were appended, ${records.length} are there`)
    for (const [at, bytes] of records.entries()) {
      assert(this.#records[at]?.equals(bytes), `record ${at + 1} is the one that was appended`)
    }
    this.#records = records
    this.#sure = records.length
    if (this.#random.once(3)) this.#checkpoint = { records: [...records], position: log.position }
    return log
  }

  async #live(): Promise<void> {
    const steps = this.#random.below(40)
    try {
      for (let step = 0; step < steps; step += 1) await this.#step()
      if (!this.#random.once(3)) return
      this.story.push('close')
      this.#opened().close()
      this.#sure = this.#records.length
    } catch (fault) {
      this.#expectFailure(fault)
    }
  }

  /** Only a crash, or a fault of the disk other than that it is full, may end the log. */
  #expectFailure(fault: unknown): void {
    if (this.#disk.isDown || fault instanceof Crash) return
    if (!this.#troubles.hasFailed || !(fault instanceof Error) || fault instanceof assert.AssertionError) throw fault
    this.story.push(`  ${fault.message}`)
  }

  async #step(): Promise<void> {
    const random = this.#random
    if (random.once(12)) this.#troubles.isFull = !this.#troubles.isFull
    if (random.once(6)) this.#beginCheckpoint()
    if (random.once(4)) this.#endCheckpoint()
    if (this.#flushesSoon && random.once(6)) await this.#elapse()
    await this.#append()
  }

  /** Whether some records are flushed by the log's timer. */
  get #flushesSoon(): boolean {
    return this.#flush === 'soon' || this.#flush === 'mixed'
  }

  #beginCheckpoint(): void {
    const log = this.#opened()
    if (this.#nextCheckpoint) return
    this.story.push(`begin checkpoint at ${JSON.stringify(log.position)}`)
    if (this.#flushesSoon) log.flush()
    this.#sure = this.#records.length
    this.#nextCheckpoint = { records: [...this.#records], position: log.position }
  }

  #endCheckpoint(): void {
    if (this.#nextCheckpoint === undefined) return
    this.#checkpoint = this.#nextCheckpoint
    this.#nextCheckpoint = undefined
    const { sequence } = this.#checkpoint.position
    this.story.push(`end checkpoint, truncate ${sequence}`)
    this.#opened().truncate(sequence)
    if (!this.#troubles.isFull) this.#expectFewFiles(sequence)
  }

  #expectFewFiles(sequence: number): void {
    const names = this.#disk.names().toSorted()
    const [, second] = names.filter((name) => /^\d/.test(name))
    assert(second === undefined || Number.parseInt(second, 10) > sequence, `too many segments of ${sequence}: ${names}`)
    assert(names.filter((name) => name.startsWith('spare-')).length <= 1, `too many spares: ${names}`)
  }

  /** Lets the log's timer fire; the flush in the pool ends during later events or at once. */
  async #elapse(): Promise<void> {
    if (this.#timers.length > 0) this.#flushing = this.#records.length
    this.story.push('the timer fires')
    for (const fire of this.#timers.splice(0)) fire()
    if (this.#random.once(2)) return
    this.#disk.endFlushes()
    await Promise.resolve()
    if (!this.#troubles.hasFailed && !this.#disk.isDown) this.#sure = Math.max(this.#sure, this.#flushing)
  }

  async #append(): Promise<void> {
    const log = this.#opened()
    const bytes = this.#record()
    this.story.push(`append ${this.#records.length + 1}: ${bytes.length} bytes`)
    this.#records.push(bytes)
    const appended = await this.#appended(log, bytes)
    if (!appended.ok) {
      this.story.push('  refused')
      assert.equal(appended.error.kind, 'diskFull')
      this.#records.pop()
    } else {
      assert.equal(appended.value, this.#records.length)
      if (this.#isSure) this.#sure = this.#records.length
    }
    assert.equal(log.last, this.#records.length)
    if (appended.ok && this.#random.once(6)) await this.#retract(appended.value)
  }

  async #appended(log: LocalLog, bytes: Buffer): Promise<Appended> {
    const expected = log.last
    this.#isSure = this.#flush !== 'soon'
    if (this.#flush === 'mixed') this.#isSure = this.#random.once(2)
    if (this.#flush !== 'pool') return log.appendSync(expected, bytes, this.#isSure ? 'now' : 'soon')
    const appended = log.append(expected, bytes)
    // Checkpoints end while a record is on its way to the disk.
    if (this.#random.once(4)) {
      appended.catch(() => {})
      this.#endCheckpoint()
    }
    this.#disk.endFlushes()
    return await appended
  }

  /** The store could not apply the record. */
  async #retract(sequence: LogSequence): Promise<void> {
    if (this.#nextCheckpoint?.position.sequence === sequence || this.#checkpoint?.position.sequence === sequence) return
    this.story.push(`retract ${sequence}`)
    this.#sure = Math.min(this.#sure, sequence - 1)
    this.#flushing = Math.min(this.#flushing, sequence - 1)
    this.#opened().retract(sequence)
    this.#records.pop()
  }

  #record(): Buffer {
    const random = this.#random
    const sequence = this.#records.length + 1
    this.#made += 1
    if (this.#isRepetitive) return Buffer.alloc(sequence % 5 === 0 ? 0 : (sequence * 97) % 700, `${sequence}`)
    const size = random.pick([0, 8, 60, 300, 600, 1500, 5000])
    return Buffer.alloc(random.below(size + 1), `${this.#made}.`)
  }
}
