import { setTimeout as sleep } from 'node:timers/promises'
import type { MessagePort } from 'node:worker_threads'
import type { NoticeNumber } from '../model/subscription/notice.js'
import type { SubscriptionId } from '../model/subscription/subscription.js'
import { FrequentEvents } from '../observe/log/frequent-event.js'
import type { DeliveryMeter } from '../observe/measure/delivery-figures.js'
import { inSlices, Slices } from '../slices.js'
import { ProtectedEndpoints } from '../threads/shared-memory/protected-endpoints.js'
import type { Bell } from '../threads/shared-memory/signals.js'
import { age_ms, type ClockStart, type Milliseconds } from '../time.js'
import { type DestinationLists, Destinations } from './http-client/destinations.js'
import { type EndStage, endInOrder } from './queue/courier-end.js'
import {
  type CourierEvents,
  type CourierStart,
  clockedSince,
  type DeliveryOperations,
  type InspectedQueue,
  type KnownState,
  noReceivers,
  nothingInspected,
  type ReceiverPage,
  type Recipient,
  type WhichReceivers,
} from './queue/courier-protocol.js'
import { DeliveryQueue } from './queue/delivery-queue.js'
import { Intake } from './queue/intake.js'
import { type Outbox, Outboxes, type OutboxNumber } from './queue/outboxes.js'
import { ReadingProgress } from './queue/reading-progress.js'
import type { QueueLimits } from './queue/recipients.js'
import { goneUpTo, RemoteBarriers } from './queue/remote-barriers.js'
import { pauseAfter, systemClock } from './queue/subscription-queue.js'
import { type AttemptParts, Attempts } from './senders/attempts.js'
import { HttpSender, type HttpSettings } from './senders/http-sender.js'
import { MqttSender } from './senders/mqtt-sender.js'
import { type MessageLimits, tooLongFor } from './senders/prepared-notice.js'
import { LargeNotices, type StreamLimits } from './streams/stream-limits.js'
import { Streams } from './streams/streams.js'

/** How notifications are delivered [subscriptions 5.5]. */
export interface CourierSettings extends QueueLimits, MessageLimits, Omit<HttpSettings, 'destinations'> {
  /** Time limit of opening a connection of MQTT, and of the acknowledgement of a message. */
  readonly mqttTimeout_ms: number
  /** How long an unused connection of MQTT is kept. */
  readonly mqttMaxAge_ms: number
  /** Nothing is sent: a notification counts as accepted when it is made. */
  readonly simulated: boolean
  /** When the process was started. */
  readonly clock: ClockStart
  readonly destinations: DestinationLists
  /** See `ProtectedEndpoints`. */
  readonly endpoints: SharedArrayBuffer
  readonly retryMin_ms: number
  readonly retryMax_ms: number
  readonly streams: StreamLimits
}

interface CourierParts
  extends Pick<CourierEvents, 'failing'>,
    Pick<AttemptParts, 'alarm' | 'log' | 'switches' | 'transaction' | 'count' | 'sent' | 'render' | 'body'> {
  readonly settings: CourierSettings
  readonly meter: DeliveryMeter
  /** That of the coordinator is the last one. */
  readonly outboxes: readonly Outbox[]
  /** The subscriptions known at the start; iterated once. */
  readonly recipients: Iterable<Recipient>
  readonly begun?: CourierStart
  readonly bell: Bell
}

const sweep_ms = 250

/** Delivers the notices of the outboxes in order until each is accepted or dropped; a broker has one courier [subscriptions 5]. */
export class Courier implements DeliveryOperations {
  readonly #parts: CourierParts
  readonly #outboxes: Outboxes
  readonly #queue: DeliveryQueue
  readonly #intake: Intake
  readonly #barriers: RemoteBarriers
  readonly #attempts: Attempts
  readonly #streams: Streams
  #timer: NodeJS.Timeout | undefined
  #checking: NodeJS.Immediate | undefined
  #stage: 'running' | EndStage = 'running'
  #sweepingOn: NodeJS.Immediate | undefined
  readonly #progress: ReadingProgress
  /** Front ends whose clients may name what they were sent before: it has to be read first. Undefined afterwards. */
  #waitingPorts: MessagePort[] | undefined = []

