import { setTimeout as sleep } from 'node:timers/promises'
import type { Bell } from '../shared-memory/bell.js'
import type { SubscriptionId } from '../subscription/subscription.js'
import type { ClockStart } from '../time.js'
import { Backlog, type BacklogLimits } from './backlog.js'
import { Books } from './books.js'
import { Deliveries, type DeliveryParts } from './deliveries.js'
import { type DestinationLists, Destinations } from './destinations.js'
import { Intake } from './intake.js'
import type { CourierInstruction, CourierReport, KnownState, Recipient } from './message.js'
import { pauseAfter } from './pause.js'
import { type ReceiverLimits, Receivers } from './receivers.js'
import { Recipients } from './recipients.js'
import { Sender, type SenderSettings } from './sender.js'
import { Settling } from './settling.js'

/** How notifications are delivered [subscriptions 5.5]. */
export interface CourierSettings extends BacklogLimits, ReceiverLimits, Omit<SenderSettings, 'destinations'> {
  /** Nothing is sent: a notification counts as accepted when it is made. */
  readonly simulated: boolean
  /** When the process was started. */
  readonly clock: ClockStart
  /** Names this broker in the notifications [subscriptions 8.4]. */
  readonly brokerId: string
  readonly destinations: DestinationLists
  /** Bytes of a notification as it is sent, head and body. */
  readonly maxSize: number
  readonly retryMin_ms: number
  readonly retryMax_ms: number
}

export interface CourierParts
  extends Pick<DeliveryParts, 'log' | 'switches' | 'transaction' | 'meter' | 'count' | 'sent' | 'sources' | 'word'> {
  readonly settings: CourierSettings
  /** Those that are known from the start; they are gone through once. */
  readonly recipients: Iterable<Recipient>
  readonly bell: Bell
  readonly report: (report: CourierReport) => void
}

/** What the courier itself obeys; the others are for those who know the ports. */
export type Obeyed = Exclude<CourierInstruction, { readonly kind: 'connect' | 'begin' | 'acked' }>

const sweep_ms = 250
/** At the end of the broker: a receiver that has not answered for so long is waited for no longer. */
const patience_ms = 1000
/** At the end of the broker: for storing the outcomes, if the deliveries took all the time. */
const settleLimit_ms = 2000

/** Sends what the outboxes hold, in order, until it is accepted or dropped; there is one of them [subscriptions 5]. */
export class Courier {
  readonly #parts: CourierParts
  readonly #settling: Settling
  readonly #backlog: Backlog
  readonly #recipients: Recipients
  readonly #intake: Intake
  readonly #sender: Sender
  readonly #deliveries: Deliveries
  readonly #receivers: Receivers
  #timer: NodeJS.Timeout | undefined
  #draining = false

  constructor(parts: CourierParts) {
    this.#parts = parts
    const { sources, settings, meter, log, count, report } = parts
    this.#settling = new Settling(sources, (id, source) => books.accountOf(id, source))
    const books = new Books(this.#settling)
    this.#backlog = new Backlog({ limits: settings, books, meter, log, sources: sources.length })
    this.#sender = new Sender({ ...settings, destinations: new Destinations(settings.destinations) })
    this.#deliveries = new Deliveries({
      ...parts,
      ...{
        sender: this.#sender,
        backlog: this.#backlog,
        books,
        maxSize: settings.maxSize,
        brokerId: settings.brokerId,
      },
      alarm: (url, reason) => report({ kind: 'alarm', url, reason }),
    })
    this.#receivers = new Receivers(settings, (queue, entry) => this.#deliveries.attempt(queue, entry))
    this.#recipients = new Recipients({
      ...{ ...settings, backlog: this.#backlog, books, meter, log, queueParts: this.#queueParts() },
      simulate: () => count('simulatedNotifications'),
    })
    this.#intake = new Intake({
      sources,
      take: (source, numbered, since_ms) => this.#recipients.take(source, numbered, since_ms),
      clock: settings.clock,
      progress: () => this.#backlog.check(),
    })
  }

  /** Learns what waits and how it went, sets the clocks, reports `ready`, and begins to send. */
  async start(): Promise<void> {
    const { recipients, sources, report } = this.#parts
    for (const recipient of recipients) this.#recipients.put(recipient)
    for (const [number, source] of sources.entries()) {
      source.refresh()
      this.#recipients.learn(number, source.accounts())
    }
    await this.#intake.read()
    this.#recipients.started()
    report({ kind: 'ready' })
    this.#timer = setInterval(() => this.#backlog.sweep(), sweep_ms).unref()
    this.#backlog.sweep()
    this.#receivers.start()
    // A fault in here ends the thread, as every fault does.
    this.#listen()
  }

  /** Does what the coordinator says. */
  obey(instruction: Obeyed): void {
    const { report } = this.#parts
    switch (instruction.kind) {
      case 'put':
        this.#recipients.put(instruction.recipient)
        break
      case 'hold':
        this.#recipients.hold(instruction.id)
        break
      case 'remove':
        this.#recipients.remove(instruction.id)
        report({ kind: 'done', ticket: instruction.ticket })
        break
      case 'expire':
        this.#expire(instruction.id).then(() => report({ kind: 'done', ticket: instruction.ticket }))
        break
      case 'report':
        this.#states(instruction.ids).then((states) => report({ kind: 'states', ticket: instruction.ticket, states }))
        break
      case 'drain':
        this.#drain(instruction.limit_ms).then(() => report({ kind: 'drained' }))
    }
  }

  async #listen(): Promise<void> {
    while (!this.#draining) {
      await this.#parts.bell.heard()
      if (!this.#draining) await this.#intake.read()
    }
  }

  async #expire(id: SubscriptionId): Promise<void> {
    await this.#intake.read()
    this.#recipients.expire(id)
    await this.#settling.stored(id)
  }

  async #states(ids: readonly SubscriptionId[] | undefined): Promise<readonly KnownState[]> {
    await this.#intake.read()
    return this.#recipients.states(ids)
  }

  /**
   * Sends what can be sent at once, for at most this long: neither subscriptions that pause nor receivers that do not
   * answer are waited for. What is left stays stored [subscriptions 5.5].
   */
  async #drain(limit_ms: number): Promise<void> {
    this.#draining = true
    const begun = performance.now()
    await this.#intake.read()
    await this.#receivers.idle(limit_ms - (performance.now() - begun), patience_ms)
    this.#receivers.stop()
    this.#deliveries.close()
    this.#sender.close()
    clearInterval(this.#timer)
    await Promise.race([this.#settling.empty(), sleep(settleLimit_ms, undefined, { ref: false })])
    this.#settling.close()
    await Promise.all(this.#parts.sources.map((source) => source.close()))
  }

  #queueParts() {
    const { sources, settings } = this.#parts
    const limits = { min_ms: settings.retryMin_ms, max_ms: settings.retryMax_ms }
    return {
      known: (source: number) => this.#intake.known(source),
      coordinator: sources.length - 1,
      pause_ms: (failures: number, retryAfter_ms: number) => pauseAfter(failures, limits, retryAfter_ms, Math.random()),
      wake: (queue: Parameters<Receivers['want']>[0]) => this.#receivers.want(queue),
    }
  }
}
