import type { FirstOutcomes, PlacedOutcome } from '../../src/cluster/link/command-batch.js'
import {
  ConnectionBatches,
  type ConnectionRefusal,
  type PartitionSender,
} from '../../src/cluster/link/connection-batches.js'
import { BatchResponses, LaterOutcomes } from '../../src/cluster/link/later-outcomes.js'
import type { SimulatedNode, SimulatedUpdate } from './simulated-node.js'
import type { SimulatedTime } from './simulated-time.js'

export type SimulatedRequest =
  | { readonly kind: 'opening' }
  | { readonly kind: 'later' }
  | { readonly kind: 'batch'; readonly updates: readonly SimulatedUpdate[]; readonly until_ms: number }

export type SimulatedResponse =
  | { readonly kind: 'opened'; readonly epoch: number; readonly clock_ms: number }
  | ({ readonly kind: 'outcomes'; readonly clock_ms: number } & FirstOutcomes)
  | { readonly kind: 'later'; readonly later: readonly PlacedOutcome[]; readonly clock_ms: number }
  | { readonly kind: 'refused'; readonly refusal: ConnectionRefusal }
  | { readonly kind: 'broken' | 'unsent' }

/** What becomes of a connection that breaks: of what is under way to the node, and when its other end finds out. */
export interface Break {
  readonly arrives: 'nothing' | 'late'
  readonly noticed_ms: number
}

/** How often a node looks whether a connection can be opened. */
const look_ms = 5

/** A connection to a node: requests arrive in their order, and are answered in it, until it breaks. */
export class SimulatedConnection {
  readonly to: SimulatedNode
  readonly #time: SimulatedTime
  readonly #source: PartitionSender
  readonly #longest_ms: number
  /** Of the node that has accepted it. */
  readonly #thread: number
  readonly #batches: ConnectionBatches
  readonly #later = new LaterOutcomes()
  /** Until then nothing arrives, each way. */
  #arriving_ms = 0
  #responding_ms = 0
  /** Of a broken connection: until then nothing arrives at the node. */
  #late_ms = 0
  readonly #sent: {
    readonly at_ms: number
    readonly request: SimulatedRequest
    readonly take: (response: SimulatedResponse) => void
  }[] = []
  /** In the order of the requests; those that are answered at the node wait for those before them. */
  readonly #open: { response: SimulatedResponse | undefined; readonly take: (response: SimulatedResponse) => void }[] =
    []
  readonly #underWay = new Set<(response: SimulatedResponse) => void>()
  #isBroken = false
  #arrives: Break['arrives'] | undefined
  #isOver = false

  constructor(time: SimulatedTime, to: SimulatedNode, source: PartitionSender, longest_ms: number) {
    this.#time = time
    this.to = to
    this.#source = source
    this.#longest_ms = longest_ms
    this.#thread = time.random.below(2)
    this.#batches = new ConnectionBatches(to.senders, () => to.position.fencingToken)
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** Answers once, and later. */
  send(request: SimulatedRequest, take: (response: SimulatedResponse) => void): void {
    if (this.#isOver) {
      this.#time.after(0, () => take({ kind: 'unsent' }))
      return
    }
    this.#underWay.add(take)
    const delay_ms = this.#time.delay_ms(this.#longest_ms)
    this.#arriving_ms = Math.max(this.#arriving_ms, this.#time.now_ms + delay_ms)
    this.#sent.push({ at_ms: this.#arriving_ms, request, take })
    this.#time.at(this.#arriving_ms, () => this.#arrive())
  }

  break({ arrives, noticed_ms }: Break): void {
    if (this.#isBroken) return
    this.#isBroken = true
    this.#arrives = arrives
    if (arrives === 'late') {
      const late_ms = this.#time.delay_ms(this.#longest_ms) * 10
      this.#late_ms = this.#time.now_ms + late_ms
      this.#time.at(this.#late_ms, () => this.#arrive())
    }
    this.#time.after(noticed_ms, () => this.close())
  }

  /** What is under way has no response; at the node it may still arrive. */
  close(): void {
    this.break({ arrives: this.#time.random.once(2) ? 'late' : 'nothing', noticed_ms: 0 })
    if (this.#isOver) return
    this.#isOver = true
    for (const take of this.#underWay) this.#time.after(0, () => take({ kind: 'broken' }))
    this.#underWay.clear()
  }

  /** Everything that is due arrives, in the order in which it was sent. */
  #arrive(): void {
    const { now_ms } = this.#time
    if (this.#arrives === 'nothing' || now_ms < this.#late_ms) return
    for (let [next] = this.#sent; next !== undefined && next.at_ms <= now_ms; [next] = this.#sent) {
      this.#sent.shift()
      if (!this.to.isDead) this.#serve(next.request, next.take)
    }
  }

  #serve(request: SimulatedRequest, take: (response: SimulatedResponse) => void): void {
    const slot: { response: SimulatedResponse | undefined; readonly take: (given: SimulatedResponse) => void } = {
      response: undefined,
      take,
    }
    this.#open.push(slot)
    const response = (given: SimulatedResponse): void => {
      slot.response = given
      this.#respond()
    }
    this.#later.yield()
    if (request.kind === 'later') {
      this.#later.ask((later) => response({ kind: 'later', later, clock_ms: Math.floor(this.to.clock_ms) }))
    } else if (request.kind === 'opening') this.#enter(this.#batches.enter(this.#source), response)
    else this.#take(request, response)
  }

  #enter(opened: ReturnType<ConnectionBatches['enter']>, respond: (given: SimulatedResponse) => void): void {
    const { to } = this
    if (to.isDead) return
    if (opened === undefined) {
      this.#time.after(look_ms, () => this.#enter(this.#batches.look(this.#source), respond))
    } else if (opened.ok) respond({ kind: 'opened', epoch: opened.value, clock_ms: Math.floor(to.clock_ms) })
    else respond({ kind: 'refused', refusal: opened.error })
  }

  #take(
    { updates, until_ms }: Extract<SimulatedRequest, { kind: 'batch' }>,
    respond: (given: SimulatedResponse) => void,
  ): void {
    const { to } = this
    const fencingToken = this.#batches.begin(this.#source)
    if (!fencingToken.ok) {
      respond({ kind: 'refused', refusal: fencingToken.error })
      return
    }
    const responses = new BatchResponses(
      this.#batches,
      this.#later,
      this.#source,
      updates.length,
      ({ outcomes, batch }) => {
        respond({ kind: 'outcomes', outcomes, batch, clock_ms: Math.floor(to.clock_ms) })
      },
    )
    to.take(this.#thread, updates, until_ms, fencingToken.value, (part) => responses.came(part))
  }

  #respond(): void {
    for (let [first] = this.#open; first?.response !== undefined; [first] = this.#open) {
      this.#open.shift()
      const { response, take } = first
      if (response === undefined || this.#isBroken) continue
      const delay_ms = this.#time.delay_ms(this.#longest_ms)
      this.#responding_ms = Math.max(this.#responding_ms, this.#time.now_ms + delay_ms)
      this.#time.at(this.#responding_ms, () => {
        if (this.#underWay.delete(take)) take(response)
      })
    }
  }
}
