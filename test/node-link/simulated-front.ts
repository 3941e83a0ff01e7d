import type { OutcomePart, SentOutcome } from '../../src/cluster/link/batch-route.js'
import { DeferredBatches } from '../../src/cluster/link/deferred-batches.js'
import { isUnowned } from '../../src/cluster/link/later-outcomes.js'
import { RemoteClock } from '../../src/cluster/link/remote-clock.js'
import {
  again_ms,
  type Entry,
  emptyQueue,
  type QueueEffect,
  type QueueEvent,
} from '../../src/cluster/link/remote-queue.js'
import type { LostBatch, Posted } from '../../src/partition/mailbox/batch.js'
import { err, type Result } from '../../src/result.js'
import type { FencingToken } from '../../src/threads/shared-memory/partition-position.js'
import { SimulatedConnection, type SimulatedResponse } from './simulated-connection.js'
import type { SimulatedNode, SimulatedUpdate } from './simulated-node.js'
import type { SimulatedTime } from './simulated-time.js'

export interface SimulatedFrontParts {
  readonly time: SimulatedTime
  readonly node: SimulatedNode
  /** Its number in its node, and among all of them. */
  readonly frontEnd: number
  readonly number: number
  readonly patience_ms: number
  readonly nodeOf: (name: string) => SimulatedNode | undefined
  /** The owner that a node names which is none: it may be mistaken, or know nobody. */
  readonly named: () => string | undefined
}

interface RemoteRoute {
  readonly kind: 'there'
  readonly connection: SimulatedConnection
  readonly clock: RemoteClock
  readonly deferred: DeferredBatches
}

type Route = { readonly kind: 'here'; readonly fencingToken: FencingToken } | RemoteRoute

interface OpenRequest {
  readonly update: SimulatedUpdate
  readonly respond: (result: Result<Posted, LostBatch>) => void
}

/** A front end's mailbox of the partition, and its routes to nodes: carries out what `queueStep` says. */
export class SimulatedFront {
  readonly #parts: SimulatedFrontParts
  /** The owner by its routes. */
  #owner: string | undefined
  #queue = emptyQueue
  readonly #requests = new Map<number, OpenRequest>()
  readonly #routes = new Map<number, Route>()
  #entries = 0
  #generation = 0
  #isLooking = false

  constructor(parts: SimulatedFrontParts) {
    this.#parts = parts
  }

  get node(): SimulatedNode {
    return this.#parts.node
  }

  /** Updates that are not answered. */
  get open(): number {
    return this.#requests.size
  }

  get isClosed(): boolean {
    return this.#queue.isClosed && this.#routes.size === 0
  }

  get connections(): readonly SimulatedConnection[] {
    return [...this.#routes.values()].flatMap((route) =>
      route.kind === 'there' && !route.connection.isOver ? route.connection : [],
    )
  }

  route(owner: string | undefined): void {
    this.#owner = owner
    this.#take({ kind: 'routed' })
  }

  /** Answers once, unless its node is killed. */
  put(entity: number, value: number, respond: OpenRequest['respond']): void {
    const { node, number, patience_ms } = this.#parts
    this.#entries += 1
    const entry = this.#entries
    this.#requests.set(entry, { update: { entity, value, sender: number, entry, wasDeferred: false }, respond })
    this.#take({ kind: 'put', entries: [{ number: entry, until_ms: node.clock_ms + patience_ms, sentOn: 0 }] })
    this.#look()
  }

  close(): void {
    this.#take({ kind: 'closed' })
  }

