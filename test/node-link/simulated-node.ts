import type { CommandOutcome, OutcomePart } from '../../src/cluster/link/batch-route.js'
import { queueStep } from '../../src/cluster/link/remote-queue.js'
import { refusalOf } from '../../src/partition/mailbox/inbox.js'
import type { Reply } from '../../src/partition/turn/commands.js'
import { err, ok } from '../../src/result.js'
import { type FencingToken, PartitionPosition } from '../../src/threads/shared-memory/partition-position.js'
import { SenderTable } from '../../src/threads/shared-memory/sender-table.js'
import type { SimulatedTime } from './simulated-time.js'

/** What faulty versions have otherwise. */
export interface Version {
  readonly queueStep: typeof queueStep
  readonly senders: () => SenderTable
  readonly refusalOf: typeof refusalOf
}

/** The program as it is. */
export const present: Version = { queueStep, senders: () => new SenderTable(1), refusalOf }

/** An update that sets the value of an entity, as a front end sends it. */
export interface SimulatedUpdate {
  readonly entity: number
  readonly value: number
  /** Which front end has sent it, and the how manieth that is of it. */
  readonly sender: number
  readonly entry: number
  /** Some node has deferred it: then it is carried out behind newer ones of other entities. */
  wasDeferred: boolean
}

/** The log of the partition: a record stands only when its writer was elected last. */
export class SimulatedLog {
  #sequence = 0
  #epoch = 0
  readonly #applied: (update: SimulatedUpdate) => void

  constructor(applied: (update: SimulatedUpdate) => void) {
    this.#applied = applied
  }

  elect(): number {
    this.#sequence += 1
    this.#epoch = this.#sequence
    return this.#epoch
  }

  isOwner(epoch: number): boolean {
    return this.#epoch === epoch
  }

  append(epoch: number, updates: readonly SimulatedUpdate[]): boolean {
    if (!this.isOwner(epoch)) return false
    this.#sequence += 1
    for (const update of updates) this.#applied(update)
    return true
  }
}

export interface SimulatedNodeParts {
  readonly time: SimulatedTime
  readonly log: SimulatedLog
  readonly version: Version
  readonly name: string
  readonly slot: number
  /** How long clients wait, and things take at most. */
  readonly patience_ms: number
}

interface Arrived {
  readonly updates: readonly SimulatedUpdate[]
  readonly until: bigint
  readonly fencingToken: FencingToken
  /** By the positions of the updates. */
  readonly replies: (Reply | undefined)[]
  readonly deferred: Set<number>
  /** The positions of those whose reply was sent; nothing before the first time. */
  sent: Set<number> | undefined
  readonly mailbox: number
  readonly replied: (part: OutcomePart<CommandOutcome>) => void
}

/** An update of a batch that has arrived. */
interface Waiting {
  readonly arrived: Arrived
  readonly at: number
  readonly update: SimulatedUpdate
}

const done: Reply = { kind: 'pong' }
const notOwner: Reply = { kind: 'failed', why: 'notOwner' }
const turn = { decided_ns: 0, committed_ns: 0 }

/** A process of a node: the partition's thread with its mailboxes, as `Mailbox` and `Inbox` have them, and who owns the log. */
export class SimulatedNode {
  readonly name: string
  readonly slot: number
  readonly version: Version
  readonly senders: SenderTable
  readonly position = new PartitionPosition(PartitionPosition.memory())
  isDead = false
  readonly #parts: SimulatedNodeParts
  readonly #rate: number
  readonly #ahead_ms: number
  #epoch = 0
  #isOwner = false
  #queue: Arrived[] = []
  #isBusy = false
  readonly #whenIdle: (() => void)[] = []
  readonly #mailboxes = [0, 0]
  readonly #replying_ms = [0, 0]
  /** Entities whose updates are deferred. */
  readonly #slow = new Set<number>()

  constructor(parts: SimulatedNodeParts) {
    const { random } = parts.time
    this.#parts = parts
    this.version = parts.version
    this.senders = parts.version.senders()
    this.name = parts.name
    this.slot = parts.slot
    this.#rate = 1 + (random.next() - 0.5) * 0.0009
    this.#ahead_ms = random.below(1_000_000)
  }

  /** What its monotonic clock shows. */
  get clock_ms(): number {
    return this.#ahead_ms + this.#parts.time.now_ms * this.#rate
  }

