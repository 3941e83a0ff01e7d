import type { LogName } from '../../storage/etcd/engine.js'
import { frontEndsMost, slotsMost } from '../../threads/shared-memory/sender-table.js'
import { isCount, jsonIn } from '../../unchecked-json.js'

/** The format of all that nodes send each other. A node refuses requests of another format, so every change raises the number. */
export const linkFormat = 9

/** Each request names the cluster, the format and the asking node. Names are in lower case, as Node gives them. */
export const linkHeaders = {
  cluster: 'rigel-cluster',
  format: 'rigel-format',
  node: 'rigel-node',
  /** In requests with batches and in their opening: the sender, constant for a connection, see `SenderTable`. */
  sender: 'rigel-sender',
  /** In requests with batches: when their sender stops waiting, in ms of the receiving node's monotonic clock. */
  until: 'rigel-until',
  /** In responses: the time of that clock. */
  clock: 'rigel-clock',
  /** With a checkpoint: the last record that it has applied. */
  applied: 'rigel-applied',
} as const

/** The most batches under way on a connection. */
export const batchesPipelined = 8

/** How long a request for outcomes waits for them, unless another request arrives behind it. */
export const outcomesWait_ms = 5_000

/** The most bytes in the body of a batch or of a response to it. Larger ones are refused unread. */
export const batchMost_bytes = 64 * 2 ** 20

/** A checkpoint is followed by its SHA-256, by which truncation and damage are found. */
export const checksum_bytes = 32

/** The requests between nodes. */
export type LinkTarget =
  | { readonly kind: 'batches'; readonly partition: number }
  /**
   * The first request of a connection with batches. Its response confirms that nothing of the sender's earlier connections is
   * carried out any more.
   */
  | { readonly kind: 'opening'; readonly partition: number }
  /** Asks for outcomes of deferred commands of batches on the same connection, see `LaterOutcomes`. */
  | { readonly kind: 'outcomes'; readonly partition: number }
  | { readonly kind: 'positions' }
  /** The node's clock of the day. */
  | { readonly kind: 'clock' }
  /** A change of the metadata. */
  | { readonly kind: 'control' }
  /** Asks to confirm that a record of the metadata log is in force. */
  | { readonly kind: 'heartbeats' }
  /** The node's counters and measures. */
  | { readonly kind: 'statistics' }
  /** A stream of the notices that the node sends for a subscription. */
  | { readonly kind: 'streams' }
  /** A client has received notices of a subscription. */
  | { readonly kind: 'confirmations' }
  /** The file of the environment that follows a log. */
  | { readonly kind: 'checkpoint'; readonly log: LogName }

const methods: Readonly<Record<LinkTarget['kind'], 'GET' | 'POST'>> = {
  batches: 'POST',
  opening: 'POST',
  outcomes: 'POST',
  positions: 'POST',
  clock: 'POST',
  control: 'POST',
  heartbeats: 'POST',
  statistics: 'POST',
  streams: 'POST',
  confirmations: 'POST',
  checkpoint: 'GET',
}

export function methodOf({ kind }: LinkTarget): 'GET' | 'POST' {
  return methods[kind]
}

const base = '/cluster/v1'

/** Targets without parameters. */
const plainTargets = ['positions', 'clock', 'control', 'heartbeats', 'statistics', 'streams', 'confirmations'] as const

export function pathOf(target: LinkTarget): string {
  if ('partition' in target) return `${base}/partitions/${target.partition}/${target.kind}`
  return target.kind === 'checkpoint' ? `${base}/logs/${target.log}/checkpoint` : `${base}/${target.kind}`
}

/** The target of a request; undefined when there is none with this path and method. */
export function parseLinkTarget(method: string | undefined, path: string | undefined): LinkTarget | undefined {
  const target = targetOf(path ?? '')
  return target !== undefined && methodOf(target) === method ? target : undefined
}

