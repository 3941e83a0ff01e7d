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
import type { ControlSharing } from '../broker/services/shared-control.js'
import type { CourierStart } from '../delivery/queue/courier-protocol.js'
import { packedRecipients } from '../delivery/queue/packed-recipients.js'
import type { NotificationOptions } from '../flags/settings.js'
import type { SubscriptionId } from '../model/subscription/subscription.js'
import type { Alarms } from '../observe/log/alarms.js'
import { errorFacts } from '../observe/log/log.js'
import type { MainLog } from '../observe/log/main-log.js'
import { ControlReplica, type ControlReplicaParts } from '../partition/replica/control-replica.js'
import { inSlices } from '../slices.js'
import type { LoggedParts } from '../storage/environment/logged-environment.js'
import type { LogName } from '../storage/etcd/engine.js'
import type { DataFolder } from '../storage/folder/data-folder.js'
import type { ControlRecord } from '../storage/records/control-record.js'
import type { Pins } from '../storage/records/store.js'
import { LmdbRegistryStore } from '../storage/store/control-registry.js'
import { ControlStore } from '../storage/store/control-store.js'
import { PartitionPosition } from '../threads/shared-memory/partition-position.js'
import { Bell } from '../threads/shared-memory/signals.js'
import { clockStart } from '../time.js'
import { renderingParts, templateSettings } from './message-rendering.js'
import type { BrokerPlan, CourierTask, ThreadPorts } from './tasks.js'

interface RunningDeliveryParts {
  readonly plan: BrokerPlan
  readonly options: NotificationOptions
  readonly folder: DataFolder
  /** See `LoggedParts`. */
  readonly openLog: LoggedParts['openLog']
  readonly writing: LoggedParts['writing']
  /** See `CourierTask`. */
  readonly positions: CourierTask['positions']
  /** How large the heap of the courier may grow. */
  readonly courierHeap_MiB: number
  readonly partitions: Pick<Partitions<object>, 'subscribe' | 'unsubscribe' | 'add'>
  readonly state: StateParts['state']
  /** See `Everywhere`. */
  readonly everywhere: Everywhere | undefined
  /** How long a query may take, and a change of a subscription wait for one. */
  readonly queryTimeout_ms: number
  /** See `RegistryParts`. */
  readonly publish: RegistryParts['publish']
  readonly notStored: RegistryParts['notStored']
  readonly alarms: Alarms
  readonly log: MainLog
  readonly fatal: (reason: string) => void
}

const day_ms = 86_400_000

type Task = CourierTask & Pick<ThreadPorts, 'log'>

/** What the coordinator owns, put together: its own store, the subscriptions, the registry, the courier. */
export class RunningDelivery {
  readonly subscriptions: Subscriptions
  readonly registry: Registry
  readonly #parts: RunningDeliveryParts
  readonly #store: ControlStore
  readonly #courier: CourierThread<Task>
  readonly #clock = clockStart()
  readonly #bell: Bell
  /** Undefined on a single node. */
  #shared: { readonly replica: ControlReplica; readonly sharing: ControlSharing } | undefined

  /** Opens the store; throws when it can not be used. */
  constructor(parts: RunningDeliveryParts) {
    const { plan, options, folder, partitions, alarms, log, fatal } = parts
    this.#parts = parts
    this.#store = new ControlStore(folder.controlPath, plan.storage, fatal, log, parts.openLog, parts.writing)
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
      wording: renderNotice,
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
      store: this.#registryStore(),
      courier: this.#courier,
      bell,
      word: renderAvailabilityNotification,
      grace_ms,
      limits: options,
    })
  }

  /**
   * Reads what is stored, while the threads of the partitions start with the same, and prepares the courier as soon as all
   * is known that it begins with. To be called before `start`.
   */
  async load(): Promise<void> {
    await inSlices(this.subscriptions.loading())
    await inSlices(this.registry.loadingAvailability())
    this.#courier.prepare()
    await inSlices(this.registry.loading())
  }

  /** Those of the coordinator's store. */
  get pins(): Pins {
    return this.#store
  }

  /** Lets the courier begin; the partitions are there. Resolves when it knows what waits, and when everyone was notified last. */
  async start(): Promise<void> {
    await this.#courier.start()
  }

  /** A front end whose clients listen to subscriptions; see `CourierThread`. */
  addStreams(connect: (port: MessagePort) => void): void {
    this.#courier.addStreams(connect)
  }

  /** See `CourierThread`; of the outbox of a partition, or of that of the coordinator. */
  release(log: LogName, limit_ms: number): Promise<void> {
    return this.#courier.release(log === 'control' ? this.#parts.plan.storage.paths.length : log, limit_ms)
  }

  /** Begins with what happens by the clock: there is somebody to ask for entities now. */
  begin(): void {
    this.subscriptions.start()
    this.registry.start()
  }

  /** Of a cluster: what the coordinator owns is changed by one of its nodes, and follows the log here from now on. */
  follow(parts: Omit<ControlReplicaParts, 'store' | 'enforce'>, sharing: ControlSharing): ControlReplica {
    const enforce = async (change: Required<ControlRecord>): Promise<void> => {
      // What another node has sent may be waited for here.
      if (!replica.isOwner && change.acks.length > 0) this.#bell.ring()
      await enforceChange(change, this.subscriptions, this.registry)
    }
    const replica: ControlReplica = new ControlReplica({ ...parts, store: this.#store, enforce })
    this.#shared = { replica, sharing }
    return replica
  }

  /** Begins, or ends, what happens by the clock: on the node that coordinates. */
  coordinates(isCoordinator: boolean): void {
    this.subscriptions.stop()
    this.registry.stop()
    if (isCoordinator) this.begin()
  }

  /** Ends what happens by the clock. */
  stopClocks(): void {
    this.subscriptions.stop()
    this.registry.stop()
  }

  /** Sends what can be sent at once, within this time [subscriptions 5.5], and ends the courier. */
  drainCourier(limit_ms: number): Promise<void> {
    return this.#courier.drain(limit_ms)
  }

  /** Closes the coordinator's store: the courier has ended. */
  async close(): Promise<void> {
    await this.#shared?.replica.close()
    await this.#store.close()
  }

  /** See `CourierThread`. */
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

  #registryStore(): LmdbRegistryStore {
    const store = this.#store
    return new LmdbRegistryStore({
      databases: { registrations: store.database('registrations'), availability: store.database('availability') },
      transact: (change, grows) => store.transact(change, grows),
    })
  }

  #launch(begun: CourierStart): Launch<Task> {
    const { plan, options, folder, positions, courierHeap_MiB, log } = this.#parts
    const { port1, port2 } = new MessageChannel()
    log.take(port1)
    const recipients = packedRecipients([...this.subscriptions.recipients(), ...this.registry.recipients()])
    const held = [...new Set([...begun.held, ...this.subscriptions.undecided()])]
    const { controlPath } = folder
    return {
      task: {
        ...plan,
        recipients,
        begun: { ...begun, held },
        controlPath,
        options,
        clock: this.#clock,
        positions,
        log: port2,
      },
      transfer: [port2],
      heap_MiB: courierHeap_MiB,
    }
  }
}
