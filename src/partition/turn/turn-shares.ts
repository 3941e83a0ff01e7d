import type { EntityId } from '../../model/context/entity.js'
import type { UpdateCommand } from '../../model/context/update.js'
import type { Command, RawUpdateCommand } from './commands.js'

export interface WaitingCommand {
  readonly command: Command
  /** Its number in the order of arrival. */
  readonly order: number
}

export interface TurnSharesParts<Waiting extends WaitingCommand> {
  /** The id of the entity that a raw update means. */
  readonly idOf: (raw: RawUpdateCommand) => EntityId
  /** Called when a command of the current round has to wait for the next share of its request. */
  readonly deferred: (waiting: Waiting) => void
}

interface Deferred<Waiting> {
  readonly waiting: Waiting
  /** The keys of its request and of its entity. */
  readonly names: readonly [request: string, entity: string]
}

/** Commands that share their turns. */
interface Lane<Waiting> {
  /** In the order of arrival; at least one. */
  deferred: Deferred<Waiting>[]
}

/** The lane of a request or of an entity, and how many of its commands are there. */
interface Holder<Waiting> {
  lane: Lane<Waiting>
  count: number
}

type Update = UpdateCommand | RawUpdateCommand

/** While something is deferred, at most this many newly arrived commands are carried out before it gets a share. */
const roundMost = 256

/** The most commands that are considered for one turn. */
const turnMost = 4096

/**
 * Shares the turns of a partition between the requests that wait for it. A command is in one of three places:
 *
 * | place | commands                                                                            |
 * |-------|-------------------------------------------------------------------------------------|
 * | fresh | those that have arrived, in order                                                   |
 * | round | the first of the fresh ones: they are carried out before the first lane has its next share |
 * | lanes | deferred ones                                                                       |
 *
 * | event                                                        | what happens                                             |
 * |--------------------------------------------------------------|----------------------------------------------------------|
 * | commands arrive                                              | they become fresh                                        |
 * | a turn ends early at a command of the round, or a fresh one  | the rest of its request in the round becomes a lane      |
 * | a turn begins, and the first lane has had its share          | a new round is taken from fresh                          |
 * | a command of the round belongs to a request with a lane, or to an entity that a lane changes | it is deferred into that lane |
 * | a command belongs to two lanes                               | the lanes are joined                                     |
 * | a lane has had its share                                     | it becomes the last lane; it ends when it is empty       |
 *
 * So a request that needs many turns alternates with commands that arrive meanwhile, and with other long requests. Invariants:
 *
 * 1. Commands of one request are carried out in the order of arrival, and so are those of one entity.
 * 2. No two lanes have commands of the same request, or of the same entity.
 * 3. A lane has its share when the round is empty. A round is finite, so every command is carried out eventually.
 *
 * A command without a request (an ack, a sweep, a ping) is never deferred: no update depends on when it is carried out. While nothing is
 * deferred, turns get the fresh commands without any look-up.
 */
export class TurnShares<Waiting extends WaitingCommand> {
  readonly #parts: TurnSharesParts<Waiting>
  #fresh: Waiting[] = []
  #round: Waiting[] = []
  #lanes: Lane<Waiting>[] = []
  readonly #holders = new Map<string, Holder<Waiting>>()
  /** The first lane has had no share since the round began. */
  #isDue = false

  constructor(parts: TurnSharesParts<Waiting>) {
    this.#parts = parts
  }

  get isEmpty(): boolean {
    return this.#fresh.length === 0 && this.#round.length === 0 && this.#lanes.length === 0
  }

  /** Takes newly arrived commands, in an array that the caller gives away. */
  arrived(waiting: Waiting[]): void {
    // Filling a long-lived array costs the garbage collector more than a new array.
    if (this.#fresh.length === 0) this.#fresh = waiting
    else for (const each of waiting) this.#fresh.push(each)
  }

  /** The commands for the next turn, of which it takes as many from the beginning as fit. At least one, unless nothing waits. */
  next(): readonly Waiting[] {
    if (this.#lanes.length > 0 && !this.#isDue) this.#beginRound()
    const [lane] = this.#lanes
    const most = turnMost - this.#round.length
    const behind = lane?.deferred.slice(0, most).map(({ waiting }) => waiting) ?? this.#fresh.slice(0, most)
    return this.#round.length === 0 ? behind : [...this.#round, ...behind]
  }

  /** A turn has carried out the first commands of what `next` gave; the others only if it had time for them. */
  taken(offered: readonly Waiting[], count: number): void {
    const ofRound = this.#round.splice(0, count).length
    const [lane] = this.#lanes
    if (lane === undefined) this.#fromFresh(count - ofRound)
    else if (count > ofRound) {
      this.#served(lane, count - ofRound)
      return
    }
    const last = offered[count - 1]
    if (last !== undefined && count < offered.length) this.#defer(last.command)
  }

  /** Drops commands that are not to be carried out. */
  remove(isGone: (waiting: Waiting) => boolean): void {
    const stays = (waiting: Waiting): boolean => !isGone(waiting)
    this.#fresh = this.#fresh.filter(stays)
    this.#round = this.#round.filter(stays)
    for (const lane of this.#lanes) {
      for (const deferred of lane.deferred) if (isGone(deferred.waiting)) this.#letGo(deferred)
      lane.deferred = lane.deferred.filter(({ waiting }) => stays(waiting))
    }
    this.#lanes = this.#lanes.filter(({ deferred }) => deferred.length > 0)
  }

  #beginRound(): void {
    this.#isDue = true
    this.#pass(this.#fromFresh(roundMost), () => false)
  }

  #fromFresh(most: number): readonly Waiting[] {
    const fresh = this.#fresh
    if (fresh.length > most) return fresh.splice(0, most)
    this.#fresh = []
    return fresh
  }