function targetOf(path: string): LinkTarget | undefined {
  for (const kind of plainTargets) if (path === `${base}/${kind}`) return { kind }
  const [, digits, kind] = /^\/cluster\/v1\/partitions\/(\d{1,4})\/(batches|opening|outcomes)$/.exec(path) ?? []
  if (digits !== undefined) {
    return { kind: kind === 'opening' || kind === 'outcomes' ? kind : 'batches', partition: Number(digits) }
  }
  const [, log] = /^\/cluster\/v1\/logs\/(control|\d{1,4})\/checkpoint$/.exec(path) ?? []
  return log === undefined ? undefined : { kind: 'checkpoint', log: log === 'control' ? log : Number(log) }
}

/** A front end of a node, and which of its connections for a partition this is. */
export interface SenderName {
  readonly slot: number
  readonly frontEnd: number
  readonly generation: number
}

/** The header value that names the sender of batches. */
export function senderText({ slot, frontEnd, generation }: SenderName): string {
  return `${slot}.${frontEnd}.${generation}`
}

/** Parses the sender in a header; undefined when it is malformed. */
export function parseSender(text: unknown): SenderName | undefined {
  const [, slot, frontEnd, generation] = /^(\d{1,2})\.(\d{1,2})\.(\d{1,15})$/.exec(String(text)) ?? []
  if (generation === undefined) return undefined
  const sender = { slot: Number(slot), frontEnd: Number(frontEnd), generation: Number(generation) }
  return sender.slot < slotsMost && sender.frontEnd < frontEndsMost ? sender : undefined
}

/** Parses a moment of a monotonic clock in a header, in ms; undefined when it is malformed. */
export function parseMoment(text: unknown): number | undefined {
  return /^-?\d{1,15}$/.test(String(text)) ? Number(text) : undefined
}

const positionsMost = 4096

/** Parses the logs of a question, which names them by partition number; undefined when it is malformed. */
export function parsePositionsQuestion(text: string): readonly LogName[] | undefined {
  const logs = memberOf(text, 'partitions')
  if (!Array.isArray(logs) || logs.length > positionsMost) return undefined
  return logs.every(isLogName) ? logs : undefined
}

/** Parses the sequences of a response, one for each log of the request; undefined when it is malformed. */
export function parsePositionsResponse(text: string, requested: number): readonly (number | null)[] | undefined {
  const positions = memberOf(text, 'positions')
  if (!Array.isArray(positions) || positions.length !== requested) return undefined
  return positions.every((position) => position === null || isCount(position)) ? positions : undefined
}

/** Parses the time of a clock, in ms of Unix time; undefined when it is malformed. */
export function parseClock(text: string): number | undefined {
  const time_ms = memberOf(text, 'time_ms')
  return isCount(time_ms) ? time_ms : undefined
}

/** Parses the name of the node whose clock it is; undefined when it is malformed, or of a version that does not say. */
export function parseNodeOfClock(text: string): string | undefined {
  const node = memberOf(text, 'node')
  return typeof node === 'string' ? node : undefined
}

/** Parses the owner that a response with status 421 names; undefined when it names none. */
export function parseOwner(text: string): string | undefined {
  const owner = memberOf(text, 'owner')
  return typeof owner === 'string' ? owner : undefined
}

/**
 * Parses the election by which a node owns a partition (0: it does not), from the response to an opening; undefined when it is
 * malformed.
 */
export function parseEpoch(text: string): number | undefined {
  const epoch = memberOf(text, 'epoch')
  return isCount(epoch) ? epoch : undefined
}

/**
 * Parses the generation of the sender's last connection, which a refusal of an earlier one names; undefined when it is malformed.
 */
export function parseLast(text: string): number | undefined {
  const last = memberOf(text, 'last')
  return isCount(last) ? last : undefined
}

function memberOf(text: string, name: string): unknown {
  const raw = jsonIn(text)
  return typeof raw === 'object' && raw !== null ? Reflect.get(raw, name) : undefined
}

function isLogName(raw: unknown): raw is LogName {
  return raw === 'control' || isCount(raw)
}
