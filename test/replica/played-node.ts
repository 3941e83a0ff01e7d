import type { LinkResponse } from '../../src/cluster/link/node-connection.js'
import type { PositionsConnection } from '../../src/cluster/link/position-questions.js'
import { endInOrder } from '../../src/runtime/orderly-end.js'
import type { LogSequence } from '../../src/storage/wal/record-log.js'
import type { DiskRoomLeft } from './played-disk.js'
import type { PlayedException } from './played-exceptions.js'
import type { SentRecord } from './played-logs.js'
import type { Fatal, OpenMember, PlayedMember } from './played-member.js'
import { PlayedProcess, type PlayedWorld } from './played-process.js'
import { delivered, type OwnClocks, type TimersOwner } from './played-time.js'

/** How long a node hands over at most, and waits for etcd, when it ends; see `BrokerCore`. */
const handover_ms = 10_000
const etcdPatience_ms = 5000

/** How far the monotonic clock of a node goes while that of the schedule goes 1. */
const clockRates = [0.996, 1, 1.004]

/** So long after a write has failed growth is not tried again; see `DiskRoom`. */
const stillFull_ms = 2000

const nothing = (): void => {}

/** A node of a cluster, whose processes and threads come and go. */
export class PlayedNode<Member extends PlayedMember> {
  readonly name: string
  readonly clocks: OwnClocks
  /** Whether it ends in order. */
  isEnding = false
  readonly #world: PlayedWorld
  readonly #folder: string
  readonly #opened: OpenMember<Member>
  readonly #other: (name: string) => PlayedNode<Member> | undefined
  #process: PlayedProcess | undefined
  #member: Member | undefined
  /** Since when its disk has room; never while it has not. */
  #roomSince_ms = 0
  /** Whether a thread was told to be the owner, and has not said what became of that; see `Partitions`. */
  #isCampaigning = false

  constructor(
    world: PlayedWorld,
    name: string,
    folder: string,
    opened: OpenMember<Member>,
    other: (name: string) => PlayedNode<Member> | undefined,
  ) {
    this.name = name
    this.#world = world
    this.#folder = folder
    this.#opened = opened
    this.#other = other
    this.clocks = { rate: world.random.of(clockRates), slept_ms: 0, jump_ms: 0 }
  }

  /** Whether there is a process. */
  get isUp(): boolean {
    return this.#process !== undefined
  }

  get isPaused(): boolean {
    return this.pausedUntil_ms > this.#world.logs.clock.now_ms
  }

  /** When it goes on, or has gone on. */
  get pausedUntil_ms(): number {
    return this.#process?.pausedUntil_ms ?? 0
  }

  /** Whether something may happen in it now. */
  get isAwake(): boolean {
    return this.isUp && !this.isPaused
  }

  /** Whether the thread of its partition has died over something. */
  get hasDied(): boolean {
    return this.#member?.isOver === true
  }

  get isOwner(): boolean {
    return this.#member?.isOwner === true
  }

  /** The node that owns the log, as far as it knows. */
  get owner(): string | undefined {
    return this.#process?.owner
  }

  /** Its process says something else of itself from now on. */
  say(): void {
    this.#process?.say()
  }

  /** Whether it has heard what another one says of itself now. */
  hasHeard(other: PlayedNode<Member>): boolean {
    return other.#process !== undefined && this.#process?.heardOf(other.name) === other.#process.said
  }

  /** What the thread of its partition has sent last. */
  get sent(): SentRecord | undefined {
    return this.#member?.sent
  }

  /** What it shows now; nothing while it is not there. */
  get shown(): string | undefined {
    return this.#member?.shown
  }