  constructor(parts: CourierParts) {
    this.#parts = parts
    const { settings } = parts
    const outboxes = new Outboxes(parts.outboxes, parts.begun?.closed)
    this.#outboxes = outboxes
    this.#barriers = new RemoteBarriers(outboxes.ofCoordinator, (id) => this.#queue.unbarred(id))
    this.#queue = this.#newQueue()
    const { maxSize, brokerId } = settings
    const told = { dropped: new FrequentEvents(), steps: new FrequentEvents() }
    const sending = { ...parts, outboxes, maxSize, brokerId, told, queue: this.#queue }
    this.#attempts = new Attempts({ ...sending, ...newSenders(settings, parts.meter) })
    this.#streams = new Streams({
      ...sending,
      ...{ clock: systemClock, limits: settings.streams, large: new LargeNotices(settings.underWay_bytes) },
      known: (outbox) => this.#intake.known(outbox),
      slices: () => new Slices(),
    })
    this.#progress = new ReadingProgress(parts.log, systemClock.steady_ms)
    this.#intake = new Intake({
      ...{ outboxes, barriers: this.#barriers },
      begun: (outbox) => this.#queue.restore(outbox, outboxes.all[outbox]?.stats() ?? []),
      loaded: (outbox) => this.#loaded(outbox),
      unread: (outbox, notices) => this.#unread(outbox, notices),
      lost: (outbox) => this.#lost(outbox),
      take: (outbox, numbered, since_ms) => this.#queue.add(outbox, numbered, since_ms),
      clock: settings.clock,
      progress: () => this.#queue.check(),
    })
  }

  /** Sets the clocks of the subscriptions, and begins to read the outboxes and to send: neither is waited for. */
  async start(): Promise<void> {
    const { recipients, begun } = this.#parts
    for (const recipient of recipients) this.#queue.put(recipient)
    for (const id of begun?.held ?? []) this.#queue.hold(id)
    this.#intake.look()
    await this.#noteClocks()
    // A fault in here ends the thread, as every fault does.
    this.#run()
  }

  get #isOver(): boolean {
    return this.#stage === 'over'
  }

  async #noteClocks(): Promise<void> {
    const clocked = new Set<SubscriptionId>()
    const at = systemClock.now()
    let since = at
    for (const { id, clocked: own } of this.#queue.recipients) {
      if (own === undefined) continue
      clocked.add(id)
      since = Math.min(since, clockedSince(own, at)) as Milliseconds
    }
    await this.#intake.noteClocks(clocked, since, ({ subscription, made }) => this.#queue.notified(subscription, made))
  }

  async #run(): Promise<void> {
    const read = this.#intake.read()
    await this.#intake.barriersRead
    if (this.#stage !== 'running' && this.#stage !== 'sending') return
    this.#timer = setInterval(() => this.#sweep(), sweep_ms).unref()
    this.#sweep()
    this.#attempts.start()
    await read
    const ports = this.#waitingPorts ?? []
    this.#waitingPorts = undefined
    for (const port of ports) this.connectStreams(port)
    await this.#listen()
  }

  // The coordinator may still call these after the outboxes were closed: it follows its log until the courier's thread has ended.

  connectStreams(port: MessagePort): void {
    if (this.#waitingPorts !== undefined) this.#waitingPorts.push(port)
    else if (!this.#isOver) this.#streams.connect(port)
  }

  put(recipient: Recipient): void {
    if (this.#isOver) return
    // Read the initial notifications now: they are queued before held-back ones are released.
    if (this.#queue.isOnHold(recipient.id)) this.#intake.takeBarriers()
    this.#streams.changed(recipient)
    const before = this.#queue.recipient(recipient.id)
    this.#queue.put(recipient)
    if (before !== undefined && before.reference !== recipient.reference) this.#attempts.leave(before)
  }

  async hold(id: SubscriptionId): Promise<void> {
    if (!this.#isOver) this.#queue.hold(id)
  }

  async remove(id: SubscriptionId): Promise<void> {
    if (this.#isOver) return
    this.#streams.end(id, 'removed')
    const recipient = this.#queue.recipient(id)
    this.#queue.end(id)
    if (recipient !== undefined) this.#attempts.leave(recipient)
  }

  async expire(id: SubscriptionId): Promise<void> {
    if (this.#isOver) return
    await this.#intake.read()
    this.#streams.end(id, 'expired')
    await inSlices(this.#queue.expire(id))
    await this.#queue.records.stored(id)
  }

  /** Acks that are not on disk at the limit are lost: the next owner sends these notices again. */
  async release(outbox: OutboxNumber, epoch: number, limit_ms: number): Promise<void> {
    if (this.#isOver) return
    const begun_ms = performance.now()
    // The outbox was released and taken again meanwhile: it is sent under a later epoch now.
    if (!this.#outboxes.release(outbox, epoch) && this.#outboxes.isOpen(outbox)) return
    await this.#attempts.ended(outbox, limit_ms)
    const left_ms = Math.max(0, begun_ms + limit_ms - performance.now())
    await Promise.race([this.#queue.records.flush(outbox), sleep(left_ms, undefined, { ref: false })])
  }

  async report(ids: readonly SubscriptionId[]): Promise<readonly KnownState[]> {
    if (this.#isOver) return []
    await this.#readNew()
    return this.#queue.states(ids)
  }

  async inspect(id: SubscriptionId): Promise<InspectedQueue> {
    return this.#isOver ? nothingInspected : this.#queue.inspected(id)
  }

  async receivers(which: WhichReceivers): Promise<ReceiverPage> {
    if (this.#isOver) return noReceivers
    await this.#readNew()
    return inSlices(this.#queue.receivers(which))
  }

  /**
   * Ends it within this time: sends what can be sent at once, without waiting for subscriptions that pause and receivers that do not
   * respond, and stores the outcomes. What is left stays stored [subscriptions 5.5].
   */
  async drain(limit_ms: number): Promise<void> {
    let isRead = false
    void this.#intake.read().then(() => {
      isRead = true
    })
    const look = () => ({
      ...{ isRead, isIdle: this.#queue.isIdle, unstored: this.#queue.records.unstored },
      ...{ underWay: this.#attempts.underWay, accepted: this.#attempts.accepted },
    })
    const { steady_ms } = systemClock
    await endInOrder({ look, entered: (stage) => this.#enter(stage), steady_ms, sleep }, limit_ms)
    await this.#outboxes.close()
  }

  #enter(stage: EndStage): void {
    this.#stage = stage
    const { records } = this.#queue
    if (stage === 'sending') return
    this.#intake.stop()
    if (stage === 'finishing') this.#attempts.finish()
    else if (stage === 'storing') {
      this.#attempts.close()
      this.#streams.close()
      clearInterval(this.#timer)
      clearImmediate(this.#sweepingOn)
      // `unstored` says when it is done, and the limits of the stage end it.
      void records.flush()
    } else {
      if (records.unstored > 0) this.#parts.log.warn('courier:ack', unstoredText)
      records.close()
    }
  }

  /** What a long reading has not come to yet is not waited for: what is known is reported. */
  async #readNew(): Promise<void> {
    if (!this.#intake.isLoading) await this.#intake.read()
  }

  #sweep(): void {
    // The bell does not ring when a partition changes its owner or another node delivers: poll.
    const isElsewhere = this.#barriers.areStanding || (this.#queue.isBarred && this.#outboxes.areElsewhere)
    if ((this.#outboxes.hasChanged || isElsewhere) && this.#stage === 'running') this.#intake.read()
    this.#streams.sweep()
    clearImmediate(this.#sweepingOn)
    this.#sweepingOn = this.#queue.sweep() ? setImmediate(() => this.#sweep()) : undefined
  }

  #unread(outbox: OutboxNumber, notices: number): void {
    this.#queue.unread(outbox, notices)
    this.#progress.left(outbox, notices)
  }

  #loaded(outbox: OutboxNumber): void {
    this.#queue.loaded(outbox)
    if (outbox === this.#outboxes.coordinator) this.#barriers.forget()
  }

  /** Another node sends what an outbox holds. */
  #lost(outbox: OutboxNumber): void {
    this.#streams.interrupt()
    this.#queue.forget(outbox)
    this.#attempts.releaseAlarms()
  }

  async #listen(): Promise<void> {
    while (this.#stage === 'running') {
      await this.#parts.bell.rung()
      if (this.#stage === 'running') await this.#intake.read()
    }
  }

  #goneElsewhere(
    outbox: OutboxNumber,
    id: SubscriptionId,
    from: NoticeNumber,
    bound: NoticeNumber,
  ): NoticeNumber | undefined {
    const held = this.#outboxes.all[outbox]
    if (held === undefined || this.#outboxes.isRead(outbox)) return undefined
    const gone = goneUpTo(held, id, from, bound)
    if (gone > from && gone < bound) this.#checking ??= setImmediate(() => this.#checkAgain())
    return gone
  }

  #checkAgain(): void {
    this.#checking = undefined
    this.#queue.check()
  }

  #newQueue(): DeliveryQueue {
    const { settings, meter, log, count, failing } = this.#parts
    const outboxes = this.#outboxes
    const pauses = { min_ms: settings.retryMin_ms, max_ms: settings.retryMax_ms }
    return new DeliveryQueue({
      ...{ limits: settings, simulated: settings.simulated, meter, log, clock: systemClock },
      coordinator: outboxes.coordinator,
      // A barrier does not wait for the reading of an outbox that another node sends.
      known: (outbox) => (outboxes.isRead(outbox) ? this.#intake.known(outbox) : Number.POSITIVE_INFINITY),
      isOpen: (outbox) => outboxes.isOpen(outbox),
      mayMove: (outbox) => outboxes.mayMove(outbox),
      remoteBarrier: (id) => this.#barriers.boundsOf(id),
      goneElsewhere: (outbox, id, from, bound) => this.#goneElsewhere(outbox, id, from, bound),
      pause_ms: (failures, retryAfter_ms) => pauseAfter(failures, pauses, retryAfter_ms, Math.random()),
      reread: (outbox, number) => {
        const numbered = outboxes.all[outbox]?.head(number)
        return numbered && { numbered, since_ms: performance.now() - age_ms(numbered.notice.made, settings.clock) }
      },
      tooLong: (recipient, outbox, numbered) => tooLongFor(recipient, outbox, numbered, settings),
      countSimulated: () => count('simulatedNotifications'),
      ready: () => this.#attempts.schedule(),
      streamReady: (id) => this.#streams.ready(id),
      failing,
      ack: (outbox, acks, done) => void outboxes.all[outbox]?.ack(acks).then(done),
      elsewhere: (id) => outboxes.statsElsewhere(id),
    })
  }
}

const unstoredText =
  'the outcomes of some notifications could not be stored before the end: they are sent again after the next start'

function newSenders(
  settings: CourierSettings,
  { opening }: Pick<DeliveryMeter, 'opening'>,
): Pick<AttemptParts, 'http' | 'mqtt'> {
  const destinations = new Destinations(settings.destinations, new ProtectedEndpoints(settings.endpoints))
  const { mqttTimeout_ms: timeout_ms, mqttMaxAge_ms: maxAge_ms, total: maxIdle } = settings
  return {
    http: new HttpSender({ ...settings, destinations }),
    mqtt: new MqttSender({ timeout_ms, maxAge_ms, maxIdle, destinations, opening }),
  }
}
