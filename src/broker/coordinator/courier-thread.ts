import { MessageChannel, type MessagePort } from 'node:worker_threads'
import {
  type CourierEvents,
  type CourierOperations,
  type CourierStart,
  courierEvents,
  courierOperations,
  type DeliveryState,
  type InspectedQueue,
  noReceivers,
  nothingInspected,
  type ReceiverPage,
  type Recipient,
  type WhichReceivers,
} from '../../delivery/queue/courier-protocol.js'
import type { OutboxNumber } from '../../delivery/queue/outboxes.js'
import { isGivenUp, LogFenced } from '../../faults.js'
import type { NoticeAck } from '../../model/subscription/notice.js'
import type { SubscriptionId } from '../../model/subscription/subscription.js'
import type { Log } from '../../observe/log/log.js'
import { ok } from '../../result.js'
import { LinkedThread } from '../../threads/calls/linked-thread.js'
import { methodsOf } from '../../threads/calls/service.js'
import { type CourierEffect, type CourierEvent, type CourierInstruction, CourierState } from './courier-state.js'
import { Deaths, deathsPerMinute, type FrontEndLink, type Launch, stackOf } from './partitions.js'

interface CourierThreadSettings<Task> {
  readonly entry: URL
  /** Called for each thread. A replacement begins with the current recipients and with what its predecessor was told. */
  readonly launch: (begun: CourierStart) => Launch<Task>
  /** The epoch under which this node owns an outbox now. */
  readonly epochOf: (outbox: OutboxNumber) => number
  /** Connects the courier with all partitions, now and whenever one is replaced. */
  readonly join: (link: FrontEndLink) => void
  /** Stores the acks of notices in the coordinator's own outbox. */
  readonly ack: (acks: readonly NoticeAck[]) => Promise<void>
  readonly alarm: CourierEvents['alarm']
  readonly failing: CourierEvents['failing']
  readonly log: Log
  /** Called with the reason when the broker cannot continue. */
  readonly fatal: (reason: string) => void
}

type Thread<Task extends object> = LinkedThread<Task, CourierOperations>

/** The outcome of an instruction: whether it is done, with the response if there is one. */
interface Outcome<Response> {
  readonly isDone: boolean
  readonly response?: Response
}

/** An instruction that a caller waits for. */
interface OpenInstruction {
  /** Asks a thread, whose response resolves it. */
  readonly send: (thread: Thread<object>) => void
  readonly resolve: (outcome: { readonly isDone: boolean }) => void
}

/** How long an owner waits for expired notices to leave the disk: only a failing disk or partition takes longer. */
const expiry_ms = 2000

/** The additional wait for a courier that does not answer in time, since a dead one is being replaced. */
const releaseSpare_ms = 200

/** Delivery states in one message: deserializing very many at once would block the thread. */
const reportedAtOnce = 1000

/** The pause before acks that could not be stored are stored again, at first and at most. */
const ackAgain_ms = 200
const ackAgainMost_ms = 2000

/** The courier's thread, for the coordinator: starts, instructs and drains it, and replaces it when it dies. */
export class CourierThread<Task extends object> {
  readonly #settings: CourierThreadSettings<Task>
  readonly #state = new CourierState()
  /** Open instructions by number. */
  readonly #open = new Map<number, OpenInstruction>()
  /** Passes the ports of the partitions to the current thread. */
  readonly #link: FrontEndLink
  /** The front ends with event streams: each gets a port to the current thread. */
  readonly #streamLinks: ((port: MessagePort) => void)[] = []
  #thread: Thread<Task> | undefined
  /** Resolves when the thread has read the backlog. */
  #begun = Promise.resolve()
  #last = 0
  readonly #deaths = new Deaths()
  #draining = false

