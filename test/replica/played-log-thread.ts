import assert from 'node:assert/strict'
import { receiveMessageOnPort, workerData } from 'node:worker_threads'
import type { LogName } from '../../src/storage/etcd/engine.js'
import { EtcdEngine } from '../../src/storage/etcd/etcd-engine.js'
import type { LogServerEnd } from '../../src/storage/etcd/log-link.js'
import { nodesText, noNodes } from '../../src/storage/etcd/node-facts.js'
import type { LogSequence } from '../../src/storage/wal/record-log.js'
import { EtcdInMemory } from '../cluster/etcd-in-memory.js'
import {
  doneCell,
  foundCell,
  hasFailed,
  type LogsReport,
  outcomes,
  type PlayedInstruction,
  type PlayedLogMemory,
  type SentToLog,
  sentCell,
} from './played-instructions.js'
import { LogProcess, type PlayedNetwork, prefix } from './played-log-process.js'
import { PlayedClock, PlayedTimers, type TimersOwner } from './played-time.js'
import { Random } from './schedule.js'

/** For so long a writer may sleep while the faults go on. */
const asleepMost_ms = 15_000

const memory: PlayedLogMemory = workerData
const done = new Int32Array(memory.done)
const clock = new PlayedClock(memory.clock)
const timers = new PlayedTimers(clock, true)
timers.install()

/** Questions for whose responses nobody sleeps. */
const awaitedLater: ReadonlySet<string> = new Set(['next', 'campaign'])

/** The end of a link in a process. */
class Link implements TimersOwner {
  isCut = false
  /** The questions that have no response. */
  readonly open = new Set<number>()
  readonly #process: LogProcess
  readonly #responses: Int32Array
  readonly #send: (response: { readonly number: number; readonly response?: unknown }) => void
  #take: (message: SentToLog) => void = () => {}

  constructor(process: LogProcess, end: LogServerEnd) {
    const { port, responses } = end
    this.#process = process
    this.#responses = new Int32Array(responses)
    this.#send = port.postMessage.bind(port)
    // What goes to this thread comes in the order in which it was sent, whatever link it is for.
    Object.assign(port, {
      on: (event: string, take: (message: SentToLog) => void) => {
        if (event === 'message') this.#take = take
      },
      postMessage: (response: { readonly number: number }) => {
        this.open.delete(response.number)
        if (!this.isOver) this.#send(response)
      },
    })
    timers.as(this, () => process.service.serve(end))
  }

  get isOver(): boolean {
    return this.isCut || this.#process.isOver
  }

  get pausedUntil_ms(): number {
    return this.#process.pausedUntil_ms
  }

