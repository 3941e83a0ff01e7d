import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { LogName } from '../../src/storage/etcd/engine.js'
import { PlayedChanges } from './played-changes.js'
import { PlayedCoordinator } from './played-coordinator.js'
import { PlayedDisks } from './played-disk.js'
import { exceptions } from './played-exceptions.js'
import type { PlayedLogs } from './played-logs.js'
import type { Fatal, OpenMember, PlayedMember } from './played-member.js'
import { PlayedNode } from './played-node.js'
import { PlayedPartition } from './played-partition.js'
import type { PlayedWorld } from './played-process.js'
import { delivered, PlayedTimers } from './played-time.js'
import { PlayedUpdates } from './played-updates.js'
import { Random } from './schedule.js'

/** What clients do at the nodes, and what has to be shown to them. */
export interface PlayedLoad<Member extends PlayedMember> {
  /** What all nodes show that have applied all that was acknowledged. */
  readonly truth: string
  /** Sends some updates, or this many, to a node; says whether some were carried out. */
  update(node: PlayedNode<Member>, step: number, length?: number): Promise<boolean>
  read(node: PlayedNode<Member>, step: number): Promise<void>
  /** Looks what became of that which nobody was told of. */
  resolve(): void
  /** A node owns the log, and may say so. */
  owned(node: PlayedNode<Member>): void
  close(): Promise<void>
}

/** What is played, with those parts of it that depend on the log. */
interface Kind<Member extends PlayedMember> {
  readonly opened: OpenMember<Member>
  readonly load: (world: PlayedWorld, folder: string, nodes: readonly PlayedNode<Member>[]) => PlayedLoad<Member>
}

const ofPartition: Kind<PlayedPartition> = {
  opened: (parts, opening) => new PlayedPartition(parts, opening),
  load: (world, folder, nodes) => new PlayedUpdates(world, folder, nodes),
}

const ofCoordinator: Kind<PlayedCoordinator> = {
  opened: (parts, opening) => new PlayedCoordinator(parts, opening),
  load: (world) => new PlayedChanges(world),
}

const names = ['a', 'b', 'c']

const fatalToPartitions: readonly Fatal[] = ['append', 'campaign']
const allFatal: readonly Fatal[] = [...fatalToPartitions, 'enforce']

/** How long everybody may take to come to rest, and to end. */
const rest_ms = 180_000
const end_ms = 60_000

/**
 * Plays three nodes that share the log of a partition, or that of the coordinator, with the program's own parts from the turns to the client of an etcd, which is in
 * memory: nodes decide what to own and hand it over, leases end, watches break, processes and threads end and begin anew, nodes and
 * machines stand still, clocks of the day jump, responses of etcd are late or lost, it has no room for a while, nor have disks, write
 * transactions throw, logs are truncated, and clients send updates to all nodes, of which many change nothing, and read at all of them. Throws
 * when what a node answers is not what a broker alone would have answered, and when nodes do not come to rest, or to an end.
 */
export async function playNodes(
  logs: PlayedLogs,
  folder: string,
  seed: number,
  steps: number,
  log: LogName = 0,
): Promise<void> {
  const disks = new PlayedDisks()
  const timers = new PlayedTimers(logs.clock, false)
  const [ownDisks, ownTimers] = [disks.install(), timers.install()]
  const parts = { logs, timers, disks, log }
  const play =
    log === 'control' ? new Play(parts, folder, seed, ofCoordinator) : new Play(parts, folder, seed, ofPartition)
  try {
    await play.begin()
    for (let step = 0; step < steps; step += 1) await play.step(step)
    await play.rest()
    await play.end()
  } finally {
    await play.close()
    ownTimers()
    ownDisks()
  }
}

class Play<Member extends PlayedMember> {
  readonly #world: PlayedWorld
  readonly #faults: unknown[] = []
  readonly #nodes: readonly PlayedNode<Member>[]
  readonly #load: PlayedLoad<Member>
  /** Clocks of the day jump, or machines sleep: a program cannot know of both. */
  readonly #sleeps: boolean
  /** Chance for stores that throw. Schedules in which none does are as they would be without it. */
  readonly #throwing: Random | undefined
  #isOver = false

