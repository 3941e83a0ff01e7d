import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { Command, Reply } from '../../src/partition/turn/commands.js'
import { decodeClusterRecord } from '../../src/storage/etcd/cluster-record.js'
import { PartitionStore } from '../../src/storage/store/partition-store.js'
import { command, given, matcher, noWords, storeSettings, takeTurn, versions } from '../given.js'
import { keepFree_bytes } from './played-disk.js'
import type { SentRecord } from './played-logs.js'
import type { PlayedNode } from './played-node.js'
import type { PlayedLoad } from './played-nodes.js'
import { levels, type PlayedPartition, tanks } from './played-partition.js'
import type { PlayedWorld } from './played-process.js'

/** Commands whose outcome their client was not told. */
interface UnknownOutcome {
  readonly record: SentRecord
  readonly batch: readonly Command[]
}

type Node = PlayedNode<PlayedPartition>

/** Updates of entities, whose responses have to be those of a broker alone, and reads of them. */
export class PlayedUpdates implements PlayedLoad<PlayedPartition> {
  readonly #world: PlayedWorld
  readonly #nodes: readonly Node[]
  readonly #alone: PartitionStore
  #unknown: readonly UnknownOutcome[] = []
  /** What a broker alone has shown, one after the other. */
  readonly #shown: string[]
  /** Nothing before these may be shown any more: what was acknowledged, and what a read has shown. */
  #least = 0

  constructor(world: PlayedWorld, folder: string, nodes: readonly Node[]) {
    this.#world = world
    this.#nodes = nodes
    this.#alone = new PartitionStore(join(folder, 'alone'), { ...storeSettings, keepFree_bytes, durable: false })
    this.#shown = [levels(this.#alone)]
  }

  get truth(): string {
    return levels(this.#alone)
  }

  owned(node: Node): void {
    assert.equal(node.shown, this.truth, `${node.name} has what was acknowledged`)
  }

  async close(): Promise<void> {
    await this.#alone.close()
  }

  async update(node: Node, step: number, length = this.#world.random.of([1, 1, 2, 3])): Promise<boolean> {
    const { random } = this.#world
    if (!node.isAwake) return false
    // Of several that are sent together without room some are carried out, and nobody may be told which.
    const batch = Array.from({ length: node.isTight ? 1 : length }, () => {
      const action = random.of(['APPEND', 'APPEND_STRICT', 'UPDATE', 'DELETE'] as const)
      return command(action, random.of(tanks), action === 'DELETE' ? [] : [given('level', `${random.of([step, 7])}`)])
    })
    let isDone = false
    const { sent } = node
    await node.send((partition) => {
      isDone = this.#answered(node, sent, batch, partition.take(batch), step)
    })
    return isDone
  }

  #answered(
    node: Node,
    before: SentRecord | undefined,
    batch: readonly Command[],
    replies: readonly Reply[] | undefined,
    step: number,
  ): boolean {
    const isUnknown = replies?.some((reply) => reply.kind === 'failed' && reply.why === 'outcomeUnknown') ?? true
    if (isUnknown && node.sent !== undefined && node.sent !== before) this.#noteUnknown(node.sent, batch)
    if (isUnknown) return false
    this.resolve()
    // What has failed was not carried out, whatever became of what came with it.
    const isDone = (at: number): boolean => replies?.[at]?.kind !== 'failed'
    const [done, responses] = [batch.filter((_, at) => isDone(at)), replies?.filter((_, at) => isDone(at))]
    if (done.length === 0) return false
    assert.deepEqual(responses, this.#carriedOut(done), `step ${step}: answered as by a broker alone`)
    this.#least = this.#shown.length - 1
    this.#checkPositions(node)
    return true
  }

  /** Who may answer for what was acknowledged says that it has as much. */
  #checkPositions(node: Node): void {
    const last = node.confirmedIndex ?? 0
    for (const each of this.#nodes) {
      const confirmed = each.confirmedIndex
      assert(
        confirmed === undefined || confirmed >= last,
        `${each.name} answers for record ${confirmed} while ${last} is acknowledged`,
      )
    }
  }

  async read(node: Node, step: number): Promise<void> {
    const least = this.#least
    await node.read((shown) => {
      this.resolve()
      const at = this.#shown.indexOf(shown, least)
      const after = this.#shown.slice(least).join(' ')
      assert(at >= 0, `step ${step}: a read at ${node.name} shows ${shown}, and not one of ${after}`)
      this.#least = Math.max(this.#least, at)
    })
  }

  #noteUnknown(record: SentRecord, batch: readonly Command[]): void {
    if (decodeClusterRecord(record.bytes).kind !== 'turn') return
    this.#unknown = [...this.#unknown, { record, batch }].sort((a, b) => a.record.expected - b.record.expected)
  }

  /** What nobody was told of is done if it stands in the log by now. */
  resolve(): void {
    this.#unknown = this.#unknown.filter((update) => {
      const outcome = this.#world.logs.outcomeOf(update.record)
      if (outcome === 'stands') this.#carriedOut(update.batch)
      return outcome === 'pending'
    })
  }

  /** What a broker alone answers. */
  #carriedOut(batch: readonly Command[]): readonly Reply[] {
    const parts = { store: this.#alone, interpret: noWords, matcher: matcher(), versions: versions() }
    const replies = takeTurn(parts, batch)
    this.#shown.push(levels(this.#alone))
    return replies
  }
}