  #served(lane: Lane<Waiting>, count: number): void {
    for (const deferred of lane.deferred.splice(0, count)) this.#letGo(deferred)
    this.#lanes.shift()
    if (lane.deferred.length > 0) this.#lanes.push(lane)
    this.#isDue = false
  }

  /** Defers the rest of a request in the round, if there is any. */
  #defer(last: Command): void {
    if (!isUpdate(last)) return
    const round = this.#round.splice(0)
    const isFirst = this.#lanes.length === 0
    if (isFirst) round.push(...this.#fromFresh(roundMost - round.length))
    const isOfRequest = ({ command }: Waiting): boolean => isOneRequest(last, command)
    if (!round.some(isOfRequest)) {
      this.#round = round
      return
    }
    this.#pass(round, isOfRequest)
    // A single lane has just had its share.
    this.#isDue = !isFirst || this.#round.length > 0
  }

  /** Puts commands into the round, except for those to be deferred. */
  #pass(commands: readonly Waiting[], isSlow: (waiting: Waiting) => boolean): void {
    for (const waiting of commands) {
      const { command } = waiting
      if (!isUpdate(command)) {
        this.#round.push(waiting)
        continue
      }
      const names = [requestName(command), this.#entityName(command)] as const
      const lanes = names.flatMap((name) => this.#holders.get(name)?.lane ?? [])
      if (lanes.length === 0 && !isSlow(waiting)) this.#round.push(waiting)
      else this.#putInto(this.#joined(lanes), { waiting, names })
    }
  }

  /** Joins several lanes into one; makes one if there is none. */
  #joined([lane, other]: readonly Lane<Waiting>[]): Lane<Waiting> {
    if (lane === undefined) {
      const made: Lane<Waiting> = { deferred: [] }
      this.#lanes.push(made)
      return made
    }
    if (other === undefined || other === lane) return lane
    for (const { names } of other.deferred) for (const name of names) this.#hold(name, lane, 0)
    lane.deferred = [...lane.deferred, ...other.deferred].sort((a, b) => a.waiting.order - b.waiting.order)
    this.#lanes = this.#lanes.filter((each) => each !== other)
    return lane
  }

  /** A command of the round may have arrived before one that was deferred when the round began. */
  #putInto(lane: Lane<Waiting>, deferred: Deferred<Waiting>): void {
    const { order } = deferred.waiting
    const before = lane.deferred.findLastIndex(({ waiting }) => waiting.order < order)
    lane.deferred.splice(before + 1, 0, deferred)
    for (const name of deferred.names) this.#hold(name, lane, 1)
    this.#parts.deferred(deferred.waiting)
  }

  #hold(name: string, lane: Lane<Waiting>, more: number): void {
    const holder = this.#holders.get(name)
    if (holder === undefined) this.#holders.set(name, { lane, count: more })
    else {
      holder.lane = lane
      holder.count += more
    }
  }

  #letGo({ names }: Deferred<Waiting>): void {
    for (const name of names) {
      const holder = this.#holders.get(name)
      if (holder === undefined) continue
      holder.count -= 1
      if (holder.count === 0) this.#holders.delete(name)
    }
  }

  #entityName(command: Update): string {
    const id = command.kind === 'update' ? command.id : this.#parts.idOf(command)
    return `entity ${command.tenant} ${id}`
  }
}

/**
 * Whether two commands belong to one request, or to several that came at the same time with the same correlator, which then share
 * one share.
 */
export function isOneRequest(one: Command, other: Command): boolean {
  if (!isUpdate(one) || !isUpdate(other) || one.time !== other.time) return false
  return (
    one.origin === other.origin || (one.origin.correlator === other.origin.correlator && one.tenant === other.tenant)
  )
}

function isUpdate(command: Command): command is Update {
  return command.kind === 'rawUpdate' || command.kind === 'update'
}

function requestName({ time, tenant, origin }: Update): string {
  return `request ${time} ${tenant} ${origin.correlator}`
}