  /** The last record that it may answer for now; nothing if it may answer for none. */
  get confirmedIndex(): number | undefined {
    const { timers } = this.#world
    return timers.as(this.#process, () => this.#process?.position.confirmedIndex)
  }

  /** Whether what grows is refused by it. */
  get isTight(): boolean {
    return this.#roomSince_ms === Number.POSITIVE_INFINITY || this.#member?.isFull === true
  }

  /** Whether it takes its disk for full, which has had room for a while. */
  get isWronglyFull(): boolean {
    return this.#world.logs.clock.now_ms - this.#roomSince_ms > stillFull_ms && this.#member?.isFull === true
  }

  /** Starts a process. */
  async start(): Promise<void> {
    const { timers } = this.#world
    const process = new PlayedProcess({
      ...this.#world,
      ...{ node: this.name, clocks: this.clocks, isFull: () => this.#member?.isFull === true },
      instruct: (what) => this.instruct(what),
      connect: (node) => this.#connection(node),
    })
    this.isEnding = false
    this.#isCampaigning = false
    this.#process = process
    this.#open(process)
    await this.#as(process, () => process.begin())
    timers.owner = undefined
  }

  /** Something comes to it. */
  async send(take: (member: Member) => void): Promise<void> {
    await this.#as(this.#member, take)
  }

  /** A read that is confirmed, now or later, hands on what it shows. */
  async read(take: (shown: string) => void): Promise<void> {
    const { failed } = this.#world
    await this.#as(this.#process, (process) => {
      const read = process.confirmed().then((isConfirmed) => {
        const { shown } = this
        if (isConfirmed && !process.isOver && shown !== undefined) take(shown)
      })
      read.catch(failed)
    })
  }

  /** The thread of the partition is told to be the owner, or to be it no more. */
  instruct(what: 'own' | 'release'): void {
    this.#isCampaigning = what === 'own'
    this.#member?.instruct(what)
  }

  /** The threads take what has come, unless they are busy. */
  async deliver(): Promise<void> {
    const { random } = this.#world
    if (!this.isAwake) return
    if (random.chance(0.8)) await this.#as(this.#member, (member) => member.deliver())
    if (random.chance(0.8)) await this.#as(this.#process, (process) => process.deliver())
  }

  dieAtNext(what: Fatal | undefined): void {
    this.#member?.dieAtNext(what)
  }

  /** A transaction of its store throws soon, maybe of a turn that is applied at once, for a reader who waits for LMDB. */
  async throwNext(exception: PlayedException, isRead: boolean): Promise<void> {
    if (isRead) await this.send((member) => member.awaitLmdb())
    this.#member?.throwNext(exception)
  }

  throwNothing(): void {
    this.#member?.throwNext(undefined)
  }

