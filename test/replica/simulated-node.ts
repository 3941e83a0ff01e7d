import { fullDisk_ms, look_ms, readLease_ms } from '../../src/partition/replica/read-lease.js'
import type {
  EmptyRecord,
  OfferOutcome,
  ReplicaEffect,
  ReplicaEvent,
  ReplicaState,
} from '../../src/partition/replica/replica-state.js'
import { replicaOf, type transition } from '../../src/partition/replica/transitions.js'
import { type ReadRecord, viewBehind } from '../../src/storage/etcd/log-view.js'
import type { OpenQuestions } from '../../src/storage/etcd/open-questions.js'
import type { Appended, LogRecord, LogSequence } from '../../src/storage/wal/record-log.js'
import type { ClockStart, Milliseconds, Nanoseconds } from '../../src/time.js'
import type { Random, Schedule } from './schedule.js'
import type { Offered, SimulatedLog } from './simulated-log.js'

/** What the log's thread answers: the records behind one, what became of an append, or nothing since the process ends. */
export type Response = readonly ReadRecord[] | Appended | 'givenUp'

/** What faulty versions have otherwise. */
export interface Version {
  readonly transition: typeof transition
  readonly questions: () => Pick<OpenQuestions<Response>, 'ask' | 'answered'>
  /** Whether an owner says how far it is before its snapshots show it. */
  readonly commitsFirst: boolean
  /** Whether the store refuses what it has applied. */
  readonly refusesTwice: boolean
}

export interface NodeParts {
  readonly name: string
  readonly log: SimulatedLog
  readonly schedule: Schedule
  readonly random: Random
  readonly version: Version
  /** Whether the thread sleeps while it appends, as that of a partition does, or does other work, as the coordinator's. */
  readonly isSynchronous: boolean
  readonly awaitsOwner: boolean
  /** A turn of this node is answered. */
  readonly acknowledged: (sequence: LogSequence, number: number) => void
  /** Hears each event. */
  readonly trace: ((line: string) => void) | undefined
}

/** The longest that the threads and links of a node take once all faults have ended. */
const restDelay_ms = 400

/** How far the monotonic clock of a node goes while that of the schedule goes 1. */
const clockRates = [0.996, 1, 1.004]

const noPayload = new Uint8Array()
let numbers = 0

/** One node with a replica: its thread, its link to the log, its store, and its clock. */
export class SimulatedNode {
  readonly name: string
  state: ReplicaState
  /** The sequences of the turns that snapshots show, in the order in which they were applied. */
  readonly turns: LogSequence[] = []
  /** See `PartitionPosition`. */
  appliedIndex = 0
  commitIndex = 0
  isFull = false
  lives = true
  isClosing = false
  hasEnded = false
  readonly #parts: NodeParts
  readonly #rate: number
  #noted = 0 as LogSequence
  /** What a checkpoint has: the number of turns, and what was noted as applied. */
  #checkpoint = { turns: 0, noted: 0 as LogSequence }
  #life = 0
  #questions: Pick<OpenQuestions<Response>, 'ask' | 'answered'>
  /** Whether the thread sleeps, or carries out a turn. */
  #isBusy = false
  #pausedUntil_ms = 0
  readonly #events: (() => void)[] = []
  /** Work with the log that waits for the append before it. */
  readonly #appends: (() => void)[] = []
  #isAppending = false
  #epoch = 0 as LogSequence
  #last = 0 as LogSequence
  #sent: ClockStart = { steady_ns: 0n, date: 0 as Milliseconds }
  #until_ns = 0n
  readonly #open = new Set<() => void>()
  #isEnding = false

