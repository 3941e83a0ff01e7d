import type { LogName } from '../../storage/etcd/engine.js'
import { frontEndsMost, slotsMost } from '../../threads/shared-memory/sender-table.js'

/** What nodes send each other, beside the bodies of batches: a node refuses another format, so it may change with it. */
export const linkFormat = 4

/** Each request names the cluster, the format, and the node that asks. In lower case, as Node gives them. */
export const linkHeaders = {
  cluster: 'rigel-cluster',
  format: 'rigel-format',
  node: 'rigel-node',
  /** Of requests with batches and of the one before them, the same for all of a connection: see `SenderTable`. */
  sender: 'rigel-sender',
  /** Of requests with batches: when their sender stops to wait, in ms of the monotonic clock of the node that is asked. */
  until: 'rigel-until',
  /** Of responses: what that clock shows. */
  clock: 'rigel-clock',
  /** Of a checkpoint: the last record that it has applied. */
  applied: 'rigel-applied',
} as const

/** Batches of one connection that may be under way. */
export const batchesPipelined = 8

/** How long a request for outcomes that are not there yet is kept, unless another request arrives behind it. */
export const outcomesWait_ms = 5_000

/** A body of a batch, and of a response to it. Larger ones are refused unread. */
export const batchMost_bytes = 64 * 2 ** 20

/** Behind the bytes of a checkpoint stands their SHA-256, so that one that was cut or damaged is known. */
export const checksum_bytes = 32

/** What a node can be asked. */
export type LinkTarget =
  | { readonly kind: 'batches'; readonly partition: number }
  /** That nothing of earlier connections of the sender is carried out any more: the first request of a connection with batches. */
  | { readonly kind: 'opening'; readonly partition: number }
  /** Outcomes of deferred commands of batches on the same connection, when there are some: see `LaterOutcomes`. */
  | { readonly kind: 'outcomes'; readonly partition: number }
  | { readonly kind: 'positions' }
  /** What its clock of the day says. */
  | { readonly kind: 'clock' }
  /** A change of what the coordinator owns. */
  | { readonly kind: 'control' }
  /** That a record of the coordinator's log is in force. */
  | { readonly kind: 'marks' }
  /** What the node has counted and measured. */
  | { readonly kind: 'statistics' }
  /** A stream of the notices of a subscription that the node sends. */
  | { readonly kind: 'streams' }
  /** That a client has notices of a subscription. */
  | { readonly kind: 'confirmations' }
  /** The file of what follows a log. */
  | { readonly kind: 'checkpoint'; readonly log: LogName }

const methods: Readonly<Record<LinkTarget['kind'], 'GET' | 'POST'>> = {
  batches: 'POST',
  opening: 'POST',
  outcomes: 'POST',
  positions: 'POST',
  clock: 'POST',
  control: 'POST',
  marks: 'POST',
  statistics: 'POST',
  streams: 'POST',
  confirmations: 'POST',
  checkpoint: 'GET',
}

/** The method of a request for a target. */
export function methodOf({ kind }: LinkTarget): 'GET' | 'POST' {
  return methods[kind]
}

const base = '/cluster/v1'

/** Those of which there is one. */
const plainTargets = ['positions', 'clock', 'control', 'marks', 'statistics', 'streams', 'confirmations'] as const

/** The path of a target. */
export function pathOf(target: LinkTarget): string {
  if ('partition' in target) return `${base}/partitions/${target.partition}/${target.kind}`
  return target.kind === 'checkpoint' ? `${base}/logs/${target.log}/checkpoint` : `${base}/${target.kind}`
}

/** The target of a request; nothing when there is none, or not with that method. */
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

/** A front end of a node, and which of its connections for a partition it is. */
export interface SenderName {
  readonly slot: number
  readonly frontEnd: number
  readonly generation: number
}

/** The value of the header that names the sender of batches. */
export function senderText({ slot, frontEnd, generation }: SenderName): string {
  return `${slot}.${frontEnd}.${generation}`
}

/** The sender that a header names; nothing when it names none. */
export function parseSender(text: unknown): SenderName | undefined {
  const [, slot, frontEnd, generation] = /^(\d{1,2})\.(\d{1,2})\.(\d{1,15})$/.exec(String(text)) ?? []
  if (generation === undefined) return undefined
  const sender = { slot: Number(slot), frontEnd: Number(frontEnd), generation: Number(generation) }
  return sender.slot < slotsMost && sender.frontEnd < frontEndsMost ? sender : undefined
}

/** A moment of a monotonic clock in a header, in ms; nothing when it is none. */
export function parseMoment(text: unknown): number | undefined {
  return /^-?\d{1,15}$/.test(String(text)) ? Number(text) : undefined
}

const askedMost = 4096

/** The logs of a question, by the numbers of their partitions; nothing when it is none. */
export function parsePositionsQuestion(text: string): readonly LogName[] | undefined {
  const logs = memberOf(text, 'partitions')
  if (!Array.isArray(logs) || logs.length > askedMost) return undefined
  return logs.every(isLogName) ? logs : undefined
}

/** The sequences of an answer, one for each partition that was asked for; nothing when it is none. */
export function parsePositionsAnswer(text: string, asked: number): readonly (number | null)[] | undefined {
  const positions = memberOf(text, 'positions')
  if (!Array.isArray(positions) || positions.length !== asked) return undefined
  return positions.every((position) => position === null || isSafeCount(position)) ? positions : undefined
}

/** What a clock says, in ms of Unix time; nothing when the text is no answer. */
export function parseClock(text: string): number | undefined {
  const time_ms = memberOf(text, 'time_ms')
  return isSafeCount(time_ms) ? time_ms : undefined
}

/** The node that an answer with status 421 names. */
export function parseOwner(text: string): string | undefined {
  const owner = memberOf(text, 'owner')
  return typeof owner === 'string' ? owner : undefined
}

/** The sequence of the claim by which a node owns a partition, 0 while it does not, as it says when a connection is opened. */
export function parseEpoch(text: string): number | undefined {
  const epoch = memberOf(text, 'epoch')
  return isSafeCount(epoch) ? epoch : undefined
}

/** The generation of the sender's last connection, which an answer to an earlier one names. */
export function parseLast(text: string): number | undefined {
  const last = memberOf(text, 'last')
  return isSafeCount(last) ? last : undefined
}

function memberOf(text: string, name: string): unknown {
  try {
    const raw: unknown = JSON.parse(text)
    return typeof raw === 'object' && raw !== null ? Reflect.get(raw, name) : undefined
  } catch {
    return undefined // No JSON: the caller says so.
  }
}

function isLogName(raw: unknown): raw is LogName {
  return raw === 'control' || isSafeCount(raw)
}

function isSafeCount(raw: unknown): raw is number {
  return Number.isSafeInteger(raw) && Number(raw) >= 0
}