  constructor(settings: CourierThreadSettings<Task>) {
    this.#settings = settings
    this.#link = {
      connect: (partition: number, port: MessagePort) => this.#thread?.far.connect(partition, port),
    }
  }

  /** Starts a thread, which waits for `start`. */
  prepare(): void {
    this.#prepare(this.#state.begun)
  }

  #prepare(begun: CourierStart): void {
    const { entry, launch, join, alarm, failing } = this.#settings
    const events: CourierEvents = { ack: (acks) => this.#ack(acks), alarm, failing }
    const offered = methodsOf(events, courierEvents)
    this.#thread = new LinkedThread({ entry, ...launch(begun), far: courierOperations, offered })
    join(this.#link)
  }

  /** Lets the thread begin once all partitions are open. Resolves when the courier has read the backlog. */
  start(): Promise<void> {
    this.#begun = this.#begin()
    return this.#begun
  }

  async #begin(): Promise<void> {
    const thread = this.#thread
    if (thread === undefined) throw new Error('there is no thread that could begin')
    await thread.far.begin()
    thread.ended.catch((fault: unknown) => this.#died(thread, fault))
  }

  /** Connects a front end with event streams to the courier, now and whenever the courier is replaced. */
  addStreams(connect: (port: MessagePort) => void): void {
    this.#streamLinks.push(connect)
    this.#connectStreams(connect)
  }

  #connectStreams(connect: (port: MessagePort) => void): void {
    const { port1, port2 } = new MessageChannel()
    this.#thread?.far.connectStreams(port1)
    connect(port2)
  }

  put(recipient: Recipient): void {
    this.#take({ kind: 'put', id: recipient.id })
    this.#thread?.far.put(recipient)
  }

  /** Resolves when no attempt for the subscription begins until it is put. */
  async hold(id: SubscriptionId): Promise<void> {
    await this.#instruct(
      (number) => ({ kind: 'hold', number, id }),
      (far) => far.hold(id),
    )
  }

  /** Resolves when no attempt will begin any more. */
  async remove(id: SubscriptionId): Promise<void> {
    await this.#instruct(
      (number) => ({ kind: 'remove', number, id }),
      (far) => far.remove(id),
    )
  }

  /**
   * Drops what waited for a subscription that has expired. Says whether it is gone from disk: it may not be while a
   * partition or the disk fails, which nobody is to wait for.
   */
  async expire(id: SubscriptionId): Promise<boolean> {
    const expired = this.#instruct(
      (number) => ({ kind: 'expire', number, id }),
      (far) => far.expire(id),
      expiry_ms,
    )
    return (await expired).isDone
  }

  /**
   * This node is about to release an outbox: nothing of it is begun any more. Resolves when what was under way has ended and its
   * outcome is on disk, and at the latest after about this time.
   */
  async release(outbox: OutboxNumber, limit_ms: number): Promise<void> {
    const epoch = this.#settings.epochOf(outbox)
    await this.#instruct(
      (number) => ({ kind: 'release', number, outbox, epoch }),
      (far) => far.release(outbox, epoch, limit_ms),
      limit_ms + releaseSpare_ms,
    )
  }

  /** How the deliveries of these subscriptions go, as far as the courier knows them. */
  async report(ids: readonly SubscriptionId[]): Promise<ReadonlyMap<SubscriptionId, DeliveryState>> {
    const states = new Map<SubscriptionId, DeliveryState>()
    for (let from = 0; from < ids.length; from += reportedAtOnce) {
      const some = ids.slice(from, from + reportedAtOnce)
      const known = await this.#call((far) => far.report(some))
      for (const { id, delivery } of known ?? []) states.set(id, delivery)
    }
    return states
  }

  /** The delivery queue of a subscription, with its failed attempts. */
  async inspected(id: SubscriptionId): Promise<InspectedQueue> {
    return (await this.#call((far) => far.inspect(id))) ?? nothingInspected
  }

  /** A page of the receivers of all subscriptions. */
  async receivers(which: WhichReceivers): Promise<ReceiverPage> {
    return (await this.#call((far) => far.receivers(which))) ?? noReceivers
  }

  /** Sends what can be sent at once, for at most `limit_ms`. */
  async drain(limit_ms: number): Promise<void> {
    this.#draining = true
    const thread = this.#thread
    await thread?.unlessGone(thread.far.drain(limit_ms))
    // That a thread has died is logged, and what it left is on disk: everything else ends in order all the same.
    await thread?.ended.catch(() => {})
    this.#take({ kind: 'ended' })
    await thread?.close()
  }

  /** Ends the thread at once: nothing more is sent or read. */
  async halt(): Promise<void> {
    this.#draining = true
    await this.#thread?.park()
  }

  /** The response to a question; undefined when no courier will answer it any more. */
  async #call<Response>(call: (far: CourierOperations) => Promise<Response>): Promise<Response | undefined> {
    return (await this.#instruct((number) => ({ kind: 'question', number }), call)).response
  }

  /** The outcome of an instruction; after this time the instruction is abandoned. */
  async #instruct<Response>(
    make: (number: number) => CourierInstruction,
    call: (far: CourierOperations) => Promise<Response>,
    limit_ms?: number,
  ): Promise<Outcome<Response>> {
    this.#last += 1
    const number = this.#last
    const outcome = new Promise<Outcome<Response>>((resolve, reject) => {
      const send = async (thread: Thread<object>): Promise<void> => {
        const response = await thread.unlessGone(call(thread.far).then(ok))
        // When the death of this thread is known, its successor is told again, or the outcome is resolved.
        if (response === undefined) return
        this.#take({ kind: 'answered', number })
        resolve({ isDone: true, response: response.value })
      }
      const failed = (fault: unknown): void => {
        this.#take({ kind: 'abandoned', number })
        reject(fault)
      }
      this.#open.set(number, { send: (thread) => void send(thread).catch(failed), resolve })
    })
    const timer = limit_ms === undefined ? undefined : setTimeout(() => this.#abandon(number), limit_ms)
    this.#take({ kind: 'instructed', instruction: make(number) })
    return outcome.finally(() => {
      clearTimeout(timer)
      this.#open.delete(number)
    })
  }

  #abandon(number: number): void {
    this.#take({ kind: 'abandoned', number })
    this.#open.get(number)?.resolve({ isDone: false })
  }

  #take(event: CourierEvent): void {
    for (const effect of this.#state.take(event)) this.#carryOut(effect)
  }

  #carryOut(effect: CourierEffect): void {
    if (effect.kind === 'tell') {
      if (this.#thread !== undefined) this.#open.get(effect.instruction.number)?.send(this.#thread)
    } else if (effect.kind === 'resolve') this.#open.get(effect.number)?.resolve(effect)
    else {
      this.#prepare(effect.begun)
      this.#begun = this.#begin()
    }
  }

  /** Stores acks, and tries again after a failure: they are idempotent. */
  async #ack(acks: readonly NoticeAck[]): Promise<boolean> {
    for (let wait_ms = ackAgain_ms; ; wait_ms = Math.min(2 * wait_ms, ackAgainMost_ms)) {
      try {
        await this.#settings.ack(acks)
        return true
      } catch (fault) {
        // The courier is told of the new owner, and reads the outbox again if it comes back to this node.
        if (fault instanceof LogFenced || isGivenUp(fault)) return false
        if (wait_ms === ackAgain_ms) {
          this.#settings.log.error('courier:ack', `outcomes of notifications could not be stored: ${String(fault)}`)
        }
        await new Promise((resolve) => setTimeout(resolve, wait_ms))
      }
    }
  }

  #died(thread: Thread<Task>, fault: unknown): void {
    const { log, fatal } = this.#settings
    log.error('worker:died', `the courier failed: ${String(fault)}`, { stack: stackOf(fault) })
    if (this.#draining) return
    if (this.#deaths.areTooMany()) fatal(`the courier died ${deathsPerMinute} times within a minute`)
    else this.#replace(thread).catch((failure: unknown) => fatal(`the courier cannot be restarted: ${String(failure)}`))
  }

  /**
   * A new thread finds notices and delivery stats on disk, and begins with what is in force of all that was said; what is open is told
   * again right behind that, before anything else is said.
   */
  async #replace(dead: Thread<Task>): Promise<void> {
    this.#take({ kind: 'died' })
    await this.#begun
    for (const connect of this.#streamLinks) this.#connectStreams(connect)
    this.#settings.log.warn('worker:replaced', 'the courier runs again in a new thread')
    await dead.close()
  }
}