  constructor(parts: NodeParts) {
    this.#parts = parts
    this.name = parts.name
    this.#rate = parts.random.of(clockRates)
    this.#questions = parts.version.questions()
    this.state = replicaOf(this.name, viewBehind(this.#noted), this.#noted, parts.awaitsOwner)
    this.#begin()
  }

  get now(): Nanoseconds {
    return BigInt(Math.round(this.#parts.schedule.now_ms * this.#rate * 1e6))
  }

  /** Whether front ends take what this node shows for all that was acknowledged. */
  get isConfirmed(): boolean {
    return this.lives && this.#until_ns > this.now
  }

  /** How long something takes on this node: what waited for its owner while there were faults is worked off soon after them. */
  get #delay_ms(): number {
    const { log, random } = this.#parts
    const delay_ms = random.delay_ms()
    return log.isFaulty ? delay_ms : Math.min(delay_ms, restDelay_ms)
  }

  get isOwner(): boolean {
    return this.lives && this.state.role.kind === 'owns'
  }

  /** The last turn that snapshots show. */
  get shown(): number {
    return this.turns.at(-1) ?? 0
  }

  /** Has the thread do something, when it is free. */
  carryOut(work: () => void): void {
    this.#events.push(work)
    this.#wake()
  }

  take(event: ReplicaEvent): void {
    this.carryOut(() => this.#took(event))
  }

  instruct(kind: 'own' | 'release' | 'close'): void {
    if (kind === 'close') this.isClosing = true
    this.carryOut(() => this.#took({ kind }))
  }

  /** A client's update: a turn, if this node takes one. */
  update(): void {
    this.carryOut(() => {
      if (this.state.role.kind !== 'owns') return
      if (this.#parts.isSynchronous) return this.#turn()
      // A change of the coordinator is logged behind those before it.
      this.#inOrder(() => (this.state.role.kind === 'owns' ? this.#turn() : this.#nextAppend()))
    })
  }

  pause(duration_ms: number): void {
    this.#pausedUntil_ms = this.#parts.schedule.now_ms + duration_ms
  }

  /** Ends the process, or only the thread of the replica, and starts it again some time later. */
  kill(): void {
    if (!this.lives) return
    const { random, schedule } = this.#parts
    const isThread = random.chance(0.5)
    this.lives = false
    this.#life += 1
    const losesPower = random.chance(0.5)
    schedule.plan(random.delay_ms() + 50, () => this.#restart(isThread, losesPower))
  }

  /** The process ends: what the log does not answer within this time is given up. */
  end(patience_ms: number): void {
    this.#isEnding = true
    for (const giveUp of this.#open) this.#parts.schedule.plan(patience_ms, giveUp)
  }

  checkpoint(): void {
    this.#checkpoint = { turns: this.turns.length, noted: this.#noted }
  }

  #begin(): void {
    const { schedule } = this.#parts
    const life = this.#life
    const look = (): void => {
      if (life !== this.#life) return
      this.take({ kind: 'looked', now: this.now })
      schedule.plan(look_ms, look)
    }
    this.appliedIndex = this.state.applied
    this.take({ kind: 'retry' })
    schedule.plan(look_ms, look)
  }

  #restart(isThread: boolean, losesPower: boolean): void {
    const { awaitsOwner, random, version } = this.#parts
    if (losesPower) {
      this.turns.length = this.#checkpoint.turns
      this.#noted = this.#checkpoint.noted
    }
    this.#events.length = 0
    this.#appends.length = 0
    this.#open.clear()
    this.#isBusy = false
    this.#isAppending = false
    this.#questions = version.questions()
    this.#epoch = 0 as LogSequence
    this.#until_ns = 0n
    if (!isThread) this.commitIndex = 0
    const from = Math.max(0, this.#noted - 1) as LogSequence
    this.state = replicaOf(this.name, viewBehind(from), this.#noted, awaitsOwner)
    this.#last = this.#noted
    this.lives = true
    this.#begin()
    if (this.isClosing) this.instruct('close')
    else if (random.chance(0.2)) this.instruct('own')
  }

  #wake(): void {
    const { schedule } = this.#parts
    while (!this.#isBusy && this.#events.length > 0 && this.lives) {
      if (this.#pausedUntil_ms > schedule.now_ms) {
        schedule.plan(
          this.#pausedUntil_ms - schedule.now_ms,
          this.#ofLife(() => this.#wake()),
        )
        return
      }
      this.#events.shift()?.()
    }
  }

  #took(event: ReplicaEvent): void {
    const { state, effects } = this.#parts.version.transition(this.state, event)
    this.state = state
    const { trace, schedule } = this.#parts
    trace?.(
      `${schedule.now_ms} ${this.name} ${text(event)} > ${state.role.kind} ${state.applied}: ${effects.map(text).join(' ')}`,
    )
    for (const effect of effects) this.#carryOut(effect)
  }

  #carryOut(effect: ReplicaEffect): void {
    const { schedule } = this.#parts
    if (effect.kind === 'read') this.#read(effect)
    else if (effect.kind === 'apply') this.#apply(effect)
    else if (effect.kind === 'retryLater')
      schedule.plan(
        fullDisk_ms,
        this.#ofLife(() => this.take({ kind: 'retry' })),
      )
    else if (effect.kind === 'campaign') this.#campaign(effect)
    else if (effect.kind === 'append') this.#appendEmpty(effect.record)
    else if (effect.kind === 'pass') this.#noted = effect.last
    else if (effect.kind === 'show') this.appliedIndex = effect.last
    else if (effect.kind === 'confirm') this.#until_ns = effect.sent.steady_ns + BigInt(readLease_ms) * 1_000_000n
    else if (effect.kind === 'revoke') this.#until_ns = 0n
    else if (effect.kind === 'ended') this.hasEnded = true
    else if (effect.kind === 'elected') this.#lookAt(effect.from)
  }

  #lookAt(from: Nanoseconds): void {
    const wait_ms = Number(from - this.now) / 1e6
    if (wait_ms > 0)
      this.#parts.schedule.plan(
        wait_ms,
        this.#ofLife(() => this.take({ kind: 'looked', now: this.now })),
      )
  }

  #read({ read, after }: Extract<ReplicaEffect, { kind: 'read' }>): void {
    const take = (records: Response): void => {
      if (records === 'givenUp') this.take({ kind: 'givenUp' })
      // What is no records was taken for the response to another question.
      else if (Array.isArray(records)) this.take({ kind: 'read', read, records, received: this.now })
    }
    const { log } = this.#parts
    this.#send(take, (lives, response) => log.next(after, lives, response))
  }

  #apply({ turns, last }: Extract<ReplicaEffect, { kind: 'apply' }>): void {
    if (this.isFull && turns.length > 0) {
      this.take({ kind: 'noRoom' })
      return
    }
    this.#follow(turns, last)
    if (last > this.#last) this.#last = last
    const { isSynchronous, schedule } = this.#parts
    if (isSynchronous) this.take({ kind: 'applied' })
    else
      schedule.plan(
        this.#delay_ms,
        this.#ofLife(() => this.take({ kind: 'applied' })),
      )
  }

  #follow(turns: readonly LogRecord[], last: LogSequence): void {
    let before = this.#noted
    for (const { sequence } of turns) {
      if (this.#parts.version.refusesTwice && sequence <= before)
        throw new Error(`${this.name} has applied record ${before}, and is to apply ${sequence}`)
      this.turns.push(sequence)
      before = sequence
    }
    this.#noted = last
  }

  #campaign({ expected, metadataVersion }: Extract<ReplicaEffect, { kind: 'campaign' }>): void {
    const sent = this.#now()
    const offered = this.#offered('election', 0 as LogSequence, metadataVersion)
    const take = (response: Response): void => {
      if (response === 'givenUp') {
        this.take({ kind: 'givenUp' })
        return
      }
      const outcome = this.#known(response, expected, sent)
      if (outcome.kind === 'stands') this.#epoch = outcome.sequence
      this.take({ kind: 'campaigned', outcome })
    }
    const { log } = this.#parts
    this.#send(take, (lives, response) => log.append(expected, offered, lives, response))
  }

  #appendEmpty(record: EmptyRecord): void {
    const append = (): void =>
      this.#append(record, (outcome) => {
        if (outcome === 'givenUp') this.#events.unshift(() => this.#took({ kind: 'givenUp' }))
        else {
          if (record === 'release' && outcome.kind === 'stands') this.#epoch = 0 as LogSequence
          this.#events.unshift(() => this.#took({ kind: 'appended', record, outcome }))
        }
        this.#nextAppend()
      })
    if (this.#parts.isSynchronous) append()
    else this.#inOrder(append)
  }

