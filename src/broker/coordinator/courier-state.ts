import type { CourierStart } from '../../delivery/queue/courier-protocol.js'
import type { OutboxNumber } from '../../delivery/queue/outboxes.js'
import type { SubscriptionId } from '../../model/subscription/subscription.js'

/** An instruction that the courier answers, by a number of its own. */
export type CourierInstruction =
  | { readonly kind: 'hold' | 'remove' | 'expire'; readonly number: number; readonly id: SubscriptionId }
  | { readonly kind: 'release'; readonly number: number; readonly outbox: OutboxNumber; readonly epoch: number }
  /** A question, which changes nothing. */
  | { readonly kind: 'question'; readonly number: number }

export type CourierEvent =
  /** A subscription is new, or was changed: a hold of it ends. */
  | { readonly kind: 'put'; readonly id: SubscriptionId }
  | { readonly kind: 'instructed'; readonly instruction: CourierInstruction }
  /** A courier has answered, possibly one that has died since. */
  | { readonly kind: 'answered'; readonly number: number }
  /** Nobody waits for the response any more. */
  | { readonly kind: 'abandoned'; readonly number: number }
  /** The thread has ended with a fault, and another one replaces it at once. */
  | { readonly kind: 'died' }
  /** The thread has ended in order and is not replaced. */
  | { readonly kind: 'ended' }

export type CourierEffect =
  /** Start another thread with this state. */
  | { readonly kind: 'start'; readonly begun: CourierStart }
  /** Send an instruction to the current thread. */
  | { readonly kind: 'tell'; readonly instruction: CourierInstruction }
  /** Answer the caller in the place of a courier: the instruction is done, or its outcome is unknown. */
  | { readonly kind: 'resolve'; readonly number: number; readonly isDone: boolean }

/** An instruction without a response that a caller waits for. */
interface OpenInstruction {
  readonly instruction: CourierInstruction
  /** Whether a later instruction for the same subscription replaces this one. */
  isSuperseded: boolean
}

/**
 * What the coordinator wants of whichever courier there is. Touches nothing outside: `take` gives what is to be done. An instruction that
 * is open when the courier dies:
 *
 * | instruction | superseded by `put` or `remove` | else                                     |
 * |-------------|---------------------------------|------------------------------------------|
 * | `hold`      | is done                         | is done: the next courier begins with it |
 * | `remove`    | is done                         | is told again                            |
 * | `expire`    | has an unknown outcome          | is told again                            |
 * | `release`   | -                               | is told again, with its epoch            |
 * | `question`  | -                               | is told again                            |
 *
 * What was abandoned is not open. What is told again is told before anything that is said later.
 */
export class CourierState {
  /** Holds that were answered: they outlast the courier that has answered them. */
  readonly #held = new Set<SubscriptionId>()
  /** Outboxes that this node is about to release, with the epoch under which it stops sending each. */
  readonly #closed = new Map<OutboxNumber, number>()
  /** Open instructions by number, in the order in which they were given. */
  readonly #open = new Map<number, OpenInstruction>()
  /** The numbers of open instructions that can be superseded, by subscription. */
  readonly #ofSubscription = new Map<SubscriptionId, Set<number>>()
  #isOver = false

  /** The state that a courier begins with if it is started now. */
  get begun(): CourierStart {
    return { held: [...this.#held], closed: [...this.#closed] }
  }

  /** How many instructions are open. */
  get open(): number {
    return this.#open.size
  }

  take(event: CourierEvent): readonly CourierEffect[] {
    switch (event.kind) {
      case 'put':
        this.#held.delete(event.id)
        this.#supersede(event.id)
        return []
      case 'instructed':
        return this.#instructed(event.instruction)
      case 'answered':
      case 'abandoned':
        this.#remove(event.number)
        return []
      case 'died':
        return this.#died()
      case 'ended':
        return this.#ended()
    }
  }

  #instructed(instruction: CourierInstruction): readonly CourierEffect[] {
    const { number, kind } = instruction
    // Nothing is sent any more.
    if (this.#isOver) return [done(number)]
    if (kind === 'hold') this.#held.add(instruction.id)
    if (kind === 'remove') {
      this.#held.delete(instruction.id)
      this.#supersede(instruction.id)
    }
    if (kind === 'release') {
      const { outbox, epoch } = instruction
      this.#closed.set(outbox, Math.max(epoch, this.#closed.get(outbox) ?? 0))
    }
    this.#open.set(number, { instruction, isSuperseded: false })
    const id = supersededBy(instruction)
    if (id !== undefined) {
      const numbers = this.#ofSubscription.get(id) ?? new Set()
      this.#ofSubscription.set(id, numbers.add(number))
    }
    return [{ kind: 'tell', instruction }]
  }

  #died(): readonly CourierEffect[] {
    const effects: CourierEffect[] = [{ kind: 'start', begun: this.begun }]
    for (const [number, { instruction, isSuperseded }] of [...this.#open]) {
      const { kind } = instruction
      if (kind !== 'hold' && !isSuperseded) {
        effects.push({ kind: 'tell', instruction })
        continue
      }
      effects.push({ kind: 'resolve', number, isDone: kind !== 'expire' })
      this.#remove(number)
    }
    return effects
  }

  #ended(): readonly CourierEffect[] {
    const effects = [...this.#open.keys()].map(done)
    this.#open.clear()
    this.#ofSubscription.clear()
    this.#isOver = true
    return effects
  }

  /** Marks the open instructions for a subscription as superseded by its new version. */
  #supersede(id: SubscriptionId): void {
    for (const number of this.#ofSubscription.get(id) ?? []) {
      const open = this.#open.get(number)
      if (open) open.isSuperseded = true
    }
    this.#ofSubscription.delete(id)
  }

  #remove(number: number): void {
    const open = this.#open.get(number)
    const id = open && supersededBy(open.instruction)
    this.#open.delete(number)
    if (id === undefined) return
    const numbers = this.#ofSubscription.get(id)
    numbers?.delete(number)
    if (numbers?.size === 0) this.#ofSubscription.delete(id)
  }
}

/** The subscription whose `put` or `remove` supersedes an instruction. */
function supersededBy(instruction: CourierInstruction): SubscriptionId | undefined {
  const { kind } = instruction
  return kind === 'hold' || kind === 'expire' || kind === 'remove' ? instruction.id : undefined
}

function done(number: number): CourierEffect {
  return { kind: 'resolve', number, isDone: true }
}
