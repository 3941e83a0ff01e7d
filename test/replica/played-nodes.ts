import assert from 'node:assert/strict'
import { join } from 'node:path'
import { setImmediate as delivered } from 'node:timers/promises'
import { ClusterLog } from '../../src/cluster/cluster-log.js'
import { partitionReplica } from '../../src/lmdb/partition-replica.js'
import { LmdbPartitionStore } from '../../src/lmdb/partition-store.js'
import { type TurnOwnership, TurnRunner, TurnTimes } from '../../src/mailbox/turn-runner.js'
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
import { ImmediateLog } from './immediate-log.js'
import { Random } from './schedule.js'

/** What a node would be without some part of it: its ownership as its turns have it. */
export type Ownership = (replica: Replica) => TurnOwnership

/** The clocks of all nodes, which go on when they are told to. */
class PlayedClock {
  readonly #hrtime = process.hrtime.bigint
  readonly #date = Date.now
  #now_ms = 1_000_000

  /** Takes the place of the clocks of the process, until `end`. */
  begin(): void {
    process.hrtime.bigint = () => BigInt(this.#now_ms) * 1_000_000n
    Date.now = () => 1_700_000_000_000 + this.#now_ms
  }

  goOn(duration_ms: number): void {
    this.#now_ms += duration_ms
  }

  end(): void {
    process.hrtime.bigint = this.#hrtime
    Date.now = this.#date
  }
}

/** A node with the program's own parts of a partition: store, log, replica and turns. Only its timer is played. */
class PlayedNode {
  readonly position = new PartitionPosition(PartitionPosition.memory())
  readonly store: LmdbPartitionStore
  readonly replica: Replica
  readonly #runner: TurnRunner
  #look: () => void = () => {}

  constructor(folder: string, node: string, log: ImmediateLog, ownership: Ownership, failed: (fault: unknown) => void) {
    const link = log.linkOf(node)
    let wal: ClusterLog | undefined
    const openLog = (applied: LogSequence): ClusterLog => {
      wal = new ClusterLog(link, applied)
      return wal
    }
    this.store = new LmdbPartitionStore(folder, { ...storeSettings, durable: false }, { openLog })
    assert(wal)
    const measures = Measures.make({ frontEnds: 1, partitions: 1, queryThreads: 0 })
    const parts = { store: this.store, interpret: noWords, matcher: matcher(), versions: versions(), log: silentLog }
    const every = globalThis.setInterval
    // The timer of the replica: a thread that is busy, or a machine that sleeps, comes late to it.
    const noted = (look: () => void): NodeJS.Timeout => {
      this.#look = look
      return every(() => {}, 2 ** 30).unref()
    }
    globalThis.setInterval = Object.assign(noted, every)
    this.replica = partitionReplica({
      ...{ store: this.store, wal, node, versions: parts.versions, position: this.position, log: silentLog, failed },
      ...{ meter: measures.copies.meter(0), owns: () => {}, awaitsOwner: true, notified: () => {} },
    })
    globalThis.setInterval = every
    this.#runner = new TurnRunner({
      ...{ ...parts, bell: new Bell(), storage: measures.storage(0), damages: noDamages },
      ...{ ownership: ownership(this.replica), deprecated: { note: () => {} } },
    })
  }

  look(): void {
    this.#look()
  }

  take(one: Command): Reply {
    const [reply] = this.#runner.run([one], new TurnTimes())
    this.replica.turned()
    assert(reply)
    return reply
  }

  async close(): Promise<void> {
    await this.replica.close()
    await this.store.close()
  }
}

const tanks = ['Tank1', 'Tank2']

/**
 * Plays three nodes that share the log of a partition, with the program's own parts: nodes claim and release it, their clocks go on
 * while some come late to their timers, the engine has no room for a while, and clients send updates to all of them, of which many change
 * nothing. Throws when what a node answers is not what a broker alone would have answered.
 */
export async function playNodes(folder: string, seed: number, steps: number, ownership: Ownership): Promise<void> {
  const [random, clock, log] = [new Random(seed), new PlayedClock(), new ImmediateLog()]
  const faults: unknown[] = []
  const alone = new LmdbPartitionStore(join(folder, 'alone'), { ...storeSettings, durable: false })
  const reference = { store: alone, interpret: noWords, matcher: matcher(), versions: versions() }
  clock.begin()
  const failed = (fault: unknown): void => void faults.push(fault)
  const nodes = ['a', 'b', 'c'].map((name) => new PlayedNode(join(folder, name), name, log, ownership, failed))
  const levels = (store: LmdbPartitionStore) =>
    tanks.map((tank) => store.entities(tenant, root, id(tank)).map(({ attributes }) => attributes[0]?.value))
  const update = (node: PlayedNode, step: number): void => {
    const action = random.of(['APPEND', 'APPEND_STRICT', 'UPDATE', 'DELETE'] as const)
    const one = command(action, random.of(tanks), action === 'DELETE' ? [] : [given('level', `${step}`)])
    const reply = node.take(one)
    if (reply.kind === 'failed') return
    assert.deepEqual(reply, takeTurn(reference, [one])[0], `step ${step}: ${action} is answered as by a broker alone`)
  }
  const read = (node: PlayedNode, step: number): void => {
    if (!node.position.isConfirmed() || !node.position.isShown) return
    assert.deepEqual(levels(node.store), levels(alone), `step ${step}: a confirmed read shows what was acknowledged`)
  }
  try {
    for (let step = 0; step < steps; step += 1) {
      const node = random.of(nodes)
      const what = random.next()
      if (what < 0.5) update(node, step)
      else if (what < 0.6) read(node, step)
      else if (what < 0.75) clock.goOn(random.below(3000))
      else if (what < 0.9) node.look()
      else if (what < 0.96) node.replica.own()
      else if (what < 0.98) node.replica.release()
      else log.isFull = random.chance(0.3)
      for (let turns = random.below(4); turns > 0; turns -= 1) await delivered()
      assert.deepEqual(faults, [])
    }
    log.isFull = false
    for (const node of nodes)
      await shown(
        node,
        () => clock.goOn(1000),
        () => assert.deepEqual(levels(node.store), levels(alone)),
      )
  } finally {
    log.isFull = false
    for (const node of nodes) await node.close()
    clock.end()
    await alone.close()
  }
}

/** Has a node own the log: it has all that was acknowledged then. */
async function shown(node: PlayedNode, goOn: () => void, check: () => void): Promise<void> {
  for (let tries = 0; tries < 1000; tries += 1) {
    node.replica.own()
    for (let turns = 0; turns < 8; turns += 1) await delivered()
    goOn()
    node.look()
    if (node.replica.isOwner) return check()
  }
  assert.fail('a node does not come to own the log')
}
