import { readLease_ms } from '../../src/partition/replica/read-lease.js'
import { transition } from '../../src/partition/replica/transitions.js'
import { OpenQuestions } from '../../src/storage/etcd/open-questions.js'
import type { LogSequence } from '../../src/storage/wal/record-log.js'
import { Random, Schedule } from './schedule.js'
import { SimulatedLog } from './simulated-log.js'
import { type Response, SimulatedNode, type Version } from './simulated-node.js'

/** The program as it is. */
export const present: Version = {
  transition,
  questions: () => new OpenQuestions<Response>(),
  commitsFirst: true,
  refusesTwice: true,
}

/** How long a schedule goes on, and how long everybody may take after it to come to rest. */
const played_ms = 10_000
const rest_ms = 40_000

/**
 * Plays one schedule of three nodes with a replica each of one log: clients write and read, the log answers late or not, processes
 * and threads end and come back, machines stand still, clocks go at different rates, nodes are told to own and to release. Then all
 * faults end, everything comes to rest, and all nodes close. Throws when something does not hold that always has to. Only the transitions
 * and the lease are the program's own: far more schedules are played in the time of one of `playNodes`, which plays the real parts.
 *
 * @param trace hears each event, for who looks for the cause of a failure
 */
export function play(seed: number, version: Version = present, trace?: (line: string) => void): void {
  new Simulation(seed, version, trace).play()
}

class Simulation {
  readonly #random: Random
  readonly #schedule = new Schedule()
  readonly #log: SimulatedLog
  readonly #nodes: readonly SimulatedNode[]
  readonly #isSynchronous: boolean
  readonly #awaitsOwner: boolean
  /** The last turn that was acknowledged, and the last one that a read has shown. */
  #acknowledged = 0
  #read = 0
  #metadataVersion = 0 as LogSequence
  #turns = 0
  readonly #trace: ((line: string) => void) | undefined