  /** The thread of the partition has died, and another one takes its place; a process that ends, or whose main thread it is, is over then. */
  async replaceThread(): Promise<void> {
    const process = this.#process
    if (this.isEnding || this.#world.log === 'control') return this.kill()
    await this.#dead()
    process?.owns(undefined)
    if (process !== undefined) this.#open(process)
    await delivered()
  }

  /** The process is killed. */
  async kill(): Promise<void> {
    if (this.#process !== undefined) this.#process.isOver = true
    this.#process = undefined
    this.#world.logs.carryOut({ kind: 'kill', node: this.name })
    await this.#dead()
  }

  /** Nothing happens in the process for a while; if the machine sleeps its monotonic clock stands still as well. */
  pause(duration_ms: number, sleeps: boolean): void {
    const { logs } = this.#world
    if (this.#process === undefined) return
    const until_ms = logs.clock.now_ms + duration_ms
    this.#process.pausedUntil_ms = until_ms
    if (sleeps) this.clocks.slept_ms += duration_ms
    logs.carryOut({ kind: 'pause', node: this.name, until_ms })
  }

  leave(room: DiskRoomLeft): void {
    const { disks, logs } = this.#world
    if (room !== 'plenty') this.#roomSince_ms = Number.POSITIVE_INFINITY
    else if (this.#roomSince_ms === Number.POSITIVE_INFINITY) this.#roomSince_ms = logs.clock.now_ms
    disks.leave(this.#folder, room)
  }

  /** The process ends in order, as `BrokerCore` does: some time later there is none. */
  async end(): Promise<void> {
    if (this.isEnding) return
    this.isEnding = true
    const { logs, failed } = this.#world
    const isCoordinator = this.#world.log === 'control'
    const drained = () => this.#drained()
    await this.#as(this.#process, (process) => {
      logs.instruct(this.name, { kind: 'ending', patience_ms: etcdPatience_ms })
      const ended = endInOrder(
        {
          ...{ sweeper: nothing, frontEnds: nothing, clocks: nothing, courier: nothing, nodeLinks: nothing },
          coordinatorStore: isCoordinator ? drained : nothing,
          handover: () => process.running.handOver(handover_ms),
          partitions: isCoordinator ? nothing : drained,
          membership: () => {
            // The one behind a process that was killed meanwhile stays.
            if (!process.isOver) logs.instruct(this.name, { kind: 'leave' })
            return process.left
          },
          engine: () => this.#ended(process),
        },
        nothing,
      )
      ended.catch((fault) => {
        if (!process.isOver) failed(fault)
      })
    })
  }

  #drained(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#member?.end((fault) => {
        if (fault !== undefined) return reject(fault)
        this.#member = undefined
        resolve()
      })
    })
  }

  #ended(process: PlayedProcess): void {
    if (process.isOver) return
    process.isOver = true
    this.#process = undefined
    this.#member = undefined
    this.#world.logs.carryOut({ kind: 'kill', node: this.name })
  }

  async #dead(): Promise<void> {
    const member = this.#member
    this.#member = undefined
    await member?.die()
  }

  #open(process: PlayedProcess): void {
    const { logs, timers, random, log, failed } = this.#world
    const parts = {
      ...{ node: this.name, folder: this.#folder, process, position: process.memory, failed },
      published: process.published,
      filled: () => {
        this.#roomSince_ms = Math.max(this.#roomSince_ms, logs.clock.now_ms)
      },
      link: logs.link(this.name, log),
      later: (run: () => void) => timers.plan(random.delay_ms(), process, run),
      owns: (epoch: LogSequence | undefined) => {
        this.#isCampaigning = false
        process.owns(epoch)
      },
    }
    this.#member = this.#opened(parts, (self) => {
      timers.owner = self
    })
    if (this.#isCampaigning) this.instruct('own')
  }

  /** Has an owner of timers do something, and what that causes at once. */
  async #as<Owner extends TimersOwner, Done>(
    owner: Owner | undefined,
    work: (owner: Owner) => Done,
  ): Promise<Done | undefined> {
    const { timers } = this.#world
    if (owner === undefined) return undefined
    const done = timers.as(owner, () => work(owner))
    await delivered()
    timers.owner = undefined
    return done
  }

  /** A connection to another node, over which that says how far it is. */
  #connection(other: string): PositionsConnection {
    const { random, timers } = this.#world
    const process = this.#process
    const open = new Set<(response: LinkResponse) => void>()
    let isOver = false
    const close = (): void => {
      isOver = true
      for (const resolve of open) resolve({ kind: 'broken', reason: 'it is closed' })
      open.clear()
    }
    const ask = (): Promise<LinkResponse> =>
      new Promise((resolve) => {
        open.add(resolve)
        const respond = (response: LinkResponse | undefined): void => {
          timers.plan(random.delay_ms(), process, () => {
            if (response === undefined) close()
            else if (open.delete(resolve)) resolve(response)
          })
        }
        timers.plan(random.delay_ms(), undefined, () => this.#other(other)?.receive(respond))
      })
    return {
      ask,
      close,
      get isOver() {
        return isOver
      },
    }
  }

  /** Another node asks how far this one is, which answers when it runs; nothing when there is no process. */
  receive(respond: (response: LinkResponse | undefined) => void): void {
    const process = this.#process
    const respondNow = (): void => {
      const bytes = Buffer.from(JSON.stringify({ positions: [process?.position.confirmedIndex ?? null] }))
      respond({ kind: 'answered', status: 200, bytes, clock_ms: undefined })
    }
    if (process === undefined) respond(undefined)
    else this.#world.timers.plan(0, process, respondNow)
  }
}
