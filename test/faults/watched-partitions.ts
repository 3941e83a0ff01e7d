import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Test } from 'tap'
import { openRoot } from '../../src/storage/environment/environment.js'
import { RunningBroker } from '../running.js'
import { until } from '../until.js'
import { type Death, ThreadKiller, withDebugger } from './thread-killer.js'

/** In turn: an error that nothing catches, and the end of the thread wherever it is. */
const deaths: readonly Death[] = ['throws', 'exits']

/** One more within a minute ends the broker; each partition counts its own. */
export const deathsMost = 4

/** A broker under load, the threads of whose partitions are killed. */
export class WatchedPartitions {
  readonly partitions: readonly WatchedPartition[]
  updates = 0
  kills = 0
  readonly #t: Test
  readonly #broker: RunningBroker
  readonly #killer: ThreadKiller
  readonly #clients: readonly Promise<void>[]
  #isOver = false
  /** When which partition has died. */
  readonly #deaths: { readonly partition: string; readonly at_ms: number }[] = []
  /** What the dead had held. */
  readonly #lastHeld: number[]

  static async start(t: Test, partitions: number): Promise<WatchedPartitions> {
    const folder = join(t.testdir(), 'data')
    const flags = ['-partitions', `${partitions}`, '-httpThreads', '1']
    const broker = await RunningBroker.startOn(t, folder, flags, { nodeOptions: withDebugger })
    const watched = Array.from(
      { length: partitions },
      (_, at) => new WatchedPartition(t, join(folder, `partition-${at}`)),
    )
    return new WatchedPartitions(t, broker, await ThreadKiller.connect(broker.output), watched)
  }

  private constructor(t: Test, broker: RunningBroker, killer: ThreadKiller, partitions: readonly WatchedPartition[]) {
    this.#t = t
    this.#broker = broker
    this.#killer = killer
    this.partitions = partitions
    this.#lastHeld = partitions.map(() => 0)
    this.#clients = [0, 1, 2].map((client) => this.#update(client))
    // A test that its time limit has ended must not leave clients that go on for ever.
    t.teardown(() => this.#stop())
  }

  /** Kills the thread of a partition, as soon as none has died so often that one more is too many; resolves when it is replaced. */
  async kill(): Promise<void> {
    await until(() => !this.#isTooMany())
    await until(() => this.partitions.every(({ held }) => held.length > 0), 'checkpoints are pinned')
    await this.#killer.kill('partition', deaths[this.kills % deaths.length] ?? 'throws')
    this.kills += 1
    await until(() => {
      if (this.#broker.exit !== null) throw new Error(`the broker ended: ${this.#broker.output.slice(-3000)}`)
      return this.#broker.output.split('runs again in a new thread').length - 1 >= this.kills
    }, 'the thread is replaced')
    const died = [...this.#broker.output.matchAll(/"worker:died".*?partition (\d+) failed/g)].at(-1)?.[1]
    if (died === undefined) throw new Error(`no line says which thread died: ${this.#broker.output.slice(-3000)}`)
    this.#deaths.push({ partition: died, at_ms: performance.now() })
    for (const [at, { held }] of this.partitions.entries()) {
      this.#lastHeld[at] = Math.max(0, ...held)
    }
  }

  /** Nothing that the dead had held is held any more, and the broker ends in order. */
  async end(): Promise<void> {
    this.#killer.close()
    for (const [at, partition] of this.partitions.entries()) {
      // The thread that runs holds the transactions of its checkpoints, each for a second or two.
      await until(
        () => Math.min(...partition.held) > (this.#lastHeld[at] ?? 0),
        () => `partition ${at} holds nothing of the dead: ${partition.readers}`,
      )
    }
    this.#stop()
    await Promise.all(this.#clients)
    await this.#broker.endsInOrder(this.#t)
  }

  #stop(): void {
    this.#isOver = true
  }

  #isTooMany(): boolean {
    const since_ms = performance.now() - 61_000
    const recent = this.#deaths.filter(({ at_ms }) => at_ms > since_ms).map(({ partition }) => partition)
    return recent.some((partition) => recent.filter((other) => other === partition).length >= deathsMost)
  }

  /** The same entities again and again, so that what is stored stays as much as it is. */
  async #update(client: number): Promise<void> {
    for (let at = 0; !this.#isOver; at += 1) {
      const attributes = [{ name: 'level', type: 'Text', value: 'l'.repeat(1 + ((at * 37) % 2000)) }]
      const element = { id: `Tank${client}-${at % 50}`, type: 'Tank', attributes }
      const status = await this.#broker.update('APPEND', element).then(
        (reply) => reply.status,
        () => 0,
      )
      if (status === 200) this.updates += 1
      await delay(2)
    }
  }
}

/** A partition of a broker that runs, as another process sees it. */
class WatchedPartition {
  readonly #folder: string
  readonly #root: ReturnType<typeof openRoot>

  constructor(t: Test, folder: string) {
    this.#folder = folder
    this.#root = openRoot(folder, { readOnly: true, sizeMax_bytes: 2 ** 30, maxReaders: 512 })
    t.teardown(() => this.#root.close())
  }

  get bytes(): number {
    return statSync(join(this.#folder, 'data.mdb')).size
  }

  /** The table of readers, in the words of LMDB. */
  get readers(): string {
    return this.#root.readerList()
  }

  /** Threads that read, or have read, the environment. */
  get rows(): number {
    return Array.from(this.readers.matchAll(/^\s*\d+ [0-9a-f]+ (\d+|-)$/gm)).length
  }

  /** The transactions that readers hold; those who hold none have a dash. */
  get held(): readonly number[] {
    return Array.from(this.readers.matchAll(/^\s*\d+ [0-9a-f]+ (\d+)$/gm), ([, transaction]) => Number(transaction))
  }
}
