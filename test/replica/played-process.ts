import { ConfirmedReads } from '../../src/broker/front-end/confirmed-reads.js'
import { PositionQuestions, type PositionsConnection } from '../../src/cluster/link/position-questions.js'
import { RouteTable } from '../../src/cluster/membership/route-table.js'
import { ok } from '../../src/result.js'
import { RunningNodes } from '../../src/runtime/running-nodes.js'
import type { LogName } from '../../src/storage/etcd/engine.js'
import type { ClusterNodes, NodeFacts } from '../../src/storage/etcd/node-facts.js'
import { Memtable } from '../../src/storage/store/memtable.js'
import type { LogSequence } from '../../src/storage/wal/record-log.js'
import { PartitionPosition } from '../../src/threads/shared-memory/partition-position.js'
import { silentLog } from '../given.js'
import type { PlayedDisks } from './played-disk.js'
import type { ReportOfLog } from './played-instructions.js'
import type { PlayedLogs } from './played-logs.js'
import type { PublishedTurns } from './played-member.js'
import type { OwnClocks, PlayedTimers, TimersOwner } from './played-time.js'
import type { Random } from './schedule.js'

/** How long a node may take to say how far it is. */
const positions_ms = 2000

/** What all nodes of a play have in common. */
export interface PlayedWorld {
  readonly logs: PlayedLogs
  readonly timers: PlayedTimers
  readonly disks: PlayedDisks
  readonly random: Random
  readonly nodes: ClusterNodes
  /** The log that is played: of a partition, or of the coordinator. */
  readonly log: LogName
  /** Whether nodes decide by themselves what to own, or what they decide is not carried out. */
  readonly decides: boolean
  readonly failed: (fault: unknown) => void
}

export interface PlayedProcessParts extends PlayedWorld {
  readonly node: string
  readonly clocks: OwnClocks
  readonly isFull: () => boolean
  /** Whoever has the replica of the log is told something. */
  readonly instruct: (what: 'own' | 'release') => void
  /** A connection to another node, over which that says how far it is. */
  readonly connect: (node: string) => PositionsConnection
}

/** A process of a node until it is killed or has ended: its main thread and its front end. */
export class PlayedProcess implements TimersOwner {
  isOver = false
  pausedUntil_ms = 0
  readonly clocks: OwnClocks
  readonly running: RunningNodes
  /** How far the replica of the log is. */
  readonly memory: SharedArrayBuffer
  readonly position: PartitionPosition
  readonly published: PublishedTurns = { memtable: Memtable.memory(), last: 0 as LogSequence }
  /** Resolves when it is no member any more. */
  readonly left: Promise<void>
  readonly #number: number
  readonly #parts: PlayedProcessParts
  readonly #reads: ConfirmedReads
  readonly #routes = new RouteTable([])
  readonly #questions = new Map<string, PositionQuestions>()
  /** The members as they were last reported. */
  #members: readonly NodeFacts[] = []
  #changes = 0
  /** What other threads have told the main thread. */
  #told: (() => void)[] = []
  #leave: () => void = () => {}

  /** To be made as its own owner. */
  constructor(parts: PlayedProcessParts) {
    const { logs, timers, random, node, nodes, clocks, decides, isFull, instruct, log } = parts
    this.#parts = parts
    this.clocks = clocks
    this.#number = logs.start(node)
    timers.owner = this
    this.left = new Promise((resolve) => {
      this.#leave = resolve
    })
    this.running = new RunningNodes({
      ...{ node, nodes, partitions: 1, rebalanceDelay_ms: 10_000, reads: 'confirmed', log: silentLog },
      ...{ hosts: () => [this.said], isFull },
      tell: (self) => logs.instruct(node, { kind: 'tell', self }),
      instruct: (_, what) => {
        if (decides && log !== 'control') instruct(what)
      },
      coordinate: (what) => {
        if (decides && log === 'control') instruct(what)
      },
      drain: (_, limit_ms) => new Promise((resolve) => setTimeout(resolve, Math.min(limit_ms, random.delay_ms()))),
      routed: (routes, others) => this.#routes.put(routes, others),
      stands: () => {},
    })
    const [ofPartition] = this.running.positions
    if (ofPartition === undefined) throw new Error('there is one partition')
    const memory = log === 'control' ? this.running.metadataPosition : ofPartition
    this.memory = memory
    this.position = new PartitionPosition(memory)
    this.#reads = new ConfirmedReads({
      positions: [memory],
      ownerOf: () => this.owner,
      positionsOf: async (other, partitions) => {
        const positions = await this.#questionsTo(other).ask(partitions)
        return positions.ok ? ok(new Map(Array.from(positions.value, ([log, last]) => [Number(log), last]))) : positions
      },
    })
  }

  /** Its partition is open: it is a member from now on. */
  begin(): void {
    this.running.begin(`${this.#parts.node}:1`, [])
  }

  /** What it says of itself beside all else, which no other process has said, nor this one before. */
  get said(): string {
    return `${this.#number}-${this.#changes}`
  }

  /** What a member says of itself, as far as this process has heard. */
  heardOf(node: string): string | undefined {
    return this.#members.find(({ name }) => name === node)?.hosts[0]
  }

  /** Says something else of itself from now on. */
  say(): void {
    this.#changes += 1
    this.running.unreachable([])
  }

  /** What the replica of the log reports: of a partition, which is another thread's, the main thread hears of it later. */
  owns(epoch: LogSequence | undefined): void {
    if (this.#parts.log === 'control') this.running.coordinates(epoch)
    else this.#told.push(() => this.running.owns(0, epoch))
  }

  /** The main thread takes what has come. */
  deliver(): void {
    for (const what of this.#told.splice(0)) what()
    for (const report of this.#parts.logs.reportsOf(this.#number)) this.#take(report)
  }

  /** The node that owns the log, as far as the front end, or the coordinator, knows. */
  get owner(): string | undefined {
    return this.#parts.log === 'control' ? this.running.coordinator : this.#routes.ownerOf(0)
  }

  /** Whether all that was acknowledged before is shown by what is read when this resolves; it may never do, see `TimersOwner`. */
  async confirmed(): Promise<boolean> {
    return (await this.#reads.confirm([0])).ok
  }

  #take(report: ReportOfLog): void {
    if (report.kind === 'members') {
      this.#members = report.members
      this.running.members(report.members)
    } else if (report.kind === 'isMember') this.running.member(report.isMember)
    else if (report.kind === 'givenUp') this.running.givenUp()
    else this.#leave()
  }

  #questionsTo(other: string): PositionQuestions {
    const questions =
      this.#questions.get(other) ?? new PositionQuestions(() => this.#parts.connect(other), positions_ms)
    this.#questions.set(other, questions)
    return questions
  }
}