  #turn(): void {
    const { schedule, random, version, isSynchronous } = this.#parts
    let number = 0
    this.#append(
      'turn',
      (outcome) => {
        if (outcome === 'givenUp') this.#events.unshift(() => this.#took({ kind: 'givenUp' }))
        else if (outcome.kind === 'fenced') this.#events.unshift(() => this.#took({ kind: 'fenced' }))
        if (outcome === 'givenUp' || outcome.kind !== 'stands') return this.#nextAppend()
        const { sequence, sent } = outcome
        if (version.commitsFirst) this.commitIndex = Math.max(this.commitIndex, sequence)
        this.#isBusy = true
        // Snapshots may show it before the thread goes on.
        const shown = this.#ofLife(() => {
          this.turns.push(sequence)
          this.#noted = sequence
          schedule.plan(
            this.#delay_ms / 2,
            this.#ofLife(() => done()),
          )
        })
        const done = (): void => {
          this.#took({ kind: 'turned', sequence, sent })
          this.#parts.acknowledged(sequence, number)
          this.#isBusy = false
          this.#nextAppend()
          this.#wake()
        }
        schedule.plan(isSynchronous ? random.next() * 3 : 0, shown)
      },
      (offered) => {
        number = offered.number
      },
    )
  }

  /** As `ClusterLog` appends: nothing under an epoch that is over. */
  #append(
    kind: 'turn' | EmptyRecord,
    done: (outcome: OfferOutcome | 'givenUp') => void,
    offering: (offered: Offered) => void = () => {},
  ): void {
    if (this.#epoch === 0) {
      done({ kind: 'fenced' })
      return
    }
    const sent = this.#now()
    const offered = this.#offered(kind, this.#epoch, this.state.metadataVersion)
    offering(offered)
    const expected = this.#last
    const { isSynchronous, log } = this.#parts
    if (isSynchronous) this.#isBusy = true
    const take = (response: Response): void => {
      if (isSynchronous) this.#isBusy = false
      done(response === 'givenUp' ? response : this.#known(response, expected, sent))
      this.#wake()
    }
    this.#send(take, (lives, response) => log.append(expected, offered, lives, response))
  }

  #known(response: Exclude<Response, 'givenUp'>, expected: LogSequence, sent: ClockStart): OfferOutcome {
    // As the thread would take what has no refusal.
    const isRefused = 'ok' in response && !response.ok
    if (isRefused) {
      this.#epoch = 0 as LogSequence
      return { kind: 'fenced' }
    }
    const sequence = (expected + 1) as LogSequence
    this.#last = sequence
    this.#sent = sent
    return { kind: 'stands', sequence, sent: this.#sent }
  }

  #offered(kind: Offered['kind'], epoch: LogSequence, metadataVersion: LogSequence): Offered {
    numbers += 1
    return { kind, number: numbers, epoch, metadataVersion, time_ms: 0, node: this.name, payload: noPayload }
  }

  #send(
    take: (response: Response) => void,
    send: (lives: () => boolean, respond: (response: Response) => void) => void,
  ): void {
    const { schedule } = this.#parts
    const life = this.#life
    const lives = (): boolean => life === this.#life
    const number = this.#questions.ask(take)
    const questions = this.#questions
    const respond = (response: Response): void => {
      if (!this.#open.delete(giveUp) || !lives()) return
      schedule.plan(this.#delay_ms, () => {
        if (!lives()) return
        // A thread that is paused reads its messages when it goes on.
        const left_ms = this.#pausedUntil_ms - schedule.now_ms
        const read = (): void => {
          if (lives()) questions.answered(number, response)
        }
        if (left_ms > 0) schedule.plan(left_ms, read)
        else read()
      })
    }
    const giveUp = (): void => respond('givenUp')
    this.#open.add(giveUp)
    if (this.#isEnding) schedule.plan(1000, giveUp)
    send(lives, respond)
  }

  #inOrder(append: () => void): void {
    this.#appends.push(append)
    if (!this.#isAppending) this.#nextAppend()
  }

  #nextAppend(): void {
    if (this.#parts.isSynchronous) return
    const next = this.#appends.shift()
    this.#isAppending = next !== undefined
    next?.()
    this.#wake()
  }

  #now(): ClockStart {
    return { steady_ns: this.now, date: 0 as Milliseconds }
  }

  #ofLife(work: () => void): () => void {
    const life = this.#life
    return () => {
      if (life === this.#life) work()
    }
  }
}

function text(happened: ReplicaEvent | ReplicaEffect): string {
  return JSON.stringify(happened, (_, value) => (typeof value === 'bigint' ? Number(value) / 1e6 : value))
}
