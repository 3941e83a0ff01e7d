import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { EntityId, ServicePath, Tenant } from '../src/model/context/entity.js'
import { readCheckpoint } from '../src/storage/environment/checkpoint.js'
import type { EntityChange } from '../src/storage/records/store.js'
import { encodeTurnRecord, turnRecord } from '../src/storage/records/turn-record.js'
import { PartitionStore } from '../src/storage/store/partition-store.js'
import { DiskLogFolder } from '../src/storage/wal/log-folder.js'
import { LogScan, parsePosition } from '../src/storage/wal/log-scan.js'
import { now } from '../src/time.js'
import { deviceId } from './device.js'
import { helpWith } from './helper.js'
import { deviceInTurn } from './request.js'

/** Makes the log of a data folder, on which no broker runs, longer by turns that are not applied. */
export interface UnappliedTask {
  readonly path: string
  /** How many there are. */
  readonly devices: number
  /** By how much the log becomes longer; with 0 the folder is only looked at. */
  readonly more_bytes: number
}

export interface UnappliedReply {
  /** The bytes of the log that a start on the folder replays, over all partitions. */
  readonly unapplied_bytes: number
}

const tenant = '' as Tenant
const root = '/' as ServicePath
const storeSettings = { sizeMax_bytes: 2 ** 34, keepFree_bytes: 0, writers: 1, durable: true, maxReaders: 16 }

/** Turns under full load are about so large. */
const updatesPerTurn = 64

function unappliedIn(partition: string): number {
  const checkpoint = readCheckpoint(partition)
  const from = checkpoint.ok && checkpoint.value !== undefined ? parsePosition(checkpoint.value.note) : undefined
  if (from === undefined) throw new Error(`${partition} has no checkpoint`)
  let length_bytes = 0
  for (const { frame } of new LogScan(new DiskLogFolder(join(partition, 'log'))).records(from)) {
    length_bytes += frame.size_bytes
  }
  return length_bytes
}

/**
 * Updates devices as a broker does that is killed before it has applied any of it: what each turn logs is appended, and the
 * store is left as it was. The process has to end without closing the store, which would take a checkpoint.
 */
function append(partition: string, devices: number, more_bytes: number): void {
  const store = new PartitionStore(partition, storeSettings)
  let turn: EntityChange[] = []
  let appended_bytes = 0
  for (let number = 0; appended_bytes < more_bytes; number += 1) {
    if (number === devices && appended_bytes === 0) throw new Error(`${partition} has too few devices`)
    turn.push(...updateOf(store, deviceId(deviceInTurn(number, devices))))
    if (turn.length < updatesPerTurn && turn.length < devices) continue
    const record = turnRecord({ entities: turn, notices: [], acks: [] }, store.highestSequence)
    const bytes = record && encodeTurnRecord(record)
    if (bytes === undefined || !store.wal.appendSync(store.wal.last, bytes).ok) {
      throw new Error(`the log of ${partition} refuses a turn`)
    }
    appended_bytes += bytes.length
    turn = []
  }
}

/** The same values again, which cost what others do; nothing when the device is in another partition. */
function updateOf(store: PartitionStore, id: string): readonly EntityChange[] {
  const [before] = store.entities(tenant, root, id as EntityId)
  if (before === undefined) return []
  return [{ kind: 'put', tenant, entity: { ...before, modified: now() }, before }]
}

function partitionsIn(path: string): readonly string[] {
  return readdirSync(path)
    .filter((name) => name.startsWith('partition-'))
    .map((name) => join(path, name))
}

helpWith<UnappliedTask, UnappliedReply>(async ({ path, devices, more_bytes }) => {
  const partitions = partitionsIn(path)
  if (more_bytes > 0) for (const partition of partitions) append(partition, devices, more_bytes / partitions.length)
  return { unapplied_bytes: partitions.reduce((sum, partition) => sum + unappliedIn(partition), 0) }
})
