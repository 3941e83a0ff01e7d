import assert from 'node:assert/strict'
import { setImmediate as microtasks } from 'node:timers/promises'
import { workerData } from 'node:worker_threads'
import { Appender } from '../../src/cluster/appender.js'
import { CopyCheckpoints } from '../../src/cluster/copy-checkpoints.js'
import { EtcdEngine } from '../../src/cluster/etcd-engine.js'
import { EtcdNodes } from '../../src/cluster/etcd-nodes.js'
import type { LogServerEnd } from '../../src/cluster/log-link.js'
import { LogService } from '../../src/cluster/log-service.js'
import type { LogSequence } from '../../src/wal/record-log.js'
import { EtcdInMemory } from '../cluster/etcd-in-memory.js'
import {
  doneCell,
  foundCell,
  hasFailed,
  outcomes,
  type PlayedInstruction,
  type PlayedLogMemory,
  type SentToLog,
} from './played-instructions.js'
import { PlayedClocks, PlayedTimers } from './played-time.js'
import { Random } from './schedule.js'

/** For so long a writer may sleep while the faults go on. */
const asleepMost_ms = 15_000

const prefix = '/played'

interface Link {
  readonly take: (message: SentToLog) => void
  /** The questions that have no answer. */
  readonly open: Set<number>
  /** Answers them when the thread has failed. */
  readonly giveUp: () => void
}

const memory: PlayedLogMemory = workerData
const done = new Int32Array(memory.done)
const clocks = new PlayedClocks(memory.clocks)
clocks.begin()
const timers = new PlayedTimers(clocks)

/** One etcd, and what each node has of its thread of logs. */
class PlayedCluster {
  readonly etcd = new EtcdInMemory()
  isFaulty = true
  readonly #random: Random
  readonly #records = new Map<number, Buffer>()
  readonly #services = new Map<string, LogService>()
  readonly #links = new Map<number, Link>()
  #silentUntil_ms = 0

  constructor(seed: number) {
    this.#random = new Random(seed)
    this.etcd.heard = (key, value) => {
      const [, , kind, , sequence] = key.split('/')
      if (kind === 'log') this.#records.set(Number(sequence), value)
    }
  }

  async begin(nodes: readonly string[]): Promise<void> {
    const log = new Map([[0, 0 as LogSequence]])
    const begun = await new EtcdEngine({ urls: [] }, prefix, this.etcd.client()).begin('played', log)
    assert(begun.ok)
    for (const node of nodes) this.#services.set(node, this.#service(node, nodes))
  }

