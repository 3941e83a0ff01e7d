import assert from 'node:assert/strict'
import { join } from 'node:path'
import { setImmediate as delivered } from 'node:timers/promises'
import { ClusterLog } from '../../src/cluster/cluster-log.js'
import { decodeClusterRecord } from '../../src/cluster/cluster-record.js'
import { partitionReplica } from '../../src/lmdb/partition-replica.js'
import { LmdbPartitionStore } from '../../src/lmdb/partition-store.js'
import { TurnRunner, TurnTimes } from '../../src/mailbox/turn-runner.js'
import { Measures } from '../../src/measure/measures.js'
import type { Command, Reply } from '../../src/partition/commands.js'
import type { Replica } from '../../src/replica/replica.js'
import { Bell } from '../../src/shared-memory/bell.js'
import { PartitionPosition } from '../../src/shared-memory/partition-position.js'
import type { LogSequence } from '../../src/wal/record-log.js'
import {
  command,
  given,
  id,
  matcher,
  noDamages,
  noWords,
  root,
  silentLog,
  storeSettings,
  takeTurn,
  tenant,
  versions,
} from '../given.js'
import type { PlayedLink, PlayedLogs, SentRecord } from './played-logs.js'
import { Random } from './schedule.js'

/** A node with the program's own parts of a partition: store, log, replica and turns. Only its timer is played. */
class PlayedNode {
  readonly name: string
  readonly position = new PartitionPosition(PartitionPosition.memory())
  readonly #folder: string
  readonly #logs: PlayedLogs
  readonly #failed: (fault: unknown) => void
  #life: PlayedLife

  constructor(folder: string, name: string, logs: PlayedLogs, failed: (fault: unknown) => void) {
    this.name = name
    this.#folder = folder
    this.#logs = logs
    this.#failed = failed
    this.#life = this.#begun()
  }

  get replica(): Replica {
    return this.#life.replica
  }

  get store(): LmdbPartitionStore {
    return this.#life.store
  }

  look(): void {
    this.#life.look()
  }

  deliver(): void {
    this.#life.link.deliver()
  }

  /** The reply, unless its thread has died over it. */
  take(one: Command): Reply | undefined {
    const [reply] = this.#life.runner.run([one], new TurnTimes())
    if (this.isDead) return undefined
    this.replica.turned()
    assert(reply)
    return reply
  }

  dieAtNext(kind: 'append' | 'claim'): void {
    this.#life.link.dieAtNext(kind)
  }

  get isDead(): boolean {
    return this.#life.link.isCut
  }

  /** The thread ends and another one takes its place; gives the record that it was not told the outcome of. */
  async restart(): Promise<SentRecord | undefined> {
    const { link, store } = this.#life
    link.cut()
    await store.close()
    this.#life = this.#begun()
    return link.unknown
  }

  /** The thread ends in order: it takes a checkpoint, behind which the log is not needed here. */
  async reopen(): Promise<void> {
    const { link, store } = this.#life
    await store.close()
    link.cut()
    this.#life = this.#begun()
  }

  async close(): Promise<void> {
    this.#life.link.cut()
    await this.#life.store.close()
  }

  #begun(): PlayedLife {
    const [link, parts] = [this.#logs.link(this.name), { matcher: matcher(), versions: versions(), log: silentLog }]
    let wal: ClusterLog | undefined
    const openLog = (applied: LogSequence): ClusterLog => {
      wal = new ClusterLog(link.end, applied)
      return wal
    }
    const store = new LmdbPartitionStore(this.#folder, { ...storeSettings, durable: false }, { openLog })
    assert(wal)
    const measures = Measures.make({ frontEnds: 1, partitions: 1, queryThreads: 0 })
    const every = globalThis.setInterval
    let look = (): void => {}
    // The timer of the replica: a thread that is busy, or a machine that sleeps, comes late to it.
    const noted = (work: () => void): NodeJS.Timeout => {
      look = work
      return every(() => {}, 2 ** 30).unref()
    }
    globalThis.setInterval = Object.assign(noted, every)
    // What a dead thread would do is done to a store that is closed.
    const failed = (fault: unknown): void => {
      if (!link.isCut) this.#failed(fault)
    }
    const replica = partitionReplica({
      ...{ store, wal, node: this.name, versions: parts.versions, position: this.position, log: silentLog, failed },
      ...{ meter: measures.copies.meter(0), owns: () => {}, awaitsOwner: true, notified: () => {} },
    })
    globalThis.setInterval = every
    const runner = new TurnRunner({
      ...{ ...parts, store, interpret: noWords, bell: new Bell(), storage: measures.storage(0), damages: noDamages },
      ...{ ownership: replica, deprecated: { note: () => {} } },
    })
    return { link, store, wal, replica, runner, look: () => look() }
  }
}

/** What a node has of a partition until its thread ends. */
interface PlayedLife {
  readonly link: PlayedLink
  readonly store: LmdbPartitionStore
  readonly wal: ClusterLog
  readonly replica: Replica
  readonly runner: TurnRunner
  readonly look: () => void
}

/** A command whose outcome its client was not told. */
interface Doubt {
  readonly record: SentRecord
  readonly command: Command
}

const tanks = ['Tank1', 'Tank2']

/**
 * Plays three nodes that share the log of a partition, with the program's own parts from the turns to the client of an etcd, which is in
 * memory: nodes claim and release the log, threads end and begin anew, clocks go on while some come late to their timers, dates jump,
 * answers of etcd are late or lost, it has no room for a while, logs are truncated, and clients send updates to all nodes, of which many
 * change nothing. Throws when what a node answers is not what a broker alone would have answered.
 */
export async function playNodes(logs: PlayedLogs, folder: string, seed: number, steps: number): Promise<void> {
  const end = logs.clocks.begin()
  const play = new Play(logs, folder, seed)
  try {
    for (let step = 0; step < steps; step += 1) await play.step(step)
    await play.rest()
  } finally {
    await play.close()
    end()
  }
}

class Play {
  readonly #random: Random
  readonly #logs: PlayedLogs
  readonly #faults: unknown[] = []
  readonly #nodes: readonly PlayedNode[]
  readonly #alone: LmdbPartitionStore
  #doubts: readonly Doubt[] = []

