import assert from 'node:assert/strict'
import { EngineFull, LogFenced, StorageFull } from '../../src/faults.js'
import { decodeClusterRecord } from '../../src/storage/etcd/cluster-record.js'
import { decodeMetadataRecord } from '../../src/storage/records/metadata-record.js'
import { keptIds, type PlayedCoordinator, shownOf } from './played-coordinator.js'
import type { PlayedNode } from './played-node.js'
import type { PlayedLoad } from './played-nodes.js'
import type { PlayedWorld } from './played-process.js'

type Node = PlayedNode<PlayedCoordinator>

/** Changes of what the coordinator keeps, each with a text of its own, and reads of it, held against what stands in the log. */
export class PlayedChanges implements PlayedLoad<PlayedCoordinator> {
  readonly #world: PlayedWorld
  /** What the log says was kept, one after the other. */
  readonly #shown = [shownOf(new Map())]
  readonly #kept = new Map<string, string>()
  /** Behind which of these each text was put. */
  readonly #put = new Map<string, number>()
  #records = 0
  /** Nothing before this may be shown any more: what was acknowledged. Nodes show what they follow as soon as they have it. */
  #least = 0
  #changes = 0
  #acknowledged = 0

  constructor(world: PlayedWorld) {
    this.#world = world
  }

  get truth(): string {
    this.resolve()
    return this.#shown.at(-1) ?? ''
  }

  /** Those that are acknowledged later count when the next ones are sent. */
  async update(node: Node, step: number, length = this.#world.random.of([1, 1, 2, 3])): Promise<boolean> {
    const { random } = this.#world
    const acknowledged = this.#acknowledged
    this.#acknowledged = 0
    for (let sent = 0; sent < length; sent += 1) {
      if (!node.isAwake) break
      this.#changes += 1
      const [id, text] = [random.of(keptIds), random.chance(0.9) ? `${step} ${this.#changes}` : undefined]
      await node.send((coordinator) => this.#change(node, coordinator, id, text))
    }
    return acknowledged > 0
  }

  async read(node: Node, step: number): Promise<void> {
    const least = this.#least
    await node.read((shown) => this.#isShown(shown, least, `step ${step}: a read at ${node.name}`))
  }

  /** Takes up what stands in the log by now. */
  resolve(): void {
    const { records } = this.#world.logs
    for (const bytes of records.slice(this.#records)) {
      const { kind, payload } = decodeClusterRecord(Buffer.from(bytes))
      if (kind !== 'turn') continue
      for (const { id, text } of decodeMetadataRecord(payload).writes) {
        if (text === undefined) {
          this.#kept.delete(id)
          continue
        }
        assert(!this.#put.has(text), `${text} stands in the log once`)
        this.#kept.set(id, text)
        this.#put.set(text, this.#shown.length)
      }
      this.#shown.push(shownOf(this.#kept))
    }
    this.#records = records.length
  }

  /** What it owns comes into force later. */
  owned(): void {}

  async close(): Promise<void> {}

  #change(node: Node, coordinator: PlayedCoordinator, id: string, text: string | undefined): void {
    const { failed } = this.#world
    coordinator.change(id, text).then(
      () => {
        if (coordinator.isOver) return
        try {
          this.#isAcknowledged(node, coordinator, text)
        } catch (fault) {
          failed(fault)
        }
      },
      (fault) => {
        if (coordinator.isOver || text === undefined) return
        this.resolve()
        const isRefused = fault instanceof LogFenced || (fault instanceof StorageFull && !(fault instanceof EngineFull))
        if (isRefused && this.#put.has(text)) failed(new Error(`${text} was refused, and stands in the log`))
      },
    )
  }

  #isAcknowledged(node: Node, coordinator: PlayedCoordinator, text: string | undefined): void {
    this.resolve()
    this.#acknowledged += 1
    if (text === undefined) return // One removal is like another.
    const at = this.#put.get(text)
    assert(at !== undefined, `${text} is acknowledged, and does not stand in the log`)
    // It is in force where it was asked for.
    this.#isShown(coordinator.shown, at, `${text} is acknowledged at ${node.name}, which`)
    this.#least = Math.max(this.#least, at)
  }

  #isShown(shown: string, least: number, who: string): void {
    this.resolve()
    assert(
      this.#shown.includes(shown, least),
      `${who} shows ${shown}, and not one of ${this.#shown.slice(least).join(' ')}`,
    )
  }
}