  /** Puts updates into the mailbox of a front end, until a moment of the clock of this node. */
  take(
    frontEnd: number,
    updates: readonly SimulatedUpdate[],
    until_ms: number,
    fencingToken: FencingToken,
    take: (part: OutcomePart<CommandOutcome>) => void,
  ): void {
    const { time, patience_ms } = this.#parts
    const open = new Set(updates.keys())
    const replied = ({ outcomes, at = [...updates.keys()] }: OutcomePart<CommandOutcome>): void => {
      if (open.size === 0) return
      for (const each of at) open.delete(each)
      take({ outcomes, at })
    }
    time.after(until_ms - this.clock_ms + time.random.below(100), () => {
      if (open.size === 0 || this.isDead) return
      const at = [...open]
      open.clear()
      take({ outcomes: at.map(() => err({ kind: 'outcomeUnknown' })), at })
    })
    const until = BigInt(Math.floor((until_ms - 1) * 1e6))
    const mailbox = frontEnd % this.#mailboxes.length
    const at_ms = Math.max(this.#mailboxes[mailbox] ?? 0, time.now_ms + time.delay_ms(patience_ms * 0.3))
    this.#mailboxes[mailbox] = at_ms
    time.at(at_ms, () => {
      const replies = updates.map(() => undefined)
      this.#queue.push({
        updates,
        until,
        fencingToken,
        replies,
        deferred: new Set(),
        sent: undefined,
        mailbox,
        replied,
      })
      this.#goOn()
    })
  }

  /** Campaigns for the log, and owns it some time later. */
  campaign(): void {
    const { time, log, patience_ms } = this.#parts
    this.#betweenTurns(() => {
      const epoch = log.elect()
      this.#own(epoch, false)
      const owns = (): void => this.#betweenTurns(() => this.#epoch === epoch && this.#own(epoch, true))
      time.after(time.delay_ms(patience_ms), owns)
    })
  }

  release(): void {
    this.#betweenTurns(() => this.#own(0, false))
  }

  /** Finds out that somebody else was elected, if so. */
  look(): void {
    this.#betweenTurns(() => this.#parts.log.isOwner(this.#epoch) || this.#own(0, false))
  }

  kill(): void {
    this.isDead = true
    this.#queue = []
  }

  #own(epoch: number, isOwner: boolean): void {
    this.#epoch = epoch
    this.#isOwner = isOwner
    this.position.own(epoch)
  }

  #betweenTurns(act: () => void): void {
    if (this.isDead) return
    if (this.#isBusy) this.#whenIdle.push(act)
    else act()
  }

  #goOn(): void {
    if (this.isDead || this.#isBusy || this.#queue.length === 0) return
    this.#isBusy = true
    const { time, patience_ms } = this.#parts
    time.after(time.delay_ms(patience_ms * 1.2), () => this.#turn())
  }

  #turn(): void {
    if (this.isDead) return
    const { time, log, patience_ms } = this.#parts
    const begun = BigInt(Math.floor(this.clock_ms * 1e6))
    const { fencingToken } = this.position
    for (const arrived of this.#queue) {
      const refusal = this.version.refusalOf(arrived, begun, fencingToken)
      if (refusal === undefined) continue
      for (const at of arrived.updates.keys()) arrived.replies[at] ??= refusal
      arrived.deferred.clear()
    }
    const updates = this.#share()
    if (!this.#isOwner || updates.length === 0) {
      this.#end(updates, notOwner)
      return
    }
    time.after(time.delay_ms(patience_ms), () => {
      if (this.isDead) return
      const isAppended = log.append(
        this.#epoch,
        updates.map(({ update }) => update),
      )
      if (!isAppended) this.#own(0, false)
      this.#end(updates, isAppended ? done : notOwner)
    })
  }

  /** As `TurnShares` has it: updates of some entities are deferred, and have their share when nothing else waits that came before. */
  #share(): readonly Waiting[] {
    const { random } = this.#parts.time
    const open = this.#queue.flatMap((arrived) =>
      arrived.updates.flatMap((update, at) => (arrived.replies[at] === undefined ? { arrived, at, update } : [])),
    )
    const [first, ...others] = open
    if (first !== undefined && random.once(3)) this.#slow.add(random.pick([first, ...others]).update.entity)
    const isSlow = ({ update }: Waiting): boolean => this.#slow.has(update.entity)
    for (const { arrived, at, update } of open.filter(isSlow)) {
      arrived.deferred.add(at)
      update.wasDeferred = true
    }
    const most = 1 + random.below(12)
    const fresh = open.filter((waiting) => !isSlow(waiting))
    const share = fresh.length < most && (fresh.length === 0 || random.once(2)) ? 1 + random.below(2) : 0
    return [...fresh.slice(0, most), ...open.filter(isSlow).slice(0, share)]
  }

  #end(updates: readonly Waiting[], reply: Reply): void {
    if (updates.length > 0 && reply === notOwner) this.position.refused()
    for (const { arrived, at } of updates) {
      arrived.replies[at] = reply
      arrived.deferred.delete(at)
    }
    for (const arrived of this.#queue) this.#reply(arrived)
    this.#queue = this.#queue.filter(({ replies }) => replies.includes(undefined))
    const deferred = this.#queue.flatMap((arrived) => [...arrived.deferred].map((at) => arrived.updates[at]?.entity))
    for (const entity of this.#slow) if (!deferred.includes(entity)) this.#slow.delete(entity)
    this.#isBusy = false
    for (const act of this.#whenIdle.splice(0)) act()
    this.#goOn()
  }

  /** What comes from the partition's thread to a front end keeps its order. */
  #reply(arrived: Arrived): void {
    const { time } = this.#parts
    const { replies, deferred, sent = new Set(), mailbox, replied } = arrived
    const there = replies.flatMap((reply, at) => (reply !== undefined && !sent.has(at) ? { reply, at } : []))
    if (replies.filter((reply) => reply === undefined).length > deferred.size) return
    if (there.length === 0 && arrived.sent !== undefined) return
    for (const { at } of there) sent.add(at)
    arrived.sent = sent
    const at_ms = Math.max(this.#replying_ms[mailbox] ?? 0, time.now_ms + time.random.next())
    this.#replying_ms[mailbox] = at_ms
    const part = { outcomes: there.map(({ reply }) => outcomeOf(reply)), at: there.map(({ at }) => at) }
    time.at(at_ms, () => this.isDead || replied(part))
  }
}

function outcomeOf(reply: Reply): CommandOutcome {
  if (reply.kind === 'failed' && reply.why === 'notOwner') return err({ kind: 'notOwner', owner: undefined })
  return ok({ reply, turn, entered: 0n })
}
