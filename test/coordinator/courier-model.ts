import {
  type CourierEffect,
  type CourierEvent,
  type CourierInstruction,
  CourierState,
} from '../../src/broker/coordinator/courier-state.js'
import type { CourierStart } from '../../src/delivery/queue/courier-protocol.js'
import { type Outbox, Outboxes, type OutboxOwner } from '../../src/delivery/queue/outboxes.js'
import type { SubscriptionId } from '../../src/model/subscription/subscription.js'
import { subscriptionId } from '../delivery/given.js'
import type { Random } from '../replica/schedule.js'

/** What the mend of a fault was, taken back. */
export type Mistake =
  | 'what nobody waits for stays open'
  | 'a hold is told again'
  | 'an expiry is told again'
  | 'a release has no epoch'
  | 'a courier begins with nothing'

type Instruction = CourierInstruction | { readonly kind: 'put'; readonly id: SubscriptionId }

interface Notice {
  readonly id: SubscriptionId
  /** How often its subscription had been put when it was made. */
  readonly puts: number
}

/** A courier as far as instructions reach: it takes one after the other, and answers. */
class ModelledCourier {
  readonly inbox: Instruction[] = []
  readonly held: Set<SubscriptionId>
  readonly outboxes: Outboxes

  constructor(begun: CourierStart, outboxes: readonly Outbox[]) {
    this.held = new Set(begun.held)
    this.outboxes = new Outboxes(outboxes, begun.closed)
    this.outboxes.look()
  }
}

const ids = [1, 2, 3].map(subscriptionId)
const outboxesMost = 2

/** The coordinator's side as it is, before couriers that die at any moment, and whose last responses may come late. */
export class CourierModel {
  readonly wrong: string[] = []
  readonly counts = { sent: 0, dropped: 0, deaths: 0, repeated: 0, late: 0 }
  readonly #random: Random
  readonly #mistake: Mistake | undefined
  readonly #state = new CourierState()
  readonly #owners = Array.from({ length: outboxesMost }, newOwner)
  readonly #outboxes: readonly Outbox[]
  #courier: ModelledCourier | undefined
  /** The responses that are under way to the coordinator. */
  readonly #responses: number[] = []
  readonly #waiting = new Map<number, CourierInstruction>()
  /** How often the subscription of an expiry had been put when that was said, by number. */
  readonly #putsAt = new Map<number, number>()
  readonly #puts = new Map<SubscriptionId, number>()
  readonly #removed = new Set<SubscriptionId>()
  /** Of these it is certain that nothing begins. */
  readonly #onHold = new Set<SubscriptionId>()
  readonly #elections = this.#owners.map(() => 0)
  readonly #released = this.#owners.map(() => 0)
  #notices: Notice[] = []
  #last = 0
  #isReplacing = false

