import assert from 'node:assert'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { rememberingNotice } from '../../src/api/ngsi1/render/elements.js'
import { Courier, type CourierSettings } from '../../src/delivery/courier.js'
import type { CourierStart, DeliveryState, Recipient } from '../../src/delivery/queue/courier-protocol.js'
import type { Outbox, OutboxOwner } from '../../src/delivery/queue/outboxes.js'
import type { AttemptAlarm } from '../../src/delivery/queue/outgoing.js'
import type { ServicePath, Tenant } from '../../src/model/context/entity.js'
import type { DeliveryStats, NewNotice, Notice, NoticeAck, OrderingKey } from '../../src/model/subscription/notice.js'
import type { SubscriptionId } from '../../src/model/subscription/subscription.js'
import { LineLog, type Line as LogLine } from '../../src/observe/log/log.js'
import type { CounterName } from '../../src/observe/measure/counters.js'
import { DeliveryFigures } from '../../src/observe/measure/delivery-figures.js'
import { type Environment, openEnvironment } from '../../src/storage/environment/environment.js'
import { noticeWrite } from '../../src/storage/records/notice-write.js'
import { Outbox as StoredOutbox } from '../../src/storage/store/outbox.js'
import { noticesAfter, OutboxReader } from '../../src/storage/store/outbox-reader.js'
import { ProtectedEndpoints } from '../../src/threads/shared-memory/protected-endpoints.js'
import { Bell } from '../../src/threads/shared-memory/signals.js'
import { logLevels, Switches } from '../../src/threads/shared-memory/switches.js'
import { clockStart, type Milliseconds } from '../../src/time.js'
import { rendering, storeSettings } from '../given.js'

export function subscriptionId(number: number): SubscriptionId {
  return `5718a2f1c0de${String(number).padStart(12, '0')}` as SubscriptionId
}

export function notice(
  subscription: SubscriptionId,
  line: string | OrderingKey,
  body: string,
  more: Partial<Notice> = {},
): Notice {
  return {
    subscription,
    orderingKey: typeof line === 'string' ? { kind: 'entity', key: line } : line,
    made: Date.now() as Milliseconds,
    tenant: '' as Tenant,
    paths: ['/' as ServicePath],
    correlator: 'corr-1',
    token: '',
    body,
    ...more,
  }
}

export function recipient(id: SubscriptionId, reference: string, more: Partial<Recipient> = {}): Recipient {
  const moments = new BigInt64Array(new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT))
  return {
    id,
    kind: 'context',
    reference,
    attributes: [],
    expires: (Date.now() + 3_600_000) as Milliseconds,
    clock: { moments, at: 0 },
    ...more,
  }
}

/** An outbox on disk with its owner, which stores acks at once unless it is told to refuse. */
export class OwnedOutbox {
  readonly path: string
  readonly #environment: Environment
  readonly #outbox: StoredOutbox
  refuse = false
  /** How long storing takes. */
  delay_ms = 0
  readonly acked: (readonly NoticeAck[])[] = []

  constructor(path: string) {
    this.path = path
    this.#environment = openEnvironment(path, { ...storeSettings, readOnly: false })
    this.#outbox = new StoredOutbox(this.#environment, path)
  }

  get last(): number {
    return this.#outbox.last
  }

  enqueue(...notices: readonly NewNotice[]): void {
    this.#environment.root.transactionSync(() => this.#outbox.enqueue(notices.map(noticeWrite)))
  }

  store(acks: readonly NoticeAck[]): void {
    this.#environment.root.transactionSync(() => this.#outbox.ack(acks))
  }

  stats(id: SubscriptionId): DeliveryStats | undefined {
    const text = this.#environment.deliveryStats.get([id])
    return text === undefined ? undefined : JSON.parse(text)
  }

