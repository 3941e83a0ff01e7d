import { type Shared, sharedPartOf } from '../src/api/management/parts.js'
import { rememberingNotice } from '../src/api/ngsi1/render/elements.js'
import { bodyRenderer } from '../src/api/ngsi2/render/notification-message.js'
import { Peers } from '../src/broker/front-end/peers.js'
import { Courier, type CourierSettings } from '../src/delivery/courier.js'
import {
  type CourierEvents,
  type CourierOperations,
  courierEvents,
  courierOperations,
  type DeliveryOperations,
  deliveryOperations,
} from '../src/delivery/queue/courier-protocol.js'
import type { Outbox } from '../src/delivery/queue/outboxes.js'
import { unpackedRecipients } from '../src/delivery/queue/packed-recipients.js'
import type { NoticeAck } from '../src/model/subscription/notice.js'
import { errorFacts } from '../src/observe/log/log.js'
import { DamageLog, workerLog } from '../src/observe/log/worker-log.js'
import { Measures, rowOf } from '../src/observe/measure/measures.js'
import { Mailbox } from '../src/partition/mailbox/mailbox.js'
import { renderingParts, templateSettings } from '../src/runtime/message-rendering.js'
import { heldPerMiB, noticesPerMB, shownChanges_MiB } from '../src/runtime/resources/memory-needed.js'
import { type CourierTask, numbered, type ThreadPorts } from '../src/runtime/tasks.js'
import { endAtOnce, watchThreads } from '../src/runtime/watchdog.js'
import { Memtable } from '../src/storage/store/memtable.js'
import { OutboxReader, shownCache } from '../src/storage/store/outbox-reader.js'
import { linkOver } from '../src/threads/calls/link.js'
import { parkWhenTold } from '../src/threads/calls/parking.js'
import { type Method, methodsOf } from '../src/threads/calls/service.js'
import { MailboxCapacity } from '../src/threads/shared-memory/limits.js'
import { PartitionPosition } from '../src/threads/shared-memory/partition-position.js'
import { transactions } from '../src/threads/shared-memory/sequences.js'
import { Bell } from '../src/threads/shared-memory/signals.js'

/** How long a courier that begins waits until LMDB has all that was published. */
const applied_ms = 5000

const notApplied =
  'a partition has not written its last turns to LMDB, as where the disk is full: notifications that were accepted lately may be sent again'