  #look(): void {
    if (this.#isLooking || this.#requests.size === 0) return
    this.#isLooking = true
    this.#parts.time.after(Math.min(this.#parts.patience_ms / 10, again_ms), () => {
      this.#isLooking = false
      this.#take({ kind: 'looked' })
      this.#look()
    })
  }

  #take(event: QueueEvent): void {
    const { node, time, patience_ms } = this.#parts
    if (node.isDead) return
    const moment = { now_ms: node.clock_ms, owner: this.#owner, patience_ms }
    const [queue, effects] = node.version.queueStep(this.#queue, event, moment)
    this.#queue = queue
    const opened: Extract<QueueEffect, { kind: 'open' }>[] = []
    for (const effect of effects) {
      if (effect.kind === 'open') opened.push(effect)
      else if (effect.kind === 'send') this.#send(effect.route, effect.batch, effect.entries)
      else if (effect.kind === 'close') this.#close(effect.route)
      else this.#respond(effect.entry, effect.result)
    }
    for (const { route, to } of opened) time.after(0, () => this.#open(route, to))
  }

  #respond(entry: number, result: Result<Posted, LostBatch>): void {
    const request = this.#requests.get(entry)
    if (request === undefined) throw new Error(`an update of front end ${this.#parts.number} is answered twice`)
    this.#requests.delete(entry)
    request.respond(result)
  }

  #open(route: number, to: string): void {
    if (this.#queue.route?.number !== route) return
    const { time, node, frontEnd, patience_ms, nodeOf } = this.#parts
    const other = nodeOf(to)
    if (other === node) {
      const { fencingToken } = node.position
      this.#routes.set(route, { kind: 'here', fencingToken })
      this.#take({ kind: 'opened', route, epoch: fencingToken.epoch, batchesMost: Number.POSITIVE_INFINITY })
      return
    }
    if (other === undefined || time.random.once(10)) {
      time.after(time.delay_ms(patience_ms), () => this.#take({ kind: 'notOpened', route }))
      return
    }
    this.#generation = Math.max(this.#generation + 1, Math.floor(time.now_ms))
    const source = { slot: node.slot, frontEnd, partition: 0, generation: this.#generation }
    const connection = new SimulatedConnection(time, other, source, patience_ms)
    const clock = new RemoteClock()
    const deferred = new DeferredBatches(() => this.#askLater(there))
    const there: RemoteRoute = { kind: 'there', connection, clock, deferred }
    this.#routes.set(route, there)
    connection.send({ kind: 'opening' }, (response) => {
      this.#heard(clock, response)
      if (response.kind === 'opened') this.#take({ kind: 'opened', route, epoch: response.epoch, batchesMost: 8 })
      else this.#take({ kind: 'notOpened', route })
    })
  }

  #close(route: number): void {
    const closed = this.#routes.get(route)
    this.#routes.delete(route)
    if (closed?.kind === 'there') closed.connection.close()
  }

  #send(number: number, batch: number, entries: readonly Entry[]): void {
    const { node, frontEnd } = this.#parts
    const route = this.#routes.get(number)
    const until_ms = entries[0]?.until_ms
    if (route === undefined || until_ms === undefined) throw new Error('a batch has no route, or no updates')
    const updates = entries.flatMap((entry) => this.#requests.get(entry.number)?.update ?? [])
    const took = (part: OutcomePart): void => this.#take({ kind: 'outcomes', route: number, batch, ...part })
    if (route.kind === 'here') {
      node.take(frontEnd, updates, until_ms, route.fencingToken, took)
      return
    }
    const until = route.clock.at(until_ms)
    if (until === undefined) throw new Error('a batch is sent by a route that is not opened')
    route.connection.send({ kind: 'batch', updates, until_ms: until }, (response) => {
      this.#heard(route.clock, response)
      const named = this.#parts.named()
      if (response.kind !== 'outcomes') took({ outcomes: updates.map(() => refusalOf(response)) })
      else if (response.outcomes.every(isUnowned)) {
        took({ outcomes: updates.map(() => err({ kind: 'notOwner', owner: named })) })
      } else if (response.batch !== undefined) route.deferred.begin(response.batch, response.outcomes, took)
      else took({ outcomes: response.outcomes.filter((outcome) => outcome !== undefined) })
    })
  }

  #askLater(route: RemoteRoute): void {
    route.connection.send({ kind: 'later' }, (response) => {
      this.#heard(route.clock, response)
      if (response.kind !== 'later') route.deferred.lost()
      else if (!route.deferred.came(response.later)) throw new Error('there are outcomes of what was not deferred')
    })
  }

  #heard(clock: RemoteClock, response: SimulatedResponse): void {
    if ('clock_ms' in response) clock.heard(response.clock_ms, this.node.clock_ms)
    else if (response.kind === 'refused' && response.refusal.kind === 'overtaken') {
      this.#generation = Math.max(this.#generation, response.refusal.last)
    }
  }
}

function refusalOf(response: SimulatedResponse): SentOutcome {
  if (response.kind === 'unsent') return err({ kind: 'unsent' })
  if (response.kind !== 'refused') return err({ kind: 'unanswered' })
  return err(response.refusal.kind === 'notOwner' ? { kind: 'notOwner', owner: undefined } : { kind: 'refused' })
}
