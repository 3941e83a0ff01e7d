import {
  type LostBatch,
  type MailboxRefusal,
  type PartitionMailbox,
  type Posted,
  untilShare,
} from '../mailbox/mailbox.js'
import type { Command } from '../partition/commands.js'
import { err, ok, type Result } from '../result.js'
import type { MailboxCapacity } from '../shared-memory/mailbox-capacity.js'
import type { BatchRoute, CommandOutcome, CommandRefusal } from './batch-route.js'
import { commandsMost } from './command-batch.js'

/** Who owns the partitions, as far as is known here. Every look is cheap. */
export interface NodeRoutes {
  /** The name of a node; nothing while nobody is known to own it. */
  ownerOf(partition: number): string | undefined
  /** Calls back after each change, until the function that it gives is called. */
  watch(changed: () => void): () => void
}

export interface RemoteMailboxSettings {
  readonly partition: number
  readonly routes: NodeRoutes
  /** Opens a way to the partition on a node, this one or another; nothing when that node is not there. */
  readonly open: (node: string) => BatchRoute | undefined
  /** How many commands may be in the mailboxes of all front ends together, under way ones included. */
  readonly room: MailboxCapacity
  /** How long a command waits for its reply, or for a node to send it to. */
  readonly patience_ms: number
  /** Hears how many commands are in the mailbox, or have room in it, whenever that changes. */
  readonly depth: (commands: number) => void
}

interface Waiting {
  readonly command: Command
  /** The how manieth it is in this mailbox. */
  readonly entry: number
  /** When whoever has asked waits no more, by `performance.now()`. */
  readonly until_ms: number
  /** How often it was sent on to a node that another one had named. */
  sentOn: number
  isOver: boolean
  readonly resolve: (result: Result<Posted, LostBatch>) => void
}

/** A way to the owner, as long as it is used. */
interface Way {
  readonly to: string
  readonly route: BatchRoute
}

/** A command is sent on so often; nodes that name each other in turn do not know who the owner is. */
const sentOnMost = 3

/** How long a node is not asked again that said it is not the owner and named nobody, or could not be reached. */
const again_ms = 200

/**
 * A front end's side of the queue before a partition that has moved, or may move, between nodes: ordered and bounded, as
 * `Mailbox` is. Commands go to the owner. Those that come back since it is not the owner any more go to the next one, in their
 * order and before newer ones; those whose outcome is not known are never sent again.
 */
export class RemoteMailbox implements PartitionMailbox {
  readonly #settings: RemoteMailboxSettings
  #gathering: Waiting[] = []
  /** Those that came back, which are older than all that gather. */
  #returned: Waiting[] = []
  readonly #underWay = new Set<readonly Waiting[]>()
  #way: Way | undefined
  /** Nothing more is sent on the way: what is under way is waited for, then another one is opened. */
  #isLeaving = false
  /** The owner that another node has named, until the routes change. */
  #named: string | undefined
  #avoided: { readonly node: string; readonly until_ms: number } | undefined
  /** Commands that have room, whether they were put in already or not. */
  #count = 0
  #entries = 0
  #sendingSoon = false
  #isClosed = false
  #ping: Promise<Result<Posted, LostBatch>> | undefined
  readonly #whenEmpty: (() => void)[] = []
  readonly #timer: NodeJS.Timeout
  readonly #stopWatching: () => void