/** The courier's thread: delivers the notices of the outboxes until it is told to drain. */
export default async function courier(task: CourierTask & ThreadPorts): Promise<void> {
  parkWhenTold(task.parking)
  const { storage, memory, control, metadataPath, recipients, positions } = task
  const measures = new Measures(memory.measures, rowOf(memory.measures.threads, 'courier', 0))
  const log = workerLog(task.log, measures.switches)
  const damages = new DamageLog(log, () => measures.damaged())
  const shown = shownCache(shownChanges_MiB * 2 ** 20)
  const memtables = memory.memtables.map((shared) => new Memtable(shared))
  const open = (path: string, memtable?: Memtable) =>
    new OutboxReader(path, storage, (damage) => damages.met(damage), shown, memtable)
  const mailboxes = storage.paths.map(newMailbox)
  const { frontEnds } = memory.measures.threads
  // Its counts by service are collected in the same way as those of front ends.
  const peers = new Peers<Shared>(frontEnds, frontEnds + 1, sharedPartOf(measures), (fault) =>
    log.error('thread:peers', 'a request of another thread was not answered', errorFacts(fault)),
  )
  // Unpacked while the partitions open their stores.
  const known = [...unpackedRecipients(recipients)]
  const stopWatching = measures.watchThread()
  // The main thread watches all threads but itself.
  const stopLooking = watchThreads({
    beats: measures.beats,
    threads: measures.beating.filter(({ row }) => row === 0),
    silence_s: task.threadSilence_s,
    standsStill: endAtOnce,
  })
  const newCourier = (): Courier => {
    const outboxes = storage.paths.map((path, partition) =>
      outboxOf(
        open(path, memtables[partition]),
        (acks) => ackIn(numbered(mailboxes, partition), acks),
        positions?.[partition],
      ),
    )
    const { ack, alarm, failing } = main
    return new Courier({
      outboxes: [...outboxes, outboxOf(open(metadataPath), ack, positions?.[outboxes.length])],
      settings: settingsOf(task),
      recipients: known,
      begun: task.begun,
      bell: new Bell(memory.bell),
      ...{ alarm, failing },
      ...{ render: rememberingNotice(), body: bodyRenderer(renderingParts(templateSettings(task.options))) },
      meter: measures.delivery.meter(),
      count: (name) => measures.count(name),
      sent: (request) => measures.services.sent(request),
      log,
      switches: measures.switches,
      transaction: transactions(task.transactions),
    })
  }
  /** A long step is named after its cause. */
  const timed =
    (name: string, method: Method): Method =>
    (request) => {
      const since = measures.steps.begin()
      const response = method(request)
      if (measures.steps.isLong(since)) measures.steps.name(`instruction ${name}`, 0)
      return response
    }
  let drained = (): void => {}
  const over = new Promise<void>((resolve) => {
    drained = resolve
  })
  let sender: Courier | undefined
  const own: Omit<CourierOperations, keyof DeliveryOperations> = {
    connect: (partition, port) => numbered(mailboxes, partition).connect(port),
    begin: () => {
      // What a courier before this one has sent is known by what has left LMDB. Nothing that this one is told may come in between.
      const until_ms = performance.now() + applied_ms
      const applied = memtables.map((memtable) => memtable.waitUntilApplied(until_ms - performance.now()))
      if (applied.includes(false)) log.warn('notif:start', notApplied)
      sender = newCourier()
      for (const [name, method] of methodsOf(sender, deliveryOperations)) offered.set(name, timed(name, method))
      return sender.start()
    },
    drain: async (limit_ms) => {
      await sender?.drain(limit_ms)
      setImmediate(drained) // After the response.
    },
  }
  const { connect, begin, drain } = courierOperations
  /** The other methods are offered when the courier has begun. */
  const offered = new Map(methodsOf(own, { connect, begin, drain }))
  const main = linkOver<CourierEvents>(control, courierEvents, offered)
  await over
  peers.close()
  stopLooking()
  stopWatching()
  for (const mailbox of mailboxes) mailbox.close()
  log.flush()
  control.close()
  task.log.close()
}

/** One batch of acks is under way at a time, so the mailbox never fills. */
function newMailbox(): Mailbox {
  return new Mailbox({ room: new MailboxCapacity(1), measured: () => false, depth: () => undefined })
}

async function ackIn(mailbox: Mailbox, acks: readonly NoticeAck[]): Promise<boolean> {
  const posted = await mailbox.ask({ kind: 'ack', acks })
  return posted.ok && posted.value.reply.kind === 'acked'
}

function outboxOf(reader: OutboxReader, ack: Outbox['ack'], position?: SharedArrayBuffer): Outbox {
  return {
    ack,
    owner: position && new PartitionPosition(position),
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
    close: () => reader.close(),
  }
}

/** Its limit leaves every partition room for its entities: updates never fail because of waiting notices. */
function settingsOf({ options, storage, memory, brokerId, clock }: CourierTask): CourierSettings {
  const { mode, retention_s, queueMax_MB, window_MiB, httpTimeout_ms, memory_MiB, streams } = options
  const most = window_MiB * heldPerMiB
  return {
    ...options,
    brokerId,
    clock,
    endpoints: memory.endpoints,
    timeout_ms: httpTimeout_ms,
    kept: mode.kind !== 'transient',
    total: (mode.kind === 'threadpool' ? mode.total : undefined) ?? options.total,
    retention_ms: retention_s * 1000,
    underWay_bytes: memory_MiB * 2 ** 20,
    bytesMax: Math.min(queueMax_MB * 2 ** 20, storage.sizeMax_bytes / 2),
    noticesMax: queueMax_MB * noticesPerMB,
    // So that several receivers that are down leave room for the others.
    window: { most, share: most / 16, streamShare: Math.max(1, Math.floor(most / streams.listeners)) },
  }
}
