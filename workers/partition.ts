import { rawUpdateInterpreter } from '../src/api/ngsi1/raw-update.js'
import { rawBatchInterpreter } from '../src/api/ngsi2/raw-batch.js'
import { rawWriteInterpreter } from '../src/api/ngsi2/single-write.js'
import { rawId } from '../src/broker/front-end/raw-replies.js'
import { StorageFull } from '../src/faults.js'
import { unpackedWithClocks } from '../src/model/subscription/clocks.js'
import type { SubscriptionInForce } from '../src/model/subscription/subscription.js'
import { errorFacts, type Log } from '../src/observe/log/log.js'
import { DamageLog, workerLog } from '../src/observe/log/worker-log.js'
import { DeprecatedUses } from '../src/observe/measure/deprecated-uses.js'
import { Measures, rowOf } from '../src/observe/measure/measures.js'
import { type StorageMeter, watchLoop } from '../src/observe/measure/meters.js'
import {
  type PartitionEvents,
  type PartitionOperations,
  partitionEvents,
  partitionOperations,
} from '../src/partition/mailbox/batch.js'
import { Inbox } from '../src/partition/mailbox/inbox.js'
import { partitionReplica } from '../src/partition/replica/partition-replica.js'
import type { Interpreter } from '../src/partition/turn/commands.js'
import { err, ok, type Result } from '../src/result.js'
import { matcherMaker } from '../src/runtime/message-rendering.js'
import { numbered, type PartitionTask, type SharedMemory, type ThreadPorts } from '../src/runtime/tasks.js'
import { ClusterLog } from '../src/storage/etcd/cluster-log.js'
import type { PinFailure, PinnedCommit, PinPurpose } from '../src/storage/records/store.js'
import { Memtable } from '../src/storage/store/memtable.js'
import { endThread, PartitionStore } from '../src/storage/store/partition-store.js'
import { linkOver } from '../src/threads/calls/link.js'
import { parkWhenTold } from '../src/threads/calls/parking.js'
import { methodsOf, oneByOne } from '../src/threads/calls/service.js'
import { PartitionPosition } from '../src/threads/shared-memory/partition-position.js'
import { Bell, PinGate } from '../src/threads/shared-memory/signals.js'
import type { WriteWatch } from '../src/threads/shared-memory/thread-beats.js'
import { Versions } from '../src/threads/shared-memory/versions.js'
import { now } from '../src/time.js'

/** How often the metrics get the sizes of the store. */
const sizes_ms = 1000

/** The size of the cache of pattern results. */
const remembered_bytes = 8 * 2 ** 20

/** A partition's thread: opens its store, takes turns until it is told to drain, and closes the store. */
export default async function partition(task: PartitionTask & ThreadPorts): Promise<void> {
  parkWhenTold(task.parking)
  const { partition: number, storage, memory, entityCache_bytes, limits, control } = task
  const measures = new Measures(memory.measures, rowOf(memory.measures.threads, 'partition', number))
  // The watch begins here: recovery blocks the event loop, and shows a beat with each record.
  const stopShowing = measures.beats.watch(measures.row)
  const log = workerLog(task.log, measures.switches, number)
  const { logLink, position } = task
  let opened: PartitionStore | undefined
  /** Nobody else can have LMDB follow while the thread sleeps until its log answers, which etcd may not do for long. */
  const asleep = (): void => {
    measures.beats.beat(measures.row)
    try {
      opened?.applyPublished()
    } catch (fault) {
      endThread(fault)
    }
  }
  let clusterLog: ClusterLog | undefined
  const storageMeter = logLink === undefined ? measures.storage(number) : waitingMeter(measures, number)
  const replicaFigures = position && measures.replicas.row(number)
  const versions = new Versions(numbered(memory.versions, number))
  const memtable = memtableOf(memory, number)
  const store = new PartitionStore(numbered(storage.paths, number), storage, {
    cache_bytes: entityCache_bytes,
    limits,
    log,
    openLog:
      logLink &&
      ((applied) => {
        clusterLog = new ClusterLog(logLink, applied, asleep, position && new PartitionPosition(position).commitIndex)
        return clusterLog
      }),
    checkpointed: (duration) => {
      storageMeter.checkpointed(duration)
      replicaFigures?.put('checkpoint', now())
    },
    writing: writingWatch(measures.beats.writing(measures.row), storageMeter),
    deferral: memtable && { memtable, versions },
  })
  opened = store
  log.trace('storage.open', `partition ${number} is open`, { entities: store.entityCount })
  versions.invalidateAll()
  // What the thread before has published, LMDB has now.
  memtable?.applied()
  const matcher = matcherMaker(task.templates, log, remembered_bytes)()
  for (const inForce of byCreation(task.subscriptions)) {
    matcher.put(inForce)
    measures.beats.beat(measures.row)
  }
  const replica =
    clusterLog &&
    position &&
    replicaFigures &&
    partitionReplica({
      ...{ store, wal: clusterLog, versions, log },
      node: logLink?.node ?? '',
      position: new PartitionPosition(position),
      figures: replicaFigures,
      awaitsOwner: task.awaitsOwner === true,
      owns: (epoch) => main.owns(epoch),
      notified: (subscription, made) => matcher.notified(subscription, made),
      failed: endThread,
    })
  const inbox = new Inbox({
    store,
    interpret: interpreter(log, () => measures.isOn('timing')),
    idOf: ({ target, body }) => (typeof target === 'object' ? target.id : rawId(body)),
    matcher,
    versions,
    bell: new Bell(memory.bell),
    storage: storageMeter,
    steps: measures.steps,
    mailboxWait: measures.wait('mailbox', number),
    transactionWait: measures.wait('transaction', number),
    partition: number,
    keepsSlow: () => measures.switches.get('slowAbove_ms') > 0,
    log,
    damages: new DamageLog(log, () => measures.damaged()),
    deprecated: new DeprecatedUses(measures, log),
    ownership: replica,
    position: position && new PartitionPosition(position),
  })
  const stopWatching = watchLoop(measures.partitions.row(number))
  const stopSizes = watchSizes(store, storageMeter)
  const stopWork = measures.watchWork()
  let drained = (): void => {}
  const over = new Promise<void>((resolve) => {
    drained = resolve
  })
  const operations: PartitionOperations = {
    opened: async () => store.highestSequence,
    connect: (port) => inbox.connect(port),
    subscribe: async (inForce) => inbox.subscribe(inForce),
    unsubscribe: async (id) => inbox.unsubscribe(id),
    pin: async (purpose, gate) => {
      const commit = pinned(store, purpose, log)
      // The turns go on when all partitions have pinned, when one cannot, or after the time limit.
      if (commit.ok && gate !== undefined) new PinGate(gate.memory).wait(gate.limit_ms)
      return commit
    },
    unpin: async (purpose) => store.unpin(purpose),
    metadataInForce: (metadataVersion) => replica?.metadataInForce(metadataVersion),
    heartbeat: async () => (replica?.beat() === true ? store.lastNotice : undefined),
    own: () => replica?.own(),
    release: () => replica?.release(),
    drain: () => {
      inbox.close()
      drained()
    },
  }
  const ended = new AbortController()
  void memtable?.whenWanted(() => store.applyForReader(), ended.signal)
  const main = linkOver<PartitionEvents>(control, partitionEvents, oneByOne(methodsOf(operations, partitionOperations)))
  await over
  ended.abort()
  stopWatching()
  stopSizes()
  stopWork()
  stopShowing()
  await replica?.close()
  await store.close()
  control.close()
  task.log.close()
}