  constructor(settings: RemoteMailboxSettings) {
    this.#settings = settings
    const { patience_ms, routes } = settings
    this.#timer = setInterval(() => this.#look(), Math.min(patience_ms / 10, again_ms))
    this.#timer.unref()
    this.#stopWatching = routes.watch(() => {
      this.#named = undefined
      this.#avoided = undefined
      this.#send()
    })
  }

  /** Takes room for commands of one request, which are then put in, or given up with `release`. */
  reserve(commands: number): MailboxRefusal | undefined {
    if (this.#isClosed) return { kind: 'partitionLost' }
    if (!this.#settings.room.take(commands)) return { kind: 'mailboxFull' }
    this.#changed(commands)
    return undefined
  }

  /** Gives up room that was reserved and not used. */
  release(commands: number): void {
    this.#settings.room.release(commands)
    this.#changed(-commands)
  }

  /** Puts a command in that has room, and gives the reply of the partition's owner once it cannot be lost. */
  put(command: Command): Promise<Result<Posted, LostBatch>> {
    if (this.#isClosed) {
      this.release(1)
      return Promise.resolve(err({ kind: 'partitionLost' }))
    }
    return new Promise((resolve) => {
      this.#entries += 1
      const [entry, until_ms] = [this.#entries, performance.now() + this.#settings.patience_ms]
      this.#gathering.push({ command, entry, until_ms, sentOn: 0, isOver: false, resolve })
      this.#sendSoon()
    })
  }

  /** Puts a command in and gives the reply of the partition's owner once it cannot be lost. Refuses when full. */
  ask(command: Command): Promise<Result<Posted, MailboxRefusal>> {
    const refusal = this.reserve(1)
    return refusal ? Promise.resolve(err(refusal)) : this.put(command)
  }

  /** Asks for a sign of life, which needs no room: whoever asks while one is under way shares its reply. */
  ping(): Promise<Result<Posted, LostBatch>> {
    if (this.#ping === undefined) {
      this.#settings.room.force(1)
      this.#changed(1)
      this.#ping = this.put({ kind: 'ping' }).finally(() => {
        this.#ping = undefined
      })
    }
    return this.#ping
  }

  /** Sends what has gathered: for who keeps the event loop from coming round for long. */
  catchUp(): void {
    this.#send()
  }

  /** Resolves when nothing waits and nothing is under way. */
  empty(): Promise<void> {
    if (this.#count === 0) return Promise.resolve()
    return new Promise((resolve) => this.#whenEmpty.push(resolve))
  }

  close(): void {
    this.#isClosed = true
    clearInterval(this.#timer)
    this.#stopWatching()
    this.#giveUp([...this.#underWay].flat(), 'outcomeUnknown')
    this.#giveUp([...this.#returned.splice(0), ...this.#gathering.splice(0)], 'partitionLost')
    this.#leave()
  }

  #sendSoon(): void {
    if (this.#sendingSoon) return
    this.#sendingSoon = true
    setImmediate(() => {
      this.#sendingSoon = false
      this.#send()
    })
  }

  #send(): void {
    if (this.#isClosed) return
    const way = this.#wayToOwner()
    while (way !== undefined && this.#underWay.size < way.route.batchesMost) {
      const batch = this.#nextCommands()
      const [oldest] = batch
      if (oldest === undefined) return
      this.#underWay.add(batch)
      const commands = batch.map(({ command }) => command)
      void way.route.send(commands, oldest.until_ms).then((outcomes) => this.#took(way, batch, outcomes))
    }
  }

  /** Nothing while there is no owner, or batches are under way to the one before. */
  #wayToOwner(): Way | undefined {
    const owner = this.#owner()
    if (this.#way !== undefined && (this.#isLeaving || (owner !== undefined && owner !== this.#way.to))) {
      this.#isLeaving = true
      if (![...this.#underWay].every(isGivenUp)) return undefined
      this.#leave()
    }
    if (owner === undefined) return undefined
    if (this.#way === undefined) {
      const route = this.#settings.open(owner)
      if (route === undefined) this.#avoid(owner)
      else this.#way = { to: owner, route }
    }
    return this.#way
  }

  #owner(): string | undefined {
    const owner = this.#named ?? this.#settings.routes.ownerOf(this.#settings.partition)
    const { node, until_ms } = this.#avoided ?? { until_ms: 0 }
    return owner === node && performance.now() < until_ms ? undefined : owner
  }

  #leave(): void {
    this.#underWay.clear()
    this.#way?.route.close()
    this.#way = undefined
    this.#isLeaving = false
  }

  #nextCommands(): readonly Waiting[] {
    // The outcomes of what a connection had not sent yet come before those of what it had.
    this.#returned.sort((one, other) => one.entry - other.entry)
    const waiting = this.#returned.length > 0 ? this.#returned : this.#gathering
    const last_ms = (waiting[0]?.until_ms ?? 0) + untilShare * this.#settings.patience_ms
    const other = waiting.slice(0, commandsMost).findIndex(({ until_ms }) => until_ms > last_ms)
    return waiting.splice(0, other === -1 ? commandsMost : other)
  }

  #took(way: Way, batch: readonly Waiting[], outcomes: readonly CommandOutcome[]): void {
    if (!this.#underWay.delete(batch)) return // Everything in it was given up.
    for (const [at, waiting] of batch.entries()) {
      const outcome = outcomes[at] ?? err({ kind: 'outcomeUnknown' } as const)
      if (outcome.ok) this.#over(waiting, ok(outcome.value))
      else this.#failed(way, waiting, outcome.error)
    }
    this.#send()
  }

  #failed({ to }: Way, waiting: Waiting, error: CommandRefusal): void {
    if (error.kind === 'outcomeUnknown') {
      this.#isLeaving = true
      this.#over(waiting, err(error))
    } else if (error.kind === 'notOwner' || error.kind === 'unsent') {
      this.#isLeaving = true
      const owner = error.kind === 'notOwner' ? error.owner : undefined
      if (owner === undefined || owner === to) this.#avoid(to)
      else {
        this.#named = owner
        waiting.sentOn += 1
      }
      this.#takeBack(waiting)
    } else {
      // The mailbox of the owner is full, or its thread is being replaced.
      this.#over(waiting, err({ kind: 'partitionLost' }))
    }
  }

  #takeBack(waiting: Waiting): void {
    if (waiting.isOver) return
    if (waiting.sentOn > sentOnMost) this.#over(waiting, err({ kind: 'partitionLost' }))
    else this.#returned.push(waiting)
  }

  #avoid(node: string): void {
    this.#named = undefined
    this.#avoided = { node, until_ms: performance.now() + again_ms }
  }

  #look(): void {
    const now_ms = performance.now()
    const isLate = ({ until_ms }: Waiting): boolean => until_ms <= now_ms
    for (const batch of this.#underWay) this.#giveUp(batch.filter(isLate), 'outcomeUnknown')
    for (const waiting of [this.#returned, this.#gathering]) {
      const inTime = waiting.findIndex((each) => !isLate(each))
      this.#giveUp(waiting.splice(0, inTime === -1 ? waiting.length : inTime), 'partitionLost')
    }
    this.#send()
  }

  #giveUp(open: readonly Waiting[], kind: LostBatch['kind']): void {
    for (const waiting of open) this.#over(waiting, err({ kind }))
  }

  #over(waiting: Waiting, result: Result<Posted, LostBatch>): void {
    if (waiting.isOver) return
    waiting.isOver = true
    waiting.resolve(result)
    this.release(1)
  }

  #changed(by: number): void {
    this.#count += by
    this.#settings.depth(this.#count)
    if (this.#count > 0) return
    for (const resolve of this.#whenEmpty.splice(0)) resolve()
  }
}

function isGivenUp(batch: readonly Waiting[]): boolean {
  return batch.every(({ isOver }) => isOver)
}
