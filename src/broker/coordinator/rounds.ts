import type { RegistrationChange, RegistrationId } from '../../model/registration/registration.js'
import type { NoticeNumber } from '../../model/subscription/notice.js'
import type { Subscription, SubscriptionId } from '../../model/subscription/subscription.js'
import { err, ok, type Result } from '../../result.js'
import type { MetadataRecord } from '../../storage/records/metadata-record.js'
import { noted } from '../../storage/records/notice-write.js'
import { decodeAvailability, decodeRegistration } from '../../storage/store/metadata-registry.js'
import type { Unavailable } from '../front-end/unavailable.js'
import type { AvailabilityState } from './availability-subscriptions.js'
import type { Registry } from './registry.js'
import type { Subscriptions } from './subscriptions.js'

/** The last notices that partitions had made when they wrote a heartbeat record, by partition. */
export type LastNotices = ReadonlyMap<number, NoticeNumber>

interface RoundsParts {
  readonly partitions: number
  /** The names of the nodes that are members now. */
  readonly members: () => readonly string[]
  /**
   * Has a node wait until the metadata log is in force there up to a record, and write a heartbeat record into the partitions
   * that it owns; nothing when it is not reached, or not so far in time.
   */
  readonly heartbeat: (node: string, metadataVersion: number) => Promise<LastNotices | undefined>
  /** How long a record of the log may take to be in force everywhere. */
  readonly limit_ms?: number
}

/** A caller that waits until a record is in force everywhere. */
interface Waiting {
  readonly metadataVersion: number
  /** By `performance.now()`. */
  readonly until_ms: number
  readonly resolve: (passed: Result<readonly NoticeNumber[], Unavailable>) => void
}

interface Heartbeat {
  readonly metadataVersion: number
  readonly lastNotice: NoticeNumber
}

const usualLimit_ms = 10_000

/** The interval at which nodes are asked again. */
const look_ms = 50

const tooLate: Result<never, Unavailable> = err({ kind: 'notEverywhere' })

/**
 * Finds out whether what stands in the metadata log is in force on all nodes: each member has brought it into force, and each
 * partition has a record in its log that says so. Behind such a record nobody can append what was decided without it, not even an
 * owner that was paused. Those who wait at one time share the questions.
 */
export class Rounds {
  readonly #parts: RoundsParts
  readonly #waiting = new Set<Waiting>()
  readonly #underWay = new Set<string>()
  /** The last record that each node has reported as in force there. */
  readonly #reached = new Map<string, number>()
  readonly #heartbeats = new Map<number, Heartbeat>()
  #timer: NodeJS.Timeout | undefined

  constructor(parts: RoundsParts) {
    this.#parts = parts
  }

  /** Resolves when the log is in force everywhere up to a record, with the last notice of each partition that was made without it. */
  passed(metadataVersion: number): Promise<Result<readonly NoticeNumber[], Unavailable>> {
    const { limit_ms = usualLimit_ms } = this.#parts
    return new Promise((resolve) => {
      this.#waiting.add({ metadataVersion, until_ms: performance.now() + limit_ms, resolve })
      this.#timer ??= setInterval(() => this.#look(), look_ms)
      this.#look()
    })
  }

  #look(): void {
    this.#resolveWaiting()
    if (this.#waiting.size === 0) return
    const metadataVersion = Math.max(...Array.from(this.#waiting, (waiting) => waiting.metadataVersion))
    for (const node of this.#parts.members()) if (!this.#underWay.has(node)) void this.#ask(node, metadataVersion)
  }

  /** Answers the callers whose wait is over. */
  #resolveWaiting(): void {
    const now_ms = performance.now()
    for (const waiting of this.#waiting) {
      const passed = this.#passed(waiting.metadataVersion)
      if (passed === undefined && now_ms < waiting.until_ms) continue
      this.#waiting.delete(waiting)
      waiting.resolve(passed === undefined ? tooLate : ok(passed))
    }
    if (this.#waiting.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  async #ask(node: string, metadataVersion: number): Promise<void> {
    if ((this.#reached.get(node) ?? 0) >= metadataVersion && this.#haveHeartbeats(metadataVersion)) return
    this.#underWay.add(node)
    try {
      const lastNotices = await this.#parts.heartbeat(node, metadataVersion)
      if (lastNotices === undefined) return
      this.#reached.set(node, metadataVersion)
      for (const [partition, lastNotice] of lastNotices)
        this.#heartbeats.set(partition, { metadataVersion, lastNotice })
    } finally {
      this.#underWay.delete(node)
    }
    this.#resolveWaiting()
  }

  /** The numbers of the last notices if every node has the log up to a record; otherwise undefined. */
  #passed(metadataVersion: number): readonly NoticeNumber[] | undefined {
    const members = this.#parts.members()
    if (members.length === 0 || !this.#haveHeartbeats(metadataVersion)) return undefined
    if (members.some((node) => (this.#reached.get(node) ?? 0) < metadataVersion)) return undefined
    return this.#numbers().map((partition) => this.#heartbeats.get(partition)?.lastNotice ?? (0 as NoticeNumber))
  }

  #haveHeartbeats(metadataVersion: number): boolean {
    return this.#numbers().every(
      (partition) => (this.#heartbeats.get(partition)?.metadataVersion ?? 0) >= metadataVersion,
    )
  }

  #numbers(): readonly number[] {
    return Array.from({ length: this.#parts.partitions }, (_, number) => number)
  }
}

/**
 * Brings what a record of the metadata log says into force on a node of a cluster, whichever of them has written it: in the
 * memory of the coordinator, in all partitions, in the courier, in the front ends. Resolves when all of them have it. Records are
 * given in the order of the log.
 */
export async function enforceChange(
  { writes, notices }: Required<MetadataRecord>,
  subscriptions: Pick<Subscriptions, 'enforce' | 'enforceRemoval' | 'notified'>,
  registry: Pick<Registry, 'enforce'>,
): Promise<void> {
  const inForce: Promise<unknown>[] = []
  const registrations: RegistrationChange[] = []
  const availability: AvailabilityState[] = []
  for (const { database, id, text } of writes) {
    if (database === 'subscriptions') {
      const stored = text === undefined ? undefined : (JSON.parse(text) as Subscription)
      inForce.push(stored ? subscriptions.enforce(stored) : subscriptions.enforceRemoval(id as SubscriptionId))
    } else if (database === 'registrations') registrations.push(registrationChange(id as RegistrationId, text))
    else if (database === 'availability') availability.push(availabilityState(id as SubscriptionId, text))
  }
  const notified = notices.flatMap((notice) => {
    const { ids, made } = noted(notice)
    return ids.map((id) => ({ id, made }))
  })
  for (const { id, made } of notified) subscriptions.notified(id, made)
  if (registrations.length + availability.length > 0) {
    inForce.push(registry.enforce(registrations, availability, notified))
  }
  await Promise.all(inForce)
}

function registrationChange(id: RegistrationId, text: string | undefined): RegistrationChange {
  return text === undefined ? { kind: 'remove', id } : { kind: 'put', registration: decodeRegistration(id, text) }
}

function availabilityState(id: SubscriptionId, text: string | undefined): AvailabilityState {
  return { id, subscription: text === undefined ? undefined : decodeAvailability(id, text) }
}