/** The coordinator is told before a transaction begins, since a thread that dies meanwhile may leave the write lock behind. */
function writingWatch(watch: WriteWatch, { writing }: StorageMeter): WriteWatch {
  return {
    ...watch,
    begun: () => {
      writing(true)
      watch.begun()
    },
    ended: () => {
      watch.ended()
      writing(false)
    },
  }
}

function memtableOf({ memtables }: SharedMemory, number: number): Memtable | undefined {
  const memory = memtables[number]
  return memory && new Memtable(memory)
}

/** In a cluster, where the log waits for etcd, the time of an append counts as a wait. */
function waitingMeter(measures: Measures, partition: number): StorageMeter {
  const meter = measures.storage(partition)
  const wait = measures.wait('append', partition)
  return {
    ...meter,
    logged: (bytes, duration) => {
      meter.logged(bytes, duration)
      if (wait.on && duration !== undefined) wait.waited(duration)
    },
  }
}

/** Each API parses and answers its own raw updates. */
function interpreter(log: Log, isTimed: () => boolean): Interpreter {
  const ngsi1 = rawUpdateInterpreter(log, isTimed)
  const [ofEntity, ofBatch] = [rawWriteInterpreter(isTimed), rawBatchInterpreter(isTimed)]
  return (raw) => {
    if (raw.target === undefined) return ngsi1(raw)
    return raw.target === 'element' ? ofBatch(raw) : ofEntity(raw)
  }
}

/** Sorted, so that a change which triggers very many subscriptions finds them in order. */
function byCreation(subscriptions: PartitionTask['subscriptions']): readonly SubscriptionInForce[] {
  const all = Array.from(unpackedWithClocks(subscriptions), ([subscription, clock]) => ({ subscription, clock }))
  return all.sort((a, b) => a.subscription.order - b.subscription.order)
}

function watchSizes(store: PartitionStore, meter: StorageMeter): () => void {
  const look = (): void => {
    const { used_bytes, max_bytes } = store.size
    meter.size(store.entityCount, used_bytes, max_bytes)
    store.lookForRoom()
    meter.full(store.isFull)
    meter.secondPassed()
  }
  look()
  const timer = setInterval(look, sizes_ms)
  return () => clearInterval(timer)
}

/** Pins the last commit; refuses when its file cannot be read, or when it lacks turns for which the disk has no room. */
function pinned(store: PartitionStore, purpose: PinPurpose, log: Log): Result<PinnedCommit, PinFailure> {
  try {
    return ok(store.pin(purpose))
  } catch (fault) {
    if (fault instanceof StorageFull) return err('notApplied')
    log.error(`storage:${purpose}`, 'the file of the partition cannot be copied', errorFacts(fault))
    return err('unreadable')
  }
}