  /** The numbers of the notices that are there. */
  get numbers(): readonly number[] {
    return noticesAfter(this.#environment, 0, this.#outbox.last).map(({ number }) => number)
  }

  opened(owner?: OutboxOwner): Outbox {
    const reader = new OutboxReader(this.path, storeSettings, assert.fail)
    return {
      owner,
      refresh: () => reader.refresh(),
      first: () => reader.first(),
      last: () => reader.last(),
      after: (number, limit) => reader.after(number, limit),
      before: (number, limit) => reader.before(number, limit),
      head: (number) => reader.head(number),
      holds: (number) => reader.holds(number),
      at: (number) => reader.at(number),
      stats: () => reader.stats(),
      statsOf: (id) => reader.statsOf(id),
      ack: async (acks) => {
        if (this.refuse) return false
        if (this.delay_ms > 0) await sleep(this.delay_ms)
        this.acked.push(acks)
        this.store(acks)
        return true
      },
      close: () => reader.close(),
    }
  }

  async close(): Promise<void> {
    await this.#environment.root.close()
  }
}

const settings: CourierSettings = {
  timeout_ms: 60_000,
  mqttTimeout_ms: 60_000,
  mqttMaxAge_ms: 60_000,
  accept: '2xx',
  kept: true,
  insecure: false,
  simulated: false,
  brokerId: '0011223344556677',
  endpoints: ProtectedEndpoints.memory(),
  destinations: { allow: undefined, deny: undefined },
  clock: clockStart(),
  maxSize: 8_388_608,
  retention_ms: 86_400_000,
  queueMax: 100_000,
  bytesMax: 2 ** 32,
  noticesMax: 2 ** 22,
  window: { most: 2 ** 15, share: 2 ** 11, streamShare: 2 ** 5 },
  retryMin_ms: 5,
  retryMax_ms: 20,
  perReceiver: 8,
  total: 256,
  underWay_bytes: 64 * 2 ** 20,
  streams: { listeners: 1000, kept_ms: 30_000, kept: 10_000, kept_bytes: 16 * 2 ** 20 },
}

interface Alarm {
  readonly alarm: AttemptAlarm
  readonly subject: string
  /** Nothing when it is released. */
  readonly reason: string | undefined
}

export interface Running {
  readonly partitions: readonly OwnedOutbox[]
  readonly metadata: OwnedOutbox
  readonly alarms: Alarm[]
  readonly failing: { readonly id: SubscriptionId; readonly fails: number }[]
  readonly lines: LogLine[]
  readonly counts: CounterName[]
  readonly figures: DeliveryFigures
  readonly courier: Courier
  /** Tells of new notices. */
  ring(): void
  state(id: SubscriptionId): Promise<DeliveryState | undefined>
  /** Ends it in order. */
  drain(limit_ms?: number): Promise<void>
  start(): Promise<void>
}

export interface Circumstances {
  readonly recipients?: readonly Recipient[]
  readonly partitions?: number
  readonly settings?: Partial<CourierSettings>
  readonly level?: (typeof logLevels)[number]
  readonly traces?: readonly number[]
  /** Whether the outboxes of the partitions are those of its node, if others may have them. */
  readonly owners?: readonly OutboxOwner[]
  /** What the courier before was told. */
  readonly begun?: CourierStart
  /** Outboxes of a courier before. */
  readonly outboxes?: { readonly partitions: readonly OwnedOutbox[]; readonly metadata: OwnedOutbox }
}

export function outboxes(t: Test, partitions = 2, folder = t.testdir()): NonNullable<Circumstances['outboxes']> {
  const owned = Array.from({ length: partitions }, (_, number) => new OwnedOutbox(join(folder, `partition-${number}`)))
  const metadata = new OwnedOutbox(join(folder, 'control'))
  t.teardown(async () => {
    for (const outbox of [...owned, metadata]) await outbox.close()
  })
  return { partitions: owned, metadata }
}

/** A courier on outboxes on disk; to be started. */
export function courier(t: Test, circumstances: Circumstances = {}): Running {
  const { partitions, metadata } = circumstances.outboxes ?? outboxes(t, circumstances.partitions)
  const alarms: Alarm[] = []
  const failing: { id: SubscriptionId; fails: number }[] = []
  const lines: LogLine[] = []
  const counts: CounterName[] = []
  const figures = new DeliveryFigures(DeliveryFigures.make(partitions.length + 1, 0n))
  const switches = new Switches()
  switches.set('logLevel', logLevels.indexOf(circumstances.level ?? 'WARN'))
  switches.set('infoPayloadMaxSize', 5120)
  for (const level of circumstances.traces ?? []) switches.traces[level] = 1
  const bell = new Bell()
  let transactions = 0
  const made = new Courier({
    outboxes: [...partitions, metadata].map((outbox, number) => outbox.opened(circumstances.owners?.[number])),
    settings: { ...settings, ...circumstances.settings },
    recipients: circumstances.recipients ?? [],
    begun: circumstances.begun ?? { held: [], closed: [] },
    bell: new Bell(bell.memory),
    alarm: (alarm, subject, reason) => alarms.push({ alarm, subject, reason }),
    failing: (id, fails) => failing.push({ id, fails }),
    meter: figures.meter(),
    count: (name) => counts.push(name),
    sent: () => undefined,
    ...{ render: rememberingNotice(), body: rendering.message.body },
    log: new LineLog(switches, (line) => lines.push(line)),
    switches,
    transaction: () => {
      transactions += 1
      return String(transactions)
    },
  })
  let drained = false
  const drain = async (limit_ms = 30_000): Promise<void> => {
    if (drained) return
    drained = true
    await made.drain(limit_ms)
  }
  t.teardown(() => drain(0))
  return {
    ...{ partitions, metadata, alarms, failing, lines, counts, figures, courier: made, drain },
    ring: () => bell.ring(),
    start: () => made.start(),
    state: async (id) => (await made.report([id]))[0]?.delivery,
  }
}

/** What partition a number names; there is one. */
export function nth<Thing>(things: readonly Thing[], number: number): Thing {
  const thing = things[number]
  if (thing === undefined) throw new Error(`nothing has the number ${number}`)
  return thing
}
