import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { renderAvailabilityNotification, renderNotice } from '../api/ngsi1/render/elements.js'
import { messageRenderer } from '../api/ngsi2/render/notification-message.js'
import type { Everywhere } from '../broker/coordinator/activation.js'
import { CourierThread } from '../broker/coordinator/courier-thread.js'
import type { StateParts } from '../broker/coordinator/initial-notices.js'
import type { Launch, Partitions } from '../broker/coordinator/partitions.js'
import { Registry, type RegistryParts } from '../broker/coordinator/registry.js'
import { enforceChange } from '../broker/coordinator/rounds.js'
import { Subscriptions } from '../broker/coordinator/subscriptions.js'
import type { CoordinatorSharing } from '../broker/front-end/coordinator-requests.js'
import type { CourierStart } from '../delivery/queue/courier-protocol.js'
import { packedRecipients } from '../delivery/queue/packed-recipients.js'
import type { NotificationOptions } from '../flags/settings.js'
import type { SubscriptionId } from '../model/subscription/subscription.js'
import type { Alarms } from '../observe/log/alarms.js'
import { errorFacts } from '../observe/log/log.js'
import type { MainLog } from '../observe/log/main-log.js'
import { MetadataReplica, type MetadataReplicaParts } from '../partition/replica/metadata-replica.js'
import { inSlices } from '../slices.js'
import type { LoggedParts } from '../storage/environment/logged-environment.js'
import type { LogName } from '../storage/etcd/engine.js'
import type { DataFolder } from '../storage/folder/data-folder.js'
import type { MetadataRecord } from '../storage/records/metadata-record.js'
import type { Pins } from '../storage/records/store.js'
import { MetadataStore } from '../storage/store/metadata-store.js'
import { PartitionPosition } from '../threads/shared-memory/partition-position.js'
import { Bell } from '../threads/shared-memory/signals.js'
import { clockStart } from '../time.js'
import { renderingParts, templateSettings } from './message-rendering.js'
import type { BrokerPlan, CourierTask, ThreadPorts } from './tasks.js'

interface RunningDeliveryParts {
  readonly plan: BrokerPlan
  readonly options: NotificationOptions
  readonly folder: DataFolder
  readonly openLog: LoggedParts['openLog']
  readonly writing: LoggedParts['writing']
  readonly positions: CourierTask['positions']
  readonly courierHeap_MiB: number
  /** See `LinkedThread`. */
  readonly courierBegins: () => () => void
  readonly partitions: Pick<Partitions<object>, 'subscribe' | 'unsubscribe' | 'add'>
  readonly state: StateParts['state']
  readonly everywhere: Everywhere | undefined
  /** How long a query may take, and how long a change of a subscription waits for one. */
  readonly queryTimeout_ms: number
  readonly publish: RegistryParts['publish']
  readonly notStored: RegistryParts['notStored']
  readonly alarms: Alarms
  readonly log: MainLog
  readonly fatal: (reason: string) => void
}

const day_ms = 86_400_000

type Task = CourierTask & Pick<ThreadPorts, 'log'>

/** The coordinator's part of the broker: its store, the subscriptions, the registry, the courier. */
export class RunningDelivery {
  readonly subscriptions: Subscriptions
  readonly registry: Registry
  readonly #parts: RunningDeliveryParts
  readonly #store: MetadataStore
  readonly #courier: CourierThread<Task>
  readonly #clock = clockStart()
  readonly #bell: Bell
  #shared: { readonly replica: MetadataReplica; readonly sharing: CoordinatorSharing } | undefined

