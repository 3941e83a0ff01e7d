import { MessageChannel, type MessagePort } from 'node:worker_threads'
import type {
  CourierInstruction,
  CourierReport,
  CourierStart,
  DeliveryState,
  InspectedQueue,
  ReceiverPage,
  Recipient,
  WhichReceivers,
} from '../delivery/message.js'
import type { AttemptAlarm } from '../delivery/outgoing.js'
import type { SourceNumber } from '../delivery/source.js'
import { isGivenUp, LogFenced } from '../faults.js'
import type { Log } from '../log/log.js'
import { ActorThread } from '../mailbox/thread.js'
import type { NoticeAck } from '../subscription/notice.js'
import type { SubscriptionId } from '../subscription/subscription.js'
import { type CourierEffect, type CourierEvent, CourierState, type TicketedInstruction } from './courier-state.js'
import { Deaths, deathsPerMinute, type FrontEndLink, type Launch, stackOf } from './partitions.js'

interface CourierThreadSettings<Task> {
  readonly entry: URL
  /** Called for every thread, also for one that replaces another, which begins with the recipients of that moment, and with what the one before it was told. */
  readonly launch: (begun: CourierStart) => Launch<Task>
  /** Under which epoch an outbox is this node's now; see `CourierStart`. */
  readonly epochOf: (source: SourceNumber) => number
  /** Connects the courier with all partitions, now and whenever one is replaced. */
  readonly join: (link: FrontEndLink) => void
  /** Stores what became of notices in the coordinator's own outbox. */
  readonly ack: (acks: readonly NoticeAck[]) => Promise<void>
  /** An attempt at a URL has failed for a reason, or succeeded. */
  readonly attempted: (alarm: AttemptAlarm, subject: string, reason: string | undefined) => void
  /** So many attempts for a subscription have failed in a row that it has to end. */
  readonly failing: (id: SubscriptionId, fails: number) => void
  readonly log: Log
  /** The broker can not go on: the reason. */
  readonly fatal: (reason: string) => void
}

type Thread<Task extends object> = ActorThread<Task, CourierReport>
/** What answers an instruction with a ticket. */
type Ticketeds = Extract<CourierReport, { readonly kind: 'done' | 'states' | 'inspected' | 'receivers' }>

/** How long an owner waits for what is to leave the disk before it goes on; nothing but a disk or a partition that fails takes longer. */
const expiry_ms = 2000

/** For how long a courier is waited for that does not answer in time: one that has died is being replaced. */
const releaseSpare_ms = 200

/** Deliveries that are told in one message: reading one of very many would hold the thread. */
const reportedAtOnce = 1000

/** How long to wait before acks that could not be stored are tried again, at first and at most. */
const ackAgain_ms = 200
const ackAgainMost_ms = 2000

/** The courier's thread as the coordinator has it: started, instructed, replaced when it dies, drained. */
export class CourierThread<Task extends object> {
  readonly #settings: CourierThreadSettings<Task>
  readonly #state = new CourierState()
  /** Who waits for an answer, by ticket: the answer, or nothing when nobody knows it. */
  readonly #waiting = new Map<number, (report: Ticketeds | undefined) => void>()
  /** The ports of the partitions go to whichever thread there is. */
  readonly #link: FrontEndLink
  /** Who holds the streams of clients: each gets a port to whichever thread there is. */
  readonly #streamLinks: ((port: MessagePort) => void)[] = []
  #thread: Thread<Task> | undefined
  #tickets = 0
  readonly #deaths = new Deaths()
  #draining = false