  constructor(logs: PlayedLogs, folder: string, seed: number) {
    this.#random = new Random(seed)
    this.#logs = logs
    this.#alone = new LmdbPartitionStore(join(folder, 'alone'), { ...storeSettings, durable: false })
    const names = ['a', 'b', 'c']
    logs.begin(seed, names)
    const failed = (fault: unknown): void => void this.#faults.push(fault)
    this.#nodes = names.map((name) => new PlayedNode(join(folder, name), name, logs, failed))
  }

  async step(step: number): Promise<void> {
    const random = this.#random
    const node = random.of(this.#nodes)
    const what = random.next()
    if (what < 0.45) await this.#update(node, step)
    else if (what < 0.55) this.#read(node, step)
    else if (what < 0.7) this.#goOn(random.below(2000))
    else if (what < 0.83) node.look()
    else if (what < 0.89) node.replica.own()
    else if (what < 0.91) node.replica.release()
    else if (what < 0.92) this.#logs.tell({ kind: 'full', isFull: random.chance(0.3) })
    else if (what < 0.94) this.#logs.tell({ kind: 'silent', duration_ms: random.below(4000) })
    else if (what < 0.95) this.#logs.tell({ kind: 'breakWatches' })
    else if (what < 0.96) this.#logs.clocks.jump_ms = random.below(7_200_000) - 3_600_000
    else if (what < 0.97) node.dieAtNext(random.of(['append', 'claim']))
    else if (what < 0.98) await node.restart()
    else await node.reopen()
    this.#goOn(random.delay_ms())
    // Who is busy takes its messages later.
    for (const each of this.#nodes) if (random.chance(0.8)) await this.#deliver(each)
    for (const each of this.#nodes) if (each.isDead) await each.restart()
    assert.deepEqual(this.#faults, [])
  }

  /** Each node comes to own the log, and has all that was acknowledged then. */
  async rest(): Promise<void> {
    this.#logs.tell({ kind: 'full', isFull: false })
    this.#logs.tell({ kind: 'faulty', isFaulty: false })
    for (const node of this.#nodes) await this.#owned(node)
  }

  async close(): Promise<void> {
    for (const node of this.#nodes) await node.close()
    await this.#alone.close()
  }

  async #owned(node: PlayedNode): Promise<void> {
    for (let tries = 0; tries < 100; tries += 1) {
      node.replica.own()
      // Who has lost its claim reads what there is before it claims again.
      for (let waits = 0; waits < 4; waits += 1) {
        this.#goOn(300)
        for (const each of this.#nodes) await this.#deliver(each)
      }
      node.look()
      if (node.isDead) await node.restart()
      this.#resolve()
      // Who has slept owns it as far as it knows.
      if (node.replica.isOwner && node.position.isConfirmed()) {
        assert.deepEqual(levels(node.store), levels(this.#alone))
        return
      }
    }
    assert.fail(`${node.name} does not come to own the log`)
  }

  async #update(node: PlayedNode, step: number): Promise<void> {
    const { of, reference } = { of: this.#random.of.bind(this.#random), reference: this.#reference }
    const action = of(['APPEND', 'APPEND_STRICT', 'UPDATE', 'DELETE'] as const)
    const one = command(action, of(tanks), action === 'DELETE' ? [] : [given('level', `${step}`)])
    const reply = node.take(one)
    if (reply === undefined) {
      const record = await node.restart()
      if (record !== undefined && decodeClusterRecord(record.bytes).kind === 'turn')
        this.#doubts = [...this.#doubts, { record, command: one }]
      return
    }
    this.#resolve()
    if (reply.kind === 'failed') return
    assert.deepEqual(reply, takeTurn(reference, [one])[0], `step ${step}: ${action} is answered as by a broker alone`)
  }

  #read(node: PlayedNode, step: number): void {
    if (!node.position.isConfirmed() || !node.position.isShown) return
    this.#resolve()
    assert.deepEqual(levels(node.store), levels(this.#alone), `step ${step}: a confirmed read shows what stands`)
  }

  /** What nobody was told of is done if it stands in the log by now. */
  #resolve(): void {
    this.#doubts = this.#doubts.filter((doubt) => {
      const outcome = this.#logs.outcomeOf(doubt.record)
      if (outcome === 'stands') takeTurn(this.#reference, [doubt.command])
      return outcome === 'pending'
    })
  }

  get #reference() {
    return { store: this.#alone, interpret: noWords, matcher: matcher(), versions: versions() }
  }

  #goOn(duration_ms: number): void {
    this.#logs.tell({ kind: 'goOn', duration_ms })
  }

  async #deliver(node: PlayedNode): Promise<void> {
    node.deliver()
    await delivered()
  }
}

function levels(store: LmdbPartitionStore): readonly unknown[] {
  return tanks.map((tank) => store.entities(tenant, root, id(tank)).map(({ attributes }) => attributes[0]?.value))
}