  /** Opens the store; throws when it cannot be used. */
  constructor(parts: RunningDeliveryParts) {
    const { plan, options, folder, partitions, alarms, log, fatal } = parts
    this.#parts = parts
    this.#store = new MetadataStore(folder.metadataPath, plan.storage, fatal, log, parts.openLog, parts.writing)
    this.#courier = new CourierThread({
      entry: new URL('../../workers/courier.js', import.meta.url),
      launch: (begun) => this.#launch(begun),
      epochOf: (outbox) => {
        const position = parts.positions?.[outbox]
        return position === undefined ? 0 : new PartitionPosition(position).epoch
      },
      join: (link) => partitions.add(link),
      ack: (acks) => this.#store.commit({ acks }),
      alarm: (alarm, subject, reason) => {
        if (reason === undefined) alarms.release(alarm, subject)
        else alarms.raise(alarm, subject, reason)
      },
      failing: (id, fails) => this.#disable(id, fails),
      log,
      fatal,
    })
    const bell = new Bell(plan.memory.bell)
    this.#bell = bell
    const grace_ms = options.subscriptionGrace_days * day_ms
    this.subscriptions = new Subscriptions({
      store: this.#store,
      partitions,
      courier: this.#courier,
      state: parts.state,
      legacyBody: renderNotice,
      message: messageRenderer(renderingParts(templateSettings(options))),
      limit: options.initialLimit,
      bell,
      grace_ms,
      limits: { ...options, turnLimit_ms: parts.queryTimeout_ms },
      everywhere: parts.everywhere,
      log,
    })
    this.registry = new Registry({
      ...parts,
      store: this.#store,
      courier: this.#courier,
      bell,
      render: renderAvailabilityNotification,
      grace_ms,
      limits: options,
    })
  }

  /**
   * Reads what is stored while the partitions' threads start, and prepares the courier as soon as the subscriptions and
   * registrations are known. Call it before `start`.
   */
  async load(): Promise<void> {
    await inSlices(this.subscriptions.loading())
    await inSlices(this.registry.loadingAvailability())
    this.#courier.prepare()
    await inSlices(this.registry.loading())
  }

  /** Pins of the coordinator's store. */
  get pins(): Pins {
    return this.#store
  }

  /**
   * Starts the courier; the partitions have to run. Resolves when the courier knows the waiting notices and the last
   * delivery to each receiver.
   */
  async start(): Promise<void> {
    await this.#courier.start()
  }

  /** Connects a front end to the courier, for clients that listen to subscriptions. */
  addStreams(connect: (port: MessagePort) => void): void {
    this.#courier.addStreams(connect)
  }

  /** Stops notifications of a log that this node is about to release, see `CourierThread`. */
  release(log: LogName, limit_ms: number): Promise<void> {
    return this.#courier.release(log === 'control' ? this.#parts.plan.storage.paths.length : log, limit_ms)
  }

  /** Starts timed work (expirations, intervals): the front end can query entities from now on. */
  begin(): void {
    this.subscriptions.start()
    this.registry.start()
  }

  /** In a cluster: from now on one node changes the metadata, and this store follows the log. */
  follow(parts: Omit<MetadataReplicaParts, 'store' | 'enforce'>, sharing: CoordinatorSharing): MetadataReplica {
    const enforce = async (change: Required<MetadataRecord>): Promise<void> => {
      // Its courier may be waiting for acks that another node's courier has stored.
      if (!replica.isOwner && change.acks.length > 0) this.#bell.ring()
      await enforceChange(change, this.subscriptions, this.registry)
    }
    const replica: MetadataReplica = new MetadataReplica({ ...parts, store: this.#store, enforce })
    this.#shared = { replica, sharing }
    return replica
  }

  /** Starts or ends timed work: only the coordinating node does it. */
  coordinates(isCoordinator: boolean): void {
    this.subscriptions.stop()
    this.registry.stop()
    if (isCoordinator) this.begin()
  }

  /** Ends timed work. */
  stopClocks(): void {
    this.subscriptions.stop()
    this.registry.stop()
  }

  /** Sends what can be sent at once, within this time [subscriptions 5.5], and ends the courier. */
  drainCourier(limit_ms: number): Promise<void> {
    return this.#courier.drain(limit_ms)
  }

  /** Closes the coordinator's store; the courier has to have ended. */
  async close(): Promise<void> {
    await this.#shared?.replica.close()
    await this.#store.close()
  }

  halt(): Promise<void> {
    return this.#courier.halt()
  }

  #disable(id: SubscriptionId, fails: number): void {
    const disabling =
      this.#shared === undefined
        ? this.subscriptions.disable(id, fails)
        : this.#shared.sharing.change({ service: 'subscriptions', operation: 'disable', given: [id, fails] })
    disabling.catch((fault: unknown) =>
      this.#parts.log.error('subscriptions:disable', `subscription ${id} could not be disabled`, errorFacts(fault)),
    )
  }

  #launch(begun: CourierStart): Launch<Task> {
    const { plan, options, folder, positions, courierHeap_MiB, courierBegins, log } = this.#parts
    const { port1, port2 } = new MessageChannel()
    log.take(port1)
    const recipients = packedRecipients([...this.subscriptions.recipients(), ...this.registry.recipients()])
    const held = [...new Set([...begun.held, ...this.subscriptions.undecided()])]
    const { metadataPath } = folder
    return {
      task: {
        ...plan,
        recipients,
        begun: { ...begun, held },
        metadataPath,
        options,
        clock: this.#clock,
        positions,
        log: port2,
      },
      transfer: [port2],
      heap_MiB: courierHeap_MiB,
      begins: courierBegins,
    }
  }
}