  constructor(settings: CourierThreadSettings<Task>) {
    this.#settings = settings
    this.#link = {
      connect: (partition: number, port: MessagePort) => {
        const instruction: CourierInstruction = { kind: 'connect', partition, port }
        this.#thread?.tell(instruction, [port])
      },
    }
  }

  /** Starts a thread, which gets ready to begin. */
  prepare(): void {
    this.#prepare(this.#state.begun)
  }

  #prepare(begun: CourierStart): void {
    const thread: Thread<Task> = new ActorThread({
      entry: this.#settings.entry,
      ...this.#settings.launch(begun),
      reported: (report) => this.#report(thread, report),
    })
    this.#thread = thread
    this.#settings.join(this.#link)
  }

  /** Lets the thread begin: all partitions are there. Resolves when the courier knows everything that waits. */
  async start(): Promise<void> {
    this.#tell({ kind: 'begin' })
    await this.#started()
  }

  async #started(): Promise<void> {
    const thread = this.#thread
    if (thread === undefined) throw new Error('there is no thread that could begin')
    await thread.ready
    thread.ended.catch((fault: unknown) => this.#died(thread, fault))
  }

  /** A front end with clients that listen to subscriptions: it gets a port to the courier, now and whenever that is replaced. */
  addStreams(connect: (port: MessagePort) => void): void {
    this.#streamLinks.push(connect)
    this.#connectStreams(connect)
  }

  #connectStreams(connect: (port: MessagePort) => void): void {
    const { port1, port2 } = new MessageChannel()
    const instruction: CourierInstruction = { kind: 'streams', port: port1 }
    this.#thread?.tell(instruction, [port1])
    connect(port2)
  }

  put(recipient: Recipient): void {
    this.#take({ kind: 'put', id: recipient.id })
    this.#tell({ kind: 'put', recipient })
  }

  /** Resolves when nothing of the subscription will begin until it is put. */
  async hold(id: SubscriptionId): Promise<void> {
    await this.#instruct((ticket) => ({ kind: 'hold', ticket, id }))
  }

  /** Resolves when no attempt will begin any more. */
  async remove(id: SubscriptionId): Promise<void> {
    await this.#instruct((ticket) => ({ kind: 'remove', ticket, id }))
  }

  /**
   * Drops what waited for a subscription that has expired. Says whether it is gone from disk: it may not be while a
   * partition or the disk fails, which nobody is to wait for.
   */
  async expire(id: SubscriptionId): Promise<boolean> {
    const report = await this.#instruct((ticket) => ({ kind: 'expire', ticket, id }), expiry_ms)
    return report !== undefined
  }

  /**
   * This node is about to release an outbox: nothing of it is begun any more. Resolves when what was under way has ended and its
   * outcome is on disk, and at the latest after about this time.
   */
  async release(source: SourceNumber, limit_ms: number): Promise<void> {
    const epoch = this.#settings.epochOf(source)
    await this.#instruct((ticket) => ({ kind: 'release', ticket, source, epoch, limit_ms }), limit_ms + releaseSpare_ms)
  }

  /** How the deliveries of these subscriptions go, as far as the courier knows them. */
  async report(ids: readonly SubscriptionId[]): Promise<ReadonlyMap<SubscriptionId, DeliveryState>> {
    const states = new Map<SubscriptionId, DeliveryState>()
    for (let from = 0; from < ids.length; from += reportedAtOnce) {
      const some = ids.slice(from, from + reportedAtOnce)
      const known = await this.#instruct((ticket) => ({ kind: 'report', ticket, ids: some }))
      if (known?.kind === 'states') for (const { id, delivery } of known.states) states.set(id, delivery)
    }
    return states
  }

  /** What waits for one subscription, and which attempts have failed. */
  async inspected(id: SubscriptionId): Promise<InspectedQueue> {
    const report = await this.#instruct((ticket) => ({ kind: 'inspect', ticket, id }))
    return report?.kind === 'inspected' ? report.inspected : { state: 'idle', underWay: 0, failures: [] }
  }

  /** A page of the receivers of all subscriptions. */
  async receivers(which: WhichReceivers): Promise<ReceiverPage> {
    const report = await this.#instruct((ticket) => ({ kind: 'receivers', ticket, which }))
    return report?.kind === 'receivers' ? report.page : { count: 0, receivers: [] }
  }

  /** Sends what can be sent at once, for at most so long. */
  async drain(limit_ms: number): Promise<void> {
    this.#draining = true
    this.#tell({ kind: 'drain', limit_ms })
    // That a thread has died is logged, and what it left is on disk: everything else ends in order all the same.
    await this.#thread?.ended.catch(() => {})
    this.#take({ kind: 'ended' })
    await this.#thread?.close()
  }

  /** The process ends at once: nothing more is sent or read. */
  async halt(): Promise<void> {
    this.#draining = true
    await this.#thread?.park()
  }

  #tell(instruction: CourierInstruction): void {
    this.#thread?.tell(instruction)
  }

  /** The answer to an instruction; nothing when it is not known, or has not come within this time: then nobody gives it any more. */
  async #instruct(make: (ticket: number) => TicketedInstruction, limit_ms?: number): Promise<Ticketeds | undefined> {
    this.#tickets += 1
    const ticket = this.#tickets
    const answer = new Promise<Ticketeds | undefined>((resolve) => this.#waiting.set(ticket, resolve))
    const timer = limit_ms === undefined ? undefined : setTimeout(() => this.#abandon(ticket), limit_ms)
    this.#take({ kind: 'instructed', instruction: make(ticket) })
    return answer.finally(() => clearTimeout(timer))
  }

  #abandon(ticket: number): void {
    this.#take({ kind: 'abandoned', ticket })
    this.#resolve(ticket, undefined)
  }

  #resolve(ticket: number, report: Ticketeds | undefined): void {
    this.#waiting.get(ticket)?.(report)
    this.#waiting.delete(ticket)
  }

  #take(event: CourierEvent): void {
    for (const effect of this.#state.take(event)) this.#carryOut(effect)
  }

  #carryOut(effect: CourierEffect): void {
    if (effect.kind === 'tell') this.#tell(effect.instruction)
    else if (effect.kind === 'start') this.#restart(effect.begun)
    else this.#resolve(effect.ticket, effect.isDone ? { kind: 'done', ticket: effect.ticket } : undefined)
  }

  /** The last reports of a thread that has died may come when another one is there: each goes to the instruction with its ticket. */
  #report(thread: Thread<Task>, report: CourierReport): void {
    switch (report.kind) {
      case 'done':
      case 'states':
      case 'inspected':
      case 'receivers':
        this.#take({ kind: 'answered', ticket: report.ticket })
        this.#resolve(report.ticket, report)
        return
      case 'ack':
        this.#ack(thread, report.ticket, report.acks).catch((fault: unknown) =>
          this.#settings.fatal(`notices can not be acked: ${String(fault)}`),
        )
        return
      case 'alarm':
        this.#settings.attempted(report.alarm, report.subject, report.reason)
        return
      case 'failing':
        this.#settings.failing(report.id, report.fails)
        return
      case 'ready':
      case 'drained':
        return
    }
  }

  /** Acks say how things stand, so that they can be stored again until they are. */
  async #ack(thread: Thread<Task>, ticket: number, acks: readonly NoticeAck[]): Promise<void> {
    let isStored = true
    for (let wait_ms = ackAgain_ms; ; wait_ms = Math.min(2 * wait_ms, ackAgainMost_ms)) {
      try {
        await this.#settings.ack(acks)
        break
      } catch (fault) {
        // The courier hears whose the outbox is, and asks again where it comes back.
        isStored = !(fault instanceof LogFenced || isGivenUp(fault))
        if (!isStored) break
        if (wait_ms === ackAgain_ms) {
          this.#settings.log.error('courier:ack', `acks could not be stored: ${String(fault)}`)
        }
        await new Promise((resolve) => setTimeout(resolve, wait_ms))
      }
    }
    const acked: CourierInstruction = { kind: 'acked', ticket, isStored }
    thread.tell(acked)
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
    await this.#started()
    for (const connect of this.#streamLinks) this.#connectStreams(connect)
    this.#settings.log.warn('worker:replaced', 'the courier runs again in a new thread')
    await dead.close()
  }

  #restart(begun: CourierStart): void {
    this.#prepare(begun)
    this.#tell({ kind: 'begin' })
  }
}
