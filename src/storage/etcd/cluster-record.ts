import { randomBytes } from 'node:crypto'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { LogSequence } from '../wal/record-log.js'

/**
 * What a record in a log of a cluster is for. Only a turn changes anything: `election` says who writes from there on, `release`
 * that who has written until there writes and shows nothing any more, and `idle` that its writer still owns the log.
 */
export type ClusterRecordKind = 'election' | 'turn' | 'release' | 'idle'

export interface ClusterRecord {
  readonly kind: ClusterRecordKind
  /** Random: its writer recognizes the record by it. */
  readonly id: Buffer
  /** The sequence of the election record of its writer; 0 in an election record itself. */
  readonly epoch: LogSequence
  /** When it was written, by its writer's clock; only for people and metrics. */
  readonly time_ms: number
  /** The metadata version that its writer had in force; 0 before there was one. */
  readonly metadataVersion: LogSequence
  /** The name of the node that wrote it. */
  readonly node: string
  /** Empty but in a turn. */
  readonly payload: Uint8Array
}

const format = 1
/** The format in which the metadata version follows the time. */
const versionedFormat = 2
const kinds: readonly ClusterRecordKind[] = ['election', 'turn', 'release', 'idle']
const id_bytes = 16
const idOffset = 3
const epochOffset = idOffset + id_bytes
const timeOffset = epochOffset + 6
const versionOffset = timeOffset + 6
/** The offset of the length of the node's name, by format. */
const nodeOffsets = new Map([
  [format, versionOffset],
  [versionedFormat, versionOffset + 6],
])

/** Payloads from this size on are deflated, which saves every member of the engine writes. */
const deflated_bytes = 512

/**
 * The bytes of a record: format, kind, whether the payload is deflated, id, epoch (6 bytes), time (6), the metadata version if there is
 * one (6), the name of the node with its length before it, payload. Part of what stands in etcd.
 */
export function encodeClusterRecord(record: Omit<ClusterRecord, 'id'>): Buffer {
  const node = Buffer.from(record.node)
  const isDeflated = record.payload.length >= deflated_bytes
  const hasVersion = record.metadataVersion > 0
  const nodeOffset = hasVersion ? versionOffset + 6 : versionOffset
  const head = Buffer.alloc(nodeOffset + 1 + node.length)
  head[0] = hasVersion ? versionedFormat : format
  head[1] = kinds.indexOf(record.kind)
  head[2] = isDeflated ? 1 : 0
  randomBytes(id_bytes).copy(head, idOffset)
  head.writeUIntBE(record.epoch, epochOffset, 6)
  head.writeUIntBE(record.time_ms, timeOffset, 6)
  if (hasVersion) head.writeUIntBE(record.metadataVersion, versionOffset, 6)
  head[nodeOffset] = node.length
  node.copy(head, nodeOffset + 1)
  return Buffer.concat([head, isDeflated ? deflateRawSync(record.payload, { level: 1 }) : record.payload])
}

/** Decodes a record; throws when this version cannot read the bytes. */
export function decodeClusterRecord(bytes: Uint8Array): ClusterRecord {
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const kind = kinds[whole[1] ?? kinds.length]
  const nodeOffset = nodeOffsets.get(whole[0] ?? 0)
  const payloadOffset = (nodeOffset ?? 0) + 1 + (whole[nodeOffset ?? 0] ?? 0)
  if (nodeOffset === undefined || kind === undefined || whole.length < payloadOffset) {
    throw new Error(`it is no record of a cluster in format ${format} or ${versionedFormat}`)
  }
  const payload = whole.subarray(payloadOffset)
  return {
    kind,
    id: idOf(whole),
    epoch: whole.readUIntBE(epochOffset, 6) as LogSequence,
    time_ms: whole.readUIntBE(timeOffset, 6),
    metadataVersion: (nodeOffset === versionOffset ? 0 : whole.readUIntBE(versionOffset, 6)) as LogSequence,
    node: whole.toString('utf8', nodeOffset + 1, payloadOffset),
    payload: whole[2] === 1 ? inflateRawSync(payload) : payload,
  }
}

/** Whether the bytes of two records have the same id. */
export function isSameRecord(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && idOf(Buffer.from(a)).equals(idOf(Buffer.from(b)))
}

function idOf(whole: Buffer): Buffer {
  return whole.subarray(idOffset, epochOffset)
}
