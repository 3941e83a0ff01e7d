import { Membership } from '../../src/cluster/membership/membership.js'
import { Appender } from '../../src/storage/etcd/appender.js'
import type { LogName } from '../../src/storage/etcd/engine.js'
import { EtcdEngine } from '../../src/storage/etcd/etcd-engine.js'
import { EtcdNodes } from '../../src/storage/etcd/etcd-nodes.js'
import { LogService } from '../../src/storage/etcd/log-service.js'
import { ReplicaCheckpoints } from '../../src/storage/etcd/replica-checkpoints.js'
import type { LogSequence } from '../../src/storage/wal/record-log.js'
import type { EtcdInMemory } from '../cluster/etcd-in-memory.js'
import type { LogInstruction, ReportOfLog } from './played-instructions.js'
import type { PlayedTimers, TimersOwner } from './played-time.js'
import type { Random } from './schedule.js'

export const prefix = '/played'

/** What lies between all nodes and their etcd. */
export interface PlayedNetwork {
  isFaulty: boolean
  /** Nothing comes from etcd before these moments: to any node, and to each. */
  silentUntil_ms: number
  readonly silent: Map<string, number>
}

export interface LogProcessParts {
  readonly node: string
  readonly nodes: readonly string[]
  /** The logs that there are. */
  readonly logs: readonly LogName[]
  readonly etcd: EtcdInMemory
  readonly network: PlayedNetwork
  readonly timers: PlayedTimers
  readonly now_ms: () => number
  readonly random: Random
  readonly report: (event: ReportOfLog) => void
}

/** What a process of a node has in its thread of logs, as `workers/log.ts` puts it together. */
export class LogProcess implements TimersOwner {
  pausedUntil_ms = 0
  isOver = false
  readonly service: LogService
  readonly #parts: LogProcessParts
  readonly #nodes: EtcdNodes
  #membership: Membership | undefined

  constructor(parts: LogProcessParts) {
    const { node, nodes, logs, etcd, report } = parts
    this.#parts = parts
    const client = etcd.client({
      carried: (to) => this.#carried(to),
      isLost: () => parts.network.isFaulty && parts.random.chance(0.03),
    })
    const engine = new EtcdEngine({ urls: [] }, prefix, client)
    const appender = new Appender(engine, { answered: () => {}, unanswered: () => {}, invalid: () => {} })
    const givenUp = (): void => report({ kind: 'givenUp' })
    const nothing = (): void => {}
    this.#nodes = new EtcdNodes(client, prefix)
    const reached = new Map(logs.map((log) => [log, 0 as LogSequence]))
    const checkpoints = new ReplicaCheckpoints(this.#nodes, node, nodes, reached)
    this.service = new LogService({
      ...{ engine, appender, node, checkpoints, heldMost_bytes: 2 ** 20 },
      ...{ heard: nothing, givenUp, fenced: nothing, neglected: nothing },
    })
  }

  async take(instruction: LogInstruction): Promise<void> {
    const { report } = this.#parts
    if (instruction.kind === 'ending') return this.service.end(instruction.patience_ms)
    if (instruction.kind === 'leave') {
      await this.#membership?.leave()
      return report({ kind: 'left' })
    }
    if (this.#membership !== undefined) return this.#membership.tell(instruction.self)
    this.#membership = new Membership(instruction.self, {
      nodes: this.#nodes,
      changed: (members) => report({ kind: 'members', members }),
      isMember: (isMember) => report({ kind: 'isMember', isMember }),
      taken: () => {},
      log: { warn: () => {}, info: () => {} },
    })
  }

  /** What was sent arrives, whether this process is there or not; what comes back does so when it takes it. */
  #carried(to: 'etcd' | 'client'): Promise<void> {
    const { network, node, now_ms, random, timers } = this.#parts
    const silentUntil_ms = Math.max(network.silentUntil_ms, network.silent.get(node) ?? 0)
    const silent_ms = network.isFaulty ? Math.max(0, silentUntil_ms - now_ms()) : 0
    const delay_ms = silent_ms + (network.isFaulty ? random.delay_ms() : 1)
    return new Promise((arrived) => timers.plan(delay_ms, to === 'client' ? this : undefined, arrived))
  }
}