  constructor(seed: number, version: Version, trace: ((line: string) => void) | undefined) {
    this.#trace = trace
    const random = new Random(seed)
    this.#random = random
    this.#log = new SimulatedLog(this.#schedule, random)
    this.#isSynchronous = random.chance(0.6)
    this.#awaitsOwner = this.#isSynchronous && random.chance(0.8)
    const acknowledged = (sequence: LogSequence, number: number): void => this.#acknowledge(sequence, number)
    const common = { log: this.#log, schedule: this.#schedule, random, version, acknowledged, trace }
    const kind = { isSynchronous: this.#isSynchronous, awaitsOwner: this.#awaitsOwner }
    this.#nodes = ['a', 'b', 'c'].map((name) => new SimulatedNode({ ...common, ...kind, name }))
  }

  play(): void {
    const { now_ms } = this.#schedule
    this.#random.of(this.#nodes).instruct('own')
    this.#planNext()
    this.#schedule.runUntil(now_ms + played_ms)
    this.#comeToRest()
    this.#close()
  }

  #planNext(): void {
    const isOver = this.#schedule.now_ms > played_ms - 100
    if (isOver) return
    this.#schedule.plan(this.#random.next() * 250, () => {
      this.#happen()
      this.#planNext()
    })
  }

  #happen(): void {
    const random = this.#random
    const node = random.of(this.#nodes)
    const what = random.next()
    if (what < 0.45) for (const each of this.#nodes) each.update()
    else if (what < 0.7) this.#readSome()
    else if (what < 0.79) this.#instructOwner(node)
    else if (what < 0.86) node.instruct('release')
    else if (what < 0.88) node.kill()
    else if (what < 0.9) node.pause(random.delay_ms() * 2)
    else if (what < 0.92) this.#silence()
    else if (what < 0.94) this.#fill(node)
    else if (what < 0.96) this.#raiseMetadata()
    else node.checkpoint()
  }

  /** As nodes decide: who is to own a log releases it first where another one does. */
  #instructOwner(node: SimulatedNode): void {
    for (const other of this.#nodes) if (other !== node && this.#random.chance(0.5)) other.instruct('release')
    node.instruct('own')
  }

  #silence(): void {
    this.#log.silentUntil_ms = this.#schedule.now_ms + this.#random.next() * 6000
  }

  #fill(node: SimulatedNode): void {
    node.isFull = true
    this.#schedule.plan(this.#random.next() * 3000, () => {
      node.isFull = false
    })
  }

  #raiseMetadata(): void {
    this.#metadataVersion = (this.#metadataVersion + 1) as LogSequence
    for (const node of this.#nodes) this.#tellMetadata(node, this.#random.delay_ms())
  }

  #tellMetadata(node: SimulatedNode, delay_ms: number): void {
    const metadataVersion = this.#metadataVersion
    this.#schedule.plan(delay_ms, () =>
      node.carryOut(() => {
        if (metadataVersion >= node.state.metadataVersion) node.take({ kind: 'metadataInForce', metadataVersion })
      }),
    )
  }

  #acknowledge(sequence: LogSequence, number: number): void {
    this.#turns += 1
    if (this.#log.numbers[sequence - 1] !== number)
      throw new Error(`turn ${sequence} was acknowledged and is not in the log`)
    if (sequence > this.#acknowledged) this.#acknowledged = sequence
    for (const node of this.#nodes) {
      const reached = Math.max(node.commitIndex, node.appliedIndex)
      if (node.isConfirmed && reached < sequence)
        throw new Error(`${node.name} answers for record ${reached} while ${sequence} is acknowledged`)
    }
  }

  /** A confirmed read, as `ConfirmedReads` makes it. */
  #readAt(node: SimulatedNode): void {
    const { now_ms } = this.#schedule
    // A replica that does not wait for its owner may show what nobody was told of yet.
    this.#trace?.(`${now_ms} ${node.name} is to be read: at least ${this.#read}, ${this.#acknowledged}`)
    const least = this.#awaitsOwner ? Math.max(this.#acknowledged, this.#read) : this.#acknowledged
    this.#confirm(node, now_ms + readLease_ms, () => {
      const { shown } = node
      this.#trace?.(`${this.#schedule.now_ms} ${node.name} shows ${shown}, asked at ${now_ms}`)
      if (shown < least) throw new Error(`${node.name} shows turn ${shown}, and ${least} was shown before`)
      this.#read = Math.max(this.#read, shown)
    })
  }

  /** Several reads, of which some begin when others have ended. */
  #readSome(): void {
    const random = this.#random
    if (random.chance(0.5)) for (const node of this.#nodes) node.update()
    for (let reads = 0; reads < 3; reads += 1) {
      const node = random.of(this.#nodes)
      this.#schedule.plan(random.next() * 12, () => this.#readAt(node))
    }
  }

  #confirm(node: SimulatedNode, until_ms: number, read: () => void): void {
    const schedule = this.#schedule
    if (schedule.now_ms > until_ms) return
    const own = Math.max(node.commitIndex, node.appliedIndex)
    if (node.isConfirmed) {
      if (node.appliedIndex >= node.commitIndex) read()
      else this.#reaches(node, own, until_ms, read)
      return
    }
    const owner = this.#random.of(this.#nodes)
    const again = (): void => schedule.plan(100, () => this.#confirm(node, until_ms, read))
    schedule.plan(this.#random.delay_ms(), () => {
      const last = Math.max(owner.commitIndex, owner.appliedIndex)
      if (!owner.isConfirmed) return again()
      schedule.plan(this.#random.delay_ms(), () => {
        if (!node.lives) return
        this.#hear(node, last)
        this.#reaches(node, last, until_ms, read)
      })
    })
  }

  #hear(node: SimulatedNode, last: number): void {
    if (last <= node.commitIndex) return
    node.commitIndex = last
    if (this.#awaitsOwner) node.take({ kind: 'committed', index: last as LogSequence })
  }

  #reaches(node: SimulatedNode, last: number, until_ms: number, read: () => void, wait_ms = 2): void {
    if (node.appliedIndex >= last) read()
    else if (this.#schedule.now_ms < until_ms)
      this.#schedule.plan(wait_ms, () => this.#reaches(node, last, until_ms, read, wait_ms * 2))
  }

  /** Without faults one node comes to own the log, and takes turns that all have. */
  #comeToRest(): void {
    this.#log.isFaulty = false
    this.#log.silentUntil_ms = 0
    const owner = this.#random.of(this.#nodes)
    const until_ms = this.#schedule.now_ms + rest_ms
    for (const node of this.#nodes) {
      node.isFull = false
      node.pause(0)
      this.#tellMetadata(node, 0)
      if (node !== owner) node.instruct('release')
    }
    const turns = this.#turns
    while (this.#turns === turns || !this.#areEqual()) {
      if (this.#schedule.now_ms > until_ms) throw new Error(this.#difference(turns))
      if (owner.state.role.kind === 'follows') owner.instruct('own')
      for (const node of this.#nodes) this.#tellMetadata(node, 0)
      if (this.#turns === turns) owner.update()
      this.#schedule.runUntil(this.#schedule.now_ms + 500)
    }
  }

  get #standing(): readonly LogSequence[] {
    return this.#log.records.filter(({ kind }) => kind === 'turn').map(({ sequence }) => sequence)
  }

  #areEqual(): boolean {
    const standing = this.#standing
    return this.#nodes.every(
      ({ turns }) => turns.length === standing.length && turns.every((turn, at) => turn === standing[at]),
    )
  }

  #difference(turns: number): string {
    if (this.#turns === turns) return 'an owner takes no turn'
    const held = this.#nodes.map(({ name, turns: of }) => `${name} has ${of.join()}`).join('; ')
    return `the log has ${this.#standing.join()}; ${held}`
  }

  #close(): void {
    const isSilent = this.#random.chance(0.5)
    if (isSilent) this.#log.silentUntil_ms = Number.MAX_VALUE
    for (const node of this.#nodes) {
      if (isSilent) node.end(1000)
      if (this.#random.chance(0.5)) node.instruct('own')
      this.#schedule.plan(this.#random.next() * 20, () => node.instruct('close'))
    }
    const until_ms = this.#schedule.now_ms + rest_ms
    while (this.#schedule.now_ms < until_ms && this.#nodes.some(({ hasEnded }) => !hasEnded))
      this.#schedule.runUntil(this.#schedule.now_ms + 500)
    for (const { name, hasEnded, state } of this.#nodes)
      if (!hasEnded) throw new Error(`${name} does not end: it ${state.role.kind}`)
  }
}