  constructor(random: Random, mistake?: Mistake) {
    this.#random = random
    this.#mistake = mistake
    this.#outboxes = this.#owners.map(outboxOf)
    for (const outbox of this.#owners.keys()) this.#own(outbox)
    this.#courier = new ModelledCourier(this.#state.begun, this.#outboxes)
    for (const id of ids) this.#put(id)
  }

  step(): void {
    const id = this.#random.of(ids)
    const outbox = this.#random.below(outboxesMost)
    const kind = this.#random.below(20)
    if (kind < 6) this.#work()
    else if (kind < 9) this.#hear()
    else if (kind === 9) this.#make(id)
    else if (kind === 10) this.#send()
    else if (kind === 11) this.#put(id)
    else if (kind === 12) this.#instruct({ kind: 'hold', number: this.#nextNumber(), id })
    else if (kind === 13) this.#instruct({ kind: 'expire', number: this.#nextNumber(), id })
    else if (kind === 14) this.#abandon()
    else if (kind === 15) this.#release(outbox)
    else if (kind === 16) this.#own(outbox)
    else if (kind === 17 && this.#random.chance(0.1)) this.#remove(id)
    else if (kind === 18) this.#die()
    else if (kind === 19) this.#notice()
  }

  /** Everything that was said arrives: nobody waits, and the courier does what was said last. */
  finish(): void {
    if (this.#courier === undefined) this.#notice()
    while (this.#courier !== undefined && this.#courier.inbox.length > 0) this.#work()
    while (this.#responses.length > 0) this.#hear()
    const courier = this.#courier
    if (courier === undefined) return
    if (this.#waiting.size > 0 || this.#state.open > 0) this.#fault('an instruction was never answered')
    for (const id of ids) {
      if (this.#removed.has(id)) continue
      if (courier.held.has(id) !== this.#state.begun.held.includes(id))
        this.#fault(`the hold of ${id} is not as it was said`)
    }
    courier.outboxes.look()
    for (const [outbox, owner] of this.#owners.entries()) {
      const isOurs = owner.epoch > (this.#released[outbox] ?? 0)
      if (courier.outboxes.isOpen(outbox) !== isOurs) this.#fault(`outbox ${outbox} is ${isOurs ? 'closed' : 'open'}`)
    }
  }

  #fault(what: string): void {
    this.wrong.push(what)
  }

  get #inbox(): readonly Instruction[] {
    return this.#courier?.inbox ?? []
  }

  #nextNumber(): number {
    this.#last += 1
    return this.#last
  }

  #take(event: CourierEvent): void {
    if (event.kind === 'abandoned' && this.#mistake === 'what nobody waits for stays open') return
    for (const effect of this.#state.take(event)) this.#carryOut(effect)
  }

  #carryOut(effect: CourierEffect): void {
    if (effect.kind === 'start') {
      const isEmpty = this.#mistake === 'a courier begins with nothing'
      this.#courier = new ModelledCourier(isEmpty ? { held: [], closed: [] } : effect.begun, this.#outboxes)
    } else if (effect.kind === 'tell') {
      if (!this.#waiting.has(effect.instruction.number)) this.#fault('a courier is told what nobody waits for')
      this.#courier?.inbox.push(effect.instruction)
    } else this.#resolve(effect.number, effect.isDone)
  }

  #resolve(number: number, isDone: boolean): void {
    const instruction = this.#waiting.get(number)
    if (instruction === undefined) return
    const isAgain =
      (instruction.kind === 'hold' && this.#mistake === 'a hold is told again') ||
      (instruction.kind === 'expire' && this.#mistake === 'an expiry is told again')
    if (isAgain && this.#courier !== undefined && this.#isReplacing) {
      this.#courier.inbox.push(instruction)
      return
    }
    this.#waiting.delete(number)
    if (instruction.kind === 'hold' && isDone && this.#state.begun.held.includes(instruction.id)) {
      this.#onHold.add(instruction.id)
    }
    if (instruction.kind === 'release' && isDone) this.#checkReleased(instruction.outbox, instruction.epoch)
  }

  #checkReleased(outbox: number, epoch: number): void {
    if (this.#owners[outbox]?.epoch === epoch && this.#courier?.outboxes.isOpen(outbox)) {
      this.#fault(`outbox ${outbox} is sent although its release was answered`)
    }
  }

  #instruct(instruction: CourierInstruction): void {
    if ('id' in instruction && this.#removed.has(instruction.id)) return
    this.#waiting.set(instruction.number, instruction)
    if (instruction.kind === 'expire') this.#putsAt.set(instruction.number, this.#putsOf(instruction.id))
    this.#take({ kind: 'instructed', instruction })
  }

  #put(id: SubscriptionId): void {
    if (this.#removed.has(id)) return
    // Whoever extends waits until what has expired is gone, or knows that nobody is there to drop it.
    if (this.#courier?.inbox.some((instruction) => instruction.kind === 'expire' && instruction.id === id)) return
    this.#puts.set(id, this.#putsOf(id) + 1)
    this.#onHold.delete(id)
    this.#take({ kind: 'put', id })
    this.#courier?.inbox.push({ kind: 'put', id })
  }

  #putsOf(id: SubscriptionId): number {
    return this.#puts.get(id) ?? 0
  }

  #remove(id: SubscriptionId): void {
    this.#instruct({ kind: 'remove', number: this.#nextNumber(), id })
    this.#removed.add(id)
    this.#onHold.delete(id)
  }

  #abandon(): void {
    const limited = [...this.#waiting.values()].find(({ kind }) => kind === 'expire' || kind === 'release')
    if (limited === undefined) return
    this.#take({ kind: 'abandoned', number: limited.number })
    this.#waiting.delete(limited.number)
  }

  /** The node releases an outbox, and does not own it behind that. */
  #release(outbox: number): void {
    const owner = this.#owners[outbox]
    if (owner === undefined || owner.epoch === 0) return
    const { epoch } = owner
    this.#released[outbox] = epoch
    this.#instruct({ kind: 'release', number: this.#nextNumber(), outbox, epoch })
    if (this.#random.chance(0.5)) owner.epoch = 0
  }

  /** The node comes to own an outbox, under an epoch that never was. */
  #own(outbox: number): void {
    const owner = this.#owners[outbox]
    if (owner === undefined) return
    const election = (this.#elections[outbox] ?? 0) + 1
    this.#elections[outbox] = election
    owner.epoch = election
    this.#courier?.outboxes.look()
  }

  #make(id: SubscriptionId): void {
    if (!this.#removed.has(id)) this.#notices.push({ id, puts: this.#putsOf(id) })
  }

  #send(): void {
    const courier = this.#courier
    if (courier === undefined || courier.inbox.length > 0) return
    const at = this.#notices.findIndex(({ id }) => !courier.held.has(id))
    const [notice] = at < 0 ? [] : this.#notices.splice(at, 1)
    if (notice === undefined) return
    this.counts.sent += 1
    if (this.#onHold.has(notice.id)) this.#fault(`a notice of ${notice.id} began, which is on hold`)
  }

  /** The courier takes what it was told next. */
  #work(): void {
    const courier = this.#courier
    const instruction = courier?.inbox.shift()
    if (courier === undefined || instruction === undefined) return
    if (instruction.kind === 'put' || instruction.kind === 'remove') courier.held.delete(instruction.id)
    if (instruction.kind === 'hold') courier.held.add(instruction.id)
    if (instruction.kind === 'expire') this.#expire(instruction)
    if (instruction.kind === 'release') {
      const epoch =
        this.#mistake === 'a release has no epoch' ? (this.#owners[instruction.outbox]?.epoch ?? 0) : instruction.epoch
      courier.outboxes.release(instruction.outbox, epoch)
    }
    if (instruction.kind !== 'put') this.#responses.push(instruction.number)
  }

  #expire({ id, number }: Extract<Instruction, { readonly kind: 'hold' | 'remove' | 'expire' }>): void {
    const before = this.#putsAt.get(number) ?? 0
    for (const notice of this.#notices.filter((notice) => notice.id === id)) {
      this.counts.dropped += 1
      if (notice.puts > before) this.#fault(`an expiry of ${id} has dropped what was made after it was put`)
    }
    this.#notices = this.#notices.filter((notice) => notice.id !== id)
  }

  #hear(): void {
    const number = this.#responses.shift()
    if (number === undefined) return
    if (!this.#waiting.has(number)) this.counts.late += 1
    this.#take({ kind: 'answered', number })
    this.#resolve(number, true)
  }

  #die(): void {
    if (this.#courier === undefined) return
    this.counts.deaths += 1
    this.#courier = undefined
  }

  /** The coordinator hears that the courier has died. */
  #notice(): void {
    if (this.#courier !== undefined) return
    this.#isReplacing = true
    this.#take({ kind: 'died' })
    this.#isReplacing = false
    this.counts.repeated += this.#inbox.length
  }
}

function outboxOf(owner: OutboxOwner): Outbox {
  return {
    owner,
    ack: async () => true,
    refresh: () => {},
    last: () => 0,
    after: () => [],
    first: () => undefined,
    before: () => [],
    head: () => undefined,
    holds: () => false,
    at: () => undefined,
    stats: () => [],
    statsOf: () => undefined,
    close: async () => {},
  }
}

function newOwner() {
  const owner = { epoch: 0, isConfirmed: (): boolean => owner.epoch !== 0 }
  return owner
}