  constructor(
    parts: Pick<PlayedWorld, 'logs' | 'timers' | 'disks' | 'log'>,
    folder: string,
    seed: number,
    { opened, load }: Kind<Member>,
  ) {
    const random = new Random(seed)
    const listed = names.map((name, slot) => ({ name, slot, folder: name }))
    this.#world = {
      ...{ ...parts, random, nodes: { replicas: 3, nodes: listed }, decides: random.chance(0.5) },
      failed: (fault) => void this.#faults.push(fault),
    }
    this.#sleeps = random.chance(0.5)
    const throwing = new Random(~seed)
    this.#throwing = throwing.chance(0.3) ? throwing : undefined
    parts.logs.begin(seed, names, parts.log)
    const other = (name: string) => this.#nodes.find((node) => node.name === name)
    this.#nodes = names.map((name) => new PlayedNode(this.#world, name, join(folder, name), opened, other))
    this.#load = load(this.#world, folder, this.#nodes)
  }

  async begin(): Promise<void> {
    for (const node of this.#nodes) await node.start()
  }

  async step(step: number): Promise<void> {
    const { random } = this.#world
    const [owners, woken] = [this.#nodes.filter((each) => each.isOwner && each.isAwake), this.#wokenNode]
    const node = random.of(owners.length > 0 && random.chance(0.4) ? owners : this.#nodes)
    if (woken !== undefined) for (let updates = 0; updates < 3; updates += 1) await this.#load.update(woken, step, 1)
    else if (!node.isUp && random.chance(0.1)) await node.start()
    else if (node.isAwake) await this.#happen(node, step)
    await this.#letThrow()
    await this.#goOn(random.delay_ms())
    await this.#deliver()
  }

  /** All faults end: the nodes come to own the log, and have all that was acknowledged. */
  async rest(): Promise<void> {
    const { logs, decides } = this.#world
    await this.#sayMuch()
    this.#heal()
    for (const node of this.#nodes) {
      await this.#until(async () => !node.isEnding && node.isAwake, `${node.name} runs`)
    }
    this.#heal()
    if (!decides) for (const node of this.#nodes) await this.#owned(node)
    await this.#until(async () => this.#nodes.some(({ isOwner }) => isOwner), 'a node owns the log')
    logs.carryOut({ kind: 'faulty', isFaulty: false })
    await this.#until(async () => {
      const owner = this.#nodes.find(({ isOwner }) => isOwner)
      return owner !== undefined && (await this.#load.update(owner, -1))
    }, 'an update is taken')
    const areKnown = async (): Promise<boolean> => {
      const owner = this.#nodes.find(({ isOwner }) => isOwner)?.name
      const areHeard = this.#nodes.every((node) => this.#nodes.every((other) => node.hasHeard(other)))
      return areHeard && this.#nodes.every((node) => node.owner === owner)
    }
    await this.#until(areKnown, 'all nodes know the owner, and what the members say of themselves')
    const areEqual = async () => this.#nodes.every((node) => node.shown === this.#load.truth)
    await this.#until(areEqual, 'all nodes show what was acknowledged')
  }

  /** The nodes say one thing of themselves after another, so that a request which is late arrives behind a later one. */
  async #sayMuch(): Promise<void> {
    for (let times = 0; times < 8; times += 1) {
      for (const node of this.#nodes) if (node.isAwake) node.say()
      await this.#goOn(700)
      await this.#deliver()
    }
  }

  /** All nodes end, whether etcd answers or not. */
  async end(): Promise<void> {
    const { random, logs } = this.#world
    this.#isOver = true
    const isSilent = random.chance(0.3)
    if (isSilent) {
      logs.carryOut({ kind: 'faulty', isFaulty: true })
      this.#silence(undefined, end_ms)
    }
    for (const node of this.#nodes) {
      await this.#goOn(random.below(500))
      await node.end()
    }
    await this.#until(async () => this.#nodes.every(({ isUp }) => !isUp), 'all nodes end', end_ms)
  }

  async close(): Promise<void> {
    for (const node of this.#nodes) await node.kill()
    await this.#load.close()
  }

  /** A node that was paused until now, of whose messages an update is the first one. */
  get #wokenNode(): PlayedNode<Member> | undefined {
    const { now_ms } = this.#world.logs.clock
    return this.#nodes.find((node) => node.isAwake && node.pausedUntil_ms === now_ms)
  }

  /** A node that owns the log is paused while another one comes to own it, unless it is asked too late. */
  #pause(node: PlayedNode<Member>): void {
    const { random, decides } = this.#world
    node.pause(random.of([500, 5000, 10_000, 20_000]) * (0.5 + random.next()), this.#sleeps)
    if (!this.#sleeps && random.chance(0.5)) node.clocks.jump_ms -= random.below(3_600_000)
    if (!decides) random.of(this.#nodes.filter((each) => each !== node)).instruct('own')
  }

  /** A thread dies over what it sends next, which may be offered to etcd again and again, or that of the coordinator over what comes into force. */
  #letDie(node: PlayedNode<Member>): void {
    const { random, decides, log } = this.#world
    const what = random.of(log === 'control' ? allFatal : fatalToPartitions)
    node.dieAtNext(what)
    if (random.chance(0.5)) this.#silence(node.name, random.below(2000))
    if (what === 'campaign' && !decides) node.instruct('own')
  }

  /** A store throws when something is written to it next. */
  async #letThrow(): Promise<void> {
    const throwing = this.#throwing
    if (throwing === undefined || !throwing.chance(0.06)) return
    const node = throwing.of(this.#nodes)
    if (node.isAwake) await node.throwNext(throwing.of(exceptions), throwing.chance(0.5))
  }

  async #happen(node: PlayedNode<Member>, step: number): Promise<void> {
    const { random, logs, decides } = this.#world
    const what = random.next()
    if (what < 0.4) await this.#load.update(node, step)
    else if (what < 0.58) await this.#load.read(node, step)
    else if (what < 0.74) await this.#goOn(random.below(2000))
    else if (what < 0.86) {
      if (!decides) node.instruct(random.chance(0.75) ? 'own' : 'release')
    } else if (what < 0.875) logs.carryOut({ kind: 'full', isFull: random.chance(0.5) })
    else if (what < 0.885) node.leave(random.of(['plenty', 'plenty', 'low', 'none']))
    else if (what < 0.895)
      this.#silence(random.chance(0.5) ? node.name : undefined, random.below(random.of([1000, 4000, 9000])))
    else if (what < 0.91) logs.carryOut({ kind: 'breakWatches' })
    else if (what < 0.92) {
      if (!this.#sleeps) node.clocks.jump_ms = random.below(7_200_000) - 3_600_000
    } else if (what < 0.94) this.#pause(node)
    else if (what < 0.955) this.#letDie(node)
    else if (what < 0.97) await node.replaceThread()
    else if (what < 0.985) await node.kill()
    else await node.end()
  }

  /** Lets a node own the log, however others have slept. */
  async #owned(node: PlayedNode<Member>): Promise<void> {
    let looks = 0
    const isOwned = async (): Promise<boolean> => {
      // Who has lost an election reads what there is before it campaigns again.
      if (looks % 4 === 0) for (const each of this.#nodes) each.instruct(each === node ? 'own' : 'release')
      looks += 1
      this.#load.resolve()
      // Who has slept owns it as far as it knows.
      return node.isOwner && node.confirmedIndex !== undefined
    }
    await this.#until(isOwned, `${node.name} owns the log`)
    this.#load.owned(node)
  }

  #heal(): void {
    const { logs } = this.#world
    logs.carryOut({ kind: 'full', isFull: false })
    logs.carryOut({ kind: 'silent', node: undefined, until_ms: 0 })
    for (const node of this.#nodes) {
      node.leave('plenty')
      node.dieAtNext(undefined)
      node.throwNothing()
      logs.carryOut({ kind: 'silent', node: node.name, until_ms: 0 })
    }
  }

  #silence(node: string | undefined, duration_ms: number): void {
    const { logs } = this.#world
    logs.carryOut({ kind: 'silent', node, until_ms: logs.clock.now_ms + duration_ms })
  }

  async #until(isSo: () => Promise<boolean>, what: string, limit_ms = rest_ms): Promise<void> {
    const { clock } = this.#world.logs
    const until_ms = clock.now_ms + limit_ms
    while (!(await isSo())) {
      assert(clock.now_ms < until_ms, `it does not come to be that ${what}`)
      for (const node of this.#nodes) if (!node.isUp && !this.#isOver) await node.start()
      await this.#goOn(300)
      await this.#deliver()
    }
  }

  /** All clocks go on, and what is due happens, in the threads of the nodes and in those of their logs. */
  async #goOn(duration_ms: number): Promise<void> {
    const { logs, timers } = this.#world
    const { now_ms } = logs.clock
    const pauses = this.#nodes.map(({ pausedUntil_ms }) => pausedUntil_ms).filter((until_ms) => until_ms > now_ms)
    const until_ms = Math.min(now_ms + duration_ms, ...pauses)
    for (;;) {
      const next_ms = Math.min(until_ms, timers.due_ms)
      if (next_ms >= logs.clock.now_ms) logs.goOn(next_ms)
      if (timers.step(logs.clock.now_ms)) await delivered()
      else if (logs.clock.now_ms >= until_ms) break
    }
    timers.owner = undefined
  }

  async #deliver(): Promise<void> {
    for (const node of this.#nodes) await node.deliver()
    for (const node of this.#nodes) {
      if (!node.hasDied) continue
      if (this.#world.random.chance(0.3)) await node.kill()
      else await node.replaceThread()
    }
    assert.deepEqual(this.#faults, [])
    for (const node of this.#nodes) assert(!node.isWronglyFull, `${node.name} takes its disk for full`)
  }
}