  take(message: SentToLog): void {
    if ('number' in message) this.open.add(message.number)
    timers.as(this.#process, () => this.#take(message))
  }

  /** Answers all that is open when the thread has failed. */
  giveUp(): void {
    for (const each of this.open) this.#send({ number: each, response: 'givenUp' })
    Atomics.add(this.#responses, 0, 1)
    Atomics.notify(this.#responses, 0)
  }
}

/** One etcd, and what each node has of its thread of logs. */
class PlayedCluster {
  readonly etcd = new EtcdInMemory()
  readonly network: PlayedNetwork = { isFaulty: true, silentUntil_ms: 0, silent: new Map() }
  readonly #random: Random
  readonly #nodes: readonly string[]
  readonly #log: LogName
  readonly #records = new Map<string, Buffer>()
  readonly #processes = new Map<string, LogProcess>()
  readonly #links = new Map<number, Link>()

  constructor(seed: number, nodes: readonly string[], log: LogName) {
    this.#random = new Random(seed)
    this.#nodes = nodes
    this.#log = log
    this.etcd.heard = (key, value) => {
      const [, , kind, of = '', sequence] = key.split('/')
      if (kind !== 'log') return
      this.#records.set(`${of} ${Number(sequence)}`, value)
      if (this.#log === 'control') post({ kind: 'stands', bytes: value })
    }
  }

  async begin(): Promise<void> {
    const after = new Map([[this.#log, 0 as LogSequence]])
    const engine = new EtcdEngine({ urls: [] }, prefix, this.etcd.client())
    const begun = await engine.begin('played', after, nodesText(noNodes))
    assert(begun.ok)
  }

  start(node: string, number: number): void {
    this.kill(node)
    const process: LogProcess = timers.as(undefined, () => {
      const { etcd, network } = this
      return new LogProcess({
        ...{ node, nodes: this.#nodes, logs: [this.#log], etcd, network, timers, random: this.#random },
        now_ms: () => clock.now_ms,
        report: (report) => {
          if (!process.isOver) post({ kind: 'report', node, process: number, report })
        },
      })
    })
    this.#processes.set(node, process)
  }

  kill(node: string): void {
    const process = this.#processes.get(node)
    if (process !== undefined) process.isOver = true
  }

  process(node: string): LogProcess {
    const process = this.#processes.get(node)
    assert(process)
    return process
  }

  link(number: number, node: string, end: LogServerEnd): void {
    this.#links.set(number, new Link(this.process(node), end))
  }

  unlink(number: number): void {
    const link = this.#links.get(number)
    if (link !== undefined) link.isCut = true
    this.#links.delete(number)
  }

  giveUp(): void {
    for (const link of this.#links.values()) link.giveUp()
  }

  /** While its writer sleeps for a response everything else goes on. */
  async take(number: number, message: SentToLog, sleeps: boolean): Promise<void> {
    const link = this.#links.get(number)
    if (link === undefined) return
    link.take(message)
    if (!('number' in message) || !sleeps || awaitedLater.has(message.question.kind)) return
    const heals_ms = clock.now_ms + asleepMost_ms
    while (link.open.has(message.number)) {
      await microtasks()
      if (!link.open.has(message.number)) return
      timers.step(Number.POSITIVE_INFINITY)
      if (clock.now_ms > heals_ms) {
        this.network.isFaulty = false
        this.etcd.isFull = false
        this.etcd.isFilling = false
      }
      if (clock.now_ms > 2 * asleepMost_ms + heals_ms) throw new Error('a writer sleeps for ever')
    }
  }

  find(log: LogName, expected: LogSequence, bytes: Uint8Array): (typeof outcomes)[number] {
    const standing = this.#records.get(`${log} ${expected + 1}`)
    if (standing === undefined) return 'pending'
    return standing.equals(bytes) ? 'stands' : 'never'
  }
}

let cluster: PlayedCluster | undefined

process.on('unhandledRejection', (fault) => {
  failure ??= fault
})

function post(event: LogsReport): void {
  memory.port.postMessage(event)
}

async function goOn(until_ms: number): Promise<void> {
  do await microtasks()
  while (timers.step(until_ms))
}

/** Says what became of a record, where that was asked. */
async function carriedOut(instruction: PlayedInstruction): Promise<number> {
  if (instruction.kind === 'begin') {
    timers.clear()
    cluster = new PlayedCluster(instruction.seed, instruction.nodes, instruction.log)
    await cluster.begin()
    return 0
  }
  assert(cluster)
  const { etcd, network } = cluster
  switch (instruction.kind) {
    case 'start':
      cluster.start(instruction.node, instruction.process)
      break
    case 'kill':
      cluster.kill(instruction.node)
      break
    case 'pause':
      cluster.process(instruction.node).pausedUntil_ms = instruction.until_ms
      break
    case 'instruct': {
      const process = cluster.process(instruction.node)
      void timers.as(process, () => process.take(instruction.instruction))
      await microtasks()
      break
    }
    case 'link':
      cluster.link(instruction.link, instruction.node, instruction.end)
      break
    case 'sent':
      await cluster.take(instruction.link, instruction.message, instruction.sleeps)
      break
    case 'unlink':
      cluster.unlink(instruction.link)
      break
    case 'goOn':
      await goOn(instruction.until_ms)
      break
    case 'full':
      etcd.isFilling = instruction.isFull
      etcd.isFull &&= instruction.isFull
      break
    case 'faulty':
      network.isFaulty = instruction.isFaulty
      break
    case 'silent':
      if (instruction.node === undefined) network.silentUntil_ms = instruction.until_ms
      else network.silent.set(instruction.node, instruction.until_ms)
      break
    case 'breakWatches':
      timers.as(undefined, () => etcd.breakWatches())
      break
    case 'find':
      return outcomes.indexOf(cluster.find(instruction.log, instruction.expected, instruction.bytes))
  }
  // The program never sends what etcd calls invalid.
  assert.deepEqual(etcd.invalid, [])
  return 0
}

let failure: unknown

async function take(instruction: PlayedInstruction): Promise<void> {
  let found = hasFailed
  try {
    if (failure === undefined) found = await carriedOut(instruction)
  } catch (fault) {
    failure = fault
  }
  if (failure !== undefined) {
    cluster?.giveUp()
    post({ kind: 'failed', fault: (failure instanceof Error && failure.stack) || String(failure) })
  }
  clock.due_ms = timers.due_ms
  if (instruction.kind === 'sent' || instruction.kind === 'instruct' || instruction.kind === 'unlink') return
  Atomics.store(done, foundCell, found)
  Atomics.add(done, doneCell, 1)
  Atomics.notify(done, doneCell)
}

/** All that can go on without a timer has gone on. The event loop is not needed for that, which would cost the most. */
function microtasks(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve))
}

/** Carries out what comes, one after the other, and sleeps meanwhile: as long as the thread lives. */
async function carryOut(): Promise<never> {
  for (;;) {
    const sent = Atomics.load(done, sentCell)
    for (let next = receiveMessageOnPort(memory.port); next !== undefined; next = receiveMessageOnPort(memory.port))
      await take(next.message)
    Atomics.wait(done, sentCell, sent)
  }
}

void carryOut()
