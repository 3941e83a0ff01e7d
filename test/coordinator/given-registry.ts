import assert from 'node:assert'
import { renderAvailabilityNotification } from '../../src/api/ngsi1/render/elements.js'
import type { AvailabilitySubscriptionsParts } from '../../src/broker/coordinator/availability-subscriptions.js'
import { Registry, type RegistryParts } from '../../src/broker/coordinator/registry.js'
import type { DeliveryState, KnownState, Recipient } from '../../src/delivery/queue/courier-protocol.js'
import { StorageFull } from '../../src/faults.js'
import type { RegistrationChange } from '../../src/model/registration/registration.js'
import type { Notice } from '../../src/model/subscription/notice.js'
import type { SubscriptionId } from '../../src/model/subscription/subscription.js'
import type { MetadataRecord } from '../../src/storage/records/metadata-record.js'
import { MetadataStore } from '../../src/storage/store/metadata-store.js'
import { noticeAt, noticesAfter } from '../../src/storage/store/outbox-reader.js'
import type { Milliseconds } from '../../src/time.js'
import { at, silentLog, storeSettings } from '../given.js'

/** A metadata store on disk; while it is `full` or `broken` its transactions fail. */
export class GivenMetadata extends MetadataStore {
  full = false
  broken = false

  constructor(folder: string) {
    super(folder, storeSettings, assert.fail)
  }

  override async transact(change: MetadataRecord, grows: boolean): Promise<void> {
    if (!this.broken && !this.full) return super.transact(change, grows)
    const tooLong = { database: 'ticks', id: 'x'.repeat(5000), text: '' } as const
    await assert.rejects(super.transact({ ...change, writes: [...(change.writes ?? []), tooLong] }, grows))
    throw this.broken ? new Error('broken') : new StorageFull('no room for the commit')
  }

  /** What lies in the outbox. */
  notices(): readonly Notice[] {
    const { databases } = this.outbox
    return noticesAfter(databases, 0, 1000).map(({ number }) => noticeAt(databases, number) as Notice)
  }
}

type Courier = AvailabilitySubscriptionsParts['courier']

/** Keeps what a courier is told. */
export class NotedCourier implements Courier {
  readonly instructions: string[] = []
  readonly recipients = new Map<SubscriptionId, Recipient>()
  known: readonly KnownState[] = []
  /** Whether what waited for an expired subscription leaves the disk in time. */
  expires = true

  put(recipient: Recipient): void {
    this.instructions.push(`put ${recipient.id}`)
    this.recipients.set(recipient.id, recipient)
  }

  async hold(id: SubscriptionId): Promise<void> {
    this.instructions.push(`hold ${id}`)
  }

  async remove(id: SubscriptionId): Promise<void> {
    this.instructions.push(`remove ${id}`)
    this.recipients.delete(id)
  }

  async expire(id: SubscriptionId): Promise<boolean> {
    this.instructions.push(`expire ${id}`)
    return this.expires
  }

  async report(ids: readonly SubscriptionId[] = []): Promise<ReadonlyMap<SubscriptionId, DeliveryState>> {
    const known = this.known.filter(({ id }) => ids.includes(id))
    return new Map(known.map(({ id, delivery }) => [id, delivery]))
  }
}

export const never: DeliveryState = { timesSent: 0, failsCounter: 0, queueDepth: 0, queueBytes: 0, discarded: 0 }

/** A moment at which the first eight digits of ids are 65535a00. */
export const start = 0x65535a00 * 1000

/** A registry on disk, with a clock that stands still until it is moved. */
export function openRegistry(folder: string, more: Partial<RegistryParts> = {}) {
  const metadata = new GivenMetadata(folder)
  const courier = new NotedCourier()
  const clock = { time: start }
  const published: RegistrationChange[] = []
  const counted = { notStored: 0, rung: 0 }
  const registry = new Registry({
    limits: { registrationsMax: 1000, subscriptionsMax: 1000 },
    store: metadata,
    courier,
    render: renderAvailabilityNotification,
    bell: {
      ring: () => {
        counted.rung += 1
      },
    },
    publish: async (changes) => {
      published.push(...changes)
    },
    grace_ms: 30 * 86_400_000,
    notStored: () => {
      counted.notStored += 1
    },
    log: silentLog,
    clock: (): Milliseconds => at(clock.time),
    ...more,
  })
  for (const loading of [registry.loading(), registry.loadingAvailability()]) while (!loading.next().done);
  return { registry, metadata, courier, clock, published, counted }
}
