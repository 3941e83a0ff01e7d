import { readdirSync, readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import type { Log } from '../observe/log/log.js'
import type { ConnectionLimit } from '../threads/shared-memory/limits.js'
import { mostTaking_ms } from '../time-limit.js'
import type { ClientConnection, InProgress } from './connections.js'

/** How long connections may do nothing, or too little; 0 for as long as they like [management 11.8]. */
export interface ConnectionLimits {
  /** Without a request in progress. */
  readonly idle_s: number
  /** For the body of a request, and a second more for each `bodyRate` bytes that have come. */
  readonly body_s: number
  /** For a client that reads nothing of the responses that are ready for it. */
  readonly send_s: number
}

/** The least that is expected of a client that sends a body: what has come earns it more time. */
const bodyRate_bytes = 4096

/** Up to this many bytes or characters responses are not counted: there are no more of them than connections. */
export const small_bytes = 64 * 1024

/** Why a connection is closed. */
export type Overdue = 'idle' | 'body' | 'unread' | 'slow'

/** When something has moved on a connection; in seconds of the listener's clock. */
export class Activity {
  readonly #connection: ClientConnection
  #sentAt_s: number
  #unsent_bytes = 0
  /** Since when the connection has many bytes to send, and how many of them were taken since. */
  #owing: { readonly since_s: number; taken_bytes: number } | undefined
  #movedAt_s: number
  #read_bytes = 0
  #reading: { readonly call: InProgress; since_s: number; readonly from_bytes: number } | undefined

  constructor(connection: ClientConnection, now_s: number) {
    this.#connection = connection
    this.#sentAt_s = now_s
    this.#movedAt_s = now_s
  }

  /**
   * Notes what has moved since the last call; gives why the connection is to be closed, if it is. `isShort`: responses of others
   * were refused, since there is no memory for them.
   */
  overdue(now_s: number, limits: ConnectionLimits, isShort = false): Overdue | undefined {
    const { socket, busy } = this.#connection
    const unsent_bytes = unsentBytes(socket)
    if (unsent_bytes === 0 || this.#unsent_bytes === 0 || unsent_bytes < this.#unsent_bytes) this.#sentAt_s = now_s
    this.#noteOwing(now_s, unsent_bytes)
    this.#unsent_bytes = unsent_bytes
    if (socket.bytesRead !== this.#read_bytes || busy || unsent_bytes > 0) this.#movedAt_s = now_s
    this.#read_bytes = socket.bytesRead
    if (isOver(limits.send_s, now_s - this.#sentAt_s)) return 'unread'
    if (isShort && this.#isTakenTooSlowly(now_s)) return 'slow'
    if (isOver(limits.idle_s, now_s - this.#movedAt_s)) return 'idle'
    return this.#isReadTooSlowly(now_s, limits.body_s) ? 'body' : undefined
  }

  #noteOwing(now_s: number, unsent_bytes: number): void {
    if (unsent_bytes <= small_bytes) this.#owing = undefined
    else if (this.#owing === undefined) this.#owing = { since_s: now_s, taken_bytes: 0 }
    else this.#owing.taken_bytes += Math.max(0, this.#unsent_bytes - unsent_bytes)
  }

  #isTakenTooSlowly(now_s: number): boolean {
    if (this.#owing === undefined) return false
    const { since_s, taken_bytes } = this.#owing
    return (now_s - since_s) * 1000 > mostTaking_ms(taken_bytes)
  }

  #isReadTooSlowly(now_s: number, limit_s: number): boolean {
    const { socket, reading: call, paused } = this.#connection
    if (call === undefined) {
      this.#reading = undefined
      return false
    }
    if (this.#reading?.call !== call) this.#reading = { call, since_s: now_s, from_bytes: socket.bytesRead }
    // While nothing is read the client cannot send.
    if (paused) this.#reading.since_s += 1
    const earned_s = (socket.bytesRead - this.#reading.from_bytes) / bodyRate_bytes
    return isOver(limit_s, now_s - this.#reading.since_s - earned_s)
  }
}

/**
 * The connection that is closed when there are as many as are allowed: the one that has been idle for longest, else one
 * that has not sent a whole request or has not read its responses. Work is never given up.
 */
export function longestIdle(connections: Iterable<ClientConnection>): ClientConnection | undefined {
  let found: ClientConnection | undefined
  let foundRank = Number.POSITIVE_INFINITY
  for (const connection of connections) {
    const rank = idleRank(connection)
    if (rank === undefined || rank > foundRank) continue
    if (found !== undefined && rank === foundRank && connection.usedAt > found.usedAt) continue
    found = connection
    foundRank = rank
  }
  return found
}

/** The lowest goes first; nothing for a connection that is worked for. */
function idleRank(connection: ClientConnection): number | undefined {
  if (!connection.busy) return connection.socket.writableLength === 0 ? 0 : 2
  return connection.onlyReads ? 1 : undefined
}

function isOver(limit_s: number, passed_s: number): boolean {
  return limit_s > 0 && passed_s >= limit_s
}

/** The bytes that wait in Node and in the system's calls; what the kernel has taken is sent. */
function unsentBytes(socket: Socket): number {
  if (socket.writableLength === 0) return 0
  return socket.writableLength + queuedBytes(socket)
}

/** One large write moves only there, for which Node has no public name. */
function queuedBytes(socket: Socket): number {
  const handle: unknown = '_handle' in socket ? socket._handle : undefined
  if (typeof handle !== 'object' || handle === null || !('writeQueueSize' in handle)) return 0
  return typeof handle.writeQueueSize === 'number' ? handle.writeQueueSize : 0
}

/** Lowers the number of connections to what the descriptors of the process allow, with a line that says so. */
export function fitDescriptors(limit: ConnectionLimit, log: Log): void {
  const found = connectionsWithinDescriptors()
  if (found === undefined || found.connections >= limit.limit) return
  const { connections, descriptors } = found
  log.warn(
    'http:listen',
    `${connections} connections at a time instead of ${limit.limit} (-maxConnections): the process may have ${descriptors} open files (ulimit -n)`,
  )
  limit.lower(connections)
}

/** The part of the descriptors that is left to threads, files and connections to others. */
const reserve = 1 / 4

/**
 * How many connections the process can accept and still open its files and send notifications; nothing where the system
 * does not say how many descriptors a process may have.
 */
function connectionsWithinDescriptors(): { readonly connections: number; readonly descriptors: number } | undefined {
  try {
    const [, limit] = /^Max open files +(\d+) /m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    if (limit === undefined) return undefined
    const descriptors = Number(limit)
    const taken = readdirSync('/proc/self/fd').length
    return { connections: Math.max(1, Math.floor(descriptors * (1 - reserve)) - taken), descriptors }
  } catch {
    return undefined // No such file: not Linux.
  }
}