  close(): void {
    for (const service of this.#services.values()) service.close()
  }

  link(number: number, node: string, { log, port, answered }: LogServerEnd): void {
    const open = new Set<number>()
    const send = port.postMessage.bind(port)
    const giveUp = (): void => {
      for (const each of open) send({ number: each, answer: 'givenUp' })
      Atomics.add(new Int32Array(answered), 0, 1)
      Atomics.notify(new Int32Array(answered), 0)
    }
    // What goes to this thread comes in the order in which it was sent, whatever link it is for.
    Object.assign(port, {
      on: (event: string, take: (message: SentToLog) => void) => {
        if (event === 'message') this.#links.set(number, { take, open, giveUp })
      },
      postMessage: (answer: { readonly number: number }) => {
        open.delete(answer.number)
        send(answer)
      },
    })
    this.#services.get(node)?.serve({ log, port, answered })
  }

  giveUp(): void {
    for (const { giveUp } of this.#links.values()) giveUp()
  }

  /** While its writer sleeps for an answer everything else goes on. */
  async take(number: number, message: SentToLog): Promise<void> {
    const link = this.#links.get(number)
    assert(link)
    if ('number' in message) link.open.add(message.number)
    link.take(message)
    if (!('number' in message) || message.question.kind === 'next' || message.question.kind === 'claim') return
    const heals_ms = clocks.now_ms + asleepMost_ms
    while (link.open.has(message.number)) {
      await microtasks()
      if (!link.open.has(message.number)) return
      timers.step(Number.POSITIVE_INFINITY)
      if (clocks.now_ms > heals_ms) {
        this.isFaulty = false
        this.etcd.isFull = false
      }
      if (clocks.now_ms > 2 * asleepMost_ms + heals_ms) throw new Error('a writer sleeps for ever')
    }
  }

  silence(duration_ms: number): void {
    this.#silentUntil_ms = clocks.now_ms + duration_ms
  }

  find(expected: LogSequence, bytes: Uint8Array): (typeof outcomes)[number] {
    const standing = this.#records.get(expected + 1)
    if (standing === undefined) return 'pending'
    return standing.equals(bytes) ? 'stands' : 'never'
  }

  #service(node: string, nodes: readonly string[]): LogService {
    const random = this.#random
    const client = this.etcd.client({
      carried: () =>
        new Promise((arrived) => {
          const silent_ms = this.isFaulty ? Math.max(0, this.#silentUntil_ms - clocks.now_ms) : 0
          setTimeout(arrived, silent_ms + (this.isFaulty ? random.delay_ms() : 1))
        }),
      isLost: () => this.isFaulty && random.chance(0.03),
    })
    const engine = new EtcdEngine({ urls: [] }, prefix, client)
    const appender = new Appender(engine, { answered: () => {}, unanswered: () => {}, invalid: () => {} })
    const [givenUp, fenced, neglected] = [() => {}, () => {}, () => {}]
    const service = new LogService({ engine, appender, node, heldMost_bytes: 2 ** 20, givenUp, fenced, neglected })
    const reached = new Map([[0, 0 as LogSequence]])
    service.follow(new CopyCheckpoints(new EtcdNodes(client, prefix), node, nodes, reached), () => {})
    return service
  }
}

let cluster: PlayedCluster | undefined

process.on('unhandledRejection', (fault) => {
  failure ??= fault
})

async function goOn(duration_ms: number): Promise<void> {
  const until_ms = clocks.now_ms + duration_ms
  do await microtasks()
  while (timers.step(until_ms))
}

/** Says what became of a record, where that was asked. */
async function carriedOut(instruction: PlayedInstruction): Promise<number> {
  if (instruction.kind === 'begin') {
    cluster?.close()
    timers.clear()
    cluster = new PlayedCluster(instruction.seed)
    await cluster.begin(instruction.nodes)
    return 0
  }
  assert(cluster)
  if (instruction.kind === 'link') cluster.link(instruction.link, instruction.node, instruction.end)
  else if (instruction.kind === 'sent') await cluster.take(instruction.link, instruction.message)
  else if (instruction.kind === 'goOn') await goOn(instruction.duration_ms)
  else if (instruction.kind === 'full') cluster.etcd.isFull = instruction.isFull
  else if (instruction.kind === 'faulty') cluster.isFaulty = instruction.isFaulty
  else if (instruction.kind === 'silent') cluster.silence(instruction.duration_ms)
  else if (instruction.kind === 'breakWatches') cluster.etcd.breakWatches()
  else return outcomes.indexOf(cluster.find(instruction.expected, instruction.bytes))
  // The program never sends what etcd calls invalid.
  assert.deepEqual(cluster.etcd.invalid, [])
  return 0
}

let failure: unknown
let carrying = Promise.resolve()

async function take(instruction: PlayedInstruction): Promise<void> {
  let found = hasFailed
  try {
    if (failure === undefined) found = await carriedOut(instruction)
  } catch (fault) {
    failure = fault
    memory.port.postMessage(fault instanceof Error ? fault.stack : String(fault))
  }
  if (failure !== undefined) cluster?.giveUp()
  if (instruction.kind === 'sent') return
  Atomics.store(done, foundCell, found)
  Atomics.add(done, doneCell, 1)
  Atomics.notify(done, doneCell)
}

memory.port.on('message', (instruction: PlayedInstruction) => {
  carrying = carrying.then(() => take(instruction))
})
